"""The relations a journal can be read through, as SQL over its tiers: one builder per shape.

Rows of a journal: *open* (subsequent NULL), *closing* (subsequent > version; names exactly one open
row by key and version), *tombstone* (subsequent = version; for classic readers, ignored here), and
in the history tier *archived* rows, whose interval is complete. No window is needed anywhere,
because every change appends what it ends as well as what it begins. Builders return fresh AST and
do no I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.plan import physical, placed
from journal.model.point_rows import ROW_THERE, ROW_VERSION, KeyLookup, row_parameter
from journal.model.schema import Column, Table
from journal.model.segment import Tier
from journal.model.trees import copy_tree
from journal.model.version import VersionType
from journal.sql.sql import all_of, cast, limited, relation, select, select_star, where

Output = tuple[exp.Expr, str]
"""An expression over the unqualified stored columns, and the name it goes by."""

BY_KEY = "by_key"
"""Where own rows of a transaction keep, among their meta data, the key by which they are read."""

WHOLE_TIER = "whole_tier"
"""Where a source of some files keeps, among its meta data, that of all rows of its tier."""
CHANGES = (Tier.DELTA, Tier.HEAD, Tier.BUFFER)


def ident(name: str) -> exp.Identifier:
    """A quoted identifier: user names may be anything."""
    return exp.Identifier(this=name, quoted=True)


def column(name: str, of: str | None = None) -> exp.Column:
    """A quoted column, qualified when ``of`` is given."""
    return exp.Column(this=ident(name), table=None if of is None else exp.to_identifier(of))


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
    return [(collated(column(c.physical), c), c.name) for c in columns]


def collated(value: exp.Expr, stored: Column) -> exp.Expr:
    """A column's value as it is compared; its collation goes with it through queries."""
    if stored.collation is None:
        return value
    *schemas, name = stored.collation.split(".")
    order = exp.column(name, *reversed(schemas), quoted=True) if schemas else ident(name)
    return exp.Collate(this=value, expression=order)


@dataclass(frozen=True, slots=True)
class Reader:
    """Builds the shapes for one table whose journal has rows in ``tiers``.

    ``placed``: it is known by position which sealed rows have ended, and there is no buffer.
    ``files``: for tiers of which some files are enough, the parameter with their paths.
    ``planned_apart``: an anti-join stands below a union, so that the optimizer orders the joins
    around it as it would around a plain table; a branch without rows makes that union.
    """

    table: Table
    tiers: frozenset[Tier]
    placed: bool = False
    files: Mapping[Tier, str] = field(default_factory=dict)
    planned_apart: bool = False

    @property
    def _version(self) -> str:
        return self.table.format.version_column

    @property
    def _subsequent(self) -> str:
        return self.table.format.subsequent_column

    def _physical(self, tier: Tier) -> exp.Table:
        if tier in self.files:
            return self._files(tier, self.files[tier])
        return physical(self.table.id, tier, self.table.layout)

    def is_plain(self) -> bool:
        """True when nothing is uncompacted: the base alone is the current view."""
        return not self.tiers & frozenset(CHANGES)

    @property
    def shape(self) -> tuple[str, str]:
        """The shape that ``current`` has, and why."""
        of_files = "; files whose filters allow it" if self.files else ""
        if self.is_plain():
            return "base", f"nothing is uncompacted{of_files}"
        shape, why = "anti-join", "open rows that no closing row names"
        if self.placed:
            shape, why = "positions", "it is known which sealed rows have ended"
        elif self.planned_apart:
            why += ", planned apart from the joins around them"
        return shape, f"{why}; tiers: {', '.join(sorted(self.tiers))}{of_files}"

    def current(self, outputs: Sequence[Output]) -> exp.Query:
        """Current view: open rows that no closing row names."""
        if not self.tiers - {Tier.HISTORY}:
            return self._no_rows(outputs)
        changes = [t for t in CHANGES if t in self.tiers]
        if not changes:
            return self._select(self._physical(Tier.BASE), outputs)
        if self.placed:
            return self._by_position(outputs)
        if Tier.BASE not in self.tiers:
            opens = self._union(changes)
            rows = self._survivors(opens, outputs, self._is_open(), self._union(changes))
            return self._anti_join_below_union(rows, outputs, changes)
        # One anti-join over both, so that the closing rows are read and hashed once.
        parts: list[exp.Query] = [self._all_rows(Tier.BASE)]
        for tier in changes:
            opened = exp.Is(this=column(self._subsequent), expression=exp.Null())
            parts.append(where(self._all_rows(tier), opened))
        candidates = union_all(parts).subquery(copy=False)
        rows = self._survivors(candidates, outputs, None, self._union(changes))
        return self._anti_join_below_union(rows, outputs, changes)

    def _anti_join_below_union(
        self, rows: exp.Query, outputs: Sequence[Output], changes: Sequence[Tier]
    ) -> exp.Query:
        """The same rows below a union, if that is asked for."""
        if not self.planned_apart:
            return rows
        # No row was written before all time. Files need no reading to tell that, nor does a head.
        tier = Tier.HEAD if Tier.HEAD in changes else changes[0]
        never = version_value(self.table, exp.Literal.number(0))
        earlier = exp.LT(this=column(self._version), expression=never)
        none = where(self._select(self._physical(tier), outputs), earlier)
        return union_all([rows, none])

    def _by_position(self, outputs: Sequence[Output]) -> exp.Query:
        rows: list[exp.Query] = [self._select(placed(self.table.id), outputs)]
        if Tier.HEAD in self.tiers:
            # A large write goes to sealed files at once, and may end rows that the head has.
            ends = self._union([t for t in CHANGES if t in self.tiers])
            head = self._physical(Tier.HEAD)
            rows.append(self._survivors(head, outputs, self._is_open(), ends))
        return union_all(rows)

    def base(self, outputs: Sequence[Output]) -> exp.Query:
        """The base alone: what was current when it was written."""
        return self._select(self._physical(Tier.BASE), outputs)

    def by_key(
        self,
        outputs: Sequence[Output],
        keys: Mapping[str, exp.Expr],
        files: Mapping[Tier, str] = MappingProxyType({}),
        point: exp.Expr | None = None,
        apart: Mapping[str, exp.Expr] = MappingProxyType({}),
    ) -> exp.Query:
        """The current row of one key: what was written last, if that is an open row.

        With other values than ``apart`` it is not wanted; the base may be searched by them, too.
        ``files`` names, for tiers that are read file by file, the parameter with their paths. With
        ``point`` committed rows are read as of that version, own buffered rows as they are.

        A row that ends was written when it ended. Of rows written at once the open one counts: it
        is what the others made way for. Where that row was removed by its date, none is left.
        """
        parts = [t for t in (Tier.BASE, *CHANGES) if t in self.tiers]
        if point is not None and Tier.HISTORY in self.tiers:
            parts.append(Tier.HISTORY)
        if not parts:
            return self._no_rows(outputs)
        # Whether there is a row, its versions tell.
        asks_values = any(value.find(exp.Column) for value, _ in outputs)
        names = [c.physical for c in self.table.stored] if asks_values else []
        rows: list[exp.Query] = []
        for tier in parts:
            source = self._files(tier, files[tier]) if tier in files else self._physical(tier)
            if tier is Tier.BUFFER:
                source.meta[BY_KEY] = KeyLookup.of(self.table, keys, 0)
            wanted: list[exp.Expr] = [
                exp.EQ(this=column(k), expression=copy_tree(v))
                for k, v in (keys if tier is not Tier.BASE else {**apart, **keys}).items()
            ]
            if point is not None and tier is not Tier.BUFFER:
                when: exp.Expr = column(self._version)
                if tier not in {Tier.BASE, Tier.HISTORY}:
                    when = self._written_at()
                wanted.append(exp.LTE(this=when, expression=point.copy()))
            if tier is Tier.HISTORY:
                assert point is not None
                wanted.append(exp.GT(this=column(self._subsequent), expression=point.copy()))
            rows.append(self._of_tier(tier, source, names, *wanted))
        if parts == [Tier.BASE]:
            return self._select(relation(rows[0], "o"), outputs)
        ordered = select_star(relation(union_all(rows), "u"))
        ordered = ordered.order_by(
            exp.Ordered(this=self._written_at(), desc=True, nulls_first=False),
            exp.Ordered(this=column(self._subsequent), nulls_first=True),
            copy=False,
        )
        limited(ordered)
        return where(self._select(relation(ordered, "o"), outputs), self._is_open())

    def row_from_parameters(self, outputs: Sequence[Output], name: str) -> exp.Query:
        """The row that is given as parameters under ``name``, if it is there."""
        values: list[exp.Expr] = [
            _output(cast(_row_parameter(name, i), c.type), c.physical)
            for i, c in enumerate(self.table.stored)
        ]
        version = version_value(self.table, _row_parameter(name, ROW_VERSION))
        values.append(_output(cast(version, version_type(self.table)), self._version))
        row = where(exp.Select(expressions=values), _row_parameter(name, ROW_THERE))
        return self._select(relation(row, "o"), outputs)

    def _of_tier(
        self, tier: Tier, source: exp.Expr, names: Sequence[str], *conditions: exp.Expr
    ) -> exp.Select:
        """Some of a tier's rows; archived ones look open, as they were within their interval."""
        end: exp.Expr = column(self._subsequent)
        if tier is Tier.HISTORY:
            end = _output(cast(exp.Null(), version_type(self.table)), self._subsequent)
        return select([column(n) for n in (*names, self._version)] + [end], source, *conditions)

    def as_of(self, outputs: Sequence[Output], point: exp.Expr) -> exp.Query:
        """The state at version ``point``, with the transaction's own buffered rows on top."""
        if not self.tiers:
            return self._no_rows(outputs)
        ends = self._closings_as_of(point)
        branches: list[exp.Query] = []
        for tier in (Tier.BASE, Tier.DELTA, Tier.HEAD, Tier.HISTORY):
            if tier not in self.tiers:
                continue
            written = exp.LTE(this=column(self._version, "o"), expression=point.copy())
            there: exp.Expr = self._is_open()
            if tier is Tier.HISTORY:
                there = exp.GT(this=column(self._subsequent, "o"), expression=point.copy())
            closings = None if ends is None else ends.copy()
            source = self._physical(tier)
            branches.append(self._survivors(source, outputs, all_of(there, written), closings))
        if Tier.BUFFER in self.tiers:
            source = self._physical(Tier.BUFFER)
            branches.append(self._survivors(source, outputs, self._is_open(), ends))
        return union_all(branches)

    def intervals(self, outputs: Sequence[Output]) -> exp.Query:
        """Every row version with its interval: ``[version, subsequent)``, NULL while it lasts.

        The version columns may be used in ``outputs``; the subsequent one is the interval's end.
        """
        if not self.tiers:
            return self._no_rows(outputs)
        parts = [t for t in (Tier.BASE, *CHANGES) if t in self.tiers]
        end = self._subsequent
        branches: list[exp.Query] = []
        if parts:
            opens = select_star(aliased(self._union(parts), "x"))
            opens = where(opens, exp.Is(this=column(end), expression=exp.Null()))
            changes = [t for t in CHANGES if t in self.tiers]
            if changes:
                ends = self._closing_rows(self._union(changes), None)
                names = [*(c.physical for c in self.table.stored), self._version]
                joined = [
                    *(column(name, "o") for name in names),
                    _output(column(end, "c"), end, always=True),
                ]
                opens = select(joined, relation(opens, "o")).join(
                    relation(ends, "c"),
                    on=self._same_row("c", "o"),
                    join_type="left",
                    copy=False,
                )
            branches.append(select_star(relation(opens, "h")))
        if Tier.HISTORY in self.tiers:
            branches.append(select_star(self._physical(Tier.HISTORY)))
        return self._select(relation(union_all(branches), "o"), outputs)

    def journal(self, outputs: Sequence[Output] | None = None) -> exp.Query:
        """Every row as written, all tiers, journal columns included."""
        parts = [t for t in Tier if t in self.tiers]
        if outputs is None:
            outputs = [*stored_outputs(self.table), (column(self._subsequent), self._subsequent)]
        if not parts:
            return self._no_rows(outputs)
        return union_all([self._select(self._physical(t), outputs) for t in parts])

    def _files(self, tier: Tier, parameter: str) -> exp.Table:
        paths = exp.Placeholder(this=parameter)
        source = exp.Table(this=exp.Anonymous(this="read_parquet", expressions=[paths]))
        source.meta[WHOLE_TIER] = physical(self.table.id, tier, self.table.layout)
        return source

    def _select(
        self, source: exp.Expr, outputs: Sequence[Output], of: str | None = None
    ) -> exp.Select:
        return select([_output(_fresh(e, of), name) for e, name in outputs], source)

    def _no_rows(self, outputs: Sequence[Output]) -> exp.Select:
        types = {c.physical: c.type for c in self.table.stored}
        ends = version_type(self.table)
        types |= {self._version: ends, self._subsequent: ends}
        nulls = [_output(cast(exp.Null(), kind), name) for name, kind in types.items()]
        none = where(exp.Select(expressions=nulls), exp.false())
        return self._select(relation(none, "o"), outputs)

    def _union(self, tiers: Sequence[Tier]) -> exp.Expr:
        if len(tiers) == 1:
            return self._physical(tiers[0])
        return relation(union_all([self._all_rows(t) for t in tiers]))

    def _all_rows(self, tier: Tier) -> exp.Select:
        names = [c.physical for c in self.table.stored] + [self._version, self._subsequent]
        return select([column(name) for name in names], self._physical(tier))

    def _written_at(self) -> exp.Expr:
        """When a row was written: a row that ends, when it ended."""
        return exp.Coalesce(this=column(self._subsequent), expressions=[column(self._version)])

    def _is_open(self) -> exp.Expr:
        return exp.Is(this=column(self._subsequent, "o"), expression=exp.Null())

    def _same_row(self, left: str, right: str) -> exp.Expr:
        pairs = [*self.table.key, self._version]
        return all_of(*[exp.EQ(this=column(p, left), expression=column(p, right)) for p in pairs])

    def _survivors(
        self,
        source: exp.Expr,
        outputs: Sequence[Output],
        kept: exp.Expr | None,
        closings: exp.Expr | None,
    ) -> exp.Select:
        rows = self._select(aliased(source, "o"), outputs, "o")
        if kept is not None:
            rows = where(rows, kept)
        if closings is None:
            return rows
        is_closing = exp.GT(
            this=column(self._subsequent, "c"), expression=column(self._version, "c")
        )
        # Not NOT EXISTS: over a union DuckDB turns that into a join with all distinct row versions.
        on = all_of(self._same_row("c", "o"), is_closing)
        rows.append("joins", exp.Join(this=aliased(closings, "c"), kind="ANTI", on=on))
        return rows

    def _closing_rows(self, source: exp.Expr, until: exp.Expr | None) -> exp.Select:
        names = [*self.table.key, self._version, self._subsequent]
        rows = select(
            [column(n) for n in names],
            aliased(source, "x"),
            exp.GT(this=column(self._subsequent), expression=column(self._version)),
        )
        if until is not None:
            ended = exp.LTE(this=column(self._subsequent), expression=until.copy())
            rows = where(rows, ended)
        return rows

    def _closings_as_of(self, point: exp.Expr) -> exp.Expr | None:
        committed = [t for t in (Tier.DELTA, Tier.HEAD) if t in self.tiers]
        branches: list[exp.Query] = []
        if committed:
            branches.append(self._closing_rows(self._union(committed), point))
        if Tier.BUFFER in self.tiers:
            branches.append(self._closing_rows(self._physical(Tier.BUFFER), None))
        return relation(union_all(branches)) if branches else None


def _row_parameter(name: str, part: int | str) -> exp.Placeholder:
    return exp.Placeholder(this=row_parameter(name, part))


def union_all(branches: Iterable[exp.Query]) -> exp.Query:
    """The branches after one another; at least one is needed."""
    found, *rest = branches
    return exp.union(found, *rest, distinct=False, copy=False) if rest else found


def _output(expression: exp.Expr, name: str, *, always: bool = False) -> exp.Expr:
    if isinstance(expression, exp.Column) and expression.name == name and not always:
        return expression
    return exp.Alias(this=expression, alias=ident(name))


def aliased(source: exp.Expr, alias: str) -> exp.Expr:
    """The relation itself, under another name."""
    source.set("alias", exp.TableAlias(this=exp.Identifier(this=alias)))
    return source


def _fresh(expression: exp.Expr, of: str | None) -> exp.Expr:
    """A copy whose columns are those of the relation ``of``."""
    plain = isinstance(expression, exp.Column) and isinstance(expression.this, exp.Identifier)
    if plain and not expression.args.get("table"):
        return column(expression.name, of)
    copy = copy_tree(expression)
    if of is not None:
        for col in list(copy.find_all(exp.Column)):
            if not col.table:
                col.set("table", exp.to_identifier(of))
    return copy
