"""The tables a journal consists of, and the SQL that makes new ones of them. Decides nothing.

A compaction takes heads and segments and makes, for each set of columns they were written in, a
base (rows that no closing row names) and a history (rows with the version that ended them).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from journal.model.plan import Query
from journal.model.schema import Table
from journal.model.segment import Fields, Head, RowCounts, Segment, Tier
from journal.model.wall_clock import wall_clock_us
from journal.sql.relations import column, ident, union_all, version_type
from journal.sql.row_layout import rows_in_layout
from journal.stores.postgres import layout
from journal.stores.postgres.store import PostgresSession
from journal.transactions.state import TableState

STAGED = "s"
"""What stands between the table's id and the time in the name of a table that a job makes."""
_KEY = "_key_"
_ERASED = "erased_keys"


@dataclass(frozen=True, slots=True)
class Inputs:
    """Heads and segments that a job replaces; ``changed`` is False if they are all base."""

    heads: tuple[Head, ...]
    segments: tuple[Segment, ...]
    changed: bool = True

    @property
    def is_empty(self) -> bool:
        """True when there is nothing to do."""
        return not self.changed

    def tables(self, table: Table) -> list[exp.Table]:
        """The tables behind them."""
        heads = [layout.head_table(table.id, h) for h in self.heads]
        return [*heads, *(layout.segment_table(s) for s in self.segments)]

    def all_fields(self) -> list[Fields]:
        """The sets of columns they were written in."""
        return list(
            dict.fromkeys([*(s.fields for s in self.segments), *(h.fields for h in self.heads)])
        )

    def sources(self, table: Table, *, archived: bool) -> Iterator[tuple[exp.Table, Fields]]:
        """Tables with their columns: of history, or all others."""
        if not archived:
            yield from ((layout.head_table(table.id, h), h.fields) for h in self.heads)
        for segment in self.segments:
            if (segment.tier is Tier.HISTORY) == archived:
                yield layout.segment_table(segment), segment.fields

    def written_in(self, table: Table, fields: Fields) -> list[exp.Table]:
        """The tables whose rows were written in these columns."""
        both = (self.sources(table, archived=kind) for kind in (False, True))
        return [source for sources in both for source, written in sources if written == fields]

    def are_in(self, state: TableState) -> bool:
        """True while a manifest lists them all as they are."""
        manifest = state.manifest
        return set(self.heads) <= set(manifest.heads[:-1]) and set(self.segments) <= set(
            manifest.segments
        )

    def replaced_by(
        self, state: TableState, segments: tuple[Segment, ...], head_counts: RowCounts
    ) -> TableState:
        """The state that lists ``segments`` instead; ``head_counts`` are those of the heads."""
        manifest = state.manifest
        kept = tuple(s for s in manifest.segments if s not in set(self.segments))
        heads = tuple(h for h in manifest.heads if h not in set(self.heads))
        following = replace(
            manifest,
            generation=manifest.generation + 1,
            epoch=manifest.epoch + 1,
            heads=heads,
            segments=(*kept, *segments),
        )
        left = state.head_counts + head_counts.times(-1)
        return replace(state, manifest=following, head_counts=left)


def new_name(table_id: int, number: int) -> str:
    """A name for a table that a job makes."""
    return f"t{table_id}_{STAGED}{wall_clock_us()}_{number}"


def size(session: PostgresSession, table: exp.Table) -> int:
    """Bytes of a table with its partitions and indexes."""
    name = session.rendered(table).sql
    ((found,),) = session.text(
        "SELECT pg_total_relation_size(?::regclass) + coalesce(sum(pg_total_relation_size(relid)),"
        " 0)::bigint FROM pg_partition_tree(?::regclass) WHERE relid <> ?::regclass",
        [name, name, name],
    )
    return int(found)


def rows_for(table: Table, inputs: Inputs, fields: Fields, tier: Tier) -> exp.Query:
    """What base or history shall hold of the rows that were written in these columns."""
    start, end = table.format.version_column, table.format.subsequent_column
    names = [name for name, _ in fields]
    branches: list[exp.Query] = []
    opens = [
        _open_rows(table, source, fields)
        for source, written in inputs.sources(table, archived=False)
        if written == fields
    ]
    if opens:
        last: exp.Expr = column(end, "c")
        if tier is Tier.BASE:
            last = exp.cast(exp.Null(), version_type(table))
        outputs = [*(column(n, "o") for n in (*names, start)), exp.alias_(last, ident(end))]
        rows = exp.select(*outputs).from_(union_all(opens).subquery("o"))
        closings = _closing_rows(table, inputs).subquery("c")
        same = [
            exp.EQ(this=column(f"{_KEY}{i}", "o"), expression=column(f"{_KEY}{i}", "c"))
            for i in range(len(table.key))
        ]
        on = exp.and_(*same, exp.EQ(this=column(start, "o"), expression=column(start, "c")))
        kind = "ANTI" if tier is Tier.BASE else "INNER"
        rows.append("joins", exp.Join(this=closings, kind=kind, on=on))
        branches.append(rows)
    if tier is Tier.HISTORY:
        for source, written in inputs.sources(table, archived=True):
            if written == fields:
                found = [column(n) for n in (*names, start, end)]
                branches.append(exp.select(*found).from_(source))
    return union_all(branches) if branches else _no_rows(table, fields)


def parts_of(
    table: Table, inputs: Inputs, fields: Fields, tier: Tier
) -> tuple[list[exp.Select], list[exp.Select], list[exp.Select]]:
    """What ``rows_for`` is made of: open rows, closing rows of all columns, rows of history."""
    opens = [
        _open_rows(table, source, fields).select(column(ends(table)[1], "p"))
        for source, written in inputs.sources(table, archived=False)
        if written == fields
    ]
    closings = _closings(table, inputs)
    archived: list[exp.Select] = []
    if tier is Tier.HISTORY:
        archived = [
            all_rows(table, source, fields)
            for source, written in inputs.sources(table, archived=True)
            if written == fields
        ]
    return opens, closings, archived


def key_names(table: Table) -> list[str]:
    """What open and closing rows call the columns of their key."""
    return [f"{_KEY}{i}" for i in range(len(table.key))]


def all_rows(table: Table, source: exp.Expr, fields: Fields) -> exp.Select:
    """The rows of a table of journal rows, in the columns it has."""
    outputs = [*_values(fields), *(column(name, "p") for name in ends(table))]
    return exp.select(*outputs).from_(exp.alias_(source, "p", table=True))


def keyed_rows(table: Table, source: exp.Expr, fields: Fields) -> exp.Select:
    """The same, and their keys as the table has them now, under ``key_names``."""
    return all_rows(table, source, fields).select(*_keys(table, source, fields))


def erased_rows(table: Table, source: exp.Expr, fields: Fields, erased: exp.Expr) -> exp.Select:
    """Those whose keys stand in relation ``erased``, under the names that the table has."""
    return _joined(table, source, fields, erased, "SEMI")


def show_keys(session: PostgresSession, table: Table, masks: Iterable[str]) -> exp.Table:
    """Collect the keys of some masks, for as long as the session's transaction lasts."""
    session.stage(_ERASED, Query(layout.masked_keys(table, list(masks)), ()), {})
    return exp.to_table(_ERASED)


def kept_rows(table: Table, source: exp.Expr, fields: Fields, erased: exp.Expr) -> exp.Select:
    """Those whose keys do not."""
    return _joined(table, source, fields, erased, "ANTI")


def _joined(
    table: Table, source: exp.Expr, fields: Fields, relation: exp.Expr, kind: str
) -> exp.Select:
    keys = [e.unalias() for e in _keys(table, source, fields)]
    same = [
        exp.EQ(this=column(name, "e"), expression=value)
        for name, value in zip(table.key, keys, strict=True)
    ]
    erased = exp.alias_(relation.copy(), "e", table=True)
    rows = all_rows(table, source, fields)
    rows.append("joins", exp.Join(this=erased, kind=kind, on=exp.and_(*same)))
    return rows


def _no_rows(table: Table, fields: Fields) -> exp.Query:
    kinds = [*fields, *((n, version_type(table)) for n in ends(table))]
    nulls = [exp.alias_(exp.cast(exp.Null(), kind), ident(name)) for name, kind in kinds]
    return exp.select(*nulls).where(exp.false())


def ends(table: Table) -> tuple[str, str]:
    """The version columns."""
    return table.format.version_column, table.format.subsequent_column


def _values(fields: Fields) -> list[exp.Expr]:
    """The business columns of rows ``p``; JSON may lie there as jsonb, in an adopted table."""
    return [
        exp.alias_(exp.cast(column(n, "p"), kind), ident(n)) if kind == "JSON" else column(n, "p")
        for n, kind in fields
    ]


def _open_rows(table: Table, source: exp.Table, fields: Fields) -> exp.Select:
    """Open rows in the columns they have, and their keys as the table has them now."""
    start, end = ends(table)
    outputs = [*_values(fields), column(start, "p"), *_keys(table, source, fields)]
    rows = exp.select(*outputs).from_(exp.alias_(source, "p", table=True))
    return rows.where(exp.Is(this=column(end, "p"), expression=exp.Null()))


def _closing_rows(table: Table, inputs: Inputs) -> exp.Query:
    return union_all(_closings(table, inputs))


def _closings(table: Table, inputs: Inputs) -> list[exp.Select]:
    start, end = ends(table)
    branches: list[exp.Select] = []
    for source, fields in inputs.sources(table, archived=False):
        outputs = [*_keys(table, source, fields), column(start, "p"), column(end, "p")]
        rows = exp.select(*outputs).from_(exp.alias_(source, "p", table=True))
        later = exp.GT(this=column(end, "p"), expression=column(start, "p"))
        branches.append(rows.where(later))
    return branches


def _keys(table: Table, source: exp.Expr, fields: Fields) -> list[exp.Expr]:
    shown = rows_in_layout(table, source, fields).selects
    by_name = {e.alias_or_name: e.unalias() for e in shown}
    return [
        exp.alias_(by_name[name].copy(), f"{_KEY}{i}", quoted=True)
        for i, name in enumerate(table.key)
    ]


def hashed(session: PostgresSession, rows: exp.Query) -> tuple[int, int]:
    """How many rows, and the sum of their hashes, which tells nothing of their order."""
    text = exp.cast(exp.column("r"), "TEXT")
    hashed = exp.Anonymous(this="hashtextextended", expressions=[text, exp.Literal.number(0)])
    total = exp.Coalesce(this=exp.Sum(this=hashed), expressions=[exp.Literal.number(0)])
    query = exp.select(exp.Count(this=exp.Star()), total).from_(rows.subquery("r"))
    count, summed = session.row(Query(query, ()), {})
    return int(count), int(summed)
