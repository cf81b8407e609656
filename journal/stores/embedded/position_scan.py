"""Positions in the embedded store: which rows of sealed files have ended, as one bit per row.

Finds them by keys and versions, and lets a statement read the rows without them: the scan says of
each row which file it is of and its number there, and one condition looks up its bit. The bits are
variables of the session, which a query takes for constants; as values of a relation they would be
copied for each row that passes a selective filter. Decides neither when positions are found nor
whether they may be used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import pyarrow as pa
from sqlglot import exp

from journal.local_engine.session import DuckDBSession
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import Query, physical, placed
from journal.model.schema import Table
from journal.model.segment import SegmentFile, Tier
from journal.model.version import Version
from journal.sql.relations import column, ident, union_all, version_value
from journal.sql.sql import all_of, cast, named, relation, select

FILE, ROW = "file_index", "file_row_number"
"""Columns that the scan of Parquet files adds to those of the files."""
BLOCK_ROWS = 1 << 20
"""As many rows as one variable has bits for: it is copied once for each batch of rows."""


Blocks = tuple[bytes | None, ...]
"""For each block of a file a bit per row, set if the row has ended; None where none has."""


@dataclass(frozen=True, slots=True)
class EndedRows:
    """The rows of a tier's files that have ended."""

    files: tuple[SegmentFile, ...]
    blocks: tuple[Blocks, ...]


def ended_rows(
    session: DuckDBSession,
    table: Table,
    tier: Tier,
    files: Sequence[SegmentFile],
    changes: Sequence[Tier],
    since: Version | None = None,
    known: Mapping[str, Blocks] = MappingProxyType({}),
) -> dict[str, Blocks]:
    """By path the rows of these files that closing rows of ``changes`` name.

    With ``since`` only those that have ended after that version are looked for, and added to what
    is ``known``.
    """
    start, end = table.ends
    pairs = [*table.key, start]
    ends = [exp.GT(this=column(end), expression=column(start))]
    if since is not None:
        version = version_value(table, _number(since))
        ends.append(exp.GT(this=column(end), expression=version))
    closing = [
        select(
            [column(name) for name in pairs],
            physical(table.id, part, table.layout),
            *[condition.copy() for condition in ends],
        )
        for part in changes
    ]
    same = [exp.EQ(this=column(p, "o"), expression=column(p, "c")) for p in pairs]
    ended = relation(union_all(closing), "c")
    found = select(
        [named(column(FILE, "o"), "file"), named(column(ROW, "o"), "row")],
        _scan(session, files),
        *_open_only(table, tier),
    )
    found.append("joins", exp.Join(this=ended, kind="SEMI", on=all_of(*same)))
    return _blocks_by_file(session.arrow(Query.of(found), {}), files, known)


def show_placed(
    session: DuckDBSession, table: Table, tiers: Mapping[Tier, EndedRows]
) -> Query | None:
    """Let queries of the session's transaction read the sealed rows that have not ended.

    Gives what was made for that, which ends with the transaction unless it is kept; None if what is
    kept serves.
    """
    kept = session.kept_views.get(table.id)
    if kept is not None and kept[0] is tiers and kept[1] == table.layout:
        return None
    # The bits are soon others than those that the kept view was made for.
    session.kept_views.pop(table.id, None)
    for tier, ended in tiers.items():
        _give_bits(session, table, tier, ended)
    view = Query(_placed_view(session, table, tiers), ())
    session.execute(view, {})
    return view


def keep_placed(
    session: DuckDBSession, table: Table, tiers: Mapping[Tier, EndedRows], view: Query
) -> None:
    """Make outside of transactions what ``show_placed`` has made, for the session's later ones."""
    session.execute(view, {})
    session.kept_views[table.id] = (tiers, table.layout)


def _placed_view(
    session: DuckDBSession, table: Table, tiers: Mapping[Tier, EndedRows]
) -> exp.Create:
    names = table.journal_columns
    parts: list[exp.Query] = []
    for tier, ended in tiers.items():
        conditions = _open_only(table, tier)
        bit = _bit(table, tier, ended)
        if bit is not None:
            conditions.append(exp.EQ(this=bit, expression=_number(0)))
        rows = [column(n, "o") for n in names]
        parts.append(select(rows, _scan(session, ended.files), *conditions))
        if bit is not None:
            parts.append(_estimate(session, rows, ended.files))
    return exp.Create(
        this=placed(table.id),
        kind="VIEW",
        replace=True,
        properties=exp.Properties(expressions=[exp.TemporaryProperty()]),
        expression=union_all(parts),
    )


def _estimate(
    session: DuckDBSession, rows: Sequence[exp.Expr], files: Sequence[SegmentFile]
) -> exp.Select:
    """No rows, which DuckDB takes for as many as the files have.

    It takes the condition on bits for one that a fifth of the rows meets, orders joins by that, and
    so joins changed tables too soon. Here it multiplies with the rows of a relation that it finds
    empty before it reads a file; what conditions of the query leave of them it estimates as ever.
    """
    counted = exp.Anonymous(this="range", expressions=[_number(5)])
    none = exp.Table(this=counted, alias=exp.TableAlias(this=ident("e"), columns=[ident("i")]))
    below = exp.LT(this=column("i", "e"), expression=_number(0))
    found = select([row.copy() for row in rows], _scan(session, files), below)
    found.append("joins", exp.Join(this=none, kind="CROSS"))
    return found


def _blocks_by_file(
    found: pa.Table, files: Sequence[SegmentFile], known: Mapping[str, Blocks]
) -> dict[str, Blocks]:
    import numpy as np

    file = found["file"].to_numpy()
    order = np.argsort(file, kind="stable")
    rows = found["row"].to_numpy()[order]
    bounds = np.searchsorted(file[order], np.arange(len(files) + 1))
    packed: dict[str, Blocks] = {}
    for place, listed in enumerate(files):
        ended = rows[bounds[place] : bounds[place + 1]]
        blocks = list(known.get(listed.path) or [None] * -(-listed.rows // BLOCK_ROWS))
        for block in np.unique(ended // BLOCK_ROWS).tolist():
            first = block * BLOCK_ROWS
            bits = np.zeros(-(-min(BLOCK_ROWS, listed.rows - first) // 8), dtype=np.uint8)
            before = blocks[block]
            if before is not None:
                bits |= np.frombuffer(before, dtype=np.uint8)
            inside = ended[ended // BLOCK_ROWS == block] - first
            np.bitwise_or.at(bits, inside >> 3, (128 >> (inside & 7)).astype(np.uint8))
            blocks[block] = bits.tobytes()
        packed[listed.path] = tuple(blocks)
    return packed


def _give_bits(session: DuckDBSession, table: Table, tier: Tier, ended: EndedRows) -> None:
    """Set the variables of a session that hold other bits, or none."""
    for file, blocks in enumerate(ended.blocks):
        for block, bits in enumerate(blocks):
            name = _variable(table, tier, file, block)
            if bits is None or session.marked.get(name) is bits:
                continue
            value = cast(cast(exp.Placeholder(this="bits"), "BLOB"), "BIT")
            item = exp.EQ(this=exp.column(name), expression=value)
            change = exp.Set(expressions=[exp.SetItem(this=item, kind="VARIABLE")])
            session.execute(Query.of(change), {"bits": bits})
            session.marked[name] = bits


def _variable(table: Table, tier: Tier, file: int, block: int) -> str:
    return f"ended_{table.id}_{tier.value}_{file}_{block}"


def _bit(table: Table, tier: Tier, ended: EndedRows) -> exp.Expr | None:
    """1 for a row that has ended, else 0; None if none has."""
    if not any(bits for blocks in ended.blocks for bits in blocks):
        return None
    files: list[exp.Expr] = []
    for file, blocks in enumerate(ended.blocks):
        of_blocks: list[exp.Expr] = []
        for block, bits in enumerate(blocks):
            if bits is None:
                of_blocks.append(_number(0))
                continue
            name = exp.Literal.string(_variable(table, tier, file, block))
            held = exp.Anonymous(this="getvariable", expressions=[name])
            row: exp.Expr = column(ROW, "o")
            if block:
                row = exp.Paren(this=exp.Sub(this=row, expression=_number(block * BLOCK_ROWS)))
            place = cast(row, "INTEGER")
            of_blocks.append(exp.Anonymous(this="get_bit", expressions=[held, place]))
        files.append(_chosen(of_blocks, ROW, BLOCK_ROWS))
    return _chosen(files, FILE, 1)


def _chosen(values: Sequence[exp.Expr], by: str, width: int, first: int = 0) -> exp.Expr:
    """The value that a column tells by its number, each good for ``width`` of them: halved."""
    if len(values) == 1 or all(value == _number(0) for value in values):
        return values[0]
    half = len(values) // 2
    limit = _number((first + half) * width)
    below = exp.LT(this=column(by, "o"), expression=limit)
    lower = _chosen(values[:half], by, width, first)
    upper = _chosen(values[half:], by, width, first + half)
    return exp.Case(ifs=[exp.If(this=below, true=lower)], default=upper)


def _open_only(table: Table, tier: Tier) -> list[exp.Expr]:
    if tier is Tier.BASE:
        return []
    return [exp.Is(this=column(table.format.subsequent_column, "o"), expression=exp.Null())]


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)


def _scan(session: DuckDBSession, files: Sequence[SegmentFile]) -> exp.Table:
    paths = [exp.Literal.string(str(session.root / f.path)) for f in files]
    call = exp.Anonymous(this="read_parquet", expressions=[exp.Array(expressions=paths)])
    return exp.Table(this=call, alias=exp.TableAlias(this=ident("o")))
