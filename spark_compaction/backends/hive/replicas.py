"""Replicas in a Hive store: the ``ReplicaStore`` of partitions and a catalog beside them.

Partitions are loaded beside the live ones, and are part of the replica once one transaction of the
catalog lists them. A killed run leaves partitions that the next one removes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from sqlglot import exp

from journal.local_engine.scratch import sweep_scratch
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table, fold
from journal.model.segment import Segment
from journal.model.store_session import StoreSession
from journal.model.version import Version
from journal.records import retired
from journal.records.catalog import read_secret, record_past, replace_secret
from journal.records.catalog_format import StateRow, get_meta
from journal.records.numbers import put_numbers
from journal.records.retired import RetiredRow
from journal.records.schema import STATE
from journal.sql.relations import union_all
from journal.stores.hive import layout
from journal.stores.hive.catalog_db import catalog as rows_of
from journal.stores.hive.inlining import flush
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.section import rolled_back
from journal.stores.hive.session import HiveSession
from journal.stores.hive.statement import HiveStatement
from journal.transactions.commit_plan import with_definition
from journal.transactions.state import JournalState, TableState
from spark_compaction.backends.hive import cleaning
from spark_compaction.backends.hive.pieces import paths, pieces
from spark_compaction.backends.hive.replica_pieces import (
    leave_out,
    load_partitions,
    remove_leftovers,
)
from spark_compaction.backends.hive.replica_source import kind_of_store, origin
from spark_compaction.backends.hive.staging import staging
from spark_compaction.programs.journal_rows import no_rows
from spark_compaction.programs.replica_package import Reception, ReplicaPackage
from spark_compaction.programs.replica_pieces import ReplicaPieces, match_pieces
from spark_compaction.programs.replica_sections import (
    ending_with,
    not_among,
    tables_defined,
    with_segments,
)
from spark_compaction.programs.replica_store import (
    Changes,
    LeftOut,
    MatchedPieces,
    ReplicaSection,
)
from spark_compaction.programs.table_lock import table_lock

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HiveReplicas:
    """How a Hive store has replicas."""

    journal: HiveJournal

    @property
    def kind(self) -> str:
        """Its server keeps and compares rows as that of the source does."""
        return kind_of_store(self.journal)

    def store_id(self) -> str:
        """What no other store is called."""
        with self.journal.catalog.reading() as connection:
            return get_meta(connection, "id") or ""

    def secret(self) -> str:
        """A catalog has had one from the beginning."""
        with self.journal.catalog.reading() as connection:
            return read_secret(connection)

    def adopt_secret(self, secret: str, may: Callable[[StoreSession], bool]) -> None:
        """Put it into the catalog; whoever has read the one before reads this one."""
        with self.journal.fencing_session() as session:
            if may(session):
                replace_secret(session, secret)

    def pass_table_ids(self, highest: int) -> None:
        """Ids are numbers of the catalog."""
        self.journal.counters.pass_table_ids(highest)

    def lock(self, table: Table) -> AbstractContextManager[object]:
        """The turn of jobs."""
        return table_lock(self.journal, table)

    def matched_pieces(
        self,
        package: ReplicaPackage,
        table: Table,
        before: TableState | None,
        detail: Mapping[str, Any],
        under: str,
    ) -> ReplicaPieces:
        """Partitions, by their origin and rows."""
        live, store = () if before is None else before.manifest.segments, self.store_id()
        return match_pieces(package, live, lambda s: origin(store, s.files[0].path), detail, under)

    @contextmanager
    def staging(
        self,
        package: ReplicaPackage,
        table: Table,
        before: TableState | None,
        pieces: MatchedPieces,
        leaving: LeftOut,
        given: Reception,
    ) -> Iterator[_StagedPartitions]:
        """Partitions are loaded beside the live ones."""
        assert isinstance(pieces, ReplicaPieces)
        journal = self.journal
        with (
            staging(journal) as made,
            journal.statement(journal.begin(read_only=True)) as statement,
        ):
            _check_name(statement, journal, table)
            remove_leftovers(journal, statement.session, table.id)
            load_partitions(journal, statement.session, package, table, pieces, made)
            suppressed = leave_out(journal, statement, package, table, pieces, leaving, made)
            yield _StagedPartitions(journal, statement.session, table, suppressed)

    def removed_pieces(
        self, before: TableState, segments: Sequence[Segment]
    ) -> tuple[Segment, ...]:
        """Segments that are not listed any more."""
        return not_among(self.live_pieces(before), segments)

    def live_pieces(self, state: TableState) -> tuple[Segment, ...]:
        """There are no heads."""
        return state.manifest.segments

    def rows(self, table: Table, segments: Sequence[Segment]) -> exp.Query:
        """What Spark reads of the partitions."""
        names = self.journal.names
        found = [
            layout.rows_in_table(names, table, piece.fields, paths(piece))
            for piece in pieces(segments)
        ]
        return union_all(found) if found else no_rows(table)

    def settle(self, table: Table) -> None:
        """Make partitions of what the catalog holds of it."""
        flush(self.journal, table.id)

    def last_change(self, state: TableState) -> Version:
        """That of the last commit to the table, or of its last definition."""
        return state.last_version

    def reap(self, table_id: int) -> bool:
        """Drop retired partitions; False if runs or queries have left others that nobody lists."""
        journal = self.journal
        with journal.store.connection() as connection:
            cleaning.reap(journal, connection, table_id)
            forsaken = cleaning.forsaken(journal, connection, journal.now(), table_id)
        with journal.catalog.reading() as reading:
            waits = retired.load_retired(reading, table_id)
        return not waits and not _left_of(forsaken, table_id) and not sweep_scratch()

    def publish(self, change: Callable[[ReplicaSection], T]) -> T:
        """In a transaction of the catalog."""
        return _published(self.journal, change, ())


def _left_of(forsaken: Sequence[str], table_id: int) -> list[str]:
    """Partitions of a table; whose the tables of staged rows are does not show."""
    return [name for name in forsaken if f"_t{table_id}_" in name]


def _check_name(statement: HiveStatement, journal: HiveJournal, table: Table) -> None:
    """Raise DUPLICATE_TABLE if the metastore has a relation of others by the replica's name."""
    layout.check_shape(table, journal.store.engine)
    before = statement.committed.catalog
    if journal.views is None or before.get(table.name) is not None:
        return
    after = before
    if fold(table.name.schema) not in after.schemas:
        after = after.with_schema(table.name.schema)
    journal.views.check_free(statement.session.connection, before, after.with_relation(table))


def _published(
    journal: HiveJournal, change: Callable[[ReplicaSection], T], tables: Sequence[int]
) -> T:
    """What ``change`` gives, which runs in one transaction of the catalog, and commits it.

    Meanwhile nobody changes definitions, and nobody commits to, or erases from, some tables.
    """
    section: _CatalogSection | None = None
    with journal.leases.holding(["catalog", *(f"table:{i}" for i in tables)]) as held:
        try:
            with journal.catalog.writing(STATE, rows_of.RECORDS) as connection:
                held.check(connection)
                row, committed = journal.look_in(connection)
                journal.clock.settle(max(committed.version, row.settled))
                with journal.recording(connection) as session:
                    section = _CatalogSection(journal, session, committed, row)
                    done = change(section)
        except PalimpsestError as error:
            version = None if section is None else section.version
            if error.code is not Code.OUTCOME_UNKNOWN or version is None:
                raise
            if not journal.was_committed(version, error):
                raise rolled_back() from error
    if section is not None and section.version is not None:
        journal.keep(*journal.read_committed())
    return done


@dataclass(frozen=True, slots=True)
class _StagedPartitions:
    """Partitions that nothing lists."""

    journal: HiveJournal
    session: HiveSession
    table: Table
    suppressed: int

    def count(self, query: exp.Query) -> int:
        ((found,),) = self.session.connection.run(self.session.in_spark(query))
        return int(found)

    def publish(self, change: Callable[[ReplicaSection], T]) -> T:
        return _published(self.journal, change, (self.table.id,))


@dataclass(slots=True)
class _CatalogSection:
    journal: HiveJournal
    session: HiveSession
    committed: JournalState
    row: StateRow
    version: Version | None = None

    def defined_state(self, before: TableState | None, changes: Changes) -> TableState:
        state = before
        for version, table in tables_defined(changes):
            state = with_definition(state, table, version)
        assert state is not None, "a package has a definition"
        return state

    def listing_state(
        self, state: TableState, segments: Sequence[Segment], floor: Version
    ) -> TableState:
        return with_segments(state, segments, floor)

    def retire(self, table_id: int, before: TableState, after: TableState, job_id: str) -> None:
        segments = not_among(before.manifest.segments, after.manifest.segments)
        gone = [s.files[0].path for s in segments]
        now = self.journal.now()
        end = RetiredRow(id="", table_id=table_id, since=now, until=now, job_id=job_id)
        retired.retire(self.session, replace(end, job_kind=retired.PURGE).of(gone))

    def write(
        self,
        version: Version,
        changes: Changes,
        table_id: int,
        state: TableState,
        counters: Sequence[tuple[str, int]],
    ) -> None:
        before, manifest = self.committed.tables.get(table_id), state.manifest
        if before is None or before.manifest.segments != manifest.segments:
            # What a claim is checked against may be gone; the epoch tells who is late.
            manifest = replace(manifest, epoch=manifest.epoch + 1)
            rows_of.forget_claims_of(self.session, table_id)
        state = replace(state, manifest=manifest, last_version=version)
        listed = ending_with(changes, version, state.layouts[-1])
        record_past(self.session, self.row, version, listed, {table_id: state})
        put_numbers(self.session, table_id, counters)

    def commit(self, version: Version) -> None:
        self.session.commit()
        self.version = version
