"""What the programs of backups need of a store, and what one run of them is given. Values, seams.

A backup lists pieces: files of a warehouse, tables of a database, partitions in Hive. How pieces
are listed, kept, checked and dropped is the store's; which, when and why is decided by ``backup``,
``restore``, ``archives`` and ``vacuum``, the same on every store.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Protocol

from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.segment import Manifest
from journal.model.version import Version
from journal.records import backups
from journal.records.backups import Backup, BackupKind, Naming
from journal.records.retired import Reaped
from journal.transactions.protocol import OpenJournal
from spark_compaction.contract import Progress
from spark_compaction.programs.backup_transport import BackupTransport


class Replaced(Protocol):
    """A piece that a job has replaced, and when."""

    @property
    def since(self) -> Version: ...

    @property
    def job_id(self) -> str: ...


Chosen = Callable[[Sequence[Any]], Sequence[Any]]
"""Which of the retired pieces of a table go, oldest first: each is a ``Replaced``."""


@dataclass(frozen=True, slots=True)
class PiecesHere:
    """The pieces of a table by name: ``all`` that are live or retired, and those ``current``.

    A backup that lists exactly the ``current`` ones shows what is there.
    """

    all: frozenset[str]
    current: frozenset[str]


class BackupStore(Protocol):
    """How a store keeps backups of one table."""

    @property
    def transport(self) -> BackupTransport: ...

    @property
    def has_files(self) -> bool:
        """True if its pieces are files, which units of an engine can read and write."""

    def record(self, naming: Naming, *, is_whole: bool) -> Backup | None:
        """Record what the table consists of now; None if a job replaced a part of it meanwhile.

        Raises BACKUP if the name is taken. One that ``is_whole`` lists no damaged file: raises
        SEGMENT_DAMAGED.
        """

    def planned(self, naming: Naming) -> tuple[Backup, bool]:
        """What a backup would hold now, and whether its size is exact; nothing is written."""

    def pieces(self) -> PiecesHere:
        """The pieces of the table that are there."""

    def no_reaping(self) -> AbstractContextManager[object]:
        """Let nobody drop retired pieces while the block lasts."""

    def check(self, backup: Backup) -> None:
        """Raise SEGMENT_DAMAGED unless the pieces of a backup hold what it lists."""

    def as_table(
        self, table_id: int, backup: Backup, masks: tuple[str, ...]
    ) -> tuple[Table, Manifest]:
        """A backup as a table of its own, of that id, and what that consists of."""

    def due(self, chosen: Chosen | None, ignored: Collection[str]) -> Reaped:
        """What ``reap`` would drop if there were no backups of the ``ignored`` names."""

    def reap(self, chosen: Chosen | None = None) -> Reaped:
        """Drop retired pieces that nobody reads and no backup lists: ``chosen``, or past grace."""

    def clear(self) -> Collection[str]:
        """Drop what transactions left that ended without a commit; what it was."""

    def archived(self) -> list[Backup]:
        """What retention has archived and keeps in the store."""

    def release(self, found: Sequence[Backup]) -> None:
        """Keep archived rows no longer; ``reap`` drops them."""


@dataclass(frozen=True, slots=True)
class BackupRun:
    """One run of a job on the backups of one table: who runs it, and at which moment."""

    store: BackupStore
    job_id: str
    by: str | None
    moment: datetime
    dry_run: bool
    progress: Progress
    log: Callable[[str], None]

    @property
    def transport(self) -> BackupTransport:
        """How pieces become files."""
        return self.store.transport

    @property
    def table(self) -> Table:
        """The table whose backups they are."""
        return self.transport.table

    @property
    def journal(self) -> OpenJournal:
        """The journals of the store."""
        return self.transport.journal

    def naming(self, name: str, kind: BackupKind, expires_at: datetime | None = None) -> Naming:
        """The name of a backup that the run makes."""
        return Naming(name, kind, self.by, self.moment, expires_at)

    def backups(self) -> list[Backup]:
        """The backups of the table that are on record."""
        with self.journal.reading_session() as session:
            return backups.load(session, self.table.id)

    def state(self, *, changes: bool) -> str:
        """The state of its report."""
        return "nothing" if not changes else "planned" if self.dry_run else "done"
