"""One statement to run: its text, its parameters, and how to plan it. A value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import lru_cache
from typing import Any

import pyarrow as pa

from gateway.activity.statement_text import READ_MAX, shape_digest, without_literals
from gateway.config import Settings
from gateway.session.parameters import batch_kinds
from journal.model.lazy_dataclass import dataclass
from journal.model.lineage import StatementOrigin
from journal.model.plan import StatementPlan
from rewriter.context import PlanForm
from rewriter.reading.equal_keys import ParameterKinds, parameter_kinds
from rewriter.statement import Explain
from rewriter.syntax.parsing import Parsed


@dataclass(frozen=True, slots=True)
class StatementRequest:
    """A statement as a session wants it run; ``batch`` holds the rows of an ``executemany``.

    ``skips`` says of the rows of a file that come so whether erased ones are left out.
    ``stream_file`` is the file in which the client's own rows for a COPY are.
    """

    parsed: Parsed
    parameters: Mapping[str, Any]
    settings: Settings
    dialect: str
    batch: pa.Table | None = None
    form: PlanForm = PlanForm.FULL
    skips: bool | None = None
    stream_file: str | None = None
    cache: dict[Any, Any] = field(init=False, default_factory=dict, compare=False, repr=False)
    """The request in other forms, and its keys of plans, as they were computed first."""

    @property
    def kinds(self) -> ParameterKinds:
        """The kinds of its parameters; of a batch those of its columns."""
        if self.batch is None:
            return parameter_kinds(self.parameters)
        return batch_kinds(self.batch)

    @property
    def explains(self) -> bool:
        """True for EXPLAIN, which changes nothing."""
        return isinstance(self.parsed.statement, Explain)

    def origin(self, plan: StatementPlan) -> StatementOrigin | None:
        """The statement as its lineage is noted; None for one that has none."""
        if plan.trace is None or self.explains:
            return None
        text = self.parsed.text
        return StatementOrigin(plan.trace, plan.tag, text, self.dialect, self.stream_file)

    def in_form(self, form: PlanForm) -> StatementRequest:
        """The same, planned otherwise."""
        if form is self.form:
            return self
        found: StatementRequest | None = self.cache.get(form)
        if found is None:
            how = (self.batch, form, self.skips, self.stream_file)
            found = StatementRequest(
                self.parsed, self.parameters, self.settings, self.dialect, *how
            )
            self.cache[form] = found
        return found


def digest(parsed: Parsed, dialect: str) -> str:
    """The digest of a statement for ``system.transactions``: that of ``system.statements``.

    It has nothing of the values in the text, so that nobody can try out what they were.
    """
    return _digest(parsed.text[:READ_MAX], dialect)


@lru_cache(maxsize=1024)
def _digest(text: str, dialect: str) -> str:
    return shape_digest(without_literals(text, dialect))
