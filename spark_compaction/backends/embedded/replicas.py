"""Replicas in a warehouse: the ``ReplicaStore`` of files and one database file.

Files that nothing lists go when the warehouse is opened, so a killed run leaves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

from sqlglot import exp

from journal.erasure.secret import adopt_secret, has_secret, read_secret
from journal.local_engine import layout
from journal.local_engine.session import DuckDBSession
from journal.model.catalog import apply
from journal.model.lazy_dataclass import dataclass
from journal.model.places import safe_name
from journal.model.plan import Query
from journal.model.schema import Table
from journal.model.segment import Manifest, RowCounts, Segment
from journal.model.store_session import StoreSession
from journal.model.version import Version
from journal.records import retired
from journal.sql.relations import union_all
from journal.stores.embedded import catalog_tables, retired_files
from journal.stores.embedded import commit as commits
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.table_lock import job_turn
from journal.transactions.state import JournalState, TableState
from spark_compaction.backends.embedded.maintenance import staged_folders
from spark_compaction.backends.embedded.replica_files import (
    ReplicaFiles,
    copy_wanted,
    matched,
    without_erased,
)
from spark_compaction.backends.embedded.replica_source import store_id
from spark_compaction.backends.embedded_erasure.completion import tidy
from spark_compaction.contract import Replacement
from spark_compaction.programs.journal_rows import no_rows
from spark_compaction.programs.replica_package import Reception, ReplicaPackage
from spark_compaction.programs.replica_sections import tables_defined, with_segments
from spark_compaction.programs.replica_store import (
    Changes,
    LeftOut,
    MatchedPieces,
    ReplicaSection,
)
from spark_compaction.programs.swap import settled_version

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WarehouseReplicas:
    """How a warehouse has replicas."""

    journal: Journal
    kind: str = "warehouse"

    def store_id(self) -> str:
        """What no other warehouse is called."""
        return store_id(self.journal)

    def secret(self) -> str | None:
        """What stands in the file of the secret, if there is one."""
        root = self.journal.root
        return read_secret(root) if has_secret(root) else None

    def adopt_secret(self, secret: str, may: Callable[[StoreSession], bool]) -> None:
        """Write it to the file of the secret."""
        with self.journal.exclusive_session() as session:
            if may(session):
                adopt_secret(self.journal.root, secret)

    def pass_table_ids(self, highest: int) -> None:
        """Ids are numbers of this process."""
        self.journal.counters.pass_table_id(highest)

    def lock(self, table: Table) -> AbstractContextManager[None]:
        """The turn of jobs."""
        return job_turn(self.journal, table.id)

    def matched_pieces(
        self,
        package: ReplicaPackage,
        table: Table,
        before: TableState | None,
        detail: Mapping[str, Any],
        under: str,
    ) -> ReplicaFiles:
        """Files, by folder, name, size and checksum."""
        live = () if before is None else before.manifest.segments
        return matched(package, self.journal.root, table, live, detail.get("filtered", {}), under)

    @contextmanager
    def staging(
        self,
        package: ReplicaPackage,
        table: Table,
        before: TableState | None,
        pieces: MatchedPieces,
        leaving: LeftOut,
        given: Reception,
    ) -> Iterator[_StagedFiles]:
        """Files are copied into folders that nothing lists."""
        assert isinstance(pieces, ReplicaFiles)
        journal = self.journal
        engine = given.workers.files(pieces.lacking_volume.bytes)
        place = f"{safe_name(table.name.schema)}/{safe_name(table.journal_name.name)}"
        fresh = f"{place}/{journal.new_segment_id()}"
        with staged_folders(journal, [*pieces.folders, fresh]):
            copy_wanted(journal, pieces, given, engine)
            state = before or TableState(Manifest(1, ()), 0, RowCounts(), (table,))
            suppressed = without_erased(
                *(journal, table, state, pieces, leaving, fresh),
                *(engine, given.progress),
            )
            yield _StagedFiles(self, pieces, suppressed)

    def removed_pieces(
        self, before: TableState, segments: Sequence[Segment]
    ) -> tuple[Segment, ...]:
        """Segments, with those of their files that go."""
        return Replacement(before.manifest.segments, tuple(segments)).removed_segments()

    def live_pieces(self, state: TableState) -> tuple[Segment, ...]:
        """A replica has segments alone."""
        return state.manifest.segments

    def rows(self, table: Table, segments: Sequence[Segment]) -> exp.Query:
        """What DuckDB reads of the files."""
        manifest = Manifest(0, (), tuple(segments))
        found = layout.written_rows(table, manifest, self.journal.root)
        return union_all(found) if found else no_rows(table)

    def settle(self, table: Table) -> None:
        """Seal the heads."""
        settled_version(self.journal, table.id)

    def last_change(self, state: TableState) -> Version:
        """That of the newest segment, or the newest commit where rows lie in a head."""
        sealed = max((s.max_version for s in state.manifest.segments), default=0)
        return max(sealed, self.journal.state.version) if state.head_counts.total else sealed

    def reap(self, table_id: int) -> bool:
        """Remove retired files, and lists of keys that nothing refers to."""
        journal = self.journal
        reaped = retired_files.reap(journal, journal.clock.now(), table_id)
        with journal.reading_session() as session:
            waits = retired.load(session, table_id)
        is_tidy = tidy(journal, wait_s=0)
        return not reaped.in_use and not waits and is_tidy

    def publish(self, change: Callable[[ReplicaSection], T]) -> T:
        """At once: nobody holds views."""
        with self.journal.exclusive_session() as session:
            return change(_WarehouseSection(self.journal, session, self.journal.state))


@dataclass(frozen=True, slots=True)
class _StagedFiles:
    store: WarehouseReplicas
    files: ReplicaFiles
    suppressed: int

    def count(self, query: exp.Query) -> int:
        with self.store.journal.reading_session() as session:
            (found,) = session.row(Query.of(query), {})
        return int(found)

    def publish(self, change: Callable[[ReplicaSection], T]) -> T:
        done = self.store.publish(change)
        copied = self.files.paths
        for file in (f for s in self.files.segments for f in s.files if f.path in copied):
            self.store.journal.checker.trust(file)
        return done


@dataclass(slots=True)
class _WarehouseSection:
    journal: Journal
    session: DuckDBSession
    committed: JournalState
    counters: tuple[int, dict[str, int]] = (0, {})

    def defined_state(self, before: TableState | None, changes: Changes) -> TableState:
        state = before
        for version, table in tables_defined(changes):
            state = commits.defined(self.session, state, table, version)
        assert state is not None, "a package has a definition"
        return state

    def listing_state(
        self, state: TableState, segments: Sequence[Segment], floor: Version
    ) -> TableState:
        return with_segments(state, segments, floor)

    def retire(self, table_id: int, before: TableState, after: TableState, job_id: str) -> None:
        gone = Replacement(before.manifest.segments, after.manifest.segments).removed_segments()
        now, why = self.journal.clock.now(), "the source has it no more"
        end = retired.Retirement(job_id, retired.PURGE, why, now, now)
        retired.record(self.session, table_id, after.manifest.generation, gone, end)

    def write(
        self,
        version: Version,
        changes: Changes,
        table_id: int,
        state: TableState,
        counters: Sequence[tuple[str, int]],
    ) -> None:
        catalog = self.committed.catalog
        for _, change in changes:
            catalog = apply(catalog, change)
        commits.write_catalog(
            *(self.journal.warehouse, self.session, self.committed, catalog, changes),
            {table_id: state},
        )
        for name, value in counters:
            catalog_tables.put_counter(self.session, table_id, name, value)
        self.counters = table_id, dict(counters)

    def commit(self, version: Version) -> None:
        self.journal.publish_records(self.session)
        self.journal.counters.take(*self.counters)
