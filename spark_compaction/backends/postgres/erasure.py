"""What a database does for erasures: its own SQL finds rows, and masks are tables of keys.

Copies of backups are loaded into tables that nothing lists, so that their rows are matched as live
ones. Decides nothing: see ``spark_compaction.erasure``.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

import pyarrow as pa
from sqlglot import exp

from journal.erasure import holds
from journal.erasure.erasure_spec import Subjects, TargetTable
from journal.erasure.guard import load_fence
from journal.erasure.matching import Matcher, shown_keys
from journal.erasure.requests import ErasureRequest, looked_for
from journal.local_engine.scratch import sweep_scratch
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.segment import Fields, Segment
from journal.model.store_session import StoreSession
from journal.records import deferred_subjects
from journal.records import erasure_rows as rows_of
from journal.records.backups import Backup
from journal.records.report import JobReport, Work
from journal.sql.relations_flat import is_flat
from journal.sql.row_layout import rows_in_layout
from journal.stores.postgres import backup_segments, layout, pieces
from journal.stores.postgres.journal import DatabaseJournal
from journal.stores.postgres.store import PostgresSession
from journal.transactions.protocol import OpenStatement
from journal.transactions.reading import reading
from journal.transactions.state import JournalState, TableState
from spark_compaction import runner
from spark_compaction.backends.postgres import searched, segment_swap, table_backups
from spark_compaction.backends.postgres.backup_transport import DatabaseTransport
from spark_compaction.backends.postgres.key_tables import KeyTables, relisted
from spark_compaction.backends.postgres.maintenance import DatabaseBackend
from spark_compaction.backends.postgres.segment_swap import Changed, publish
from spark_compaction.backends.postgres.spark_filling import by_server, by_spark
from spark_compaction.contract import JobRequest
from spark_compaction.erasure import purge_sql
from spark_compaction.erasure.backend import (
    Decide,
    HoldChange,
    KeyCount,
    PurgeRun,
    SourceRows,
    T,
    fetched_segments,
    unchanged,
)
from spark_compaction.erasure.purge_sql import PurgeInSql, in_units
from spark_compaction.erasure.search import Search

_COUNTED = "keys_counted"
_WAITS = "a transaction of the server that began before, is open, and may read"


@dataclass(frozen=True, slots=True)
class DatabaseErasure:
    """The ``ErasureBackend`` of a database."""

    journal: DatabaseJournal
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
        """Search tables that were not searched yet, and rows that were written since."""
        assert isinstance(session, PostgresSession)
        found = state.tables[aim.table.id]
        if kept:
            found = table_backups.with_backups(session, aim.table, found)
        searched.search_rows(session, aim, found, subjects, search)
        search.live = searched.volume(session, aim.table, found)

    @contextmanager
    def kept_segments(
        self, session: StoreSession, state: JournalState, table: Table, search: Search
    ) -> Iterator[tuple[Segment, ...]]:
        """The tables that only backups list."""
        assert isinstance(session, PostgresSession)
        found = state.tables[table.id]
        search.live = searched.volume(session, table, found)
        kept = backup_segments.backup_only_segments(session, table, found)
        yield tuple(s for s in kept if s.id not in search.seen)

    def search_copy(
        self, aim: TargetTable, subjects: Subjects, listed: Backup, search: Search
    ) -> None:
        """Load a copy, and match its rows."""
        with (
            fetched_segments(self, aim.table, listed) as segments,
            reading(self.journal) as statement,
        ):
            matcher = Matcher(statement.session, aim.table, aim.identities, subjects, search.keys)
            for segment in segments:
                matcher.rows(layout.segment_table(segment), segment.fields)
        search.count_copy(listed.segments)

    def transport(self, table: Table) -> DatabaseTransport:
        """Copies are loaded into tables that nothing lists."""
        return DatabaseTransport(self.journal, table)

    def segments_of(self, here: Backup) -> tuple[Segment, ...]:
        """A table each."""
        return backup_segments.tables_of(here)

    @contextmanager
    def rows_here(
        self, session: StoreSession, state: JournalState, table: Table, search: Search
    ) -> Iterator[SourceRows]:
        """Tables that are live or of backups; the last head grows, and so does what others write.

        They stay: the session's transaction reads them, or nobody may replace them.
        """
        assert isinstance(session, PostgresSession)
        found = table_backups.with_backups(session, table, state.tables[table.id])
        search.live = searched.volume(session, table, found)
        growing = {layout.head_table(table.id, head).name for head in found.manifest.heads[-1:]}
        sources: list[tuple[str, exp.Expr, Fields]] = []
        for source, fields in searched.rows_written(table, found):
            name = source.name if isinstance(source, exp.Table) else ""
            sources.append(("" if name in growing else name, source, fields))

        def rows(skipped: Collection[str], heads: bool) -> list[exp.Query]:
            return [
                rows_in_layout(table, source.copy(), fields)
                for name, source, fields in sources
                if (name not in skipped if name else heads)
            ]

        yield SourceRows({name for name, _, _ in sources if name}, rows)

    def rows_of(self, table: Table, segments: Sequence[Segment]) -> Sequence[exp.Query]:
        """The rows of tables that were loaded."""
        return [rows_in_layout(table, layout.segment_table(s), s.fields) for s in segments]

    def piece_sizes(
        self, session: StoreSession, state: JournalState, table: Table
    ) -> Mapping[str, int]:
        """Of tables; heads, and an adopted journal, are searched as a whole."""
        assert isinstance(session, PostgresSession)
        held = state.tables[table.id]
        total = searched.volume(session, table, held).bytes_read
        if is_flat(table):
            return {"": total}
        segments = held.manifest.segments
        found = {s.id: pieces.size(session, layout.segment_table(s)) for s in segments}
        return {**found, "": total - sum(found.values())}

    def count_keys(
        self, session: StoreSession, state: JournalState, table: Table, keys: pa.Table
    ) -> KeyCount:
        """Which tables hold how many rows of the keys."""
        assert isinstance(session, PostgresSession)
        shown = f"{_COUNTED}_{table.id}"
        session.show_arrow(shown, keys)
        backend = self._maintenance(table)
        at = backend.read_in(session, state, table)
        among = purge_sql.rows_with(
            backend, table, exp.alias_(shown_keys(table, shown).subquery(), "e")
        )
        pieces = backend.with_backups(at)
        found = purge_sql.count_rows(backend, at, pieces, among)
        sizes = [backend.size(s) for p in pieces for s in p.segments if s.id in found]
        return KeyCount(sum(found.values()), len(found), sum(sizes))

    def whole_table(self, statement: OpenStatement, table: Table) -> Table:
        """As it is now."""
        return table

    def change_lists(
        self, tables: Collection[int], decide: Decide[T], change: HoldChange = unchanged
    ) -> T | None:
        """In the commit section, again while readers outside hold the views."""
        journal, done = self.journal, list[T]()

        def changed(session: PostgresSession, committed: JournalState) -> Changed:
            done.clear()
            change(session)
            decision = decide(KeyTables(journal, session, committed, holds.active_in(session)))
            if decision is None:
                return Changed({})
            if decision.subjects is not None:
                request_id, text = decision.subjects
                if text is None:
                    deferred_subjects.forget(session, request_id)
                else:
                    deferred_subjects.keep(session, request_id, text)
            done.append(decision.record(session))
            states: dict[int, TableState] = {}
            for one in decision.lists:
                state = states.get(one.table_id, committed.tables[one.table_id])
                states[one.table_id] = relisted(journal, session, state, one)
            return Changed(states, load_fence(session))

        publish(journal, changed)
        return done[0] if done else None

    def deferred_subjects(self, request_id: str) -> str | None:
        """What lies in the request's own table."""
        with self.journal.reading_session() as session:
            return deferred_subjects.load_subjects(session, request_id)

    def forget_subjects(self) -> None:
        """Drop the tables of requests that look for nothing any more."""
        with self.journal.reading_session() as session:
            if not deferred_subjects.names(session):
                return
        # Beside nobody who accepts a request: what it looks for is there before it is seen.
        with self.journal.exclusive_session() as session:
            wanted = looked_for(map(ErasureRequest.of_row, rows_of.load_erasures(session)))
            for request_id in deferred_subjects.names(session) - wanted:
                deferred_subjects.forget(session, request_id)
            session.commit()

    def planned(self, table: Table, masks: Sequence[str]) -> Work:
        """Which tables hold rows of the keys."""
        return purge_sql.planned(self._maintenance(table), table, masks)

    def remove_rows(
        self, table: Table, masks: Callable[[], Sequence[str]], run: PurgeRun
    ) -> list[JobReport]:
        """Let the server write tables anew, or the engine."""
        request = run.request(table)
        fill = by_server if run.engine is None else by_spark(run.engine, run.progress)
        backend = DatabaseBackend(self.journal, request, fill)
        program = PurgeInSql(masks, run.changes, run.unit_bytes)
        return in_units(program, lambda: runner.run(backend, program, request))

    def purge_copy(
        self,
        table: Table,
        listed: Backup,
        definition: Table,
        masks: Sequence[str],
        run: PurgeRun,
    ) -> tuple[int, Mapping[str, int]]:
        """In one transaction, which is rolled back: files that were put away are left of it."""
        backend = self._maintenance(table)
        with backend.undone_changes(table) as (at, transport):
            return purge_sql.purge_copy(
                backend, at, transport, self.segments_of, (listed, definition), masks, run.changes
            )

    def _maintenance(self, table: Table) -> DatabaseBackend:
        return DatabaseBackend(self.journal, JobRequest(table, ""))

    def clear_remains(self, purged: Sequence[ErasureRequest]) -> Mapping[str, str]:
        """Drop retired tables that nobody can read any more."""
        found: dict[str, str] = {}
        for request in purged:
            in_use = [
                name
                for table_id in sorted({t.table_id for t in request.targets if t.manifest_after})
                for name in segment_swap.reap(self.journal, table_id).in_use
            ]
            if in_use:
                found[request.id] = f"{_WAITS} {', '.join(in_use)}"
            elif left := sweep_scratch():
                found[request.id] = (
                    f"{left[0]}, which a killed process left, and which cannot be removed"
                )
        return found
