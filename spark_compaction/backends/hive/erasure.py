"""What a Hive store does for erasures: Spark finds rows, and masks are partitions of keys.

Copies of backups are loaded into partitions that nothing lists, so that their rows are matched as
live ones. Decides nothing: see ``spark_compaction.erasure``.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from journal.erasure import holds
from journal.erasure.erasure_spec import Subjects, TargetTable
from journal.erasure.guard import load_fence
from journal.erasure.holds import Hold
from journal.erasure.requests import ErasureRequest, Outcome, looked_for
from journal.local_engine.scratch import sweep_scratch
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.segment import Segment
from journal.model.store_session import StoreSession
from journal.records import backups, deferred_subjects
from journal.records import erasure_rows as requests_of
from journal.records import retired as retired_rows
from journal.records.backups import Backup
from journal.records.report import JobReport, Work
from journal.sql.row_layout import rows_in_layout
from journal.stores.hive import backup_segments, layout
from journal.stores.hive.catalog_db import catalog as rows_of
from journal.stores.hive.inlining import flushed
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.leases import HeldLeases
from journal.stores.hive.row_upload import INLINE_ROWS_MAX
from journal.stores.hive.session import HiveSession
from journal.transactions.protocol import OpenStatement
from journal.transactions.reading import reading
from journal.transactions.state import JournalState, TableState
from spark_compaction import runner
from spark_compaction.backends.hive import cleaning
from spark_compaction.backends.hive.backup_transport import HiveTransport
from spark_compaction.backends.hive.erased_rows import match_rows, with_backups
from spark_compaction.backends.hive.key_partitions import KeyPartitions, relisted
from spark_compaction.backends.hive.maintenance import HiveBackend
from spark_compaction.backends.hive.pieces import paths, pieces
from spark_compaction.backends.hive.staging import staging
from spark_compaction.contract import JobRequest
from spark_compaction.erasure import purge_sql
from spark_compaction.erasure.backend import (
    Decide,
    HoldChange,
    KeyCount,
    ListDecision,
    PurgeRun,
    SourceRows,
    T,
    fetched_segments,
    unchanged,
)
from spark_compaction.erasure.purge_sql import PurgeInSql, in_units
from spark_compaction.erasure.search import Search, unseen

_COUNTED = "keys_counted"
_ROUNDS_MAX = 5
_VERSIONS = 2
_VALUE_BYTES = 8
"""What a value takes, about, where nobody says what a partition does."""


class _Outrun(PalimpsestError):
    """Holds or requests have changed since keys were split by them."""


@dataclass(frozen=True, slots=True)
class HiveErasure:
    """The ``ErasureBackend`` of a Hive store."""

    journal: HiveJournal
    purges_at_once: bool = True
    reads_dropped: bool = False

    def new_request_id(self) -> str:
        """An id that no request has."""
        return uuid.uuid4().hex[:12]

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
        """Search partitions that were not searched yet."""
        assert isinstance(session, HiveSession)
        manifest = state.tables[aim.table.id].manifest
        live = [s for s in manifest.segments if unseen(s, search.seen) is not None]
        with self.kept_segments(session, state, aim.table, search) as only_kept:
            found = [*live, *(only_kept if kept else ())]
            match_rows(self.journal, session, aim, subjects, found, search.keys)
            search.count_kept(found)

    @contextmanager
    def kept_segments(
        self, session: StoreSession, state: JournalState, table: Table, search: Search
    ) -> Iterator[tuple[Segment, ...]]:
        """The partitions that only backups list."""
        search.count_live(state.tables[table.id].manifest.segments)
        found = backup_segments.backup_only_segments(session, table, state.tables[table.id])
        yield tuple(s for s in found if unseen(s, search.seen) is not None)

    def search_copy(
        self, aim: TargetTable, subjects: Subjects, listed: Backup, search: Search
    ) -> None:
        """Load a copy, and match its rows."""
        with (
            fetched_segments(self, aim.table, listed) as segments,
            reading(self.journal) as statement,
        ):
            session = statement.session
            assert isinstance(session, HiveSession)
            match_rows(self.journal, session, aim, subjects, segments, search.keys)
        search.count_copy(listed.segments)

    def transport(self, table: Table) -> HiveTransport:
        """Copies are loaded into partitions that nothing lists."""
        return HiveTransport(self.journal, table)

    def segments_of(self, here: Backup) -> tuple[Segment, ...]:
        """A partition each."""
        return backup_segments.segments_of(here)

    @contextmanager
    def rows_here(
        self, session: StoreSession, state: JournalState, table: Table, search: Search
    ) -> Iterator[SourceRows]:
        """Partitions that are live or of backups."""
        found = with_backups(session, table, state.tables[table.id])
        search.count_live(state.tables[table.id].manifest.segments)
        search.count_kept(found)
        by_path = {s.files[0].path: s for s in found}

        def rows(skipped: Collection[str], _heads: bool) -> Sequence[exp.Query]:
            return self.rows_of(table, [s for path, s in by_path.items() if path not in skipped])

        yield SourceRows(set(by_path), rows)

    def rows_of(self, table: Table, segments: Sequence[Segment]) -> Sequence[exp.Query]:
        """The rows of partitions."""
        names = self.journal.names
        return [
            rows_in_layout(table, layout.rows_of(names, paths(p)).subquery(), p.fields)
            for p in pieces(segments)
        ]

    def piece_sizes(
        self, session: StoreSession, state: JournalState, table: Table
    ) -> Mapping[str, int]:
        """Estimated of rows and columns: Spark does not say what partitions take."""
        return {
            s.files[0].path: s.counts.total * (len(s.fields) + _VERSIONS) * _VALUE_BYTES
            for s in state.tables[table.id].manifest.segments
        }

    def count_keys(
        self, session: StoreSession, state: JournalState, table: Table, keys: pa.Table
    ) -> KeyCount:
        """Which partitions hold how many rows of the keys, which Spark gets a piece at a time."""
        assert isinstance(session, HiveSession)
        backend = self._maintenance(table)
        at = backend.read_in(session, state, table)
        found = Counter[str]()
        for start in range(0, keys.num_rows, INLINE_ROWS_MAX):
            session.show_arrow(_COUNTED, keys.slice(start, INLINE_ROWS_MAX))
            among = purge_sql.rows_with(backend, table, exp.alias_(exp.to_table(_COUNTED), "e"))
            found.update(purge_sql.count_rows(backend, at, backend.with_backups(at), among))
        return KeyCount(sum(found.values()), len(found), 0)

    def whole_table(self, statement: OpenStatement, table: Table) -> Table:
        """As it is now."""
        return table

    def change_lists(
        self, tables: Collection[int], decide: Decide[T], change: HoldChange = unchanged
    ) -> T | None:
        """Under the leases of the tables; anew where holds or requests change until the commit."""
        for _ in range(_ROUNDS_MAX):
            try:
                return self._change_lists(tables, decide, change)
            except _Outrun:
                continue
        raise PalimpsestError(
            Code.JOB_BUSY,
            "erasure requests or legal holds keep changing",
            advice="run it again when they change less often",
        )

    def _change_lists(
        self, tables: Collection[int], decide: Decide[T], change: HoldChange
    ) -> T | None:
        journal = self.journal
        with (
            flushed(journal, tables) as turn,
            staging(journal) as made,
            journal.statement(journal.begin(read_only=True)) as statement,
        ):
            lists = KeyPartitions(journal, statement, self._active(change), made)
            decision = decide(lists)
            if decision is None:
                return None
            done = self._commit(turn, lists, decision, change)
        if decision.lists and journal.views is not None:
            journal.views.refresh(journal.read_committed()[1])
        if decision.subjects is not None or any(c.dropped for c in decision.lists):
            journal.catalog.scrub()
        return done

    def _active(self, change: HoldChange) -> list[Hold]:
        """The holds in force once a change is made."""
        if change is unchanged:
            with self.journal.reading_session() as session:
                return holds.active_in(session)
        with self.journal.exclusive_session() as preview:
            # This transaction is never committed.
            change(preview)
            return holds.active_in(preview)

    def _commit(
        self,
        turn: HeldLeases,
        lists: KeyPartitions,
        decision: ListDecision[T],
        change: HoldChange,
    ) -> T:
        """Name the lists, and write the records, in one transaction of the catalog."""
        journal = self.journal
        with journal.catalog.writing(rows_of.STATE, rows_of.RECORDS) as connection:
            turn.check(connection)
            row, committed = journal.look_in(connection)
            following = replace(row, generation=row.generation + 1, fence=row.generation + 1)
            with journal.recording(connection) as session:
                change(session)
                if not lists.is_current(session):
                    raise _Outrun(Code.JOB_BUSY, "a hold or a request was changed meanwhile")
                done = decision.record(session)
                fence = load_fence(session)
                session.commit()
            if decision.subjects is not None:
                request_id, text = decision.subjects
                if text is None:
                    deferred_subjects.forget(connection, request_id)
                else:
                    deferred_subjects.keep(connection, request_id, text)
            states: dict[int, TableState] = {}
            for one in decision.lists:
                state = states.get(one.table_id, committed.tables[one.table_id])
                states[one.table_id] = relisted(
                    journal, connection, following.generation, state, one
                )
            rows_of.put_state(connection, following)
        journal.keep(following, committed.with_tables(states, fence))
        return done

    def deferred_subjects(self, request_id: str) -> str | None:
        """What lies in the request's own table of the catalog."""
        with self.journal.catalog.reading() as connection:
            return deferred_subjects.load_subjects(connection, request_id)

    def forget_subjects(self) -> None:
        """Drop the tables of requests that look for nothing any more."""
        journal = self.journal
        with journal.catalog.reading() as connection:
            if not deferred_subjects.names(connection):
                return
        # Beside nobody who accepts a request: what it looks for is there before it is seen.
        with journal.catalog.writing(rows_of.STATE, rows_of.RECORDS) as connection:
            with journal.recording(connection) as session:
                wanted = looked_for(map(ErasureRequest.of_row, requests_of.load_erasures(session)))
            for request_id in deferred_subjects.names(connection) - wanted:
                deferred_subjects.forget(connection, request_id)
        journal.catalog.scrub()

    def planned(self, table: Table, masks: Sequence[str]) -> Work:
        """Which partitions hold rows of the keys."""
        return purge_sql.planned(self._maintenance(table), table, masks)

    def remove_rows(
        self, table: Table, masks: Callable[[], Sequence[str]], run: PurgeRun
    ) -> list[JobReport]:
        """Have Spark write partitions anew."""
        request = run.request(table)
        program = PurgeInSql(masks, run.changes, run.unit_bytes)
        backend = HiveBackend(self.journal, request)
        return in_units(program, lambda: runner.run(backend, program, request))

    def purge_copy(
        self,
        table: Table,
        listed: Backup,
        definition: Table,
        masks: Sequence[str],
        run: PurgeRun,
    ) -> tuple[int, Mapping[str, int]]:
        """Load a copy, and write its partitions anew that hold a key."""
        backend = self._maintenance(table)
        with backend.undone_changes(table) as (at, transport):
            return purge_sql.purge_copy(
                backend, at, transport, self.segments_of, (listed, definition), masks, run.changes
            )

    def _maintenance(self, table: Table) -> HiveBackend:
        return HiveBackend(self.journal, JobRequest(table, ""))

    def clear_remains(self, purged: Sequence[ErasureRequest]) -> Mapping[str, str]:
        """Drop retired partitions, past the file system's trash."""
        journal, found = self.journal, dict[str, str]()
        if not purged:
            return found
        # Their rows may have been inlined once.
        journal.catalog.scrub()
        if journal.views is not None:
            # They shall name nothing that goes now.
            journal.views.refresh(journal.read_committed()[1])
        with journal.store.connection() as connection:
            cleaning.reap(journal, connection)
            for request in purged:
                retired, forsaken = list[str](), list[str]()
                # What no search has looked into is not for this request to wait for.
                searched = [t for t in request.targets if t.outcome is not Outcome.NOT_SEARCHED]
                for table_id in sorted({t.table_id for t in searched}):
                    retired += self._retired_partitions(table_id)
                    forsaken += cleaning.forsaken(journal, connection, request.updated, table_id)
                left = waits_for(retired, forsaken, [str(path) for path in sweep_scratch()])
                if left:
                    found[request.id] = left
        return found

    def _retired_partitions(self, table_id: int) -> list[str]:
        """Partitions of a table that jobs have replaced, and no backup lists."""
        with self.journal.catalog.reading() as reading_catalog:
            retired = {r.id for r in retired_rows.load_retired(reading_catalog, table_id)}
        with self.journal.reading_session() as session:
            return sorted(retired - backups.listed_paths(backups.load(session, table_id)))


def waits_for(retired: Sequence[str], forsaken: Sequence[str], scratch: Sequence[str]) -> str:
    """What a request waits for, in words: each kind of remains with what makes it go."""
    parts = []
    if retired:
        parts.append(f"transactions that may still read the partitions {', '.join(retired)}")
    if forsaken:
        parts.append(
            f"writers that have neither committed nor ended their partitions {', '.join(forsaken)};"
            " VACUUM drops those of killed ones after a day"
        )
    if scratch:
        parts.append(f"{scratch[0]}, which a killed process left, and which cannot be removed")
    return "; and for ".join(parts)
