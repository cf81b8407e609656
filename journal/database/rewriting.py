"""Writing tables of journal rows anew without some rows: only those that hold one, and compared.

What goes is said by two queries over a table in the columns it was written in: the rows that go,
and the rows that are kept. Runs inside the session's transaction; lists nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from journal.database import pieces
from journal.database.pieces import Inputs, hashed
from journal.errors import Code, PalimpsestError
from journal.jobs.report import Volume
from journal.plan import STORE_SCHEMA
from journal.schema import Table
from journal.segment import Fields, Head, RowCounts, Segment, Tier
from journal.state import TableState
from journal.stores import postgres_layout as layout
from journal.stores.postgres import PostgresSession
from journal.stores.postgres_partitions import create_sealed
from journal.version import Version

Rows = Callable[[exp.Table, Fields], exp.Query]
"""Some rows of a table of journal rows that were written in these columns."""


@dataclass(frozen=True, slots=True)
class Copying:
    """A table to write anew, the rows of it that stay, and the table that takes them."""

    table: Table
    source: exp.Table
    fields: Fields
    target: exp.Table
    stays: Rows


Copy = Callable[[PostgresSession, Copying], None]
"""Fills a target that the session's transaction has made."""


def by_server(session: PostgresSession, copying: Copying) -> None:
    """Let the server do it, in the same transaction."""
    kept = copying.stays(copying.source, copying.fields)
    session.run(layout.insert_fields(copying.table, copying.target, copying.fields, kept))


@dataclass(frozen=True, slots=True)
class Rewritten:
    """Tables that take the place of others; ``head_counts`` are of the heads among the inputs.

    ``moved`` tells what became of each table, by its name; None: nothing is left of it.
    """

    inputs: Inputs
    segments: tuple[Segment, ...]
    head_counts: RowCounts
    read: Volume
    written: Volume
    moved: Mapping[str, Segment | None]


@dataclass(frozen=True, slots=True)
class Piece:
    """What a table was written anew as; ``made`` is None if no row is left."""

    made: Segment | None
    read: Volume
    written: Volume


def rewrite(
    session: PostgresSession,
    table: Table,
    state: TableState,
    goes: Rows,
    stays: Rows,
    version: Version,
    copy: Copy = by_server,
) -> Rewritten:
    """Write what holds rows that go anew without them; the last head, which may grow, is left."""
    settled: list[Head | Segment] = [*state.manifest.heads[:-1], *state.manifest.segments]
    moved: dict[str, Segment | None] = {}
    touched: list[Head | Segment] = []
    head_counts, read, written = RowCounts(), Volume(), Volume()
    for number, piece in enumerate(settled):
        done = rewrite_piece(session, table, piece, number, goes, stays, version, copy)
        if done is None:
            continue
        touched.append(piece)
        source = source_of(table, piece)
        moved[source.name] = done.made
        read, written = read + done.read, written + done.written
        if isinstance(piece, Head):
            head_counts += layout.count_rows(session, table, source)
    heads = tuple(p for p in touched if isinstance(p, Head))
    segments = tuple(p for p in touched if isinstance(p, Segment))
    made = tuple(s for s in moved.values() if s is not None)
    return Rewritten(Inputs(heads, segments), made, head_counts, read, written, moved)


def rewrite_piece(
    session: PostgresSession,
    table: Table,
    piece: Head | Segment,
    number: int,
    goes: Rows,
    stays: Rows,
    version: Version,
    copy: Copy = by_server,
) -> Piece | None:
    """Write one table anew without the rows that go; None if it holds none of them.

    ``number`` tells its name from those of others that the same job makes.
    """
    source = source_of(table, piece)
    gone = hashed(session, goes(source, piece.fields))
    if not gone[0]:
        return None
    target = exp.table_(pieces.new_name(table.id, number), db=STORE_SCHEMA)
    if isinstance(piece, Segment) and piece.tier is not Tier.DELTA:
        create_sealed(session, table, target, piece.fields, [source])
    else:
        layout.create_rows(session, table, target, piece.fields)
    copy(session, Copying(table, source, piece.fields, target, stays))
    left = _left(session, table, source, target, piece.fields, gone)
    read = Volume(1, gone[0] + left, pieces.size(session, source))
    if not left:
        layout.drop_rows(session, target)
        return Piece(None, read, Volume())
    layout.index_rows(session, table, target, piece.fields)
    session.text(f"ANALYZE {session.rendered(target).sql}")
    tier = piece.tier if isinstance(piece, Segment) else Tier.DELTA
    counts = layout.count_rows(session, table, target)
    made = Segment(target.name, tier, (), piece.fields, counts, 0, version)
    return Piece(made, read, Volume(1, left, pieces.size(session, target)))


def source_of(table: Table, piece: Head | Segment) -> exp.Table:
    """The table behind a head or a segment."""
    if isinstance(piece, Segment):
        return layout.segment_table(piece)
    return layout.head_table(table.id, piece)


def _left(
    session: PostgresSession,
    table: Table,
    old: exp.Table,
    new: exp.Table,
    fields: Fields,
    gone: tuple[int, int],
) -> int:
    """How many rows are left; raises unless they and those that went are what there was."""
    before, after = (hashed(session, pieces.all_rows(table, s, fields)) for s in (old, new))
    if (before[0] - gone[0], before[1] - gone[1]) != after:
        raise PalimpsestError(
            Code.JOB_VERIFICATION,
            f"writing {old.name} anew without rows that go would change others",
            advice="nothing was changed; palimpsest verify tells whether the journal is whole",
        )
    return after[0]
