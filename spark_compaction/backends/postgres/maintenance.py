"""A database under maintenance: heads and segments are tables, and its server works on them.

The session that holds the table's lock stages in one transaction, so that a job that is killed
leaves nothing. Statements in flight go on reading the tables they began with, under the names of
their epoch. No row is updated or deleted: tables are made, and later dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import STORE_SCHEMA, Query
from journal.model.schema import Table
from journal.model.segment import Head, RowCounts, Segment, SegmentFile, Tier
from journal.model.version import Version
from journal.records.backups import BackupKind
from journal.records.report import ESTIMATED, JobReport
from journal.sql.relations_flat import is_flat
from journal.stores.postgres import as_committed, layout, pieces
from journal.stores.postgres import jobs as rows_of
from journal.stores.postgres.journal import DatabaseJournal
from journal.stores.postgres.partitions import create_sealed
from journal.stores.postgres.pieces import Inputs
from journal.stores.postgres.store import PostgresSession
from journal.transactions.state import JournalState, TableState
from spark_compaction.backend import Alongside, Fingerprint, JoinedRows, Piece, Replan, TableAt
from spark_compaction.backends.postgres import flat_jobs, segment_swap
from spark_compaction.backends.postgres.spark_filling import Fill, Filling, by_server
from spark_compaction.contract import JobPlan, JobRequest, Staged
from spark_compaction.programs.compaction_sql import CompactionInSql
from spark_compaction.programs.retention_sql import RetentionInSql
from spark_compaction.runner import run


def compact(
    journal: DatabaseJournal, asked: JobRequest, mode: str = "major", fill: Fill = by_server
) -> JobReport:
    """Run a compaction; of an adopted journal it moves superseded versions out."""
    if is_flat(asked.table):
        return flat_jobs.compact(journal, asked, mode)
    return run(DatabaseBackend(journal, asked, fill), CompactionInSql(mode), asked)


def retain(
    journal: DatabaseJournal, asked: JobRequest, now: datetime, by: str | None = None
) -> JobReport:
    """Apply the table's policy at a moment; ``by`` makes the backup of what was there before.

    Raises NOT_SUPPORTED for an adopted journal.
    """
    if is_flat(asked.table):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"{asked.table.name} has an adopted journal, from which no policy removes rows: without"
            " the latest row of a key, an earlier one of another date would be current again",
            advice="OPTIMIZE moves superseded versions out of it; or eject the table and adopt it"
            " again, as a plain one",
        )
    return run(DatabaseBackend(journal, asked), RetentionInSql(now, asked.job_id, by), asked)


class DatabaseBackend:
    """One run of a job on a database; ``fill`` has rows written by the server, or by Spark."""

    def __init__(self, journal: DatabaseJournal, asked: JobRequest, fill: Fill = by_server) -> None:
        self.journal = journal
        self._asked = asked
        self._fill = fill
        self._open: PostgresSession | None = None
        self._made = 0

    @property
    def sizes(self) -> str:
        """What the server takes for rows differs by where they lie, and changes while it cleans."""
        return ESTIMATED

    @property
    def session(self) -> PostgresSession:
        """The session of the lock, or of the preview."""
        assert self._open is not None
        return self._open

    def now(self) -> Version:
        return self.journal.clock.now()

    @contextmanager
    def lock(self, table: Table) -> Iterator[None]:
        with segment_swap.turn(self.journal, table) as self._open:
            segment_swap.remove_litter(self._open, table.id)
            yield

    @contextmanager
    def preview(self, table: Table) -> Iterator[TableAt]:
        transaction = self.journal.begin(read_only=True)
        try:
            with self.journal.statement(transaction) as statement:
                self._open = statement.session
                yield self._at(statement.committed, table.id, statement.committed.version)
        finally:
            self.journal.rollback(transaction)

    def rotate_head(self, table: Table) -> TableAt:
        settled = segment_swap.settle(self.journal, table)
        self.session.begin()
        self.session.read_epochs(self.journal.state.epoch_of)
        committed = self.journal.state.with_tables({table.id: settled.state})
        return self._at(committed, table.id, settled.version)

    def _at(self, committed: JournalState, table_id: int, version: Version) -> TableAt:
        """Raises FOREIGN_WRITE if heads do not hold what the catalog says."""
        table = segment_swap.definition(committed, table_id)
        manifest = committed.tables[table_id].manifest
        as_committed.check_heads(self.session, table)
        heads = [self._counted(table, head) for head in manifest.heads]
        found = [*(h for h in heads if h.counts.total), *manifest.segments]
        is_dropped = committed.catalog.by_id(table_id) is None
        listed = tuple(Piece(s.tier, s.fields, (s,)) for s in found)
        return TableAt(table, committed, version, listed, is_dropped)

    def _counted(self, table: Table, head: Head) -> Segment:
        source = layout.head_table(table.id, head)
        return _as_segment(table, head, layout.count_rows(self.session, table, source))

    @contextmanager
    def staging(self, at: TableAt, plan: JobPlan) -> Iterator[None]:
        try:
            yield
        except Replan:
            segment_swap.remove_litter(self.session, at.table.id)
            raise

    def swap(
        self, at: TableAt, plan: JobPlan, staged: Staged, alongside: Alongside | None
    ) -> tuple[str, ...]:
        assert staged.replacement is not None
        self.session.commit()
        removed = {s.id: s for s in staged.replacement.removed}
        manifest = at.state.manifest
        heads = tuple(
            h for h in manifest.heads if layout.head_table(at.table.id, h).name in removed
        )
        segments = tuple(s for s in manifest.segments if s.id in removed)
        counts = sum((s.counts for s in removed.values() if s.tier is Tier.HEAD), RowCounts())

        def within(section: PostgresSession, following: TableState) -> TableState:
            if alongside is not None:
                self._do(section, at, alongside)
            return self._recorded(section, at, following, staged)

        segment_swap.swap(
            *(self.journal, at.table, Inputs(heads, segments), staged.replacement.added, counts),
            segment_swap.RetireReason(self._asked.job_id, plan.kind, self._asked.grace_us),
            within,
            planned_as=at.table,
        )
        return tuple(removed)

    def _do(self, section: PostgresSession, at: TableAt, alongside: Alongside) -> None:
        """Let a program look and record in the commit section, by whose session it reads then."""
        committed, known = self.journal.state, set(at.state.manifest.heads[:-1])
        heads = [h for h in committed.tables[at.table.id].manifest.heads if h not in known]
        outside, self._open = self._open, section
        try:
            alongside.since(
                [
                    Piece(Tier.HEAD, h.fields, (_as_segment(at.table, h, RowCounts()),))
                    for h in heads
                ]
            )
            alongside.record(section, committed)
        finally:
            self._open = outside

    def _recorded(
        self, section: PostgresSession, at: TableAt, following: TableState, staged: Staged
    ) -> TableState:
        """The state with what a job that removes rows leaves behind."""
        since = self.journal.clock.now()
        for segment in staged.archived:
            apart = rows_of.RetiredTable(segment.id, at.table.id, 0, since, since)
            rows_of.retire(section, apart, "", BackupKind.ARCHIVE.value, segment.bytes)
        if staged.removes_rows:
            # Who began before may have ended a row that is gone.
            rows_of.replaced(section, at.table.id, following.manifest.epoch, erased=True)
        manifest = following.manifest
        return replace(
            following, manifest=replace(manifest, floor=max(manifest.floor, staged.floor))
        )

    def drop_retired(self, table: Table) -> int:
        return len(segment_swap.reap(self.journal, table.id).removed)

    def size(self, segment: Segment) -> int:
        return pieces.size(self.session, layout.segment_table(segment))

    def listed(self, segments: Sequence[Segment]) -> tuple[Segment, ...]:
        """A table stands for a file."""
        return tuple(
            replace(
                segment,
                tier=Tier.DELTA if segment.tier is Tier.HEAD else segment.tier,
                files=(SegmentFile(segment.id, self.size(segment), segment.counts.total, 0),),
            )
            for segment in segments
            if segment.counts.total
        )

    def check(self, at: TableAt, segments: Sequence[Segment]) -> None:
        sealed = [s for s in segments if s.tier is not Tier.HEAD]
        as_committed.check_segments(self.session, at.table, sealed)

    def scan(self, piece: Piece, shown: Table | None = None) -> exp.Select:
        (segment,) = piece.segments
        source = layout.segment_table(segment)
        if shown is None:
            return pieces.all_rows(self._asked.table, source, piece.fields)
        found = layout.rows_as(shown, source, piece.fields)
        assert isinstance(found, exp.Select)
        return found

    def write(self, at: TableAt, like: Piece, rows: JoinedRows, *, anew: bool) -> Segment | None:
        """Bases and history are partitioned as the table says now, whether ``anew`` or not."""
        session, table, fields = self.session, at.table, like.fields
        target = exp.table_(pieces.new_name(table.id, self._made), db=STORE_SCHEMA)
        self._made += 1
        if like.tier is Tier.DELTA:
            layout.create_rows(session, table, target, fields)
        else:
            sources = [layout.segment_table(s) for s in like.segments]
            create_sealed(session, table, target, fields, sources)
        self._fill(session, Filling(table, target, fields, rows))
        counts = layout.count_rows(session, table, target)
        if not counts.total:
            layout.drop_rows(session, target)
            return None
        layout.finish_rows(session, table, target, fields)
        session.text(f"ANALYZE {session.rendered(target).sql}")
        _, checksum = as_committed.fingerprint(session, table, target, fields)
        return Segment(target.name, like.tier, (), fields, counts, 0, at.version, checksum)

    def fingerprints(self, queries: Sequence[exp.Query]) -> list[Fingerprint]:
        return [pieces.hashed(self.session, query) for query in queries]

    def count(self, at: TableAt, piece: Piece, where: exp.Expr) -> Mapping[str, RowCounts]:
        rows = self.scan(piece).where(where).subquery("c")
        counts = layout.count_rows(self.session, at.table, rows)
        return {s.id: counts for s in piece.segments} if counts.total else {}

    def show(self, name: str, query: exp.Query) -> None:
        self.session.stage(name, Query(query, ()), {})

    def ask(self, query: exp.Query) -> list[tuple[Any, ...]]:
        return self.session.arrow_rows(self.session.arrow(Query(query, ()), {}))


def _as_segment(table: Table, head: Head, counts: RowCounts) -> Segment:
    name = layout.head_table(table.id, head).name
    return Segment(name, Tier.HEAD, (), head.fields, counts, 0, 0)
