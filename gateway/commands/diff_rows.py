"""Reads the difference of two states of a table row by row, and counts it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from decimal import Decimal
from enum import StrEnum

from sqlglot import exp

from gateway.dbapi.connection import Connection
from gateway.shell.files import table_name
from gateway.shell.result import Row, ShownColumn, ShownResult
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from rewriter.reading.past.time_travel import point_expression

Number = int | float | Decimal
_ADDED = 3
"""How many columns ``table_diff`` has besides those of the table; the first says what happened."""


class RowChange(StrEnum):
    """What became of a row."""

    INSERT = "insert"
    DELETE = "delete"
    UPDATE = "update"


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """A row that differs; ``changed`` are the places of the columns that do, of an update."""

    change: RowChange
    before: Row | None
    after: Row | None
    changed: tuple[int, ...] = ()


@dataclass(slots=True)
class DiffCounts:
    """What has been counted of the rows so far; ``columns`` by place, ``added`` where summed."""

    columns: list[int]
    added: dict[int, Number]
    of: dict[RowChange, int] = field(default_factory=lambda: dict.fromkeys(RowChange, 0))

    @property
    def rows(self) -> int:
        """How many rows differ."""
        return sum(self.of.values())

    def add(self, row: ChangedRow) -> None:
        """Count one more row."""
        self.of[row.change] += 1
        for place in row.changed:
            self.columns[place] += 1
        for place in self.added:
            for values, sign in ((row.after, 1), (row.before, -1)):
                value = None if values is None else values[place]
                if value is not None:
                    self.added[place] += sign * value


@dataclass(frozen=True, slots=True)
class ColumnTotal:
    """The sum of a column, or the number of rows, at both points."""

    name: str
    before: Number
    after: Number

    @property
    def difference(self) -> Number:
        """How much there is more at the later point."""
        return self.after - self.before  # type: ignore[operator]


@dataclass(slots=True)
class TableDiff:
    """The difference of a table between two points; ``counts`` grow while ``rows`` are read."""

    table: str
    since: str
    until: str | None
    columns: tuple[ShownColumn, ...]
    keys: frozenset[int]
    rows: Iterator[ChangedRow]
    counts: DiffCounts
    sums: Sequence[Number | None]
    """At the later point: the number of rows, then the sums of ``counts.added`` in order."""

    def totals(self) -> list[ColumnTotal]:
        """Totals at both points, once all rows are read."""
        of = self.counts.of
        now, *sums = self.sums
        more = of[RowChange.INSERT] - of[RowChange.DELETE]
        found = [ColumnTotal("rows", (now or 0) - more, now or 0)]
        for (place, added), total in zip(self.counts.added.items(), sums, strict=True):
            after = total or 0
            name = self.columns[place].name
            found.append(ColumnTotal(name, after - added, after))  # type: ignore[operator]
        return found


def read_diff(
    connection: Connection, table: str, since: str, until: str | None, dialect: str
) -> TableDiff:
    """The difference of a table between two points, as ``--as-of`` takes them.

    Everything is read in one transaction, so that it is of one state of the store.
    """
    name = table_name(connection, table)
    known = connection.client_session.catalog.get(name)
    shown = name if known is None else known.name
    source = exp.table_(shown.name, db=shown.schema, quoted=True)
    points = [point_expression(text, dialect) for text in (since, until) if text is not None]
    connection.execute("BEGIN READ ONLY")
    arguments = [exp.Literal.string(source.sql(dialect="duckdb")), *points]
    called = exp.Table(this=exp.Anonymous(this="table_diff", expressions=arguments))
    result = _run(connection, exp.select("*").from_(called))
    columns = result.columns[:-_ADDED]
    keys = _key_places(known, columns) if isinstance(known, Table) else frozenset()
    summed = {i: 0 for i, c in enumerate(columns) if c.is_number and i not in keys}
    counts = DiffCounts([0] * len(columns), dict(summed))
    if until is not None:
        at = exp.Version(this="VERSION", kind="AS OF", expression=points[-1].copy())
        source.set("version", at)
    totals: list[exp.Expr] = [exp.Count(this=exp.Star())]
    totals += [exp.Sum(this=exp.column(columns[i].name, quoted=True)) for i in summed]
    (sums,) = _run(connection, exp.select(*totals).from_(source)).rows
    rows = _counted(changed_rows(result.rows), counts)
    return TableDiff(str(shown), since, until, columns, keys, rows, counts, sums)


def _run(connection: Connection, query: exp.Select) -> ShownResult:
    cursor = connection.cursor()
    cursor.execute(query.sql(dialect="duckdb"))
    return ShownResult.of(cursor, connection)


def _key_places(table: Table, columns: Sequence[ShownColumn]) -> frozenset[int]:
    keys = {c.name for c in table.columns if c.physical in table.key}
    return frozenset(i for i, c in enumerate(columns) if c.name in keys)


def _counted(rows: Iterator[ChangedRow], counts: DiffCounts) -> Iterator[ChangedRow]:
    for row in rows:
        counts.add(row)
        yield row


def changed_rows(rows: Iterator[Row]) -> Iterator[ChangedRow]:
    """The rows of ``table_diff``, those of an update put together.

    >>> rows = [(1, "x", "update_preimage", 7, None), (1, "y", "update_postimage", 7, None)]
    >>> [(row.change.value, row.changed) for row in changed_rows(iter(rows))]
    [('update', (1,))]
    """
    before: Row = ()
    for row in rows:
        kind, values = row[-_ADDED], row[:-_ADDED]
        if kind == "update_preimage":
            before = values
        elif kind == "update_postimage":
            places = (
                i for i, pair in enumerate(zip(before, values, strict=True)) if _differ(*pair)
            )
            yield ChangedRow(RowChange.UPDATE, before, values, tuple(places))
        elif kind == "insert":
            yield ChangedRow(RowChange.INSERT, None, values)
        else:
            yield ChangedRow(RowChange.DELETE, values, None)


def _differ(one: object, other: object) -> bool:
    """Whether two values differ; NaN is like itself."""
    return one != other and not (one != one and other != other)
