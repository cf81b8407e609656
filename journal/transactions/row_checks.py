"""Queries for rows that break the rules of a journal.

Used by verification. Pure but for running the queries in the session it is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from journal.model.plan import Query
from journal.model.schema import Table
from journal.model.segment import Tier
from journal.model.store_session import StoreSession
from journal.model.version import Version
from journal.sql.relations import Reader, column, ident, union_all, version_value
from journal.sql.sql import expression
from journal.sql.unique_keys import UniqueKey, further_keys
from journal.transactions.state import TableState

_SHOWN = 5
_LISTED = 1000
"""Keys that nobody can change until somebody has mended them one by one."""


def row_checks(
    session: StoreSession,
    table: Table,
    state: TableState,
    highest: Version,
    ahead: Version | None = None,
) -> Iterator[tuple[str, str]]:
    """Kind and message of each violation found, a few of each kind.

    ``highest`` is the last version that was committed; of a journal that others write, too, where
    no commit tells, ``ahead`` is the last version that the store's clock would pass.
    """
    checks = _Rows(table, state.tiers)
    queries = (
        ("closed twice", "has two rows that end it", checks.closed_twice()),
        ("open twice", "was written twice", checks.open_twice()),
        ("dangling", "is ended, but was never written", checks.dangling()),
        ("current twice", "is current twice", checks.current_twice(UniqueKey("", table.key))),
        ("version", "has a version that was never committed", checks.beyond(highest))
        if ahead is None
        else ("ahead", "has a version too far ahead of the clock", checks.ahead_of(ahead)),
    )
    for kind, what, query in queries:
        for key in _found_values(session, query, _LISTED if kind == "ahead" else _SHOWN):
            yield kind, f"key {key} {what}"
    for unique, values in shared_values(session, table, state.tiers):
        yield "unique", f"values {values} violate {unique.name}"
    if ahead is not None:
        for what, key in refused_rows(session, table, state.tiers):
            yield "check", f"key {key} violates {what}"


def shared_values(
    session: StoreSession, table: Table, tiers: frozenset[Tier]
) -> Iterator[tuple[UniqueKey, str]]:
    """Constraints and unique indexes that current rows break, each with a few of the values."""
    checks = _Rows(table, tiers)
    for unique in further_keys(table):
        for values in _found_values(session, checks.current_twice(unique)):
            yield unique, values


def refused_rows(
    session: StoreSession, table: Table, tiers: frozenset[Tier]
) -> Iterator[tuple[str, str]]:
    """NOT NULL and CHECK constraints that current rows break, each with the keys of a few."""
    checks, broken = _Rows(table, tiers), dict[str, exp.Expr]()
    for name in dict.fromkeys((*table.key, *(c.physical for c in table.columns if c.not_null))):
        missing = exp.Is(this=column(name), expression=exp.Null())
        broken[f"NOT NULL of {table.by_physical(name).name}"] = missing
    for check in table.checks:
        held = exp.Paren(this=expression(check.expression))
        broken[f'constraint "{check.name}"'] = exp.Not(this=held)
    # One look at the rows, and one more for each constraint only if there are such rows.
    if _found_values(session, checks.current_where(exp.or_(*broken.values())), 1):
        for what, condition in broken.items():
            for key in _found_values(session, checks.current_where(condition)):
                yield what, key


def _found_values(session: StoreSession, query: exp.Query | None, most: int = _SHOWN) -> list[str]:
    if query is None:
        return []
    session.execute(Query(query.limit(most), ()), {})
    return [", ".join(str(v) for v in row) for row in session.fetch_many(most)]


class _Rows:
    """Queries over one journal in its present layout; None where there is nothing to look at."""

    def __init__(self, table: Table, tiers: frozenset[Tier]) -> None:
        self._table = table
        self._reader = Reader(table, tiers)
        self._live = Reader(table, tiers - {Tier.HISTORY})
        self._start = table.format.version_column
        self._end = table.format.subsequent_column
        self._row = (*table.key, self._start)

    def closed_twice(self) -> exp.Query | None:
        """Row versions that more than one closing row names."""
        return self._doubled(self._journal(self._is_closing()), self._row)

    def open_twice(self) -> exp.Query | None:
        """Row versions written more than once."""
        return self._doubled(self._journal(self._is_open()), self._row)

    def dangling(self) -> exp.Query | None:
        """Closing rows that name no row version."""
        ends, opens = self._journal(self._is_closing()), self._journal(self._is_open())
        same = [exp.EQ(this=column(c, "c"), expression=column(c, "o")) for c in self._row]
        named = exp.select(exp.Literal.number(1)).from_(opens.subquery("o")).where(*same)
        found = exp.select(*[column(c, "c") for c in self._row]).from_(ends.subquery("c"))
        return found.where(exp.Not(this=exp.Exists(this=named)))

    def current_twice(self, key: UniqueKey) -> exp.Query | None:
        """Values of a key that more than one current row has."""
        current = self._reader.current([(column(c), c) for c in key.columns])
        names = list(key.columns)
        if not key.is_plain:
            values = key.values(column)
            names = [f"value_{place}" for place in range(len(values))]
            outputs = [exp.alias_(v, n) for v, n in zip(values, names, strict=True)]
            current = exp.select(*outputs).from_(current.subquery("i"))
        filled = [exp.Not(this=exp.Is(this=column(c), expression=exp.Null())) for c in names]
        rows = exp.select("*").from_(current.subquery("c")).where(*filled)
        return self._doubled(rows, names)

    def current_where(self, condition: exp.Expr) -> exp.Query:
        """Keys of the current rows that meet a condition on physical columns."""
        rows = self._reader.current([(column(c.physical), c.physical) for c in self._table.columns])
        keys = [column(name) for name in self._table.key]
        return exp.select(*keys).from_(rows.subquery("c")).where(condition)

    def beyond(self, highest: Version) -> exp.Query | None:
        """Rows written after the last commit."""
        limit = version_value(self._table, exp.Literal.number(highest))
        written = exp.Coalesce(this=column(self._end), expressions=[column(self._start)])
        rows = self._reader.journal()
        late = exp.GT(this=written, expression=limit)
        found = exp.select(*[column(c) for c in self._row]).from_(rows.subquery("j"))
        return found.where(late)

    def ahead_of(self, version: Version) -> exp.Query | None:
        """Rows with a later version."""
        limit = version_value(self._table, exp.Literal.number(version))
        later = exp.GT(this=column(self._start), expression=limit)
        rows = self._reader.journal().subquery("j")
        return exp.select(*[column(c) for c in self._row]).from_(rows).where(later)

    def _journal(self, where: exp.Expr) -> exp.Select:
        rows = union_all([self._live.journal()])
        return exp.select("*").from_(rows.subquery("j")).where(where)

    def _doubled(self, rows: exp.Query, columns: Sequence[str]) -> exp.Query:
        names = [column(c) for c in columns]
        several = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(1))
        found = exp.select(*names).from_(rows.subquery("r"))
        return found.group_by(*[exp.column(ident(c)) for c in columns]).having(several)

    def _is_open(self) -> exp.Expr:
        return exp.Is(this=column(self._end), expression=exp.Null())

    def _is_closing(self) -> exp.Expr:
        return exp.GT(this=column(self._end), expression=column(self._start))
