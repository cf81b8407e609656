"""The relations a flat journal can be read through: one plain table, the classic convention.

Every change is a full row with its version; the row of a key with the highest version is the
current one, unless its subsequent version is set: then it is a tombstone. Older rows may have
theirs filled in by archival. Which shape is fastest depends on the engine, so there are four; all
give each key once (``ANTI_JOIN`` as far as key and version are unique, as the convention demands).
Only conditions on key columns may go below the choice of the latest row. Builders return fresh AST
and do no I/O.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlglot import exp

from journal.model.schema import Table
from journal.sql.relations import Output, column, ident

FLAT = "adopted"
"""Property of a table whose journal is flat: what its version columns are in the database."""

STALE_WRITES = "stale_writes"
"""Property of such a table: whether rows of others are refused that could never be seen."""
REFUSE, ALLOW = "refuse", "allow"


def is_flat(table: Table) -> bool:
    """True for a table over a flat journal."""
    return any(name == FLAT for name, _ in table.properties)


class FlatShape(StrEnum):
    """How the latest row of each key is found."""

    WINDOW = "window"
    DISTINCT_ON = "distinct-on"
    ANTI_JOIN = "anti-join"
    LATERAL = "lateral"


SHAPE_REASONS = {
    FlatShape.WINDOW: "a window picks the highest version of each key; runs on every engine",
    FlatShape.DISTINCT_ON: "DISTINCT ON picks the highest version of each key",
    FlatShape.ANTI_JOIN: "rows for which no later row of the same key exists",
    FlatShape.LATERAL: "for each key, its latest row is looked up",
}


@dataclass(frozen=True, slots=True)
class FlatReader:
    """Builds the shapes for one table over its journal table."""

    table: Table
    shape: FlatShape = FlatShape.WINDOW

    @property
    def journal(self) -> exp.Table:
        """The journal table itself."""
        name = self.table.journal_name
        return exp.table_(ident(name.name), db=ident(name.schema))

    def current(self, outputs: Sequence[Output], below: Sequence[exp.Expr] = ()) -> exp.Select:
        """Current view; ``below`` are conditions on unqualified key columns."""
        return self._latest(outputs, below, self._is_null("o"))

    def as_of(
        self, outputs: Sequence[Output], point: exp.Expr, below: Sequence[exp.Expr] = ()
    ) -> exp.Select:
        """The state at version ``point``; archived rows count until their interval ends."""
        known = exp.LTE(this=column(self._version), expression=point.copy())
        later = exp.GT(this=column(self._subsequent, "o"), expression=point.copy())
        alive = exp.or_(self._is_null("o"), later)
        return self._latest(outputs, [known, *below], alive)

    @property
    def _version(self) -> str:
        return self.table.format.version_column

    @property
    def _subsequent(self) -> str:
        return self.table.format.subsequent_column

    @property
    def _names(self) -> list[str]:
        return [c.physical for c in self.table.stored] + [self._version, self._subsequent]

    def _latest(
        self, outputs: Sequence[Output], below: Sequence[exp.Expr], alive: exp.Expr
    ) -> exp.Select:
        rows: exp.Expr
        first: exp.Expr | None
        match self.shape:
            case FlatShape.WINDOW:
                rows, first = self._windowed(below), _is_first()
            case FlatShape.DISTINCT_ON:
                rows, first = self._distinct_on(below), None
            case FlatShape.ANTI_JOIN:
                rows, first = self._rows("o", below), self._nothing_later(below)
            case FlatShape.LATERAL:
                return self._lateral(outputs, below, alive)
        found = exp.select(*_projected(outputs, "o")).from_(_aliased(rows, "o"))
        found = found.where(alive, copy=False)
        return found if first is None else found.where(first, copy=False)

    def _rows(self, alias: str, below: Sequence[exp.Expr]) -> exp.Expr:
        """The journal, narrowed to the conditions where there are any."""
        if not below:
            return exp.alias_(self.journal, alias, table=True)
        rows = exp.select(*[column(n) for n in self._names]).from_(self.journal)
        return rows.where(*[c.copy() for c in below]).subquery(alias)

    def _windowed(self, below: Sequence[exp.Expr]) -> exp.Select:
        number = exp.Window(
            this=exp.RowNumber(),
            partition_by=[column(k) for k in self.table.key],
            order=exp.Order(expressions=self._newest_first()),
        )
        rows = exp.select(*[column(n) for n in self._names], exp.alias_(number, _ROW))
        rows = rows.from_(self.journal)
        return rows.where(*[c.copy() for c in below]) if below else rows

    def _distinct_on(self, below: Sequence[exp.Expr]) -> exp.Select:
        keys = [column(k) for k in self.table.key]
        rows = exp.select(*[column(n) for n in self._names]).from_(self.journal)
        rows.set("distinct", exp.Distinct(on=exp.Tuple(expressions=keys)))
        rows = rows.order_by(*[k.copy() for k in keys], *self._newest_first())
        return rows.where(*[c.copy() for c in below]) if below else rows

    def _nothing_later(self, below: Sequence[exp.Expr]) -> exp.Expr:
        same = [exp.EQ(this=column(k, "n"), expression=column(k, "o")) for k in self.table.key]
        later = exp.GT(this=column(self._version, "n"), expression=column(self._version, "o"))
        found = exp.select(exp.Literal.number(1)).from_(self._rows("n", below))
        return exp.Not(this=exp.Exists(this=found.where(*same, later)))

    def _lateral(
        self, outputs: Sequence[Output], below: Sequence[exp.Expr], alive: exp.Expr
    ) -> exp.Select:
        keys = exp.select(*[column(k) for k in self.table.key]).distinct().from_(self.journal)
        if below:
            keys = keys.where(*[c.copy() for c in below])
        same = [exp.EQ(this=column(k, "j"), expression=column(k, "k")) for k in self.table.key]
        rows = exp.select(*[column(n, "j") for n in self._names])
        rows = rows.from_(exp.alias_(self.journal, "j", table=True)).where(*same)
        points = [c for c in below if not _on_keys(c, self.table)]
        if points:
            rows = rows.where(*[_qualified(c, "j") for c in points])
        rows = rows.order_by(*self._newest_first("j")).limit(1)
        lateral = exp.Lateral(
            this=rows.subquery(), alias=exp.TableAlias(this=exp.to_identifier("o"))
        )
        found = exp.select(*_projected(outputs, "o")).from_(keys.subquery("k"))
        found.append("joins", exp.Join(this=lateral, kind="CROSS"))
        return found.where(alive, copy=False)

    def _newest_first(self, of: str | None = None) -> list[exp.Ordered]:
        """Highest version first; of equal ones, the open row."""
        return [
            exp.Ordered(this=column(self._version, of), desc=True, nulls_first=False),
            exp.Ordered(this=column(self._subsequent, of), desc=False, nulls_first=True),
        ]

    def _is_null(self, alias: str) -> exp.Expr:
        return exp.Is(this=column(self._subsequent, alias), expression=exp.Null())


_ROW = "_row"


def _is_first() -> exp.Expr:
    return exp.EQ(this=exp.column(_ROW, table="o"), expression=exp.Literal.number(1))


def _aliased(rows: exp.Expr, alias: str) -> exp.Expr:
    return rows.subquery(alias) if isinstance(rows, exp.Select) else rows


def _on_keys(condition: exp.Expr, table: Table) -> bool:
    return all(c.name in table.key for c in condition.find_all(exp.Column))


def _qualified(expression: exp.Expr, alias: str) -> exp.Expr:
    copy = expression.copy()
    for found in list(copy.find_all(exp.Column)):
        if not found.table:
            found.set("table", exp.to_identifier(alias))
    return copy


def _projected(outputs: Sequence[Output], alias: str) -> list[exp.Expr]:
    projections: list[exp.Expr] = []
    for expression, name in outputs:
        value = _qualified(expression, alias)
        same = isinstance(value, exp.Column) and value.name == name
        projections.append(value if same else exp.alias_(value, ident(name)))
    return projections
