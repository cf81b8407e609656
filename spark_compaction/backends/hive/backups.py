"""Backups of a table in a Hive store: lists of partitions, live and retired.

What the catalog lists is listed under a name, too; nothing is copied.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.segment import Manifest
from journal.records import backups, retired
from journal.records.backups import Backup, Naming
from journal.records.retired import Reaped
from journal.stores.hive import backup_segments
from journal.stores.hive.catalog_db.catalog import RECORDS, STATE
from journal.stores.hive.inlining import flush, flushed
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.segment_check import count_rows
from spark_compaction.backends.hive import cleaning
from spark_compaction.backends.hive.backup_transport import HiveTransport
from spark_compaction.programs.backup_store import Chosen, PiecesHere


@dataclass(frozen=True, slots=True)
class HiveBackups:
    """How a Hive store keeps backups of one table."""

    journal: HiveJournal
    table: Table
    has_files: bool = False

    @property
    def transport(self) -> HiveTransport:
        """How pieces become files."""
        return HiveTransport(self.journal, self.table)

    def record(self, naming: Naming, *, is_whole: bool) -> Backup:
        """Record the partitions that the catalog lists; none of them is read."""
        flush(self.journal, self.table.id)
        backup = self._record(naming)
        if backup is None:
            # Somebody was quicker, which nobody is while the lease is held.
            with flushed(self.journal, [self.table.id]):
                backup = self._record(naming)
        assert backup is not None
        return backup

    def _record(self, naming: Naming) -> Backup | None:
        """The recorded backup; None if the catalog holds rows that no partition has."""
        with self.journal.catalog.writing(STATE, RECORDS) as connection:
            _, committed = self.journal.look_in(connection)
            if committed.tables[self.table.id].inlined:
                return None
            segments = committed.tables[self.table.id].manifest.segments
            backup = naming.backup(self.table, segments, committed.version)
            with self.journal.recording(connection) as session:
                backups.add(session, backup)
                session.commit()
        return backup

    def planned(self, naming: Naming) -> tuple[Backup, bool]:
        """The partitions that the catalog lists."""
        flush(self.journal, self.table.id)
        _, committed = self.journal.read_committed()
        segments = committed.tables[self.table.id].manifest.segments
        return naming.backup(self.table, segments, committed.version), True

    def pieces(self) -> PiecesHere:
        """Partitions, live and retired."""
        flush(self.journal, self.table.id)
        _, committed = self.journal.read_committed()
        live = backup_segments.live_paths(committed.tables[self.table.id].manifest)
        with self.journal.catalog.reading() as catalog:
            there = {r.id for r in retired.load_retired(catalog, self.table.id)}
        return PiecesHere(live | there, live)

    def no_reaping(self) -> AbstractContextManager[object]:
        """The lease of whoever drops retired partitions."""
        return self.journal.leases.holding([cleaning.REAPING])

    def check(self, backup: Backup) -> None:
        """Rows are counted."""
        names = self.journal.names
        with self.journal.store.connection() as connection:
            for segment in backup_segments.segments_of(backup):
                path = segment.files[0].path
                rows = count_rows(names, connection, self.table, path).total
                backups.check_rows(backup, path, rows, segment.counts.total)

    def as_table(
        self, table_id: int, backup: Backup, masks: tuple[str, ...]
    ) -> tuple[Table, Manifest]:
        """The table with the partitions of the backup."""
        segments = backup_segments.segments_of(backup)
        return replace(self.table, id=table_id), Manifest(0, (), segments, masks)

    def due(self, chosen: Chosen | None, ignored: Collection[str]) -> Reaped:
        """Retired partitions."""
        found = cleaning.droppable(self.journal, self.table.id, chosen, frozenset(ignored))
        return Reaped(tuple(r.id for r in found))

    def reap(self, chosen: Chosen | None = None) -> Reaped:
        """The same, dropped."""
        with self.journal.store.connection() as connection:
            return Reaped(tuple(cleaning.reap(self.journal, connection, self.table.id, chosen)))

    def clear(self) -> Collection[str]:
        """Partitions and tables of transactions that ended long ago without a word."""
        with self.journal.store.connection() as connection:
            return cleaning.remove_forsaken(self.journal, connection)

    def archived(self) -> list[Backup]:
        """Archives are backups of their own."""
        with self.journal.reading_session() as session:
            return backups.archives(session, self.table.id)

    def release(self, found: Sequence[Backup]) -> None:
        """They are forgotten."""
        with self.journal.exclusive_session() as session:
            backups.drop(session, self.table.id, [b.name for b in found])
            session.commit()


def overdue(journal: HiveJournal) -> set[int]:
    """The tables of journals of which something retired may be dropped."""
    return {r.table_id for r in cleaning.droppable(journal)}
