"""Copies of a database's backups: tables of journal rows as files of text, and back.

Every value is written as the server's own text, and versions as numbers, so that all comes back as
it was. Loaded tables are named as staged rows are: whoever opens the database drops them if this
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
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import STORE_SCHEMA, Query
from journal.model.schema import Table
from journal.model.segment import Fields, Segment, SegmentFile
from journal.model.store_session import in_arrow
from journal.records.backups import Backup
from journal.stores.postgres import layout, pieces
from journal.stores.postgres.journal import DatabaseJournal
from journal.stores.postgres.rows import as_texts, show_texts, text_schema
from journal.stores.postgres.store import PostgresSession
from spark_compaction.backends.postgres import segment_swap
from spark_compaction.programs import backup_transport

_PART = "copied_rows"


@dataclass(frozen=True, slots=True)
class DatabaseTransport:
    """How tables of one journal of a database are copied and come back.

    With a ``session`` its transaction reads and makes the pieces, and is rolled back in the end.
    """

    journal: DatabaseJournal
    table: Table
    session: PostgresSession | None = None
    kind: str = "PostgreSQL"
    root: None = None

    @contextmanager
    def lock(self) -> Iterator[None]:
        """The lock of jobs, which purges take as well."""
        with segment_swap.table_lock(self.journal, self.table):
            yield

    def landing(self) -> AbstractContextManager[Path]:
        """A folder of this machine."""
        return scratch()

    @contextmanager
    def file(self, segment: Segment, file: SegmentFile) -> Iterator[tuple[Path, SegmentFile]]:
        """The rows of a table in a file of text."""
        with scratch() as folder:
            path = folder / "rows.parquet"
            if self.session is not None:
                yield path, self._write(self.session, segment.fields, file, path)
                return
            with self.journal.reading_session() as session:
                session.begin()
                found = self._write(session, segment.fields, file, path)
            yield path, found

    def filters(self, names: Mapping[str, str]) -> dict[str, FileFilters]:
        """There are none."""
        return {}

    def _write(
        self, session: PostgresSession, fields: Fields, file: SegmentFile, path: Path
    ) -> SegmentFile:
        source = exp.table_(file.path, db=STORE_SCHEMA)
        query = as_texts(self.table, fields, pieces.all_rows(self.table, source, fields))
        schema = text_schema(self.table, fields)

        def batches() -> Iterator[pa.Table]:
            session.stream(Query(query, ()), {})
            while rows := session.fetch_many(backup_transport.BATCH_ROWS):
                yield in_arrow(rows, schema)

        return backup_transport.write(path, schema, batches(), file)

    @contextmanager
    def load(self, backup: Backup, paths: Mapping[str, Path]) -> Iterator[Backup]:
        """The backup with a table for each of its files; for everybody, or in our transaction."""
        made: list[SegmentFile] = []
        if self.session is not None:
            try:
                yield self._loaded(self.session, backup, paths, made)
            finally:
                self.journal.staged.difference_update(file.path for file in made)
            return
        try:
            with self.journal.reading_session() as session:
                session.begin()
                here = self._loaded(session, backup, paths, made)
                session.commit()
            yield here
        finally:
            self.journal.forget_files(made)

    def _loaded(
        self,
        session: PostgresSession,
        backup: Backup,
        paths: Mapping[str, Path],
        made: list[SegmentFile],
    ) -> Backup:
        def load(segment: Segment, file: SegmentFile) -> str:
            target = exp.table_(self.journal.new_staged_name(), db=STORE_SCHEMA)
            made.append(SegmentFile(target.name, 0, 0, 0))
            layout.create_rows(session, self.table, target, segment.fields)
            for batch in backup_transport.read(paths[file.path]):
                self._append(session, target, segment.fields, batch)
            session.text(f"ANALYZE {session.rendered(target).sql}")
            return target.name

        return backup_transport.loaded(backup, load)

    def _append(
        self, session: PostgresSession, target: exp.Table, fields: Fields, batch: pa.Table
    ) -> None:
        show_texts(session, self.table, _PART, fields, batch)
        rows = pieces.all_rows(self.table, exp.to_table(_PART), fields)
        session.run(layout.insert_fields(self.table, target, fields, rows))
        session.hide(_PART)
