"""Copies of stores whose rows only a server reads: pieces become files here, and files pieces.

    put       each piece is written to a file of this machine, put away, and removed here
    brought   files are fetched, checked, and loaded into pieces that nothing lists

How a piece is written and loaded is the store's: ``BackupTransport``. Decides nothing about what
is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from journal.files.parquet_files import checksum
from journal.files.scratch import scratch
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.model.segment import Segment, SegmentFile
from journal.records import backups
from journal.records.backups import Backup
from journal.transactions.protocol import OpenJournal
from spark_compaction.contract import Progress
from spark_compaction.programs import copies

BATCH_ROWS = 10_000


class BackupTransport(copies.Side, Protocol):
    """A store's side of copies, where a server reads the rows of its pieces."""

    def turn(self, table: Table) -> AbstractContextManager[None]:
        """Be the only one to write, change or remove copies of a table; raises JOB_BUSY."""

    def load(
        self, table: Table, backup: Backup, paths: Mapping[str, Path]
    ) -> AbstractContextManager[Backup]:
        """The backup with pieces of the store for its files, which go with the block."""


def write(
    path: Path, schema: pa.Schema, batches: Iterable[pa.Table], piece: SegmentFile
) -> SegmentFile:
    """Write the rows of a piece to a Parquet file, batch by batch; what it is, under its name.

    Raises SEGMENT_DAMAGED unless they are as many as it had.
    """
    rows = 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for batch in batches:
            rows += batch.num_rows
            writer.write_table(batch)
    if rows != piece.rows:
        raise PalimpsestError(
            Code.SEGMENT_DAMAGED,
            f"{rows} rows are in {piece.path}, which had {piece.rows}: nothing is copied",
            advice="palimpsest verify shows what is wrong; bring it back from an earlier backup",
        )
    return SegmentFile(piece.path, path.stat().st_size, rows, checksum(path))


def read(path: Path) -> Iterator[pa.Table]:
    """The rows of such a file, batch by batch."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=BATCH_ROWS):
            yield pa.Table.from_batches([batch])


def loaded(backup: Backup, load: Callable[[Segment, SegmentFile], str]) -> Backup:
    """The backup with pieces for its files: ``load`` makes one, and gives its name."""
    segments = (
        replace(s, files=tuple(replace(f, path=load(s, f)) for f in s.files))
        for s in backup.segments
    )
    return replace(backup, segments=tuple(segments))


@contextmanager
def brought(
    carrier: BackupTransport, backup: Backup, table: Table, progress: Progress
) -> Iterator[Backup]:
    """A copy as a backup of pieces of the store, whole; raises SEGMENT_DAMAGED if it is not."""
    assert backup.place is not None
    listed, _ = copies.read(backup.place)
    copies.refuse_other_stores(listed, carrier.kind)
    with scratch() as folder:
        names = copies.fetch(listed, listed.paths, folder, progress)
        with carrier.load(table, listed, {p: folder / n for p, n in names.items()}) as here:
            yield replace(here, place=None)


def known(journal: OpenJournal, table_id: int) -> list[Backup]:
    """The copies of a table's backups that are on record."""
    with journal.reading_session() as session:
        return [b for b in backups.load(session, table_id) if b.place is not None]


def whole(journal: OpenJournal, table_id: int) -> list[Backup]:
    """Those that are there, as they are; what was killed is undone or finished first.

    Who calls holds the carrier's turn.
    """
    return [b for b in known(journal, table_id) if copies.tidy(journal, b)]


def check(backup: Backup, progress: Progress) -> None:
    """Raise unless a copy lists what is on record, and every file of it is what it was."""
    listed = copies.as_recorded(backup)
    with scratch() as folder:
        names = copies.fetch(listed, listed.paths, folder, progress)
        rows = {p: sum(t.num_rows for t in read(folder / n)) for p, n in names.items()}
    if any(rows[f.path] != f.rows for s in listed.segments for f in s.files):
        raise PalimpsestError(
            Code.SEGMENT_DAMAGED,
            f'files of the backup "{backup.name}" lack rows',
            advice="take another backup",
        )
