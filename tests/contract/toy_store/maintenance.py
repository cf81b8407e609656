"""The file under maintenance: each new piece is a table of its own, which nothing lists yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Query
from journal.model.schema import Table
from journal.model.segment import Manifest, RowCounts, Segment, Tier
from journal.model.version import Version
from journal.records import backups, retired
from journal.records.report import UNKNOWN, JobReport
from journal.records.retired import RetiredRow
from journal.sql.row_layout import rows_in_layout
from journal.transactions.state import JournalState, TableState
from journal.transactions.transaction import Transaction
from spark_compaction.backend import Alongside, Fingerprint, JoinedRows, Piece, Replan, TableAt
from spark_compaction.contract import JobPlan, JobRequest, Staged
from spark_compaction.maintenance import Maintenance
from spark_compaction.programs.compaction_sql import CompactionInSql
from spark_compaction.programs.journal_rows import query_of
from spark_compaction.programs.retention_sql import RetentionInSql
from spark_compaction.runner import run
from tests.contract.toy_store import layout
from tests.contract.toy_store.journal import SqliteJournal, put_states, with_head
from tests.contract.toy_store.session import SqliteSession


def maintenance(journal: SqliteJournal) -> Maintenance:
    """Compaction and retention; the store has no other programs."""
    return Maintenance(compact=partial(_compact, journal), retain=partial(_retain, journal))


def _compact(journal: SqliteJournal, asked: JobRequest, mode: str) -> JobReport:
    return run(SqliteBackend(journal, asked), CompactionInSql(mode), asked)


def _retain(journal: SqliteJournal, asked: JobRequest, now: datetime, by: str | None) -> JobReport:
    return run(SqliteBackend(journal, asked), RetentionInSql(now, asked.job_id, by), asked)


def drop_retired(journal: SqliteJournal, table_id: int, now: Version) -> int:
    """Drop the retired pieces of a table whose grace is over by then, less those of backups."""
    with journal.exclusive_session() as session:
        pinned = backups.pinned_paths(session)
        found = retired.load_retired(session, table_id)
        over = [r.id for r in found if r.until is not None and r.until <= now]
        going = [name for name in over if name not in pinned]
        for name in going:
            session.run(exp.Drop(tables=[layout.rows_of(name)], kind="TABLE"))
        retired.forget(session, going)
        session.commit()
    return len(going)


class SqliteBackend:
    """One run of a job; see ``SetBasedBackend``."""

    sizes = UNKNOWN

    def __init__(self, journal: SqliteJournal, asked: JobRequest) -> None:
        self.journal, self._asked = journal, asked
        self._open: SqliteSession | None = None
        self._made = 0

    @property
    def session(self) -> SqliteSession:
        assert self._open is not None
        return self._open

    def now(self) -> Version:
        return self.journal.clock.now()

    @contextmanager
    def lock(self, table: Table) -> Iterator[None]:
        with self.journal.exclusive(f"maintenance:{table.id}") as is_mine:
            if not is_mine:
                raise PalimpsestError(Code.JOB_BUSY, f"a job is at {table.name}", advice="wait")
            with self.journal.reading_session() as self._open:
                self._remove_litter(table.id)
                yield

    def _remove_litter(self, table_id: int) -> None:
        """Drop what a killed job has written."""
        with self.journal.section() as (session, _, committed):
            known = {r.id for r in retired.load_retired(session, table_id)}
            known |= {s.id for s in committed.tables[table_id].manifest.segments}
            query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB ?"
            for (name,) in session.text(query, [f"t{table_id}_s*"]):
                if name not in known:
                    session.run(exp.Drop(tables=[layout.rows_of(name)], kind="TABLE"))
            session.commit()

    @contextmanager
    def preview(self, table: Table) -> Iterator[TableAt]:
        with self.journal.reading_session() as self._open:
            _, committed = self.journal.look(self.session)
            yield self._at(committed, table.id)

    def rotate_head(self, table: Table) -> TableAt:
        def rotate(session: SqliteSession, _: JournalState, state: TableState) -> TableState:
            now = state.layouts[-1]
            last = layout.head_name(now.id, state.manifest.heads[-1])
            filled = layout.count_rows(session, now, layout.rows_of(last)).total
            return with_head(session, state, now, fresh=bool(filled))

        return self._at(self._change(table.id, rotate), table.id)

    def _change(
        self,
        table_id: int,
        change: Callable[[SqliteSession, JournalState, TableState], TableState],
    ) -> JournalState:
        """Replace what is true of a journal; what is committed then."""
        with self.journal.section() as (session, row, committed):
            state = change(session, committed, committed.tables[table_id])
            following = put_states(session, row, {table_id: state})
            session.commit()
        after = committed.with_tables({table_id: state})
        self.journal.keep(following, after)
        return after

    def _at(self, committed: JournalState, table_id: int) -> TableAt:
        state, present = committed.tables[table_id], committed.catalog.by_id(table_id)
        table = present or state.layouts[-1]
        self.session.find = partial(layout.tier_rows, committed, Transaction(committed))
        found = [*self._heads(table, state), *state.manifest.segments]
        listed = tuple(Piece(s.tier, s.fields, (s,)) for s in found)
        return TableAt(table, committed, committed.version, listed, present is None)

    def _heads(self, table: Table, state: TableState) -> list[Segment]:
        """The heads that hold rows, as segments."""
        found = []
        for head in state.manifest.heads:
            name = layout.head_name(table.id, head)
            counts = layout.count_rows(self.session, table, layout.rows_of(name))
            if counts.total:
                found.append(Segment(name, Tier.HEAD, (), head.fields, counts, 0, 0))
        return found

    @contextmanager
    def staging(self, at: TableAt, plan: JobPlan) -> Iterator[None]:
        """What a run leaves, the next one removes."""
        yield

    def swap(
        self, at: TableAt, plan: JobPlan, staged: Staged, alongside: Alongside | None
    ) -> tuple[str, ...]:
        assert staged.replacement is not None
        removed, added = {s.id: s for s in staged.replacement.removed}, staged.replacement.added

        def replaced(
            session: SqliteSession, committed: JournalState, state: TableState
        ) -> TableState:
            live = {layout.head_name(at.table.id, h): h for h in state.manifest.heads}
            known = live.keys() | {s.id for s in state.manifest.segments}
            if not removed.keys() <= known or committed.catalog.by_id(at.table.id) != at.table:
                raise Replan("the table was changed meanwhile")
            since = self.now()
            row = RetiredRow(id="", table_id=at.table.id, since=since, until=None)
            until = since + self._asked.grace_us
            gone = [replace(row, id=name, until=until) for name in removed]
            apart = [replace(row, id=s.id, job_kind=retired.ARCHIVE) for s in staged.archived]
            retired.retire(session, [*gone, *apart])
            heads = [h for name, h in live.items() if name in removed]
            kept = [s for s in state.manifest.segments if s.id not in removed]
            manifest = replace(state.manifest.sealed(heads, added), segments=(*kept, *added))
            floor, epoch = max(manifest.floor, staged.floor), manifest.epoch + staged.removes_rows
            manifest = replace(manifest, floor=floor, epoch=epoch)
            counts = [s.counts for s in removed.values() if s.tier is Tier.HEAD]
            if alongside is not None:
                self._do(session, at, committed, manifest, alongside)
            left = state.head_counts + sum(counts, RowCounts()).times(-1)
            return replace(state, manifest=manifest, head_counts=left)

        self._change(at.table.id, replaced)
        return tuple(removed)

    def _do(
        self,
        session: SqliteSession,
        at: TableAt,
        committed: JournalState,
        following: Manifest,
        alongside: Alongside,
    ) -> None:
        """Let a program look at what was written since, and record, in the commit section."""
        outside, self._open = self.session, session
        known = {s.id for s in at.segments}
        since = self._heads(at.table, committed.tables[at.table.id])
        try:
            alongside.since([Piece(s.tier, s.fields, (s,)) for s in since if s.id not in known])
            alongside.record(session, committed, following)
        finally:
            self._open = outside

    def drop_retired(self, table: Table) -> int:
        return drop_retired(self.journal, table.id, self.now())

    def size(self, segment: Segment) -> int:
        return 0

    def listed(self, segments: Sequence[Segment]) -> tuple[Segment, ...]:
        return tuple(s for s in segments if s.counts.total)

    def check(self, at: TableAt, segments: Sequence[Segment]) -> None:
        for segment in segments:
            if segment.tier is not Tier.HEAD:
                found = layout.fingerprint(self.session, layout.segment_rows(segment, at.table))
                if found != (segment.counts.total, segment.checksum):
                    said = f"{segment.id} of {at.table.name} holds other rows than were written"
                    raise PalimpsestError(Code.FOREIGN_WRITE, said, advice="restore it")

    def scan(self, piece: Piece, shown: Table | None = None) -> exp.Select:
        (segment,) = piece.segments
        if shown is None:
            return layout.segment_rows(segment, self._asked.table)
        found = rows_in_layout(shown, layout.rows_of(segment.id), piece.fields)
        assert isinstance(found, exp.Select)
        return found

    def write(self, at: TableAt, like: Piece, rows: JoinedRows, *, anew: bool) -> Segment | None:
        session, table, fields = self.session, at.table, like.fields
        name = f"t{table.id}_s{self.now()}_{self._made}"
        self._made += 1
        session.make("TABLE", name, layout.journal_columns(table, fields))
        layout.insert(session, table, fields, name, query_of(table, rows))
        counts = layout.count_rows(session, table, layout.rows_of(name))
        if not counts.total:
            session.run(exp.Drop(tables=[layout.rows_of(name)], kind="TABLE"))
            return None
        made = Segment(name, like.tier, (), fields, counts, 0, at.version)
        _, checksum = layout.fingerprint(session, layout.segment_rows(made, table))
        return replace(made, checksum=checksum)

    def fingerprints(self, queries: Sequence[exp.Query]) -> list[Fingerprint]:
        return [layout.fingerprint(self.session, query) for query in queries]

    def count(self, at: TableAt, piece: Piece, where: exp.Expr) -> Mapping[str, RowCounts]:
        rows = self.scan(piece).where(where).subquery("c")
        counts = layout.count_rows(self.session, at.table, rows)
        return {s.id: counts for s in piece.segments} if counts.total else {}

    def show(self, name: str, query: exp.Query) -> None:
        self.session.stage(name, Query(query, ()), {})

    def ask(self, query: exp.Query) -> list[tuple[Any, ...]]:
        return self.session.run(query)
