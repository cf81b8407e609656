"""What the programs of replicas need of a store that has some, and of what they put there. Seams.

    match -> stage -> publish -> reap

How pieces are compared, copied, hidden and listed is the store's; what is recorded, when, and what
is refused is decided by ``replica_receiving`` and ``replica_roles``, the same on every store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

from sqlglot import exp

from journal.erasure.seam import ErasureJournal
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import CatalogChange
from journal.model.schema import Table
from journal.model.segment import Segment
from journal.model.store_session import StoreSession
from journal.model.version import Version
from journal.records.report import Volume
from journal.transactions.state import JournalState, TableState
from spark_compaction.programs.replica_package import Reception, ReplicaPackage

T = TypeVar("T")
Changes = Sequence[tuple[Version, CatalogChange]]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What a replica must not hold: keys that the source hides, and what may not come back.

    ``masks`` are files of keys, by their full paths; ``carried`` the suppressions of the source as
    this store records them, which count as well as its own. Those on record under the names in
    ``earlier`` are of the last run, and count no more. ``under`` is a digest of all that.
    """

    masks: tuple[str, ...]
    carried: tuple[tuple[Any, ...], ...]
    earlier: tuple[str, ...]
    under: str


class MatchedPieces(Protocol):
    """What the pieces of a package are in the target, and which of them are to be copied.

    ``filtered`` says of pieces what is left of them here, for the next run.
    """

    @property
    def segments(self) -> tuple[Segment, ...]:
        """What is to be listed, once it is staged."""

    @property
    def filtered(self) -> dict[str, dict[str, Any]]:
        """Of pieces by name."""

    @property
    def lacking_volume(self) -> Volume:
        """What the target lacks."""

    @property
    def lacking_names(self) -> tuple[str, ...]:
        """The names of what the target lacks, as the package lists it."""

    @property
    def reused(self) -> int:
        """How many files, or pieces, are there already."""


class ReplicaSection(Protocol):
    """A transaction in which a replica changes; nobody else commits meanwhile."""

    @property
    def session(self) -> StoreSession:
        """Where it is recorded."""

    @property
    def committed(self) -> JournalState:
        """What is committed."""

    def defined_state(self, before: TableState | None, changes: Changes) -> TableState:
        """The journal as changes define it, with a head that takes such rows."""

    def listing_state(
        self, state: TableState, segments: Sequence[Segment], floor: Version
    ) -> TableState:
        """The journal that consists of these segments alone, known from ``floor`` on."""

    def retire(self, table_id: int, before: TableState, after: TableState, job_id: str) -> None:
        """Record what the journal has no more, which goes as soon as nobody reads it."""

    def write(
        self,
        version: Version,
        changes: Changes,
        table_id: int,
        state: TableState,
        counters: Sequence[tuple[str, int]],
    ) -> None:
        """Record definitions, one journal, and its next generated numbers by column.

        ``version`` is that of the commit: the changes have it, or earlier ones.
        """

    def commit(self, version: Version) -> None:
        """Commit at a version that is above all others, and read anew what is recorded."""


class StagedPieces(Protocol):
    """Pieces of a replica that nothing lists yet."""

    @property
    def suppressed(self) -> int:
        """How many rows were left out."""

    def count(self, query: exp.Query) -> int:
        """The number that a query gives which may read the pieces."""

    def publish(self, change: Callable[[ReplicaSection], T]) -> T:
        """Have ``change`` run in a section, which it commits; again where readers are in the way.

        Raises JOB_BUSY if they stay there.
        """


class ReplicaStore(Protocol):
    """How a store has replicas.

    ``kind`` is the kind of store whose pieces it reads.
    """

    @property
    def kind(self) -> str: ...

    @property
    def journal(self) -> ErasureJournal: ...

    def store_id(self) -> str:
        """What no other store is called."""

    def secret(self) -> str | None:
        """What the store hashes with, as it is committed; None if it has nothing yet."""

    def adopt_secret(self, secret: str, may: Callable[[StoreSession], bool]) -> None:
        """Hash with the secret of another store from now on, if it ``may`` be replaced."""

    def pass_table_ids(self, highest: int) -> None:
        """Give new tables and layouts higher ids from now on."""

    def lock(self, table: Table) -> AbstractContextManager[object]:
        """Be the only job to replace pieces of a table; raises JOB_BUSY."""

    def matched_pieces(
        self,
        package: ReplicaPackage,
        table: Table,
        before: TableState | None,
        detail: Mapping[str, Any],
        under: str,
    ) -> MatchedPieces:
        """What of a package is here, and what is not; ``detail`` is what the last run noted.

        What rows were left out of is here only if the same may not be in it now.
        """

    def staging(
        self,
        package: ReplicaPackage,
        table: Table,
        before: TableState | None,
        pieces: MatchedPieces,
        leaving: LeftOut,
        given: Reception,
    ) -> AbstractContextManager[StagedPieces]:
        """Copy what lacks, less what must not be in a replica; what is not published goes.

        ``pieces`` list in the end what is to be published. Raises SEGMENT_DAMAGED for what is not
        as the package says.
        """

    def removed_pieces(
        self, before: TableState, segments: Sequence[Segment]
    ) -> tuple[Segment, ...]:
        """What a journal has that is not among some segments."""

    def live_pieces(self, state: TableState) -> tuple[Segment, ...]:
        """What a journal consists of."""

    def rows(self, table: Table, segments: Sequence[Segment]) -> exp.Query:
        """The journal rows of some segments."""

    def settle(self, table: Table) -> None:
        """Have what was committed lie where ``last_change`` sees it."""

    def last_change(self, state: TableState) -> Version:
        """The version at which a row was last written, or a later one before the next commit."""

    def reap(self, table_id: int) -> bool:
        """Remove what was retired; False if something may still be read by somebody."""

    def publish(self, change: Callable[[ReplicaSection], T]) -> T:
        """As ``StagedPieces.publish``, where nothing is staged."""
