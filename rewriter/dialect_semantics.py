"""Where the same words mean different things in the dialects of clients. Values only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DialectSemantics:
    """How a dialect's writing statements behave.

    ``short_rows``: INSERT without a column list may give fewer values than there are columns.
    ``stars_by_name``: UPDATE SET * and INSERT * of a MERGE go by name, not by position.
    ``null_generates``: NULL for a generated number asks for one.
    """

    short_rows: bool = False
    stars_by_name: bool = False
    null_generates: bool = False


_STRICT = DialectSemantics()
_SEMANTICS = {
    "postgres": DialectSemantics(short_rows=True),
    "postgresql": DialectSemantics(short_rows=True),
    "mysql": DialectSemantics(null_generates=True),
    "spark": DialectSemantics(stars_by_name=True),
    "hive": DialectSemantics(stars_by_name=True),
}


def semantics_of(dialect: str) -> DialectSemantics:
    """How a dialect's statements behave; as strictly as SQL says where nothing is known."""
    return _SEMANTICS.get(dialect, _STRICT)
