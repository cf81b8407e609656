"""The past of a table as relations: its state at a point, its row versions, its changes.

Points and row versions come from the same journal rows as the current view, so nothing is kept
twice. A row's own uncommitted changes are never part of its history. Pure: AST in, AST out.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.plan import STORE_SCHEMA
from journal.model.schema import Column, Table, fold
from journal.model.segment import Tier
from journal.model.version import VersionType
from journal.sql.relations import (
    Output,
    Reader,
    business_outputs,
    column,
    ident,
    version_type,
    version_value,
)
from journal.sql.relations_flat import is_flat
from journal.sql.sql import all_of, cast
from rewriter.name_resolution import INTERNAL
from rewriter.reading.past.time_travel import Span
from rewriter.reading.past.version_columns import version_column_names

START, END = f"{INTERNAL}from", f"{INTERNAL}until"
"""What the ends of a row version are called in relations of this module."""
_BEGUN, _ENDED, _PAIRED = f"{INTERNAL}begun", f"{INTERNAL}ended", f"{INTERNAL}paired"
"""Row versions that began, and that ended, between two versions, and what both have."""
_EDGES = (_BEGUN, _ENDED)


@dataclass(frozen=True, slots=True)
class Past:
    """The committed journal of a table as it is known to a transaction that reads at ``limit``.

    ``limit`` (a version, or None) hides what others committed later.
    """

    table: Table
    tiers: frozenset[Tier]
    limit: exp.Expr | None = None

    def state_at(self, point: exp.Expr, outputs: Sequence[Output]) -> exp.Query:
        """The state at a version."""
        reader = Reader(self.table, self.tiers - {Tier.BUFFER})
        return reader.as_of(outputs, version_value(self.table, point))

    def current(self, outputs: Sequence[Output]) -> exp.Query:
        """The rows that are current, at the limit if there is one."""
        if self.limit is not None:
            return self.state_at(self.limit, outputs)
        return Reader(self.table, self.tiers - {Tier.BUFFER}).current(outputs)

    def versions_in(self, span: Span, points: Sequence[exp.Expr], versioned: bool) -> exp.Query:
        """One row per row version that was current in the span; business columns, perhaps ends."""
        outputs = business_outputs(self.table.columns)
        if versioned:
            outputs += version_outputs(self.table)
        rows = self.intervals()
        ends = [version_value(self.table, p) for p in points]
        start, end = column(START, "i"), column(END, "i")
        query = exp.select(*[aliased(e, name) for e, name in outputs]).from_(rows.subquery("i"))
        match span:
            case Span.FROM | Span.BETWEEN:
                compare = exp.LT if span is Span.FROM else exp.LTE
                query = query.where(
                    compare(this=start, expression=ends[1]),
                    exp.or_(_is_null(end), exp.GT(this=end.copy(), expression=ends[0])),
                )
            case Span.CONTAINED:
                query = query.where(
                    exp.GTE(this=start, expression=ends[0]),
                    exp.LTE(this=end, expression=ends[1]),
                )
            case _:
                pass
        return query

    def versions_with_writers(self) -> exp.Query:
        """Business columns, the time each row version was current, and who wrote it."""
        taken = {fold(c.name) for c in self.table.columns}
        begun = version_number(self.table, column(START, "i"))
        moments: list[Output] = [
            (version_time(self.table, column(START, "i")), "valid_from"),
            (version_time(self.table, column(END, "i")), "valid_to"),
            (of_writer("user_name", begun), "user"),
            (of_writer("application", begun), "application"),
            (of_writer("statement_digest", begun), "statement_digest"),
            (of_writer("message", begun), "message"),
        ]
        outputs = [(e, free_name(name, taken)) for e, name in moments]
        business = [(column(c.physical, "i"), c.name) for c in self.table.columns]
        query = exp.select(*[aliased(e, name) for e, name in (*business, *outputs)])
        query = query.from_(self.intervals().subquery("i"))
        query = with_writer(query, begun)
        keys = [column(k, "i") for k in self.table.key]
        return query.order_by(*keys, column(START, "i"))

    def changes_between(self, first: exp.Expr, last: exp.Expr) -> exp.Query:
        """Business columns of each change between two versions, both included, and its kind.

        What began is looked up in what ended, of which there often is little: a version of a key
        that begins when another ends is an update. In a base alone nothing has ended.
        """
        table = self.table
        begun = self._at_edge(START, first, last)
        if self._is_base_alone:
            every, kind = _all_of(begun.subquery("x")), exp.Literal.string("insert")
            events: exp.Query = _named_events(every, 1, kind)
            # What is read twice the store would keep: it takes longer than to read a column again.
            moments = [self._at_edge(START, first, last, ())]
            clauses = []
        else:
            begins = _paired_events(_BEGUN, table.key, 1, "insert", "update_postimage")
            ends = _paired_events(_ENDED, table.key, 0, "delete", "update_preimage")
            events = exp.union(begins, ends, distinct=False, copy=False)
            moments = [exp.select(column("_at", "x")).from_(_named(n, "x")) for n in _EDGES]
            clauses = [
                _cte(_BEGUN, begun),
                _cte(_ENDED, self._at_edge(END, first, last)),
                _cte(_PAIRED, _paired(table.key)),
            ]
        outputs = [aliased(column(c.physical, "e"), c.name) for c in table.columns]
        outputs += [
            aliased(column("_kind", "e"), "_change_type"),
            aliased(column("version", "t"), "_version"),
            aliased(column("committed_at", "t"), "_committed_at"),
        ]
        query = exp.select(*outputs).from_(events.subquery("e"))
        same = exp.EQ(this=column("_at", "t"), expression=column("_at", "e"))
        query = query.join(self._writers(moments).subquery("t"), on=same, join_type="left")
        if clauses:
            query.set("with_", exp.With(expressions=clauses))
        keys = [column(k, "e") for k in table.key]
        return query.order_by(column("_at", "e"), *keys, column("_edge", "e"))

    @property
    def _is_base_alone(self) -> bool:
        """True for a journal of which each row is in a base, which holds none that has ended."""
        return self.tiers - {Tier.BUFFER} <= {Tier.BASE} and not is_flat(self.table)

    def _at_edge(
        self,
        edge: str,
        first: exp.Expr,
        last: exp.Expr,
        columns: Sequence[Column] | None = None,
    ) -> exp.Select:
        """Row versions of which an end, called ``_at``, lies between two versions.

        They have all stored columns, or these.
        """
        at = column(edge, "i")
        shown = self.table.stored if columns is None else columns
        outputs = [column(c.physical, "i") for c in shown]
        query = exp.select(*outputs, exp.alias_(at, "_at"))
        query = query.from_(self.intervals().subquery("i"))
        return query.where(
            exp.GTE(this=at.copy(), expression=version_value(self.table, first.copy())),
            exp.LTE(this=at.copy(), expression=version_value(self.table, last.copy())),
        )

    def _writers(self, moments: Sequence[exp.Select]) -> exp.Select:
        """The transaction of each ``_at`` of some queries: there are fewer of them than rows."""
        first, *more = moments
        distinct = exp.union(first, *more, distinct=True, copy=False) if more else first.distinct()
        each = distinct.subquery("d")
        at = column("_at", "d")
        outputs = [at, column("version", "w"), column("committed_at", "w")]
        return with_writer(exp.select(*outputs).from_(each), version_number(self.table, at.copy()))

    def intervals(self) -> exp.Query:
        """Stored columns with the start and end of each row version, up to the limit."""
        table = self.table
        reader = Reader(table, self.tiers - {Tier.BUFFER})
        start, end = column(table.format.version_column), column(table.format.subsequent_column)
        outputs: list[Output] = [(column(c.physical), c.physical) for c in table.stored]
        outputs += [(start, START), (end, END)]
        rows = reader.intervals(outputs)
        if self.limit is None:
            return rows
        limit = version_value(table, self.limit)
        known = exp.LTE(this=column(END, "l"), expression=limit)
        shown = exp.Case().when(known, column(END, "l"))
        names = [column(c.physical, "l") for c in table.stored]
        query = exp.select(*names, column(START, "l"), exp.alias_(shown, END))
        query = query.from_(rows.subquery("l"))
        return query.where(exp.LTE(this=column(START, "l"), expression=limit.copy()))


def _named_events(rows: exp.Select, edge: int, kind: exp.Expr) -> exp.Select:
    """The rows with ``_edge``, and with what they are called as ``_kind``."""
    place = exp.alias_(exp.Literal.number(edge), "_edge")
    return rows.select(place, exp.alias_(kind, "_kind"), copy=False)


def _paired_events(
    name: str, key: Sequence[str], edge: int, alone: str, in_pair: str
) -> exp.Select:
    """Row versions that began or ended, told by themselves or as part of a pair."""
    rows = _all_of(_named(name, "x"))
    rows = rows.join(_named(_PAIRED, "p"), on=_same_at(key, "x", "p"), join_type="left")
    is_alone = exp.Is(this=column("_at", "p"), expression=exp.Null())
    kind = exp.Case().when(is_alone, exp.Literal.string(alone)).else_(exp.Literal.string(in_pair))
    return _named_events(rows, edge, kind)


def _all_of(source: exp.Expr) -> exp.Select:
    """All columns of a relation ``x``."""
    return exp.select(exp.Column(this=exp.Star(), table=exp.to_identifier("x"))).from_(source)


def _paired(key: Sequence[str]) -> exp.Select:
    """Keys and ``_at`` of which one version ended when another began."""
    rows = exp.select(*[column(name, "b") for name in (*key, "_at")]).from_(_named(_BEGUN, "b"))
    return rows.join(_named(_ENDED, "c"), on=_same_at(key, "b", "c")).distinct()


def _same_at(key: Sequence[str], left: str, right: str) -> exp.Expr:
    pairs = [(column(name, left), column(name, right)) for name in (*key, "_at")]
    return all_of(*[exp.EQ(this=here, expression=there) for here, there in pairs])


def _named(name: str, alias: str) -> exp.Expr:
    return exp.alias_(exp.to_table(name), alias, table=True)


def _cte(name: str, query: exp.Query) -> exp.CTE:
    return exp.CTE(this=query, alias=exp.TableAlias(this=exp.to_identifier(name)))


def version_outputs(table: Table) -> list[Output]:
    """The interval of a row version under the names that clients know its ends by."""
    start, end = version_column_names(table)
    return [(column(START, "i"), start), (column(END, "i"), end)]


def current_versions(table: Table) -> list[Output]:
    """The version columns of current rows: when they were written, and no end yet."""
    start, end = version_column_names(table)
    return [
        (column(table.format.version_column), start),
        (cast(exp.Null(), version_type(table)), end),
    ]


def with_writer(query: exp.Select, number: exp.Expr) -> exp.Select:
    """Join each row with the first transaction ``w`` that ends at ``number`` or after it."""
    writer = exp.alias_(exp.table_("transactions", db=STORE_SCHEMA), "w", table=True)
    on = exp.GTE(this=column("version", "w"), expression=number)
    join = exp.Join(this=writer, method="ASOF", side="LEFT", on=on)
    query.append("joins", join)
    return query


def of_writer(name: str, number: exp.Expr) -> exp.Case:
    """What is on record of the transaction that wrote a version; NULL where none is on record.

    Rows may be older than all transactions: those of adopted journals, and of restored backups.
    """
    has_begun = exp.LTE(this=column("first_version", "w"), expression=number.copy())
    return exp.Case().when(has_begun, column(name, "w"))


def version_number(table: Table, version: exp.Expr) -> exp.Expr:
    """A row version of a table as the number that transactions go by."""
    if table.format.version_type is VersionType.BIGINT:
        return version
    return exp.Anonymous(this="epoch_us", expressions=[version])


def version_time(table: Table, version: exp.Expr) -> exp.Expr:
    """A row version of a table as a moment."""
    if table.format.version_type is VersionType.BIGINT:
        return exp.Anonymous(this="make_timestamptz", expressions=[version])
    return version


def aliased(expression: exp.Expr, name: str) -> exp.Expr:
    """A copy of a value under a name of the client's."""
    return exp.alias_(expression.copy(), ident(name))


def free_name(name: str, taken: set[str]) -> str:
    """The name, with underscores in front until it is not taken."""
    while fold(name) in taken:
        name = f"_{name}"
    return name


def comparable(stored: Column, value: exp.Expr) -> exp.Expr:
    """A column's value as it is compared: JSON as text, for which all stores have equality."""
    return exp.cast(value, "TEXT") if "JSON" in stored.type.upper() else value


def _is_null(value: exp.Expr) -> exp.Expr:
    return exp.Is(this=value.copy(), expression=exp.Null())
