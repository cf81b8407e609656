"""A database under maintenance: heads and segments are tables, and its server works on them.

An adopted journal is a piece as well, in all columns it has; what is written in its place takes its
name. Others write to it: a job plans anew if they do meanwhile.

The session that holds the table's lock stages in one transaction, so that a job that is killed
leaves nothing. Statements in flight go on reading the tables they began with, under the names of
their epoch. No row is updated or deleted: tables are made, and later dropped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from sqlglot import exp

from journal.erasure.column_changes import hash_key_from
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import STORE_SCHEMA, Query
from journal.model.schema import Table
from journal.model.segment import Head, RowCounts, Segment, SegmentFile, Tier
from journal.model.version import Version
from journal.records.backups import BackupKind
from journal.records.report import ESTIMATED, JobReport
from journal.sql.counting import Fingerprint
from journal.sql.relations import column
from journal.sql.relations_flat import is_flat
from journal.sql.row_layout import fields_of, present_keys
from journal.stores.postgres import as_committed, backup_segments, flat, layout, pieces
from journal.stores.postgres import jobs as rows_of
from journal.stores.postgres.adopt import exchange as exchanging
from journal.stores.postgres.journal import DatabaseJournal
from journal.stores.postgres.partitions import create_sealed
from journal.stores.postgres.store import PostgresSession
from journal.transactions.state import JournalState, TableState
from spark_compaction.backend import Alongside, JoinedRows, Piece, Replan, TableAt
from spark_compaction.backends.postgres import segment_swap
from spark_compaction.backends.postgres.backup_transport import DatabaseTransport
from spark_compaction.backends.postgres.flat_compaction import FlatCompaction
from spark_compaction.backends.postgres.spark_filling import Fill, Filling, by_server
from spark_compaction.contract import JobPlan, JobRequest, Replacement, Staged
from spark_compaction.programs.compaction_sql import CompactionInSql
from spark_compaction.programs.journal_rows import query_of
from spark_compaction.programs.retention_sql import RetentionInSql
from spark_compaction.programs.table_pieces import each, head_piece, look_and_record, table_at
from spark_compaction.runner import run


def compact(
    journal: DatabaseJournal, asked: JobRequest, mode: str = "major", fill: Fill = by_server
) -> JobReport:
    """Run a compaction; of an adopted journal it moves superseded versions out."""
    backend = DatabaseBackend(journal, asked, fill)
    if is_flat(asked.table):
        return run(backend, FlatCompaction(mode), asked)
    return run(backend, CompactionInSql(mode), asked)


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
    """One run of a job on a database; ``fill`` has rows written by the server, or by Spark.

    ``session`` is that of the lock, of the preview, or of the section of the swap.
    """

    session: PostgresSession

    def __init__(self, journal: DatabaseJournal, asked: JobRequest, fill: Fill = by_server) -> None:
        self.journal = journal
        self._asked = asked
        self._fill = fill
        self._made = 0
        self._like_journal = {flat.JOURNAL}
        self._seen: Fingerprint | None = None

    @property
    def sizes(self) -> str:
        """What the server takes for rows differs by where they lie, and changes while it cleans."""
        return ESTIMATED

    def now(self) -> Version:
        return self.journal.clock.now()

    @contextmanager
    def lock(self, table: Table) -> Iterator[None]:
        with segment_swap.table_lock(self.journal, table) as self.session:
            segment_swap.remove_litter(self.session, table.id)
            if is_flat(table):
                exchanging.refuse_ties(self.session, table)
            yield

    @contextmanager
    def preview(self, table: Table) -> Iterator[TableAt]:
        transaction = self.journal.begin(read_only=True)
        try:
            with self.journal.statement(transaction) as statement:
                yield self.read_in(statement.session, statement.committed, table)
        finally:
            transaction.rollback()

    def read_in(self, session: PostgresSession, committed: JournalState, table: Table) -> TableAt:
        """What a table consists of, as a session reads it from now on."""
        self.session = session
        return self._at(committed, table.id, committed.version)

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
        if is_flat(table):
            place = flat.journal_table(table)
            counts = layout.count_all(self.session, place)
            adopted = Segment(flat.JOURNAL, Tier.BASE, (), fields_of(table), counts, 0, version)
            found = [adopted, *flat.moved_segments(manifest)]
            return TableAt(table, committed, version, each(found))
        as_committed.check_heads(self.session, table)
        return table_at(committed, table_id, version, partial(self._counted, table))

    def _counted(self, table: Table, head: Head) -> Segment:
        source = layout.head_table(table.id, head)
        return head_piece(source.name, head, layout.count_rows(self.session, table, source))

    @contextmanager
    def staging(self, at: TableAt, plan: JobPlan) -> Iterator[None]:
        if is_flat(at.table):
            self._seen = self._all_of_journal(at.table)
        try:
            yield
        except Replan:
            segment_swap.remove_litter(self.session, at.table.id)
            raise

    def _all_of_journal(self, table: Table) -> Fingerprint:
        rows = flat.all_columns(flat.journal_table(table))
        return pieces.count_and_hash(self.session, rows)

    def swap(
        self, at: TableAt, plan: JobPlan, staged: Staged, alongside: Alongside | None
    ) -> tuple[str, ...]:
        assert staged.replacement is not None
        self.session.commit()
        removed, made = staged.replacement.removed, staged.replacement.added
        journals = [s for s in made if s.id in self._like_journal]
        listed = Replacement(
            tuple(s for s in removed if s.id != flat.JOURNAL),
            tuple(s for s in made if s not in journals),
        )

        def within(section: PostgresSession, following: TableState) -> None:
            for anew in journals:
                self._exchange(section, at.table, anew, plan.kind)
            if alongside is not None:
                look_and_record(
                    *(self, section, at, following.manifest, (self.journal.state, alongside)),
                    lambda head: layout.head_table(at.table.id, head).name,
                )
            self._record(section, at, following, staged)

        segment_swap.swap(
            self.journal,
            at.table,
            replace(staged, replacement=listed),
            segment_swap.RetireReason(self._asked.job_id, plan.kind, self._asked.grace_us),
            within,
            planned_as=None if at.is_dropped else at.table,
        )
        return tuple(s.id for s in removed)

    def _exchange(self, section: PostgresSession, table: Table, made: Segment, kind: str) -> None:
        """Let a new table take the name of an adopted journal, unless others wrote meanwhile."""
        place, since = flat.journal_table(table), self.journal.clock.now()
        section.text(segment_swap.WAIT)
        section.text(f"LOCK TABLE {section.rendered(place).sql} IN ACCESS EXCLUSIVE MODE")
        if pieces.count_and_hash(section, flat.all_columns(place)) != self._seen:
            raise Replan("rows were written meanwhile")
        name, size = pieces.new_name(table.id, self._made), pieces.size(section, place)
        exchanging.exchange(section, table, layout.segment_table(made), name)
        until = since + self._asked.grace_us
        epoch = self.journal.state.epoch_of(table.id)
        gone = rows_of.RetiredTable(name, table.id, epoch, since, until)
        rows_of.retire(section, gone, self._asked.job_id, kind, size)

    def _record(
        self, section: PostgresSession, at: TableAt, following: TableState, staged: Staged
    ) -> None:
        """Record what a job that removes rows leaves behind."""
        since = self.journal.clock.now()
        for segment in staged.archived:
            apart = rows_of.RetiredTable(segment.id, at.table.id, 0, since, since)
            rows_of.retire(section, apart, "", BackupKind.ARCHIVE.value, segment.bytes)
        if staged.removes_rows:
            # Who began before may have ended a row that is gone.
            rows_of.replaced(section, at.table.id, following.manifest.epoch, erased=True)

    def drop_retired(self, table: Table) -> int:
        return len(segment_swap.reap(self.journal, table.id).removed)

    def stoppable(self) -> AbstractContextManager[None]:
        return self._asked.watching(self.session)

    def size(self, segment: Segment) -> int:
        return pieces.size(self.session, self._source(segment))

    def _source(self, segment: Segment) -> exp.Table:
        if segment.id == flat.JOURNAL:
            return flat.journal_table(self._asked.table)
        return layout.segment_table(segment)

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
        sealed = [s for s in segments if s.id != flat.JOURNAL]
        as_committed.check_segments(self.session, at.table, sealed)

    def with_backups(self, at: TableAt) -> tuple[Piece, ...]:
        apart = backup_segments.backup_only_segments(self.session, at.table, at.state)
        return (*at.pieces, *each(apart))

    def erased_keys(self, table: Table, masks: Collection[str]) -> exp.Query:
        return layout.masked_keys(table, list(masks))

    def hash_key(self) -> exp.Expr:
        """Made by the server of the secret in the catalog; once for each query."""
        secret = exp.EQ(this=column("key"), expression=exp.Literal.string("secret"))
        found = exp.select(hash_key_from(column("value")))
        return found.from_(exp.table_("meta", db=STORE_SCHEMA)).where(secret).subquery()

    def keys(self, table: Table, piece: Piece) -> list[exp.Expr]:
        if piece.segments[0].id in self._like_journal:
            return [flat.as_spelt(column(k, "p")) for k in table.key]
        return present_keys(table, piece.fields)

    @contextmanager
    def undone_changes(self, table: Table) -> Iterator[tuple[TableAt, DatabaseTransport]]:
        """Read and write in one transaction that is rolled back, with copies loaded in it."""
        with self.journal.reading_session() as self.session:
            try:
                self.session.begin()
                committed = self.journal.state
                at = TableAt(table, committed, committed.version)
                yield at, DatabaseTransport(self.journal, table, self.session)
            finally:
                self.session.rollback()

    def scan(self, piece: Piece, shown: Table | None = None) -> exp.Select:
        (segment,) = piece.segments
        source = self._source(segment)
        if segment.id in self._like_journal:
            return flat.all_columns(source)
        if shown is None:
            return pieces.all_rows(self._asked.table, source, piece.fields)
        return layout.rows_as(shown, source, piece.fields)

    def write(self, at: TableAt, like: Piece, rows: JoinedRows, *, anew: bool) -> Segment | None:
        """Bases and history are partitioned as the table says now, whether ``anew`` or not."""
        session, table, fields = self.session, at.table, like.fields
        target = exp.table_(pieces.new_name(table.id, self._made), db=STORE_SCHEMA)
        self._made += 1
        if any(s.id in self._like_journal for s in like.segments):
            return self._write_journal(table, target, like, rows)
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

    def _write_journal(
        self, table: Table, target: exp.Table, like: Piece, rows: JoinedRows
    ) -> Segment:
        """A table that is like the adopted journal; one without rows as well."""
        session = self.session
        exchanging.like(session, table, target)
        session.run(exp.Insert(this=target.copy(), expression=query_of(table, rows)))
        session.text(f"ANALYZE {session.rendered(target).sql}")
        self._like_journal.add(target.name)
        counts = layout.count_all(session, target)
        return Segment(target.name, like.tier, (), like.fields, counts, 0, 0)

    def fingerprints(self, queries: Sequence[exp.Query]) -> list[Fingerprint]:
        return [pieces.count_and_hash(self.session, query) for query in queries]

    def count(self, at: TableAt, piece: Piece, where: exp.Expr) -> Mapping[str, RowCounts]:
        rows = self.scan(piece).where(where).subquery("c")
        if piece.segments[0].id in self._like_journal:
            counts = layout.count_all(self.session, rows)
        else:
            counts = layout.count_rows(self.session, at.table, rows)
        return {s.id: counts for s in piece.segments} if counts.total else {}

    def show(self, name: str, query: exp.Query) -> None:
        self.session.stage(name, Query(query, ()), {})

    def ask(self, query: exp.Query) -> list[tuple[Any, ...]]:
        return self.session.arrow_rows(self.session.arrow(Query(query, ()), {}))
