"""The file under maintenance: each new piece is a table of its own, which nothing lists yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

from sqlglot import exp

from journal.model.plan import Query
from journal.model.schema import Table
from journal.model.segment import Head, RowCounts, Segment
from journal.model.version import Version
from journal.records import backups, retired
from journal.records.catalog import record_states
from journal.records.report import UNKNOWN
from journal.records.retired import RetiredRow
from journal.sql.counting import Fingerprint, count_rows
from journal.sql.row_layout import insert_fields, rows_in_layout, written_rows
from journal.transactions.foreign_writes import check_sealed
from journal.transactions.state import JournalState, TableState
from journal.transactions.transaction import Transaction
from spark_compaction import set_based
from spark_compaction.backend import Alongside, JoinedRows, Piece, Replan, TableAt
from spark_compaction.contract import JobPlan, JobRequest, Staged
from spark_compaction.maintenance import Maintenance
from spark_compaction.programs.journal_rows import query_of
from spark_compaction.programs.swapped_manifest import swapped
from spark_compaction.programs.table_lock import table_lock
from spark_compaction.programs.table_pieces import head_piece, look_and_record, table_at
from tests.contract.toy_store import layout
from tests.contract.toy_store.journal import SqliteJournal
from tests.contract.toy_store.session import SqliteSession

Change = Callable[[SqliteSession, JournalState, TableState], TableState]


def maintenance(journal: SqliteJournal) -> Maintenance:
    """Compaction and retention; the store has no other programs."""
    backend = partial(SqliteBackend, journal)
    return Maintenance(partial(set_based.compact, backend), partial(set_based.retain, backend))


def drop_retired(journal: SqliteJournal, table_id: int, now: Version) -> int:
    """Drop the retired pieces of a table whose grace is over by then, less those of backups."""
    with journal.writing() as session:
        found, pinned = retired.load_retired(session, table_id), backups.pinned_paths(session)
        going = [r.id for r in found if r.is_over(now) and r.id not in pinned]
        layout.drop(session, going)
        retired.forget(session, going)
    return len(going)


class SqliteBackend:
    """One run of a job; see ``SetBasedBackend``."""

    sizes = UNKNOWN
    session: SqliteSession

    def __init__(self, journal: SqliteJournal, asked: JobRequest) -> None:
        self.journal, self._asked, self._made = journal, asked, 0

    def now(self) -> Version:
        return self.journal.clock.now()

    @contextmanager
    def lock(self, table: Table) -> Iterator[None]:
        with table_lock(self.journal, table), self.journal.reading_session() as self.session:
            with self.journal.writing() as session:
                # What a killed job has written.
                known = retired.recorded_segment_ids(session, table.id)
                layout.drop(session, layout.made_by_jobs(session, table.id) - known)
            yield

    @contextmanager
    def preview(self, table: Table) -> Iterator[TableAt]:
        with self.journal.reading_session() as self.session:
            yield self._at(self.journal.seen.read_committed(self.session)[1], table.id)

    def rotate_head(self, table: Table) -> TableAt:
        def rotate(session: SqliteSession, _: JournalState, state: TableState) -> TableState:
            now = state.layouts[-1]
            last = layout.head_name(now.id, state.manifest.heads[-1])
            filled = count_rows(session, now, layout.rows_of(last)).total
            return layout.HEADS.with_head(session, now, state, fresh=bool(filled))

        return self._at(self._change(table.id, rotate), table.id, is_rotated=True)

    def _change(self, table_id: int, change: Change) -> JournalState:
        """Replace what is true of a journal; what is committed then."""
        with self.journal.section() as (session, row, committed):
            states = {table_id: change(session, committed, committed.tables[table_id])}
            following = record_states(session, row, states)
        after = committed.with_tables(states)
        self.journal.keep(following, after)
        return after

    def _at(self, committed: JournalState, table_id: int, *, is_rotated: bool = False) -> TableAt:
        self.session.find = partial(layout.tier_rows, committed, Transaction(committed))
        given, heads = (committed, table_id, committed.version), partial(self._counted, table_id)
        return table_at(*given, heads, is_rotated=is_rotated)

    def _counted(self, table_id: int, head: Head) -> Segment:
        rows = layout.rows_of(layout.head_name(table_id, head))
        return head_piece(rows.name, head, count_rows(self.session, self._asked.table, rows))

    def staging(self, at: TableAt, plan: JobPlan) -> AbstractContextManager[None]:
        """What a run leaves, the next one removes."""
        return nullcontext()

    def swap(
        self, at: TableAt, plan: JobPlan, staged: Staged, alongside: Alongside | None
    ) -> tuple[str, ...]:
        assert staged.replacement is not None
        removed, table = [s.id for s in staged.replacement.removed], at.table

        def swap(session: SqliteSession, committed: JournalState, state: TableState) -> TableState:
            if committed.catalog.by_id(table.id) != table:
                raise Replan("the table's definition was changed meanwhile")
            heads = {layout.head_name(table.id, h): h for h in state.manifest.heads[:-1]}
            following = swapped(state, staged, heads, is_new_epoch=staged.removes_rows)
            row = RetiredRow(id="", table_id=table.id, since=self.now(), until=None)
            gone = replace(row, until=row.since + self._asked.grace_us)
            apart = replace(row, job_kind=retired.ARCHIVE).of(s.id for s in staged.archived)
            retired.retire(session, [*gone.of(removed), *apart])
            if alongside is not None:
                given = (self, session, at, following.manifest, (committed, alongside))
                look_and_record(*given, partial(layout.head_name, table.id))
            return following

        self._change(table.id, swap)
        return tuple(removed)

    def drop_retired(self, table: Table) -> int:
        return drop_retired(self.journal, table.id, self.now())

    def stoppable(self) -> AbstractContextManager[None]:
        return self._asked.watching(self.session)

    def size(self, segment: Segment) -> int:
        return 0

    def listed(self, segments: Sequence[Segment]) -> tuple[Segment, ...]:
        return tuple(s for s in segments if s.counts.total)

    def check(self, at: TableAt, segments: Sequence[Segment]) -> None:
        check_sealed(self.session, at.table, segments, layout.held)

    def scan(self, piece: Piece, shown: Table | None = None) -> exp.Select:
        source = layout.rows_of(piece.segments[0].id)
        if shown is None:
            return written_rows(self._asked.table, source, piece.fields)
        return rows_in_layout(shown, source, piece.fields)

    def write(self, at: TableAt, like: Piece, rows: JoinedRows, *, anew: bool) -> Segment | None:
        session, table, fields = self.session, at.table, like.fields
        target = layout.rows_of(f"t{table.id}_s{self.now()}_{self._made}")
        self._made += 1
        session.make("TABLE", target.name, layout.journal_columns(table, fields))
        session.run(insert_fields(table, target, fields, query_of(table, rows)))
        counts = count_rows(session, table, target)
        if not counts.total:
            layout.drop(session, [target.name])
            return None
        made = Segment(target.name, like.tier, (), fields, counts, 0, at.version)
        return replace(made, checksum=layout.held(session, table, made)[1])

    def fingerprints(self, queries: Sequence[exp.Query]) -> list[Fingerprint]:
        return [layout.fingerprint(self.session, query) for query in queries]

    def count(self, at: TableAt, piece: Piece, where: exp.Expr) -> Mapping[str, RowCounts]:
        counts = count_rows(self.session, at.table, self.scan(piece).where(where).subquery("c"))
        return {s.id: counts for s in piece.segments} if counts.total else {}

    def show(self, name: str, query: exp.Query) -> None:
        self.session.stage(name, Query(query, ()), {})

    def ask(self, query: exp.Query) -> list[tuple[Any, ...]]:
        return self.session.run(query)
