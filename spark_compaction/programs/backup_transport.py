"""The pieces of a store as Parquet files, out of the store and back into it.

Each store has a ``BackupTransport``; an embedded warehouse, whose pieces are files, has little to
do. Here is what the transports of servers share: rows are written to a file and read from it, batch
by batch. Decides nothing about what is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from journal.files.filters.sidecar import FileFilters
from journal.files.parquet_files import checksum
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.model.segment import Segment, SegmentFile
from journal.records.backups import Backup
from journal.transactions.protocol import OpenJournal

BATCH_ROWS = 10_000


class BackupTransport(Protocol):
    """How pieces of one table become files of this machine, and files become pieces.

    ``kind`` is the kind of store that the files are of: only such a store reads them. ``root`` is
    the folder that the store itself lies in, in which no copy may lie; None: it lies in a server.
    """

    @property
    def journal(self) -> OpenJournal: ...

    @property
    def table(self) -> Table: ...

    @property
    def kind(self) -> str: ...

    @property
    def root(self) -> Path | None: ...

    def lock(self) -> AbstractContextManager[None]:
        """Be the only one to write, change or remove copies of the table; raises JOB_BUSY."""

    def file(
        self, segment: Segment, file: SegmentFile
    ) -> AbstractContextManager[tuple[Path, SegmentFile]]:
        """A file of a segment on this machine, with its size and checksum, while the block lasts.

        Raises SEGMENT_DAMAGED if it does not hold what the segment lists.
        """

    def filters(self, names: Mapping[str, str]) -> dict[str, FileFilters]:
        """The Bloom filters of files, under the ``names`` that they have in a copy."""

    def landing(self) -> AbstractContextManager[Path]:
        """An empty folder for files that are fetched; it goes with the block."""

    def load(self, backup: Backup, paths: Mapping[str, Path]) -> AbstractContextManager[Backup]:
        """The backup with pieces of the store for those of its files that ``paths`` lists.

        The files lie in a ``landing``. The pieces go with the block.
        """


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
