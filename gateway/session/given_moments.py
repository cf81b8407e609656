"""Texts of parameters that are moments, with the seconds that PostgreSQL would read of them.

Of more than six digits it rounds, where stores cut. On PostgreSQL stores it does so itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from gateway.config import Settings
from gateway.session.named_schemas import with_home_schema
from gateway.session.parameters import Given, bind
from journal.model.schema import CatalogSnapshot
from journal.model.visibility import visible_to
from journal.sql.moment_text import iso_moment, iso_time
from journal.transactions.protocol import OpenJournal
from rewriter.context import RewriteContext
from rewriter.dialect_semantics import DIALECTS
from rewriter.preview.synthetic_catalog import plain_scan_info
from rewriter.reading.parameter_types import parameter_types
from rewriter.statement import SqlStatement
from rewriter.syntax.parsing import Parsed

_LONG = r":\d\d\.\d{7}"
_LONG_FRACTION = re.compile(_LONG)
_LENGTH_MIN, _LENGTH_MAX = 15, 64
"""Of a text with so many digits, and of the longest that is taken for a moment."""


class GivenSession(Protocol):
    """What of a session decides what its parameters are."""

    journal: OpenJournal
    settings: Settings
    dialect: str

    @property
    def catalog(self) -> CatalogSnapshot:
        """The catalog that statements see."""


def values_given(session: GivenSession, parsed: Parsed, given: Given) -> dict[str, Any]:
    """The values by the names of parameters.

    Raises PARAMETERS where they do not fit, MOMENT_RANGE for a moment of which a part is none.
    """
    bound = bind(parsed, given)
    long = [name for name, value in bound.items() if type(value) is str and _is_long(value)]
    kinds = _kinds(session, parsed) if long else {}
    changed = {name: _rounded(bound[name], kinds[name]) for name in long if name in kinds}
    return {**bound, **changed} if changed else bound


def rounded_batch(session: GivenSession, parsed: Parsed, batch: pa.Table) -> pa.Table:
    """The same of the rows of an ``executemany``."""
    long = [
        place
        for place, column in enumerate(batch.columns)
        if pa.types.is_string(column.type)
        and pc.any(pc.match_substring_regex(column, _LONG)).as_py()
    ]
    kinds = _kinds(session, parsed) if long else {}
    for place in long:
        name = batch.column_names[place]
        if name in kinds:
            values = [_rounded(text, kinds[name]) for text in batch.column(place).to_pylist()]
            batch = batch.set_column(place, name, pa.array(values, pa.string()))
    return batch


def _kinds(session: GivenSession, parsed: Parsed) -> Mapping[str, str]:
    """The types of the parameters that stand for moments, where the store would cut them."""
    is_native = session.journal.capabilities.postgres_functions
    if is_native or DIALECTS.get(session.dialect) != "postgres":
        return {}
    catalog, settings = session.catalog, session.settings
    statement = with_home_schema(parsed, session.dialect, catalog).statement
    if not isinstance(statement, SqlStatement):
        return {}
    context = RewriteContext(
        visible_to(catalog, catalog.rights_of(settings.role)),
        plain_scan_info,
        dialect=session.dialect,
        path=settings.search_path,
    )
    found = parameter_types(statement.ast, context)
    return {name: kind for name, kind in found.items() if kind.startswith("TIME")}


def _is_long(text: str) -> bool:
    return _LENGTH_MIN < len(text) <= _LENGTH_MAX and _LONG_FRACTION.search(text) is not None


def _rounded(text: str | None, kind: str) -> str | None:
    if text is None or not _is_long(text):
        return text
    if kind.startswith("TIMESTAMP"):
        return iso_moment(text) or text
    return iso_time(text, has_zone=kind.startswith(("TIMETZ", "TIME WITH"))) or text
