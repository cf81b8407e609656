"""Writing partitions of a journal anew without some rows: only those that hold one, and compared.

What goes is said by two queries over a piece, as relation ``p`` in the columns it was written in:
the rows that go, and the rows that stay. ``rewrite`` lists nothing; ``swap`` does, inside a
transaction of the catalog, and gives the manifest another epoch: whoever began before cannot commit
to the table, as a row that it read may be gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sqlglot import exp

from journal.errors import Code, PalimpsestError
from journal.hive import written
from journal.hive.journal import HiveJournal
from journal.hive.pieces import Piece, fingerprint, pieces
from journal.hive.session import HiveSession
from journal.relations import column
from journal.schema import Table
from journal.segment import RowCounts, Segment
from journal.state import TableState
from journal.stores import hive_layout as layout
from journal.stores import sql_catalog as rows_of
from journal.stores.catalog_format import JournalRow
from journal.stores.hive_text import rendered
from journal.stores.sql_engine import CatalogConnection
from journal.version import Version

Rows = Callable[[Piece], exp.Select]
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
class Staged:
    """What takes the place of segments, and the rows that went and that are left beside them."""

    segments: tuple[Segment, ...]
    replaced: tuple[Segment, ...]
    removed: int
    kept: int

    def in_place(self, state: TableState, floor: Version = 0) -> TableState:
        """The state that lists the new segments, under another epoch."""
        manifest, gone = state.manifest, {s.id for s in self.replaced}
        following = replace(
            manifest,
            generation=manifest.generation + 1,
            epoch=manifest.epoch + 1,
            floor=max(manifest.floor, floor),
            segments=(*(s for s in manifest.segments if s.id not in gone), *self.segments),
        )
        return replace(state, manifest=following)


def all_rows(journal: HiveJournal, table: Table, piece: Piece) -> exp.Select:
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
) -> Staged:
    """Write what holds rows that go anew without them; the paths that are written are in ``made``.

    ``rows`` are those that go and those that stay.
    """
    goes, stays = rows
    segments: list[Segment] = []
    replaced: list[Segment] = []
    removed = kept = 0
    for whole in pieces(state.manifest.segments):
        held = _holding(session, goes(whole))
        if not held:
            continue
        piece = replace(whole, segments=tuple(s for s in whole.segments if s.id in held))
        replaced += piece.segments
        staying = session.in_spark(stays(piece))
        assert isinstance(staying, exp.Query)
        is_shaped = piece.is_shaped or layout.is_adopted(journal.names, piece.paths[0])
        path = written.write(
            *(journal, session.connection, table, piece.fields, staying, made, is_shaped)
        )
        gone, left = _compared(journal, session, table, piece, goes(piece), path)
        removed, kept = removed + gone, kept + left
        counts = journal.count_rows(session.connection, table, path)
        if counts.total:
            segments.append(piece.written_to(path, counts))
        else:
            journal.drop_segments([path])
    return Staged(tuple(segments), tuple(replaced), removed, kept)


def _holding(session: HiveSession, rows: exp.Select) -> frozenset[str]:
    """The segments of a piece in which there are such rows."""
    rows.set("expressions", [column(layout.PARTITION, "p")])
    text = rendered(session.in_spark(rows.distinct()))
    return frozenset(str(row[0]) for row in session.connection.run(text))


def _compared(
    journal: HiveJournal,
    session: HiveSession,
    table: Table,
    piece: Piece,
    going: exp.Select,
    path: str,
) -> tuple[int, int]:
    """Rows that went and rows that are left; raises unless they are together what there was."""
    names = [n for n, _ in layout.journal_fields(table, piece.fields)]

    def summed(rows: exp.Query) -> tuple[int, int]:
        return fingerprint(session.connection, session.in_spark(rows), names)

    before = summed(layout.rows_of(journal.names, piece.paths))
    after = summed(layout.rows_of(journal.names, [path]))
    gone = summed(going)
    if (before[0] - gone[0], before[1] - gone[1]) != after:
        raise PalimpsestError(
            Code.JOB_VERIFICATION,
            f"rewriting {table.name} without the rows that go would change others",
            advice="nothing was changed; palimpsest verify tells whether the journal is whole",
        )
    return gone[0], after[0]


def swap(
    journal: HiveJournal,
    connection: CatalogConnection,
    generation: int,
    table: Table,
    following: TableState,
    staged: Staged,
    until_us: int,
) -> None:
    """List the new partitions; what was replaced stays until then."""
    listed = JournalRow(table.id, following.manifest, following.last_version, RowCounts())
    rows_of.put_journal(connection, listed, generation)
    paths = [s.files[0].path for s in staged.replaced]
    rows_of.retire(connection, table.id, paths, until_us)
    # What a claim is checked against may be gone; the epoch tells who is late.
    rows_of.forget_claims_of(connection, table.id)
