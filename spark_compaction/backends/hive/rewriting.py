"""Writing partitions of a journal anew without some rows: only those that hold one, and compared.

What goes is said by two queries over a piece, as relation ``p`` in the columns it was written in:
the rows that go, and the rows that stay. ``rewrite`` lists nothing; ``swap`` does, inside a
transaction of the catalog, and gives the manifest another epoch: whoever began before cannot commit
to the table, as a row that it read may be gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.model.segment import RowCounts, Segment, SegmentFile
from journal.records.catalog_format import JournalRow
from journal.records.report import UNKNOWN, ReplacedSegment, Skipped, Volume, Work
from journal.sql.relations import column
from journal.stores.hive import layout, written
from journal.stores.hive.catalog_db import catalog as rows_of
from journal.stores.hive.catalog_db import retired as sql_retired
from journal.stores.hive.catalog_db.engine import CatalogConnection
from journal.stores.hive.catalog_db.retired import RetiredPartition
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.missing_tables import blaming
from journal.stores.hive.pieces import Fingerprinted, SegmentGroup, fingerprints, pieces
from journal.stores.hive.segment_check import check_whole, count_rows
from journal.stores.hive.session import HiveSession
from journal.transactions.state import TableState

SILENT = dict.fromkeys(("read.bytes", "written.bytes", "removed.bytes"), UNKNOWN)
"""Spark does not say what partitions take."""
Rows = Callable[[SegmentGroup], exp.Select]
"""Some rows of a piece, as a session reads them."""


@contextmanager
def staging(journal: HiveJournal) -> Iterator[list[str]]:
    """A list for the paths of segments that are made in the block; if it fails they are dropped.

    They are kept where nobody knows whether they were committed; clean-up finds out later.
    """
    made: list[str] = []
    try:
        yield made
    except PalimpsestError as error:
        if error.code is not Code.OUTCOME_UNKNOWN:
            journal.drop_segments(made)
        raise
    finally:
        journal.staged.difference_update(made)


@dataclass(frozen=True, slots=True)
class Kept:
    """What only backups list, and by path the backups that list a segment."""

    segments: tuple[Segment, ...] = ()
    listed_in: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StagedSegments:
    """What takes the place of segments, and the rows that went and that are left beside them.

    ``beside`` are those that only backups list, each with the path of one it stands for; ``moved``
    tells what became of each segment, by its path; None: another has its rows, or there are none.
    """

    segments: tuple[Segment, ...]
    replaced: tuple[Segment, ...]
    removed: int
    work: Work
    beside: tuple[tuple[Segment, str], ...] = ()
    moved: Mapping[str, SegmentFile | None] = field(default_factory=dict)

    def in_place(self, state: TableState) -> TableState:
        """The state that lists the new segments, under another epoch."""
        manifest, gone = state.manifest, {s.id for s in self.replaced}
        following = replace(
            manifest,
            generation=manifest.generation + 1,
            epoch=manifest.epoch + 1,
            segments=(*(s for s in manifest.segments if s.id not in gone), *self.segments),
        )
        return replace(state, manifest=following)


def all_rows(journal: HiveJournal, table: Table, piece: SegmentGroup) -> exp.Select:
    """The rows of a piece, as relation ``p``."""
    source = layout.rows_of(journal.names, piece.paths)
    names = [n for n, _ in layout.journal_fields(table, piece.fields)]
    return exp.select(*[column(n, "p") for n in names]).from_(source.subquery("p"))


def rewrite(
    journal: HiveJournal,
    session: HiveSession,
    table: Table,
    state: TableState,
    rows: tuple[Rows, Rows],
    made: list[str],
    backups: Kept = Kept(),
    why: str = "holds {} rows that go",
) -> StagedSegments:
    """Write what holds rows that go anew without them; the paths that are written are in ``made``.

    ``rows`` are those that go and those that stay. Rows of ``backups`` go as well. ``why`` tells of
    a segment, for the report, how many rows go.
    """
    segments: list[Segment] = []
    replaced: list[Segment] = []
    beside: list[tuple[Segment, str]] = []
    moved: dict[str, SegmentFile | None] = {}
    removed, work = 0, Work()
    live = pieces(state.manifest.segments, backups.listed_in)
    for whole in (*live, *pieces(backups.segments, backups.listed_in)):
        with blaming(session.connection, journal.names, table, whole.segments):
            done = _rewritten(journal, session, table, whole, rows, made)
        work += planned(whole, {} if done is None else done.going, why)
        if done is None:
            continue
        removed += done.removed
        moved |= dict.fromkeys(done.piece.paths)
        if done.made is not None:
            moved[done.piece.paths[0]] = done.made.files[0]
        if whole in live:
            replaced += done.piece.segments
            segments += [] if done.made is None else [done.made]
        elif done.made is not None:
            beside.append((done.made, done.piece.paths[0]))
    return StagedSegments(tuple(segments), tuple(replaced), removed, work, tuple(beside), moved)


@dataclass(frozen=True, slots=True)
class _Rewritten:
    piece: SegmentGroup
    made: Segment | None
    removed: int
    going: Mapping[str, int]


def _rewritten(
    journal: HiveJournal,
    session: HiveSession,
    table: Table,
    whole: SegmentGroup,
    rows: tuple[Rows, Rows],
    made: list[str],
) -> _Rewritten | None:
    """Write the segments of a piece anew that hold rows that go; None if none does."""
    goes, stays = rows
    held = counted(session, goes(whole))
    if not held:
        return None
    piece = replace(whole, segments=tuple(s for s in whole.segments if s.id in held))
    staying = session.in_spark(stays(piece))
    assert isinstance(staying, exp.Query)
    is_shaped = piece.is_shaped or layout.is_adopted(journal.names, piece.paths[0])
    path = written.write(
        *(journal, session.connection, table, piece.fields, staying, made, is_shaped)
    )
    gone = _compared(journal, session, table, piece, goes(piece), path)
    counts = count_rows(journal.names, session.connection, table, path)
    if not counts.total:
        journal.drop_segments([path])
    return _Rewritten(piece, piece.written_to(path, counts) if counts.total else None, gone, held)


def planned(piece: SegmentGroup, going: Mapping[str, int], why: str) -> Work:
    """What writing those segments of a piece anew comes to that hold rows that go, by their ids."""
    taken = tuple(
        ReplacedSegment(s.id, 1, s.counts.total, 0, why.format(going[s.id]))
        for s in piece.segments
        if s.id in going
    )
    left = sum(t.rows for t in taken) - sum(going.values())
    skipped = tuple(
        Skipped(s.id, 1, "no row of it goes") for s in piece.segments if s.id not in going
    )
    return Work(taken, Volume(int(left > 0), left), skipped, SILENT)


def counted(session: HiveSession, rows: exp.Select) -> dict[str, int]:
    """How many such rows there are in each segment of a piece that has any."""
    place = column(layout.PARTITION, "p")
    rows.set("expressions", [place, exp.Count(this=exp.Star())])
    query = session.in_spark(rows.group_by(place.copy()))
    return {str(name): int(count) for name, count in session.connection.run(query)}


def _compared(
    journal: HiveJournal,
    session: HiveSession,
    table: Table,
    piece: SegmentGroup,
    going: exp.Select,
    path: str,
) -> int:
    """How many rows went; raises unless those that are left are what there was besides."""
    names = [n for n, _ in layout.journal_fields(table, piece.fields)]
    check_whole(journal.names, session.connection, table, piece.segments)
    asked: list[Fingerprinted] = []
    for rows in (
        layout.rows_of(journal.names, piece.paths),
        layout.rows_of(journal.names, [path]),
        going,
    ):
        placed = session.in_spark(rows)
        assert isinstance(placed, exp.Query)
        asked.append((placed, names))
    before, after, gone = fingerprints(session.connection, asked)
    if (before[0] - gone[0], before[1] - gone[1]) != after:
        raise PalimpsestError(
            Code.JOB_VERIFICATION,
            f"rewriting {table.name} without the removed rows would change others",
            advice="nothing was changed; palimpsest verify tells whether the journal is whole",
        )
    return gone[0]


@dataclass(frozen=True, slots=True)
class HiveRetireReason:
    """Which job replaces segments, when, and until when they stay; microseconds since 1970."""

    job_id: str
    now_us: int
    until_us: int

    def retire(
        self, connection: CatalogConnection, table: Table, segments: Iterable[Segment]
    ) -> None:
        """Note that no manifest lists these segments any more."""
        found = [
            RetiredPartition(s.files[0].path, table.id, self.until_us, self.now_us, self.job_id)
            for s in segments
        ]
        sql_retired.retire(connection, found)


def swap(
    connection: CatalogConnection,
    generation: int,
    table: Table,
    following: TableState,
    staged: StagedSegments,
    why: HiveRetireReason,
) -> None:
    """List the new partitions; what was replaced stays for a while."""
    listed = JournalRow(table.id, following.manifest, following.last_version, RowCounts())
    rows_of.put_journal(connection, listed, generation)
    why.retire(connection, table, staged.replaced)
    # What a claim is checked against may be gone; the epoch tells who is late.
    rows_of.forget_claims_of(connection, table.id)
