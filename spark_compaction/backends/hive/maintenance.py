"""A Hive store under maintenance: segments are partitions, and Spark works on them.

Nothing is moved: queries in flight go on reading the partitions they began with. Rows that the
catalog holds are flushed before anything is read; there are no other heads. A run that is killed
leaves partitions that no manifest lists; a later clean-up drops them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from sqlglot import exp

from journal.erasure.column_changes import hash_key_of
from journal.model.plan import Query
from journal.model.schema import Table
from journal.model.segment import RowCounts, Segment
from journal.model.version import Version
from journal.records import backups, retired
from journal.records.catalog import record_states
from journal.records.report import UNKNOWN
from journal.records.retired import RetiredRow
from journal.sql.counting import Fingerprint
from journal.sql.relations import column
from journal.sql.row_layout import counted_kinds, present_keys, row_counts, written_rows
from journal.stores.hive import backup_segments, layout, segment_writing
from journal.stores.hive.catalog_db import catalog as rows_of
from journal.stores.hive.inlining import flush, flushed
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.missing_tables import blaming
from journal.stores.hive.segment_check import check_there, check_whole, count_rows, refresh
from journal.stores.hive.session import HiveSession
from journal.stores.hive.statement import HiveStatement
from journal.transactions.state import JournalState
from spark_compaction.backend import Alongside, JoinedRows, Piece, Replan, TableAt
from spark_compaction.backends.hive import cleaning
from spark_compaction.backends.hive.backup_transport import HiveTransport
from spark_compaction.backends.hive.pieces import fingerprints, paths, pieces
from spark_compaction.backends.hive.staging import staging
from spark_compaction.contract import JobPlan, JobRequest, Staged
from spark_compaction.programs.journal_rows import query_of
from spark_compaction.programs.swapped_manifest import swapped
from spark_compaction.programs.table_lock import table_lock

_ASKED = "asked_rows"


class HiveBackend:
    """One run of a job on a Hive store.

    ``session`` is that of the statement that reads what was planned on. ``made`` takes the paths of
    what is written outside of ``staging``, as partitions that ``new_name`` gives a name.
    """

    session: HiveSession

    def __init__(
        self,
        journal: HiveJournal,
        asked: JobRequest,
        made: list[str] | None = None,
        new_name: Callable[[], str] | None = None,
    ) -> None:
        self.journal = journal
        self._asked = asked
        self._made = [] if made is None else made
        self._new_name = new_name or journal.new_segment_id
        self._stay = ExitStack()

    @property
    def sizes(self) -> str:
        """Spark does not say what partitions take."""
        return UNKNOWN

    def now(self) -> Version:
        return self.journal.clock.now()

    @contextmanager
    def lock(self, table: Table) -> Iterator[None]:
        with table_lock(self.journal, table), self._stay:
            yield

    @contextmanager
    def preview(self, table: Table) -> Iterator[TableAt]:
        with self._stay:
            at = self._begin(table)
            check_there(self.journal.names, self.session.connection, at.table, at.segments)
            yield at

    def rotate_head(self, table: Table) -> TableAt:
        return self._begin(table)

    def _begin(self, table: Table) -> TableAt:
        """Read what is committed now, through one statement until the next begins.

        Rows that the catalog holds are flushed before, for a plan as well: they soon are anyway.
        """
        flush(self.journal, table.id)
        statement = self._statement()
        if statement.committed.tables[table.id].inlined:
            # Somebody was quicker, which nobody is while the lease is held.
            with flushed(self.journal, [table.id]):
                statement = self._statement()
        return self.read_in(statement.session, statement.committed, table)

    def _statement(self) -> HiveStatement:
        self._stay.close()
        transaction = self.journal.begin(read_only=True)
        return self._stay.enter_context(self.journal.statement(transaction))

    def read_in(self, session: HiveSession, committed: JournalState, table: Table) -> TableAt:
        """What a table consists of, as the session of a statement reads it from now on."""
        self.session = session
        now, state = committed.catalog.by_id(table.id), committed.tables[table.id]
        listed = tuple(pieces(state.manifest.segments))
        shown = state.layouts[-1] if now is None else now
        return TableAt(shown, committed, committed.version, listed, is_dropped=now is None)

    @contextmanager
    def staging(self, at: TableAt, plan: JobPlan) -> Iterator[None]:
        try:
            with staging(self.journal) as self._made:
                yield
        except Replan:
            self.journal.drop_segments(self._made)
            raise

    def swap(
        self, at: TableAt, plan: JobPlan, staged: Staged, alongside: Alongside | None
    ) -> tuple[str, ...]:
        """The table's lease keeps commits out while the catalog lists the new partitions."""
        assert staged.replacement is not None
        journal, table = self.journal, at.table
        removed = staged.replacement.removed
        with journal.leases.holding([f"table:{table.id}"]) as held:
            flush(journal, table.id, held)
            if alongside is not None:
                alongside.since(self._since(at))
            with journal.catalog.writing(rows_of.STATE, rows_of.RECORDS) as connection:
                held.check(connection)
                row, committed = journal.look_in(connection)
                if committed.catalog.by_id(table.id) != (None if at.is_dropped else table):
                    raise Replan("the table's definition was changed meanwhile")
                before = committed.tables[table.id]
                state = swapped(before, staged, is_new_epoch=staged.removes_rows)
                if alongside is not None:
                    with journal.recording(connection) as records:
                        alongside.record(records, committed, state.manifest)
                        records.commit()
                now, job_id = journal.now(), self._asked.job_id
                until = now + self._asked.grace_us
                gone = RetiredRow(id="", table_id=table.id, since=now, until=until, job_id=job_id)
                apart = replace(gone, until=now)
                retired.retire(connection, gone.of(s.files[0].path for s in removed))
                retired.retire(connection, apart.of(s.files[0].path for s in staged.archived))
                if staged.removes_rows:
                    # What a claim is checked against may be gone; the epoch tells who is late.
                    rows_of.forget_claims_of(connection, table.id)
                following = record_states(connection, row, {table.id: state})
            journal.keep(following, committed.with_tables({table.id: state}))
        journal.held.forget(staged.moved)
        return tuple(s.id for s in removed)

    def _since(self, at: TableAt) -> list[Piece]:
        """What was committed since; the caller has the table's lease, so nothing more comes."""
        _, committed = self.journal.read_committed()
        known = {s.id for s in at.segments}
        new = [s for s in committed.tables[at.table.id].manifest.segments if s.id not in known]
        refresh(self.journal.names, self.session.connection, new)
        return pieces(new)

    def drop_retired(self, table: Table) -> int:
        return len(cleaning.reap(self.journal, self.session.connection, table.id))

    def stoppable(self) -> AbstractContextManager[None]:
        return self._asked.watching(self.session)

    def size(self, segment: Segment) -> int:
        return 0

    def listed(self, segments: Sequence[Segment]) -> tuple[Segment, ...]:
        return tuple(segments)

    def check(self, at: TableAt, segments: Sequence[Segment]) -> None:
        """All segments of the table as well: those that stay are compared, too."""
        names, connection = self.journal.names, self.session.connection
        known = {s.files[0].path: s for s in (*at.segments, *segments)}
        check_whole(names, connection, at.table, list(known.values()))

    def with_backups(self, at: TableAt) -> tuple[Piece, ...]:
        apart: dict[str, frozenset[str]] = {}
        for backup in backups.load(self.session, at.table.id):
            for path in backup.paths:
                apart[path] = apart.get(path, frozenset()) | {backup.name}
        only = backup_segments.backup_only_segments(self.session, at.table, at.state)
        return (*pieces(at.segments, apart), *pieces(only, apart))

    def erased_keys(self, table: Table, masks: Collection[str]) -> exp.Query:
        return layout.masked_keys(self.journal.names, table, masks)

    def hash_key(self) -> exp.Expr:
        """A literal: Spark has no parameters, and the secret lies in the gateway's catalog."""
        return exp.Literal.string(hash_key_of(self.journal.read_secret()))

    def keys(self, table: Table, piece: Piece) -> list[exp.Expr]:
        return present_keys(table, piece.fields)

    @contextmanager
    def undone_changes(self, table: Table) -> Iterator[tuple[TableAt, HiveTransport]]:
        """Read and write partitions that are dropped in the end."""
        with self._stay, staging(self.journal) as self._made:
            at = self._begin(table)
            yield at, HiveTransport(self.journal, table)
            self.journal.drop_segments(self._made)

    def scan(self, piece: Piece, shown: Table | None = None) -> exp.Select:
        names, places = self.journal.names, paths(piece)
        if shown is not None:
            return layout.rows_in_table(names, shown, piece.fields, places)
        return written_rows(
            self._asked.table, layout.rows_of(names, places).subquery(), piece.fields
        )

    def write(self, at: TableAt, like: Piece, rows: JoinedRows, *, anew: bool) -> Segment | None:
        """Rows that are written anew lie in the partitions and buckets that the table wants."""
        journal, connection = self.journal, self.session.connection
        first = paths(like)[0]
        is_shaped = layout.is_shaped(first) or layout.is_adopted(journal.names, first)
        path = segment_writing.write_segment(
            *(journal, connection, at.table, like.fields, self._placed(query_of(at.table, rows))),
            *(self._made, anew or is_shaped, self._new_name()),
        )
        counts = count_rows(journal.names, connection, at.table, path)
        if not counts.total:
            self._made.remove(path)
            journal.staged.discard(path)
            journal.drop_segments([path])
            return None
        return Segment(
            path.partition("/")[2],
            like.tier,
            (layout.segment_file(path, counts.total),),
            like.fields,
            counts,
            min(s.min_version for s in like.segments),
            max(s.max_version for s in like.segments),
        )

    def fingerprints(self, queries: Sequence[exp.Query]) -> list[Fingerprint]:
        asked = [(self._placed(query), query.named_selects) for query in queries]
        return fingerprints(self.session.connection, asked) if asked else []

    def count(self, at: TableAt, piece: Piece, where: exp.Expr) -> Mapping[str, RowCounts]:
        place = column(layout.PARTITION, "p")
        outputs = [place, *counted_kinds(at.table)]
        rows = self.scan(piece).select(*outputs, append=False).where(where).group_by(place.copy())
        connection = self.session.connection
        with blaming(connection, self.journal.names, at.table, piece.segments):
            found = connection.run(self._placed(rows))
        return {str(name): row_counts(counted) for name, *counted in found}

    def show(self, name: str, query: exp.Query) -> None:
        self.session.put_remote(name, self._placed(query))

    def ask(self, query: exp.Query) -> list[tuple[Any, ...]]:
        self.show(_ASKED, query)
        found = self.session.arrow(Query(exp.select("*").from_(_ASKED), ()), {})
        return self.session.arrow_rows(found)

    def _placed(self, query: exp.Query) -> exp.Query:
        """A query over what Spark has."""
        placed = self.session.in_spark(query)
        assert isinstance(placed, exp.Query)
        return placed
