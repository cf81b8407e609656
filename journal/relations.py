"""The relations a journal can be read through, as SQL over its tiers: one builder per shape.

Rows of a journal: *open* (subsequent NULL), *closing* (subsequent > version; names exactly one open
row by key and version), *tombstone* (subsequent = version; for classic readers, ignored here), and
in the history tier *archived* rows, whose interval is complete. No window is needed anywhere,
because every change appends what it ends as well as what it begins. Builders return fresh AST and
do no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from sqlglot import exp

from journal.plan import physical
from journal.schema import Column, Table
from journal.segment import Tier
from journal.version import VersionType

Output = tuple[exp.Expr, str]
"""An expression over the unqualified stored columns, and the name it goes by."""

_CHANGES = (Tier.DELTA, Tier.HEAD, Tier.BUFFER)


def ident(name: str) -> exp.Identifier:
    """A quoted identifier: user names may be anything."""
    return exp.to_identifier(name, quoted=True)


def column(name: str, of: str | None = None) -> exp.Column:
    """A quoted column, qualified when ``of`` is given."""
    return exp.column(ident(name), table=of)


def version_value(table: Table, number: exp.Expr) -> exp.Expr:
    """A version number (BIGINT microseconds) in the type of the table's version columns."""
    if table.format.version_type is VersionType.BIGINT:
        return number
    return exp.Anonymous(this="make_timestamptz", expressions=[number])


def version_type(table: Table) -> str:
    """SQL type of the table's version columns."""
    return "BIGINT" if table.format.version_type is VersionType.BIGINT else "TIMESTAMPTZ"


def stored_outputs(table: Table) -> list[Output]:
    """All stored columns and the version, under their physical names."""
    names = [c.physical for c in table.stored] + [table.format.version_column]
    return [(column(name), name) for name in names]


def business_outputs(columns: Sequence[Column]) -> list[Output]:
    """Business columns under their logical names."""
    return [(column(c.physical), c.name) for c in columns]


@dataclass(frozen=True, slots=True)
class Reader:
    """Builds the shapes for one table whose journal has rows in ``tiers``."""

    table: Table
    tiers: frozenset[Tier]

    @property
    def _version(self) -> str:
        return self.table.format.version_column

    @property
    def _subsequent(self) -> str:
        return self.table.format.subsequent_column

    def _physical(self, tier: Tier) -> exp.Table:
        return physical(self.table.id, tier, self.table.layout)

    def is_plain(self) -> bool:
        """True when nothing is uncompacted: the base alone is the current view."""
        return not self.tiers & frozenset(_CHANGES)

    def current(self, outputs: Sequence[Output]) -> exp.Query:
        """Current view: open rows that no closing row names."""
        if not self.tiers - {Tier.HISTORY}:
            return self._nothing(outputs)
        changes = [t for t in _CHANGES if t in self.tiers]
        if not changes:
            return self._select(self._physical(Tier.BASE), outputs)
        if Tier.BASE not in self.tiers:
            opens = self._union(changes)
            return self._survivors(opens, outputs, self._is_open(), self._union(changes))
        # One anti-join over both, so that the closing rows are read and hashed once.
        rows: list[exp.Query] = [self._whole(Tier.BASE)]
        for tier in changes:
            opened = exp.Is(this=column(self._subsequent), expression=exp.Null())
            rows.append(self._whole(tier).where(opened, copy=False))
        candidates = union_all(rows).subquery(copy=False)
        return self._survivors(candidates, outputs, None, self._union(changes))

    def base(self, outputs: Sequence[Output]) -> exp.Query:
        """The base alone: what was current when it was written."""
        return self._select(self._physical(Tier.BASE), outputs)

    def signed(self, outputs: Sequence[Output], sign: str) -> exp.Query:
        """What changed since: open rows with ``sign`` 1, closing rows with -1, no tombstones."""
        end = column(self._subsequent)
        is_open = exp.Is(this=end.copy(), expression=exp.Null())
        is_closing = exp.GT(this=end, expression=column(self._version))
        plus, minus = exp.Literal.number(1), exp.Literal.number(-1)
        value = exp.Case(ifs=[exp.If(this=is_open.copy(), true=plus)], default=minus)
        source = exp.alias_(self._union([t for t in _CHANGES if t in self.tiers]), "o", table=True)
        rows = self._select(source, [*outputs, (value, sign)])
        return rows.where(exp.or_(is_open, is_closing))

    def weighed(self, outputs: Sequence[Output], sign: str) -> exp.Query:
        """The base with ``sign`` 1, and what changed since."""
        base = self.base([*outputs, (exp.Literal.number(1), sign)])
        return union_all([base, self.signed(outputs, sign)])

    def by_key(
        self,
        outputs: Sequence[Output],
        keys: Mapping[str, exp.Expr],
        files: Mapping[Tier, str] = MappingProxyType({}),
        point: exp.Expr | None = None,
    ) -> exp.Query:
        """The current row of one key: the latest open row or tombstone, unless a tombstone.

        ``files`` names, for tiers that are read file by file, the parameter with their paths. With
        ``point`` committed rows are read as of that version, own buffered rows as they are.

        Of rows with equal versions the open one counts: a statement that moves keys may end one
        row and begin another under the same key.
        """
        parts = [t for t in (Tier.BASE, *_CHANGES) if t in self.tiers]
        if point is not None and Tier.HISTORY in self.tiers:
            parts.append(Tier.HISTORY)
        if not parts:
            return self._nothing(outputs)
        end, version = column(self._subsequent), column(self._version)
        rows: list[exp.Query] = []
        for tier in parts:
            same = [exp.EQ(this=column(k), expression=v.copy()) for k, v in keys.items()]
            source = self._files(files[tier]) if tier in files else self._physical(tier)
            found = self._of_tier(tier, source).where(*same, copy=False)
            if point is not None and tier is not Tier.BUFFER:
                written = exp.LTE(this=version.copy(), expression=point.copy())
                found = found.where(written, copy=False)
            if tier is Tier.HISTORY:
                assert point is not None
                lasted = exp.GT(this=end.copy(), expression=point.copy())
                found = found.where(lasted, copy=False)
            elif tier is not Tier.BASE:
                latest = exp.or_(
                    exp.Is(this=end.copy(), expression=exp.Null()),
                    exp.EQ(this=end.copy(), expression=version.copy()),
                    copy=False,
                )
                found = found.where(latest, copy=False)
            rows.append(found)
        if parts == [Tier.BASE]:
            return self._select(rows[0].subquery("o", copy=False), outputs)
        ordered = exp.select("*").from_(union_all(rows).subquery("u", copy=False), copy=False)
        ordered = ordered.order_by(
            exp.Ordered(this=version.copy(), desc=True, nulls_first=False),
            exp.Ordered(this=end.copy(), nulls_first=True),
            copy=False,
        ).limit(1, copy=False)
        return self._select(ordered.subquery("o", copy=False), outputs).where(
            self._is_open(), copy=False
        )

    def _of_tier(self, tier: Tier, source: exp.Expr) -> exp.Select:
        """A tier's rows; archived ones look open, as they were within their interval."""
        names = [c.physical for c in self.table.stored] + [self._version]
        end: exp.Expr = column(self._subsequent)
        if tier is Tier.HISTORY:
            null = exp.cast(exp.Null(), version_type(self.table), dialect="duckdb", copy=False)
            end = exp.alias_(null, ident(self._subsequent), copy=False)
        outputs = [*[column(n) for n in names], end]
        return exp.select(*outputs, copy=False).from_(source, copy=False)

    def as_of(self, outputs: Sequence[Output], point: exp.Expr) -> exp.Query:
        """The state at version ``point``, with the transaction's own buffered rows on top."""
        if not self.tiers:
            return self._nothing(outputs)
        closings = self._closings_as_of(point)
        branches: list[exp.Query] = []
        written = exp.LTE(this=column(self._version, "o"), expression=point.copy())
        for tier in (Tier.BASE, Tier.DELTA, Tier.HEAD):
            if tier in self.tiers:
                source = self._physical(tier)
                where = exp.and_(self._is_open(), written.copy())
                branches.append(self._survivors(source, outputs, where, closings))
        if Tier.HISTORY in self.tiers:
            contains = exp.GT(this=column(self._subsequent, "o"), expression=point.copy())
            source = self._physical(Tier.HISTORY)
            where = exp.and_(written.copy(), contains)
            branches.append(self._survivors(source, outputs, where, closings))
        if Tier.BUFFER in self.tiers:
            source = self._physical(Tier.BUFFER)
            branches.append(self._survivors(source, outputs, self._is_open(), closings))
        return union_all(branches)

    def intervals(self, outputs: Sequence[Output]) -> exp.Query:
        """Every row version with its interval: ``[version, subsequent)``, NULL while it lasts.

        The version columns may be used in ``outputs``; the subsequent one is the interval's end.
        """
        if not self.tiers:
            return self._nothing(outputs)
        parts = [t for t in (Tier.BASE, *_CHANGES) if t in self.tiers]
        end = self._subsequent
        branches: list[exp.Query] = []
        if parts:
            opens = exp.select("*").from_(exp.alias_(self._union(parts), "x", table=True))
            opens = opens.where(exp.Is(this=column(end), expression=exp.Null()))
            changes = [t for t in _CHANGES if t in self.tiers]
            if changes:
                ends = self._closing_rows(self._union(changes), None)
                joined = exp.select(
                    exp.Column(this=exp.Star(except_=[ident(end)]), table=exp.to_identifier("o")),
                    exp.alias_(column(end, "c"), ident(end)),
                )
                joined = joined.from_(opens.subquery("o")).join(
                    ends.subquery("c"), on=self._same_row("c", "o"), join_type="left"
                )
                opens = joined
            branches.append(exp.select("*").from_(opens.subquery("h")))
        if Tier.HISTORY in self.tiers:
            branches.append(exp.select("*").from_(self._physical(Tier.HISTORY), copy=False))
        rows = branches[0] if len(branches) == 1 else exp.union(*branches, distinct=False)
        return self._select(rows.subquery("o"), outputs)

    def journal(self, outputs: Sequence[Output] | None = None) -> exp.Query:
        """Every row as written, all tiers, journal columns included."""
        parts = [t for t in Tier if t in self.tiers]
        if outputs is None:
            outputs = [*stored_outputs(self.table), (column(self._subsequent), self._subsequent)]
        if not parts:
            return self._nothing(outputs)
        return union_all([self._select(self._physical(t), outputs) for t in parts])

    def _files(self, parameter: str) -> exp.Table:
        paths = exp.Placeholder(this=parameter)
        return exp.Table(this=exp.Anonymous(this="read_parquet", expressions=[paths]))

    def _select(self, source: exp.Expr, outputs: Sequence[Output]) -> exp.Select:
        return exp.select(*[_named(e.copy(), name) for e, name in outputs], copy=False).from_(
            source, copy=False
        )

    def _nothing(self, outputs: Sequence[Output]) -> exp.Select:
        types = {c.physical: c.type for c in self.table.stored}
        ends = version_type(self.table)
        types |= {self._version: ends, self._subsequent: ends}
        nulls = [
            exp.alias_(exp.cast(exp.Null(), kind, dialect="duckdb"), ident(name))
            for name, kind in types.items()
        ]
        none = exp.select(*nulls).where(exp.false())
        return self._select(none.subquery("o"), outputs)

    def _union(self, tiers: Sequence[Tier]) -> exp.Expr:
        if len(tiers) == 1:
            return self._physical(tiers[0])
        return union_all([self._whole(t) for t in tiers]).subquery(copy=False)

    def _whole(self, tier: Tier) -> exp.Select:
        names = [c.physical for c in self.table.stored] + [self._version, self._subsequent]
        outputs = [column(name) for name in names]
        return exp.select(*outputs, copy=False).from_(self._physical(tier), copy=False)

    def _is_open(self) -> exp.Expr:
        return exp.Is(this=column(self._subsequent, "o"), expression=exp.Null())

    def _same_row(self, left: str, right: str) -> exp.Expr:
        pairs = [*self.table.key, self._version]
        return exp.and_(
            *[exp.EQ(this=column(p, left), expression=column(p, right)) for p in pairs], copy=False
        )

    def _survivors(
        self,
        source: exp.Expr,
        outputs: Sequence[Output],
        where: exp.Expr | None,
        closings: exp.Expr | None,
    ) -> exp.Select:
        rows = self._select(
            exp.alias_(source.copy(), "o", table=True, copy=False), _qualified(outputs, "o")
        )
        if where is not None:
            rows = rows.where(where.copy(), copy=False)
        if closings is None:
            return rows
        is_closing = exp.GT(
            this=column(self._subsequent, "c"), expression=column(self._version, "c")
        )
        # Not NOT EXISTS: over a union DuckDB turns that into a join with all distinct row versions.
        ends = exp.alias_(closings.copy(), "c", table=True, copy=False)
        on = exp.and_(self._same_row("c", "o"), is_closing, copy=False)
        return rows.join(ends, on=on, join_type="anti", copy=False)

    def _closing_rows(self, source: exp.Expr, until: exp.Expr | None) -> exp.Select:
        names = [*self.table.key, self._version, self._subsequent]
        rows = exp.select(*[column(n) for n in names], copy=False).from_(
            exp.alias_(source, "x", table=True)
        )
        rows = rows.where(exp.GT(this=column(self._subsequent), expression=column(self._version)))
        if until is not None:
            rows = rows.where(exp.LTE(this=column(self._subsequent), expression=until.copy()))
        return rows

    def _closings_as_of(self, point: exp.Expr) -> exp.Expr | None:
        committed = [t for t in (Tier.DELTA, Tier.HEAD) if t in self.tiers]
        branches: list[exp.Query] = []
        if committed:
            branches.append(self._closing_rows(self._union(committed), point))
        if Tier.BUFFER in self.tiers:
            branches.append(self._closing_rows(self._physical(Tier.BUFFER), None))
        return union_all(branches).subquery() if branches else None


def union_all(branches: Sequence[exp.Query]) -> exp.Query:
    """The branches after one another; at least one is needed."""
    if len(branches) == 1:
        return branches[0]
    return exp.union(*branches, distinct=False, copy=False)


def _named(expression: exp.Expr, name: str) -> exp.Expr:
    if isinstance(expression, exp.Column) and expression.name == name:
        return expression
    return exp.alias_(expression, ident(name), copy=False)


def _qualified(outputs: Sequence[Output], alias: str) -> list[Output]:
    result: list[Output] = []
    for expression, name in outputs:
        copy = expression.copy()
        for col in list(copy.find_all(exp.Column)):
            if not col.table:
                col.set("table", exp.to_identifier(alias))
        result.append((copy, name))
    return result
