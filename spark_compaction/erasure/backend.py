"""What a store does for erasures: it finds rows, hides them by lists of keys, and removes them.

    search      ``search_rows``, ``kept_segments``, ``search_copy``; rows of tables that refer to
                others come from the ``ErasureSource``
    hide        ``change_lists``: the one commit that names lists of keys, for every purpose
    remove      ``remove_rows``, ``purge_copy``, ``clear_remains``

Programs are written over these verbs once, for all stores. A manifest names the lists of keys whose
rows nobody sees (masks), and those of keys that a legal hold spares.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Generic, Protocol, TypeVar

import pyarrow as pa
from sqlglot import exp

from journal.erasure.column_changes import ColumnChange
from journal.erasure.erasure_spec import Subjects, TargetTable
from journal.erasure.holds import Hold
from journal.erasure.requests import ErasureRequest
from journal.erasure.seam import ErasureJournal
from journal.model.errors import PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.segment import Manifest, Segment
from journal.model.store_session import StoreSession
from journal.records.backups import Backup
from journal.records.report import JobReport, Work
from journal.transactions.protocol import OpenStatement
from journal.transactions.state import JournalState
from spark_compaction.contract import Engine, JobRequest, Progress, Watching, silent, unwatched
from spark_compaction.erasure.search import Search
from spark_compaction.programs import copies
from spark_compaction.programs.backup_transport import BackupTransport

T = TypeVar("T")

HoldChange = Callable[[StoreSession], None]
"""Places or releases a hold, in the transaction that splits keys anew."""


def unchanged(_session: StoreSession) -> None:
    """No hold is placed or released."""


class KeyLists(Protocol):
    """Lists of keys in a store, while nobody else commits to the tables they are about.

    ``session`` reads the rows of ``committed``; ``active`` are the holds in force from the commit
    on. Where the store finds at the commit that holds or requests have changed meanwhile, it
    decides anew.
    """

    @property
    def session(self) -> StoreSession: ...

    @property
    def committed(self) -> JournalState: ...

    @property
    def active(self) -> Sequence[Hold]: ...

    def open_requests(self, only: Collection[str] | None) -> list[ErasureRequest]:
        """The requests that are not purged everywhere; of all, or ``only`` some."""

    def read(self, table: Table, name: str) -> pa.Table:
        """The keys of a list, in the types of the table."""

    def keys_meeting(self, table: Table, keys: pa.Table, condition: exp.Expr) -> Collection[int]:
        """The places of those keys of which any version, kept ones too, meets a condition."""

    def write(self, table: Table, request: str, keys: pa.Table) -> str:
        """Write a new list of keys, which nothing names yet; its name."""

    def block_writers(self, tables: Iterable[Table]) -> None:
        """Keep those out who write to tables without the gateway, until the commit."""


@dataclass(frozen=True, slots=True)
class ListChange:
    """What becomes of the lists of keys of one table: some go, and perhaps others come."""

    table_id: int
    dropped: Sequence[str] = ()
    mask: str | None = None
    spared: str | None = None

    def applied(self, manifest: Manifest) -> Manifest:
        """A manifest that names the new lists, and no more those that go."""
        if self.dropped:
            manifest = manifest.without_keys(self.dropped)
        if self.mask is not None or self.spared is not None:
            manifest = manifest.with_keys(self.mask, self.spared)
        return manifest


@dataclass(frozen=True, slots=True)
class ListDecision(Generic[T]):
    """What one commit writes: lists of keys, and, by ``record``, requests and suppressions.

    ``subjects`` are the id of a request and what it looks for in copies out of reach, to be kept
    aside from the commit on; None in the place of the text: nobody looks for it any more.
    """

    record: Callable[[StoreSession], T]
    lists: Sequence[ListChange] = ()
    subjects: tuple[str, str | None] | None = None


Decide = Callable[[KeyLists], "ListDecision[T] | None"]
"""Decides inside the commit section; None: nothing is to be written."""


@dataclass(frozen=True, slots=True)
class KeyCount:
    """How many row versions some keys have, and in how many files of how many bytes they lie."""

    versions: int
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Removed:
    """Files of copies that were written anew, and row versions that went."""

    files: int = 0
    versions: int = 0


@dataclass(slots=True)
class CopiesPurge:
    """What a purge has removed from copies elsewhere, by mask; ``error``: why it is not all."""

    removed: dict[str, Removed]
    error: PalimpsestError | None = None

    def count(self, files: int, versions: Mapping[str, int]) -> None:
        """Add what was removed from one copy."""
        for mask, count in versions.items():
            before = self.removed[mask]
            if count:
                self.removed[mask] = Removed(before.files + files, before.versions + count)


@dataclass(frozen=True, slots=True)
class PurgeRun:
    """One run of purges: the ids of requests that no hold keeps back, and what it runs with.

    With ``changes`` no row goes: those of the keys get other values in these columns. ``by`` is who
    had it run. With ``unit_bytes`` segments are written anew in units of about so many bytes, each
    a commit of its own: a run that is killed goes on after the last of them. 0: all are one unit.
    ``progress`` and ``watching``: see ``JobRequest``.
    """

    accepted: frozenset[str]
    engine: Engine | None
    progress: Progress
    changes: tuple[ColumnChange, ...] = ()
    by: str = ""
    unit_bytes: int = 0
    watching: Watching = unwatched

    def request(self, table: Table) -> JobRequest:
        """The request for a table of a store that writes rows anew by SQL of its own."""
        ids = ",".join(sorted(self.accepted))
        return JobRequest(table, ids, grace_us=0, progress=self.progress, watching=self.watching)


@dataclass(frozen=True, slots=True)
class SourceRows:
    """The rows of a table as they lie: in pieces that stay as they are, and in heads, which grow.

    ``rows`` gives relations of them all but of some ``pieces``, and with or without heads, in the
    present columns of the table.
    """

    pieces: Collection[str]
    rows: Callable[[Collection[str], bool], Sequence[exp.Query]]


class ErasureBackend(Protocol):
    """What a store does for erasures. ``journal`` is where it keeps requests and their log.

    ``purges_at_once``: ERASE FROM removes the rows before it returns. ``reads_dropped``: tables
    can be read after they were dropped.
    """

    @property
    def journal(self) -> ErasureJournal: ...

    @property
    def purges_at_once(self) -> bool: ...

    @property
    def reads_dropped(self) -> bool: ...

    def new_request_id(self) -> str:
        """An id that no request has."""

    def search_rows(
        self,
        session: StoreSession,
        state: JournalState,
        aim: TargetTable,
        subjects: Subjects,
        search: Search,
        *,
        kept: bool = True,
    ) -> None:
        """Add the keys of rows that name somebody to ``search``, out of what it has not seen.

        Rows of any version; with ``kept`` also those that only backups and the like hold.
        """

    def kept_segments(
        self, session: StoreSession, state: JournalState, table: Table, search: Search
    ) -> AbstractContextManager[tuple[Segment, ...]]:
        """What is kept besides and ``search`` has not seen; it stays for as long as the block."""

    def search_copy(
        self, aim: TargetTable, subjects: Subjects, listed: Backup, search: Search
    ) -> None:
        """Add the keys of rows of a copy that name somebody, and count its files.

        Raises FILE_ACCESS where it cannot be reached, SEGMENT_DAMAGED where a file is not whole.
        """

    def transport(self, table: Table) -> BackupTransport:
        """How copies of a table's backups come into the store."""

    def segments_of(self, here: Backup) -> tuple[Segment, ...]:
        """The segments of a copy that was brought, as manifests list them."""

    def rows_here(
        self, session: StoreSession, state: JournalState, table: Table, search: Search
    ) -> AbstractContextManager[SourceRows]:
        """Rows that are live or kept besides, as they lie; they stay until the block ends.

        What is read is counted in ``search``.
        """

    def rows_of(self, table: Table, segments: Sequence[Segment]) -> Sequence[exp.Query]:
        """The rows of segments that were brought, in the present columns of their table."""

    def piece_sizes(
        self, session: StoreSession, state: JournalState, table: Table
    ) -> Mapping[str, int]:
        """The bytes of each file or segment that can be searched by itself, as far as is known.

        Under an empty name those of all that is searched as a whole. See ``table_share``.
        """

    def count_keys(
        self, session: StoreSession, state: JournalState, table: Table, keys: pa.Table
    ) -> KeyCount:
        """What removing some keys from all a table has would come to."""

    def whole_table(self, statement: OpenStatement, table: Table) -> Table:
        """A table with all the columns that can be read of it, readable so in a statement."""

    def change_lists(
        self, tables: Collection[int], decide: Decide[T], change: HoldChange = unchanged
    ) -> T | None:
        """Have ``decide`` say, once nobody else commits to ``tables``, what becomes of lists.

        Lists, requests, suppressions and the ``change`` of holds are one commit: what ``record``
        gave, or None if nothing was to be written. Raises JOB_BUSY where others change the same
        again and again, and what the store raises, with nothing changed.
        """

    def deferred_subjects(self, request_id: str) -> str | None:
        """What a request looks for in copies out of reach; None if that is lost."""

    def forget_subjects(self) -> None:
        """Remove what no request looks for any more."""

    def planned(self, table: Table, masks: Sequence[str]) -> Work:
        """What a purge of a table would do, copies elsewhere aside; changes nothing."""

    def remove_rows(
        self, table: Table, masks: Callable[[], Sequence[str]], run: PurgeRun
    ) -> list[JobReport]:
        """Remove the rows of the keys in ``masks`` from all that lies in the store, backups as
        well, or change their columns, and add what was done to the receipts of the masks, which
        stay.

        ``masks`` tells those of accepted requests, as they are when it is called.
        """

    def purge_copy(
        self,
        table: Table,
        listed: Backup,
        definition: Table,
        masks: Sequence[str],
        run: PurgeRun,
    ) -> tuple[int, Mapping[str, int]]:
        """Write the files of a copy anew that hold a key: how many, and the rows that went or
        were changed.

        ``definition`` is that of the table when the copy was made.
        """

    def clear_remains(self, purged: Sequence[ErasureRequest]) -> Mapping[str, str]:
        """Drop what purges have replaced; by request, what it still waits for."""


@contextmanager
def fetched_segments(
    backend: ErasureBackend, table: Table, listed: Backup
) -> Iterator[tuple[Segment, ...]]:
    """The segments of a copy, brought into the store for the block.

    Raises FILE_ACCESS where it cannot be reached, SEGMENT_DAMAGED where a file is not whole.
    """
    with copies.fetched_copy(backend.transport(table), listed, silent) as here:
        yield backend.segments_of(here)
