"""Copies of a Hive store's backups: partitions as files of text, and back.

Every value is written as the text under which rows of the gateway travel to Spark, so all comes
back as it was. Loaded partitions are named as those of transactions are: VACUUM drops them if this
process is killed. Lists nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pyarrow as pa
from sqlglot import exp

from journal.files.filters.sidecar import FileFilters
from journal.local_engine.scratch import scratch
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.result_column import ResultColumn
from journal.model.schema import Table
from journal.model.segment import Fields, Segment, SegmentFile
from journal.records.backups import Backup
from journal.sql.relations import column
from journal.sql.row_layout import journal_fields
from journal.stores.hive import layout
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.row_upload import parts_of, write_parts
from journal.stores.hive.rows import HeldRelation, held_relation
from journal.stores.hive.session import HiveSession
from journal.stores.hive.store import HiveConnection
from spark_compaction.programs import backup_transport

_PART = "copied_rows"


@dataclass(frozen=True, slots=True)
class HiveTransport:
    """How partitions of one table of a Hive store are copied and come back."""

    journal: HiveJournal
    table: Table
    kind: str = "Hive"
    root: None = None

    @contextmanager
    def lock(self) -> Iterator[None]:
        """A lease of its own: writers of the table go on."""
        with self.journal.leases.trying(f"copies:{self.table.id}") as is_mine:
            if not is_mine:
                raise PalimpsestError(
                    Code.JOB_BUSY,
                    f"another job works on copies of {self.table.name}",
                    advice="wait until it has ended; SELECT * FROM system.jobs shows it",
                )
            yield

    def landing(self) -> AbstractContextManager[Path]:
        """A folder of this machine."""
        return scratch()

    @contextmanager
    def file(self, segment: Segment, file: SegmentFile) -> Iterator[tuple[Path, SegmentFile]]:
        """The rows of a partition in a file of text."""
        with scratch() as folder:
            path = folder / "rows.parquet"
            columns = journal_fields(self.table, segment.fields)
            query = layout.rows_of(self.journal.names, [file.path])
            with self.journal.statement(self.journal.begin(read_only=True)) as statement:
                found = write_file(statement.session, query, columns, file, path)
            yield path, found

    def filters(self, names: Mapping[str, str]) -> dict[str, FileFilters]:
        """There are none."""
        return {}

    @contextmanager
    def load(self, backup: Backup, paths: Mapping[str, Path]) -> Iterator[Backup]:
        """The backup with a partition for each of its files."""
        made: list[str] = []
        try:
            with self.journal.store.connection() as connection:
                here = self._loaded(connection, backup, paths, made)
            yield here
        finally:
            self.journal.drop_segments(made)
            self.journal.staged.difference_update(made)

    def _loaded(
        self, connection: HiveConnection, backup: Backup, paths: Mapping[str, Path], made: list[str]
    ) -> Backup:
        def load(segment: Segment, file: SegmentFile) -> str:
            columns = journal_fields(self.table, segment.fields)
            with self.journal.new_segment(self.table, connection, segment.fields) as path:
                made.append(path)
                parts = parts_in_file(paths[file.path], columns, connection)
                write_parts(self.journal, connection, parts, file.rows, path)
            return path

        return backup_transport.loaded(backup, load)


def write_file(
    session: HiveSession, query: exp.Select, columns: Fields, file: SegmentFile, path: Path
) -> SegmentFile:
    """Write these columns of Spark's rows to a file of text; what it is, under the name of
    ``file``, which must have as many rows."""
    query.set("expressions", [column(name) for name, _ in columns])
    schema = pa.schema([pa.field(name, pa.string()) for name, _ in columns])

    def batches() -> Iterator[pa.Table]:
        for rows in session.batches_from_spark(query, columns, backup_transport.BATCH_ROWS):
            local = session.local
            local.show_arrow(_PART, session.typed(rows, columns))
            held = held_relation(local, _PART, session.connection.engine).rows
            local.hide(_PART)
            texts = list(zip(*held, strict=True))
            yield pa.table([pa.array(t, pa.string()) for t in texts], schema=schema)

    return backup_transport.write(path, schema, batches(), file)


def parts_in_file(path: Path, columns: Fields, connection: HiveConnection) -> Iterator[exp.Select]:
    """The rows of such a file as queries of as many as go into one statement."""
    shown = tuple(ResultColumn(n, k) for n, k in columns)
    for batch in backup_transport.read(path):
        rows = list(zip(*(c.to_pylist() for c in batch.columns), strict=True))
        yield from parts_of(HeldRelation(shown, rows, connection.engine))
