"""What a session asks for, and what the steps of a plan have made so far. Values only."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from gateway.config import Settings
from gateway.session.results import StatementOutcome
from journal.model.plan import CatalogChange, PutRelation, StatementPlan
from journal.model.schema import Table
from journal.model.segment import RowCounts
from journal.model.store_session import RowSet, StagedRows
from rewriter.syntax.parsing import Parsed


@dataclass(slots=True)
class StatementRun:
    """What the steps of one plan have made so far."""

    parameters: dict[str, Any]
    version: int
    count: int = -1
    direct: bool = False
    appended: dict[int, RowCounts] = field(default_factory=dict)
    rows: list[tuple[int, RowSet]] = field(default_factory=list)
    ahead: dict[str, StagedRows] = field(default_factory=dict)
    changes: list[CatalogChange] = field(default_factory=list)
    returned: StatementOutcome | None = None
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class StatementRequest:
    """A statement as a session wants it run.

    ``swift``: by a plan that fails without saying why; ``recalled``: by one that is given its rows.
    """

    parsed: Parsed
    parameters: Mapping[str, Any]
    settings: Settings
    dialect: str
    batch: pa.Table | None = None
    swift: bool = False
    recalled: bool = False


def digest(parsed: Parsed) -> str:
    """What stands for a statement in ``system.transactions``."""
    return hashlib.sha256(parsed.text.encode()).hexdigest()[:16]


def outcome_of(plan: StatementPlan, run: StatementRun) -> StatementOutcome:
    """What a writing statement did."""
    if run.returned is not None:
        run.returned.tag = plan.tag
        run.returned.skipped = run.skipped
        return run.returned
    return StatementOutcome(plan.tag, run.count, written=run.appended, skipped=run.skipped)


def changed_table(run: StatementRun, table_id: int) -> Table | None:
    """The definition that the statement itself has given a table, or None."""
    for change in reversed(run.changes):
        if isinstance(change, PutRelation) and isinstance(change.relation, Table):
            if change.relation.id == table_id:
                return change.relation
    return None
