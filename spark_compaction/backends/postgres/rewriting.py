"""Writing tables of journal rows anew without some rows: only those that hold one, and compared.

What goes is said by two queries over a table in the columns it was written in: the rows that go,
and the rows that are kept. Runs inside the session's transaction; lists nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import STORE_SCHEMA, Query
from journal.model.schema import Table
from journal.model.segment import Fields, Head, RowCounts, Segment, Tier
from journal.model.version import Version
from journal.records.report import ESTIMATED, ReplacedSegment, Skipped, Volume, Work
from journal.stores.postgres import as_committed, backup_segments, layout, pieces
from journal.stores.postgres.partitions import create_sealed
from journal.stores.postgres.pieces import Inputs, hashed
from journal.stores.postgres.store import PostgresSession
from journal.transactions.state import TableState

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
class RewrittenPieces:
    """Tables that take the place of others; ``head_counts`` are of the heads among the inputs.

    ``moved`` tells what became of each table, by its name; None: nothing is left of it.
    """

    inputs: Inputs
    segments: tuple[Segment, ...]
    head_counts: RowCounts
    work: Work
    moved: Mapping[str, Segment | None]


@dataclass(frozen=True, slots=True)
class RewrittenTable:
    """What a table was written anew as; ``made`` is None if no row is left."""

    made: Segment | None
    work: Work


ABOUT = dict.fromkeys(("read.bytes", "written.bytes", "removed.bytes"), ESTIMATED)
"""What the server takes for rows differs by where they lie, and changes while it cleans up."""


def to_be_settled(
    session: PostgresSession, table: Table, state: TableState
) -> list[Head | Segment]:
    """What a run will find as it stays: all pieces, but a last head that is empty."""
    *heads, last = state.manifest.heads
    if layout.count_rows(session, table, layout.head_table(table.id, last)).total:
        heads.append(last)
    return [*heads, *state.manifest.segments]


def planned(
    session: PostgresSession,
    table: Table,
    consists_of: Iterable[Head | Segment],
    goes: Rows,
    why: str,
) -> Work:
    """What ``rewrite`` would do to some pieces; writes nothing."""
    work = Work(inexact=ABOUT)
    for piece in consists_of:
        source = backup_segments.source_of(table, piece)
        rows = goes(source, piece.fields).subquery("g")
        (gone,) = session.row(Query(exp.select(exp.Count(this=exp.Star())).from_(rows), ()), {})
        if not gone:
            work += left_alone(source)
            continue
        total, size = layout.count_rows(session, table, source).total, pieces.size(session, source)
        left = total - int(gone)
        written = Volume(int(left > 0), left, size * left // total)
        work += Work((taken(source, total, size, why.format(gone)),), written)
    return work


def taken(source: exp.Table, rows: int, size: int, why: str) -> ReplacedSegment:
    """A table that a job replaces."""
    return ReplacedSegment(source.name, 1, rows, size, why)


def left_alone(source: exp.Table) -> Work:
    """A table that a job leaves as it is."""
    return Work(skipped=(Skipped(source.name, 1, "no row of it goes"),))


def rewrite(
    session: PostgresSession,
    table: Table,
    state: TableState,
    goes: Rows,
    stays: Rows,
    version: Version,
    why: str,
    copy: Copy = by_server,
) -> RewrittenPieces:
    """Write what holds rows that go anew without them; the last head, which may grow, is left.

    ``why`` tells of a piece, for the report, how many rows go.
    """
    settled: list[Head | Segment] = [*state.manifest.heads[:-1], *state.manifest.segments]
    moved: dict[str, Segment | None] = {}
    touched: list[Head | Segment] = []
    head_counts, work = RowCounts(), Work()
    for number, piece in enumerate(settled):
        source = backup_segments.source_of(table, piece)
        done = rewrite_piece(session, table, piece, number, goes, stays, version, why, copy)
        if done is None:
            work += left_alone(source)
            continue
        touched.append(piece)
        moved[source.name] = done.made
        work += done.work
        if isinstance(piece, Head):
            head_counts += layout.count_rows(session, table, source)
    heads = tuple(p for p in touched if isinstance(p, Head))
    segments = tuple(p for p in touched if isinstance(p, Segment))
    made = tuple(s for s in moved.values() if s is not None)
    return RewrittenPieces(Inputs(heads, segments), made, head_counts, work, moved)


def rewrite_piece(
    session: PostgresSession,
    table: Table,
    piece: Head | Segment,
    number: int,
    goes: Rows,
    stays: Rows,
    version: Version,
    why: str = "holds {} rows that go",
    copy: Copy = by_server,
) -> RewrittenTable | None:
    """Write one table anew without the rows that go; None if it holds none of them.

    ``number`` tells its name from those of others that the same job makes. Raises FOREIGN_WRITE if
    it is a segment that does not hold what was written to it.
    """
    source = backup_segments.source_of(table, piece)
    gone = hashed(session, goes(source, piece.fields))
    if not gone[0]:
        return None
    if isinstance(piece, Segment):
        as_committed.check_segments(session, table, [piece])
    target = exp.table_(pieces.new_name(table.id, number), db=STORE_SCHEMA)
    if isinstance(piece, Segment) and piece.tier is not Tier.DELTA:
        create_sealed(session, table, target, piece.fields, [source])
    else:
        layout.create_rows(session, table, target, piece.fields)
    copy(session, Copying(table, source, piece.fields, target, stays))
    left = _left(session, table, source, target, piece.fields, gone)
    size = pieces.size(session, source)
    read = (taken(source, gone[0] + left, size, why.format(gone[0])),)
    if not left:
        layout.drop_rows(session, target)
        return RewrittenTable(None, Work(read))
    layout.finish_rows(session, table, target, piece.fields)
    session.text(f"ANALYZE {session.rendered(target).sql}")
    tier = piece.tier if isinstance(piece, Segment) else Tier.DELTA
    counts = layout.count_rows(session, table, target)
    _, checksum = as_committed.fingerprint(session, table, target, piece.fields)
    made = Segment(target.name, tier, (), piece.fields, counts, 0, version, checksum)
    return RewrittenTable(made, Work(read, Volume(1, left, pieces.size(session, target))))


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
            f"writing {old.name} anew without the removed rows would change others",
            advice="nothing was changed; palimpsest verify tells whether the journal is whole",
        )
    return after[0]
