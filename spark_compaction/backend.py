"""What a store does for the programs that maintain its journals: the seam between both.

    lock          be the only job that replaces pieces of a table
    rotate_head   appends go elsewhere; what a table consists of up to a version stays as it is
    scan, write   read the rows of a piece; write rows to a new piece, which nothing lists yet
    fingerprint   tell whether rows are the same, whatever their order
    size, check   say what a piece takes; raise unless it holds what was written to it
    swap          list the new pieces instead of the old ones, which are retired, or plan anew
    drop_retired  remove what was retired and nobody may read any more

A program is a plan over these verbs. It never asks which store it is on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from sqlglot import exp

from journal.erasure.seam import SecretJournal
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.segment import Fields, Manifest, RowCounts, Segment, Tier
from journal.model.store_session import StoreSession
from journal.model.version import Version
from journal.sql.counting import Fingerprint
from journal.transactions.state import JournalState, TableState
from spark_compaction.contract import JobPlan, Json, Progress, Staged


class Replan(Exception):
    """What was planned on is no longer what is live; the message says which part."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Segments of one tier and one set of columns that one query reads.

    A head counts as a segment of tier HEAD. Pieces of another ``place`` are not merged with it.
    """

    tier: Tier
    fields: Fields
    segments: tuple[Segment, ...]
    place: str = ""

    @property
    def counts(self) -> RowCounts:
        """The rows of its segments, by kind."""
        return sum((s.counts for s in self.segments), RowCounts())

    def only(self, ids: frozenset[str]) -> Piece:
        """The piece without the segments that are not among ``ids``."""
        return replace(self, segments=tuple(s for s in self.segments if s.id in ids))


@dataclass(frozen=True, slots=True)
class TableAt:
    """What a table consists of up to a version.

    ``table`` is its present definition, or the last one if it ``is_dropped``.
    """

    table: Table
    committed: JournalState
    version: Version
    pieces: tuple[Piece, ...] = ()
    is_dropped: bool = False

    @property
    def state(self) -> TableState:
        """The table's manifest and layouts."""
        return self.committed.tables[self.table.id]

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The segments of all pieces."""
        return tuple(s for p in self.pieces for s in p.segments)


@dataclass(frozen=True, slots=True)
class Alongside:
    """What a program does where its swap commits; either raises Replan if the swap became wrong.

    ``since`` is given the pieces that others wrote since the plan, and reads them; ``record`` the
    session of the records, what is committed, and the manifest that will be.
    """

    since: Callable[[Sequence[Piece]], None]
    record: Callable[[StoreSession, JournalState, Manifest], None]


class MaintenanceBackend(Protocol):
    """What the loop of jobs needs of a store; one object serves one run."""

    def now(self) -> Version:
        """The store's clock."""

    def lock(self, table: Table) -> AbstractContextManager[None]:
        """Be the only job, in all processes, to replace pieces of a table.

        Raises JOB_BUSY if another one is at it. What killed jobs have left is removed.
        """

    def preview(self, table: Table) -> AbstractContextManager[TableAt]:
        """What a run would find if it began now; nothing is written, and nothing is locked."""

    def rotate_head(self, table: Table) -> TableAt:
        """Have appends go to a fresh head, so that the pieces returned stay as they are."""

    def staging(self, at: TableAt, plan: JobPlan) -> AbstractContextManager[None]:
        """What is written in the block and not listed when it ends is removed, at once or later."""

    def swap(
        self, at: TableAt, plan: JobPlan, staged: Staged, alongside: Alongside | None
    ) -> tuple[str, ...]:
        """List what was staged; the names of what was retired.

        Raises Replan, and changes nothing, if that is not what was planned on any more.
        """

    def drop_retired(self, table: Table) -> int:
        """Remove retired pieces of a table whose grace has ended; how many there were."""

    def stoppable(self) -> AbstractContextManager[None]:
        """A block in which whoever stops the run interrupts the statements that it runs."""


B = TypeVar("B", bound=MaintenanceBackend, contravariant=True)


class Program(Protocol[B]):
    """One kind of job on one table, over a backend."""

    @property
    def kind(self) -> str:
        """Its name: compact, purge, retain ..."""

    @property
    def plans_ahead(self) -> bool:
        """True if a plan costs little: a run ends there if there is nothing to do, and locks
        nothing."""

    def plan(self, backend: B, at: TableAt) -> JobPlan:
        """What is to be done; reads, writes nothing."""

    def stage(self, backend: B, at: TableAt, plan: JobPlan, progress: Progress) -> Staged:
        """Write new pieces, which nothing lists yet."""

    def verify(self, backend: B, at: TableAt, plan: JobPlan, staged: Staged) -> Mapping[str, Json]:
        """Raise JOB_VERIFICATION unless the new pieces say what they should; for the report."""

    def alongside(self, backend: B, at: TableAt, plan: JobPlan, staged: Staged) -> Alongside | None:
        """What is to be done where the swap commits."""


@dataclass(frozen=True, slots=True)
class JoinedRows:
    """Rows for a new piece: open rows that closing rows name, or do not, and rows as they are.

    ``opens`` and ``closings`` have the columns ``keys``, by which they meet.
    """

    tier: Tier
    names: tuple[str, ...]
    keys: tuple[str, ...] = ()
    opens: tuple[exp.Select, ...] = ()
    closings: tuple[exp.Select, ...] = ()
    as_written: tuple[exp.Select, ...] = ()


class SetBasedBackend(MaintenanceBackend, Protocol):
    """A store that reads and writes pieces by SQL of its own."""

    @property
    def journal(self) -> SecretJournal:
        """The journals of the store."""

    @property
    def session(self) -> StoreSession:
        """What reads the journals: of the lock, the preview, or the section of the swap."""

    @property
    def sizes(self) -> str:
        """How well the store knows what pieces take: ESTIMATED, or UNKNOWN."""

    def size(self, segment: Segment) -> int:
        """Bytes of a segment; 0 where the store does not know."""

    def listed(self, segments: Sequence[Segment]) -> tuple[Segment, ...]:
        """Segments as a backup lists them."""

    def check(self, at: TableAt, segments: Sequence[Segment]) -> None:
        """Raise FOREIGN_WRITE or SEGMENT_DAMAGED unless segments hold what was written to them."""

    def scan(self, piece: Piece, shown: Table | None = None) -> exp.Select:
        """The rows of a piece, out of a relation ``p``: in the columns they were written in, or as
        they appear in another definition of the table."""

    def write(self, at: TableAt, like: Piece, rows: JoinedRows, *, anew: bool) -> Segment | None:
        """Write rows that were made of a piece to a segment of their own; None if there are none.

        They lie as the table says now if they are written ``anew``, else as the piece does.
        """

    def fingerprints(self, queries: Sequence[exp.Query]) -> list[Fingerprint]:
        """One for each query, in their order."""

    def count(self, at: TableAt, piece: Piece, where: exp.Expr) -> Mapping[str, RowCounts]:
        """Rows of a piece that meet a condition over ``p``, by segment; those that have any."""

    def show(self, name: str, query: exp.Query) -> None:
        """Let queries read a query over what readers see, or over pieces, as relation ``name``."""

    def ask(self, query: exp.Query) -> list[tuple[Any, ...]]:
        """The rows of a query, which are few."""


class PurgeBackend(SetBasedBackend, Protocol):
    """One that finds rows of erased keys besides, also in what only backups list."""

    def with_backups(self, at: TableAt) -> tuple[Piece, ...]:
        """The pieces of a table, and those that only backups of it list.

        Segments that different backups list are in different pieces.
        """

    def erased_keys(self, table: Table, masks: Collection[str]) -> exp.Query:
        """The keys that stand in some masks, under the names of the table's key."""

    def keys(self, table: Table, piece: Piece) -> list[exp.Expr]:
        """A table's key, as it is now, of the rows ``p`` of a piece."""

    def hash_key(self) -> exp.Expr:
        """What ``column_changes.hash_key_of`` gives, looked up by the store itself if it can, so
        that statements do not show it."""
