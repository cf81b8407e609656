"""Backups of a warehouse: lists of segment files, which are live, retired or archived.

Heads are sealed before they are listed. Files stay while a backup in force lists them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.segment import Manifest
from journal.model.version import to_datetime
from journal.records import backups, retired
from journal.records.backups import Backup, BackupKind, Naming
from journal.records.retired import Reaped
from journal.stores.embedded import retired_files
from journal.stores.embedded.backup_files import WarehouseTransport
from journal.stores.embedded.journal import Journal
from spark_compaction.programs.backup_store import Chosen, PiecesHere
from spark_compaction.programs.swap import settled_version
from spark_compaction.programs.unsealed import unsealed


@dataclass(frozen=True, slots=True)
class WarehouseBackups:
    """How a warehouse keeps backups of one table."""

    journal: Journal
    table: Table
    has_files: bool = True

    @property
    def transport(self) -> WarehouseTransport:
        """How pieces become files."""
        return WarehouseTransport(self.journal, self.table)

    def record(self, naming: Naming, *, is_whole: bool) -> Backup | None:
        """Seal the head, and record the segments that were sealed.

        Rows committed since, in the next head or in segments of their own, are not part of it.
        """
        journal, table = self.journal, self.table
        settled = settled_version(journal, table.id)
        if is_whole:
            # Most of what will be listed, while others commit: it may take a while.
            with journal.statement(journal.begin(read_only=True)) as statement:
                journal.checker.check(statement.committed.tables[table.id].manifest.segments)
        with journal.exclusive_session() as session:
            segments = backups.segments_at(journal.state.tables[table.id], settled)
            if segments is None:
                return None
            if is_whole:
                journal.checker.check(segments)
            backup = naming.backup(table, segments, settled)
            backups.add(session, backup)
            session.commit()
        return backup

    def planned(self, naming: Naming) -> tuple[Backup, bool]:
        """Heads are listed as the segments that they would be; their sizes are estimated."""
        journal, table = self.journal, self.table
        with journal.sealing_lock(table.id), journal.reading_session() as session:
            settled, state = journal.state.version, journal.state.tables[table.id]
            heads = tuple(u.segment for u in unsealed(session, state, settled))
        segments = backups.segments_at(state, settled)
        assert segments is not None, "no row is newer than the state"
        return naming.backup(table, (*segments, *heads), settled), not heads

    def pieces(self) -> PiecesHere:
        """Files, live and retired; with rows in the head none are all that is there."""
        state = self.journal.state.tables[self.table.id]
        with self.journal.reading_session() as session:
            there = retired.paths(session)
        live = frozenset(f.path for s in state.manifest.segments for f in s.files)
        return PiecesHere(live | there, frozenset() if state.head_counts.total else live)

    def no_reaping(self) -> AbstractContextManager[None]:
        """Files are dropped in the commit section, in which a backup is recorded."""
        return nullcontext()

    def check(self, backup: Backup) -> None:
        """Files are held against their checksums."""
        self.journal.checker.check(backup.segments)

    def as_table(
        self, table_id: int, backup: Backup, masks: tuple[str, ...]
    ) -> tuple[Table, Manifest]:
        """The table with the segments of the backup."""
        return replace(self.table, id=table_id), Manifest(0, (), backup.segments, masks)

    def due(self, chosen: Chosen | None, ignored: Collection[str]) -> Reaped:
        """Retired files."""
        return retired_files.due(self.journal, self.table.id, chosen, ignored)

    def reap(self, chosen: Chosen | None = None) -> Reaped:
        """The same, removed."""
        now = self.journal.clock.now()
        return retired_files.reap(self.journal, now, self.table.id, chosen)

    def clear(self) -> Collection[str]:
        """Nothing: the store undoes what ends without a commit."""
        return ()

    def archived(self) -> list[Backup]:
        """Each archived segment as a backup of its own, named by its id."""
        with self.journal.reading_session() as session:
            found = [
                r for r in retired.load(session, self.table.id) if r.why.job_kind == retired.ARCHIVE
            ]
        return [
            Naming(r.id, BackupKind.ARCHIVE, None, to_datetime(r.since)).backup(
                self.table, (r.segment,), r.since
            )
            for r in found
        ]

    def release(self, found: Sequence[Backup]) -> None:
        """Their grace ends now."""
        with self.journal.exclusive_session() as session:
            retired.keep_until(session, [b.name for b in found], self.journal.clock.now())
            session.commit()


def overdue(journal: Journal) -> set[int]:
    """The tables that have retired files whose grace has ended, and that no backup lists."""
    now = journal.clock.now()
    with journal.reading_session() as session:
        found = [r for r in retired.load(session) if retired.is_over(r, now)]
        pinned = backups.pinned_paths(session)
    return {r.table_id for r in found if not pinned.issuperset(f.path for f in r.segment.files)}
