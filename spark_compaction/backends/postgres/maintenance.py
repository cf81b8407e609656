"""A database under maintenance: heads and segments are tables, and its server works on them.

The session that holds the table's lock stages in one transaction, so that a job that is killed
leaves nothing. Statements in flight go on reading the tables they began with, under the names of
their epoch. No row is updated or deleted: tables are made, and later dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sqlglot import exp

from journal.model.plan import STORE_SCHEMA
from journal.model.schema import Table
from journal.model.segment import Head, RowCounts, Segment, Tier
from journal.model.version import Version
from journal.records.report import ESTIMATED, JobReport
from journal.sql.relations_flat import is_flat
from journal.stores.postgres import as_committed, layout, pieces
from journal.stores.postgres.journal import DatabaseJournal
from journal.stores.postgres.partitions import create_sealed
from journal.stores.postgres.pieces import Inputs
from journal.stores.postgres.store import PostgresSession
from journal.transactions.state import JournalState
from spark_compaction.backend import Fingerprint, JoinedRows, Piece, Replan, TableAt
from spark_compaction.backends.postgres import flat_jobs, segment_swap
from spark_compaction.backends.postgres.spark_filling import Fill, Filling, by_server
from spark_compaction.contract import JobPlan, JobRequest, Staged
from spark_compaction.programs.compaction_sql import CompactionInSql
from spark_compaction.runner import run


def compact(
    journal: DatabaseJournal, asked: JobRequest, mode: str = "major", fill: Fill = by_server
) -> JobReport:
    """Run a compaction; of an adopted journal it moves superseded versions out, in any mode."""
    if is_flat(asked.table):
        return flat_jobs.compact(journal, asked)
    return run(DatabaseBackend(journal, asked, fill), CompactionInSql(mode), asked)


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
        heads = [self._as_segment(table, head) for head in manifest.heads]
        found = [*(h for h in heads if h.counts.total), *manifest.segments]
        is_dropped = committed.catalog.by_id(table_id) is None
        listed = tuple(Piece(s.tier, s.fields, (s,)) for s in found)
        return TableAt(table, committed, version, listed, is_dropped)

    def _as_segment(self, table: Table, head: Head) -> Segment:
        source = layout.head_table(table.id, head)
        counts = layout.count_rows(self.session, table, source)
        return Segment(source.name, Tier.HEAD, (), head.fields, counts, 0, 0)

    @contextmanager
    def staging(self, at: TableAt, plan: JobPlan) -> Iterator[None]:
        try:
            yield
        except Replan:
            segment_swap.remove_litter(self.session, at.table.id)
            raise

    def swap(self, at: TableAt, plan: JobPlan, staged: Staged) -> tuple[str, ...]:
        assert staged.replacement is not None
        self.session.commit()
        removed = {s.id: s for s in staged.replacement.removed}
        manifest = at.state.manifest
        heads = tuple(
            h for h in manifest.heads if layout.head_table(at.table.id, h).name in removed
        )
        segments = tuple(s for s in manifest.segments if s.id in removed)
        counts = sum((s.counts for s in removed.values() if s.tier is Tier.HEAD), RowCounts())
        segment_swap.swap(
            *(self.journal, at.table, Inputs(heads, segments), staged.replacement.added, counts),
            segment_swap.RetireReason(self._asked.job_id, plan.kind, self._asked.grace_us),
            planned_as=at.table,
        )
        return tuple(removed)

    def drop_retired(self, table: Table) -> int:
        return len(segment_swap.reap(self.journal, table.id).removed)

    def size(self, segment: Segment) -> int:
        return pieces.size(self.session, layout.segment_table(segment))

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
