"""The tables a journal consists of, and the SQL that makes new ones of them. Decides nothing.

A compaction takes heads and segments and makes, for each set of columns they were written in, a
base (rows that no closing row names) and a history (rows with the version that ended them).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlglot import exp

from journal.model.plan import Query
from journal.model.schema import Table
from journal.model.segment import Fields, Head, RowCounts, Segment
from journal.model.wall_clock import wall_clock_us
from journal.sql.relations import column, ident
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
    """Heads and segments that a job replaces."""

    heads: tuple[Head, ...]
    segments: tuple[Segment, ...]

    def tables(self, table: Table) -> list[exp.Table]:
        """The tables behind them."""
        heads = [layout.head_table(table.id, h) for h in self.heads]
        return [*heads, *(layout.segment_table(s) for s in self.segments)]

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


def ends(table: Table) -> tuple[str, str]:
    """The version columns."""
    return table.ends


def _values(fields: Fields) -> list[exp.Expr]:
    """The business columns of rows ``p``; JSON may lie there as jsonb, in an adopted table."""
    return [
        exp.alias_(exp.cast(column(n, "p"), kind), ident(n)) if kind == "JSON" else column(n, "p")
        for n, kind in fields
    ]


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
