"""Replicas in a database: the ``ReplicaStore`` of tables of journal rows.

Tables are loaded, and listed, in one transaction of the server: a killed run leaves nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from sqlglot import exp

from journal.erasure.guard import load_fence
from journal.local_engine.scratch import sweep_scratch
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import Query
from journal.model.schema import Table
from journal.model.segment import RowCounts, Segment
from journal.model.store_session import StoreSession
from journal.model.version import Version
from journal.records import retired
from journal.records.catalog import read_secret, replace_secret
from journal.records.catalog_format import StateRow, get_meta
from journal.records.numbers import put_numbers
from journal.sql.relations import union_all
from journal.stores.postgres import jobs, layout, pieces, section
from journal.stores.postgres.catalog import pass_table_ids
from journal.stores.postgres.journal import DatabaseJournal
from journal.stores.postgres.store import BEGIN_SECTION, PostgresSession
from journal.transactions.state import JournalState, TableState
from spark_compaction.backends.postgres import segment_swap
from spark_compaction.backends.postgres.replica_pieces import (
    leave_out,
    live_tables,
    load_tables,
    match_tables,
)
from spark_compaction.backends.postgres.replica_source import KIND
from spark_compaction.limits import SWAP_PAUSE_S, SWAP_TRIES
from spark_compaction.programs.journal_rows import no_rows
from spark_compaction.programs.replica_package import Reception, ReplicaPackage
from spark_compaction.programs.replica_pieces import ReplicaPieces
from spark_compaction.programs.replica_sections import ending_with, not_among, tables_defined
from spark_compaction.programs.replica_store import (
    Changes,
    LeftOut,
    MatchedPieces,
    ReplicaSection,
)

T = TypeVar("T")
_ATTEMPT = "replica_publication"


@dataclass(frozen=True, slots=True)
class DatabaseReplicas:
    """How a database has replicas."""

    journal: DatabaseJournal
    kind: str = KIND

    def store_id(self) -> str:
        """What no other database is called."""
        with self.journal.reading_session() as session:
            return get_meta(session, "id") or ""

    def secret(self) -> str:
        """A database has had one from the beginning."""
        with self.journal.reading_session() as session:
            return read_secret(session)

    def adopt_secret(self, secret: str, may: Callable[[StoreSession], bool]) -> None:
        """Put it into the catalog; whoever has read the one before reads this one."""
        with self.journal.commit_section() as (session, committed, row):
            if not may(session):
                return
            replace_secret(session, secret)
            fence = load_fence(session)
            written = section.replace_states(session, committed, row, {}, fence)
            self.journal.conclude(session, written)

    def pass_table_ids(self, highest: int) -> None:
        """Ids come from a sequence of the server."""
        with self.journal.reading_session() as session:
            pass_table_ids(session, highest)

    def lock(self, table: Table) -> AbstractContextManager[object]:
        """The turn of jobs."""
        return segment_swap.table_lock(self.journal, table)

    def matched_pieces(
        self,
        package: ReplicaPackage,
        table: Table,
        before: TableState | None,
        detail: Mapping[str, Any],
        under: str,
    ) -> ReplicaPieces:
        """Tables, by their origin, rows and checksum."""
        return match_tables(package, self.store_id(), table.id, before, detail, under)

    @contextmanager
    def staging(
        self,
        package: ReplicaPackage,
        table: Table,
        before: TableState | None,
        pieces: MatchedPieces,
        leaving: LeftOut,
        given: Reception,
    ) -> Iterator[_StagedTables]:
        """Tables are loaded in the transaction that lists them."""
        assert isinstance(pieces, ReplicaPieces)
        with self.journal.reading_session() as session:
            session.begin(BEGIN_SECTION)
            try:
                load_tables(self.journal, session, package, table, pieces)
                suppressed = leave_out(self.journal, session, package, table, pieces, leaving)
                yield _StagedTables(self.journal, session, suppressed)
            finally:
                session.rollback()

    def removed_pieces(
        self, before: TableState, segments: Sequence[Segment]
    ) -> tuple[Segment, ...]:
        """Heads and segments that are not listed any more."""
        return not_among(self.live_pieces(before), segments)

    def live_pieces(self, state: TableState) -> tuple[Segment, ...]:
        """Heads are tables as segments are."""
        return live_tables(state.layouts[-1].id, state)

    def rows(self, table: Table, segments: Sequence[Segment]) -> exp.Query:
        """What the server reads of the tables."""
        found = [layout.rows_as(table, layout.segment_table(s), s.fields) for s in segments]
        return union_all(found) if found else no_rows(table)

    def settle(self, table: Table) -> None:
        """The catalog says of each journal when it was written."""

    def last_change(self, state: TableState) -> Version:
        """That of the last commit to the table, or of its last definition."""
        return state.last_version

    def reap(self, table_id: int) -> bool:
        """Drop retired tables, and what killed processes left on their way."""
        reaped = segment_swap.reap(self.journal, table_id)
        with self.journal.reading_session() as session:
            waits = retired.load_retired(session, table_id)
        return not reaped.in_use and not waits and not sweep_scratch()

    def publish(self, change: Callable[[ReplicaSection], T]) -> T:
        """In a transaction that has done nothing before."""
        with self.journal.reading_session() as session:
            session.begin(BEGIN_SECTION)
            try:
                return _StagedTables(self.journal, session, 0).publish(change)
            finally:
                session.rollback()


@dataclass(frozen=True, slots=True)
class _StagedTables:
    """Tables that only the session's transaction sees."""

    journal: DatabaseJournal
    session: PostgresSession
    suppressed: int

    def count(self, query: exp.Query) -> int:
        (found,) = self.session.row(Query(query, ()), {})
        return int(found)

    def publish(self, change: Callable[[ReplicaSection], T]) -> T:
        session = self.session
        for attempt in range(SWAP_TRIES):
            session.text(f"SAVEPOINT {_ATTEMPT}")
            committed, row = self.journal.enter_section(session)
            session.text(segment_swap.WAIT)
            try:
                return change(_DatabaseSection(self.journal, session, committed, row))
            except PalimpsestError as error:
                if error.code is not Code.JOB_BUSY or attempt + 1 == SWAP_TRIES:
                    raise
            # Others read the views from outside; what was loaded stays, and the lock goes.
            session.text(f"ROLLBACK TO SAVEPOINT {_ATTEMPT}")
            time.sleep(SWAP_PAUSE_S)
        raise AssertionError("the loop returns or raises")


@dataclass(frozen=True, slots=True)
class _DatabaseSection:
    journal: DatabaseJournal
    session: PostgresSession
    committed: JournalState
    row: StateRow

    def defined_state(self, before: TableState | None, changes: Changes) -> TableState:
        tables = tables_defined(changes)
        if not tables:
            assert before is not None, "a package has a definition"
            return before
        return section.defined_state(self.session, self.committed, before, tables)

    def listing_state(
        self, state: TableState, segments: Sequence[Segment], floor: Version
    ) -> TableState:
        """Only the newest head, which is empty, takes rows once the replica is promoted."""
        heads = state.manifest.heads[-1:]
        manifest = replace(state.manifest, heads=heads, segments=tuple(segments), floor=floor)
        return replace(state, manifest=manifest, head_counts=RowCounts())

    def retire(self, table_id: int, before: TableState, after: TableState, job_id: str) -> None:
        now, epoch = self.journal.clock.now(), before.manifest.epoch
        for segment in not_among(live_tables(table_id, before), live_tables(table_id, after)):
            gone = jobs.RetiredTable(segment.id, table_id, epoch, now, now)
            size = pieces.size(self.session, layout.segment_table(segment))
            jobs.retire(self.session, gone, job_id, retired.PURGE, size)

    def write(
        self,
        version: Version,
        changes: Changes,
        table_id: int,
        state: TableState,
        counters: Sequence[tuple[str, int]],
    ) -> None:
        before, manifest = self.committed.tables.get(table_id), state.manifest
        consists = (manifest.heads, manifest.segments)
        if before is None or (before.manifest.heads, before.manifest.segments) != consists:
            manifest = replace(manifest, epoch=manifest.epoch + 1)
        state = replace(state, manifest=manifest, last_version=version)
        listed = ending_with(changes, version, state.layouts[-1])
        section.write_past(
            self.session, self.committed, self.row, version, listed, {table_id: state}
        )
        put_numbers(self.session, table_id, counters)

    def commit(self, version: Version) -> None:
        self.journal.conclude_past(self.session, version)
