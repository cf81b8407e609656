"""Where the same words mean different things in the dialects of clients. Values only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DialectSemantics:
    """How a dialect's writing statements behave.

    ``short_rows``: INSERT without a column list may give fewer values than there are columns.
    ``stars_by_name``: UPDATE SET * and INSERT * of a MERGE go by name, not by position.
    ``null_generates``: NULL for a generated number asks for one.
    ``unordered_duplicates``: an upsert applies rows with one key one after another.
    """

    short_rows: bool = False
    stars_by_name: bool = False
    null_generates: bool = False
    unordered_duplicates: bool = False


_STRICT = DialectSemantics()
_MANNERS = {
    "postgres": DialectSemantics(short_rows=True),
    "postgresql": DialectSemantics(short_rows=True),
    "mysql": DialectSemantics(null_generates=True, unordered_duplicates=True),
    "spark": DialectSemantics(stars_by_name=True),
    "hive": DialectSemantics(stars_by_name=True),
}


def manners_of(dialect: str) -> DialectSemantics:
    """The manners of a dialect."""
    return _MANNERS.get(dialect, _STRICT)
