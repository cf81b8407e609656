"""The commit of a Hive store: where rows in Spark become part of a journal, or do not.

    leases -> what is committed -> checks -> versions -> one append per table -> catalog's commit

The rows lie in partitions that no manifest lists until the catalog's transaction commits, which
checks first that the leases still hold: whoever is killed before it leaves only partitions to be
removed. Versions rise in commit order, so whoever was overtaken by a commit to other tables appends
once more, and then nobody else may go first.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from journal import conflicts
from journal.catalog import apply
from journal.commit import Author, check_catalog, transaction_row
from journal.erasure import guard
from journal.errors import Code, PalimpsestError
from journal.hive.leases import Held
from journal.hive.statement import HiveStatement, write_held
from journal.plan import DropRelation, PutRelation
from journal.relations import column, version_value
from journal.restamp import restamp_query, restamp_rows
from journal.schema import Table
from journal.segment import Fields, Manifest, RowCounts, Segment, Tier
from journal.state import JournalState, TableState
from journal.stores import hive_layout as layout
from journal.stores import hive_plain
from journal.stores import sql_catalog as rows_of
from journal.stores.base import MemoryRows, RowSet, StagedRows
from journal.stores.catalog_format import JournalRow, StateRow
from journal.stores.duckdb_rows import show_rows, together
from journal.stores.row_layout import fields_of
from journal.stores.sql_engine import CatalogConnection
from journal.transaction import Transaction
from journal.version import Version

if TYPE_CHECKING:
    from journal.hive.journal import HiveJournal

ORDER = "order"
"""The lease of whoever must be the next to commit."""
CLAIMS_KEPT_US = 3600 * 1_000_000
"""How long it is known which keys a commit has written; later that is looked up in Spark."""
_ROUNDS = 20


@dataclass(frozen=True, slots=True)
class Written:
    """What is true once the catalog's transaction is committed."""

    row: StateRow
    state: JournalState


Alongside = Callable[[CatalogConnection, JournalState], None]
"""What else happens in the catalog's transaction, given what was committed before it."""


class Overtaken(Exception):
    """Another commit, or a read of the past, came in between; nothing is wrong with this one."""


def lease_names(transaction: Transaction) -> list[str]:
    """The leases a transaction must hold to commit."""
    found = {f"table:{i}" for i in transaction.buffered_tables()}
    for _, change in transaction.changes():
        found.add("catalog")
        if isinstance(change, PutRelation) and isinstance(change.relation, Table):
            found.add(f"table:{change.relation.id}")
        elif isinstance(change, DropRelation):
            dropped = transaction.snapshot.catalog.get(change.name)
            if isinstance(dropped, Table):
                found.add(f"table:{dropped.id}")
    return sorted(found)


def write(
    journal: HiveJournal,
    transaction: Transaction,
    author: Author,
    statement: HiveStatement,
    alongside: Alongside | None = None,
) -> Written:
    """Check, append and commit a transaction's writes; ``statement`` is a stay to work in."""
    with journal.leases.holding(lease_names(transaction)) as held:
        for turn in range(_ROUNDS):
            if turn == 1:
                held.take(ORDER)
            attempt = _Attempt(journal, transaction, author, statement, alongside)
            try:
                attempt.check_changes()
                attempt.append()
                return attempt.commit(held)
            except Overtaken:
                attempt.undo()
            except PalimpsestError as error:
                if error.code is not Code.OUTCOME_UNKNOWN:
                    attempt.undo()
                raise
    raise PalimpsestError(
        Code.SERIALIZATION,
        "others were always first to commit",
        advice="roll back and run the transaction again",
    )


class _Attempt:
    """One try to commit a transaction on top of what is committed now."""

    def __init__(
        self,
        journal: HiveJournal,
        transaction: Transaction,
        author: Author,
        statement: HiveStatement,
        alongside: Alongside | None,
    ) -> None:
        self._journal = journal
        self._transaction = transaction
        self._author = author
        self._statement = statement
        self._alongside = alongside
        self._made: list[str] = []
        self._segments: dict[int, list[Segment]] = {}
        self._rows: dict[str, pa.Table] = {}
        self._claims: dict[int, str | None] = {}
        self._row, self._committed = journal.look()
        journal.clock.settle(max(self._committed.version, self._row.settled))
        check_catalog(transaction, self._committed)
        self._check_conflicts()
        session = self._statement.session
        guard.check_buffers(journal, session, transaction, self._committed, self._show_whole)
        writes, floor = transaction.writes, journal.clock.floor
        self._mapping: dict[Version, Version] = {}
        if writes[0].version <= floor:
            self._mapping = {w.version: journal.clock.next() for w in writes}
        self._writes = [replace(w, version=self._mapping.get(w.version, w.version)) for w in writes]

    @property
    def version(self) -> Version:
        """The version of the commit."""
        return self._writes[-1].version

    def _check_conflicts(self) -> None:
        """Raise if keys this transaction wrote were written by a commit after its snapshot."""
        snapshot = self._transaction.snapshot.version
        for table_id in sorted(self._transaction.buffered_tables()):
            table = self._committed.catalog.by_id(table_id)
            if table is None:
                continue
            if self._transaction.snapshot.epoch_of(table_id) != self._committed.epoch_of(table_id):
                # Rows were erased since: what this transaction has read of them may not come back.
                raise conflicts.conflict(table)
            mine = _hashed(table, self._transaction.buffered(table_id))
            self._claims[table_id] = None if mine is None else json.dumps(sorted(mine))
            if not self._transaction.is_pinned(table_id, self._committed):
                continue
            with self._journal.catalog.reading() as connection:
                theirs = rows_of.load_claims(connection, table_id, snapshot)
            known = snapshot > self._journal.clock.now() - CLAIMS_KEPT_US
            if mine is not None and known and None not in theirs:
                if any(not mine.isdisjoint(json.loads(t or "[]")) for t in theirs):
                    raise conflicts.conflict(table)
                continue
            self._look_for_conflicts(table, snapshot)

    def _look_for_conflicts(self, table: Table, snapshot: Version) -> None:
        """The same by the rows themselves, in Spark."""
        session = self._statement.session
        self._statement.show(table, conflicts.MINE, self._transaction.buffered(table.id))
        manifest = self._committed.tables[table.id].manifest
        later = [
            (s.files[0].path, s.fields)
            for s in manifest.segments
            if s.max_version > snapshot and s.tier is not Tier.HISTORY
        ]
        rows = layout.staged_rows(self._journal.names, table, later)
        written = exp.Coalesce(
            this=column(table.format.subsequent_column),
            expressions=[column(table.format.version_column)],
        )
        limit = version_value(table, exp.Literal.number(snapshot))
        after = exp.GT(this=written, expression=limit)
        theirs = exp.select("*").from_(rows.subquery("j")).where(after)
        session.put_remote(conflicts.THEIRS, theirs)
        session.execute(conflicts.overlap_query(table), {})
        if session.fetch_many(1):
            raise conflicts.conflict(table)

    def _show_whole(self, table: Table, name: str) -> None:
        """Let local queries read all that the transaction has written to a table."""
        session, sets = self._statement.session, self._transaction.buffered(table.id)
        memory = [r for r in sets if isinstance(r, MemoryRows)]
        for rows in sets:
            if isinstance(rows, StagedRows):
                columns = layout.journal_fields(table, rows.fields)
                query = layout.rows_of(self._journal.names, [f.path for f in rows.files])
                query.set("expressions", [column(n) for n, _ in columns])
                found = session.typed(session.from_spark(query), columns)
                memory.append(MemoryRows(found, rows.counts, rows.fields))
        show_rows(session.local, table, name, memory)

    def check_changes(self) -> None:
        """Raise for types that Spark lacks, and for names that the metastore has already."""
        catalog = self._committed.catalog
        for _, change in self._transaction.changes():
            catalog = apply(catalog, change)
            if isinstance(change, PutRelation) and isinstance(change.relation, Table):
                made = change.relation
                layout.create_journal(self._journal.names, made, fields_of(made))
                self._check_rows(made)
        views = self._journal.views
        if views is not None and catalog is not self._committed.catalog:
            connection = self._statement.session.connection
            views.check_free(connection, self._committed.catalog, catalog)

    def _check_rows(self, table: Table) -> None:
        """Raise if a table cannot lie as it should, or comes back without its rows."""
        names = self._journal.names
        layout.check_shape(table)
        state = self._committed.tables.get(table.id)
        if state is None or self._committed.catalog.by_id(table.id) is not None:
            return
        for segment in state.manifest.segments:
            name = segment.files[0].path.partition("/")[0]
            if layout.is_adopted(names, name):
                connection = self._statement.session.connection
                if not connection.has_relation(names.own, name):
                    raise PalimpsestError(
                        Code.UNKNOWN_TABLE,
                        f"{table.name} was ejected as the plain table it had been, with its rows",
                        advice=f"palimpsest adopt {table.name} takes it over again",
                    )

    def append(self) -> None:
        """Write the rows to partitions of their own, one statement per table where they are few."""
        definitions = {t.id: t for t in self._committed.catalog.tables()}
        for statement in self._writes:
            for change in statement.changes:
                if isinstance(change, PutRelation) and isinstance(change.relation, Table):
                    definitions[change.relation.id] = change.relation
        for table_id in dict.fromkeys(t for w in self._writes for t, _ in w.rows):
            sets = [r for w in self._writes for t, r in w.rows if t == table_id]
            self._segments[table_id] = self._appended(definitions[table_id], sets)

    def _appended(self, table: Table, sets: Sequence[RowSet]) -> list[Segment]:
        alike: dict[Fields, list[MemoryRows]] = {}
        found: list[Segment] = []
        for rows in sets:
            if isinstance(rows, MemoryRows):
                alike.setdefault(rows.fields or fields_of(table), []).append(rows)
            else:
                found.append(self._taken(table, rows))
        for fields, group in alike.items():
            rows_of_all = together(group)
            if self._mapping:
                rows_of_all = restamp_rows(rows_of_all, table, self._mapping)
            path = self._new_path(table, fields)
            session = self._statement.session
            write_held(session, self._journal.names, rows_of_all, path)
            self._rows[path] = rows_of_all
            counts = sum((r.counts for r in group), RowCounts())
            found.append(self._segment(path, fields, counts))
        return found

    def _taken(self, table: Table, rows: StagedRows) -> Segment:
        """Rows that are in Spark already, under newer versions where these were overtaken."""
        path = rows.files[0].path
        if layout.is_adopted(self._journal.names, path):
            hive_plain.show_segment(
                self._statement.session.connection, self._journal.names, path, table, self.version
            )
        elif self._mapping:
            new = self._new_path(table, rows.fields)
            source = layout.rows_of(self._journal.names, [path])
            query = restamp_query(source, table, self._mapping)
            insert = layout.insert_rows(self._journal.names, new, query)
            self._statement.session.connection.execute(insert)
            path = new
        return self._segment(path, rows.fields, rows.counts)

    def _new_path(self, table: Table, fields: Fields) -> str:
        path = self._journal.new_segment(table, self._statement.session.connection, fields)
        self._made.append(path)
        return path

    def _segment(self, path: str, fields: Fields, counts: RowCounts) -> Segment:
        only_open = counts.closing == 0 and counts.tombstone == 0
        return Segment(
            id=path.partition("/")[2],
            tier=Tier.BASE if only_open else Tier.DELTA,
            files=(layout.segment_file(path, counts.total),),
            fields=fields,
            counts=counts,
            min_version=self._writes[0].version,
            max_version=self.version,
        )

    def commit(self, held: Held) -> Written:
        """Make it all true in one transaction of the catalog; raises Overtaken."""
        journal = self._journal
        try:
            with journal.catalog.writing(rows_of.STATE) as connection:
                held.check(connection)
                written = self._write(connection, held)
        except PalimpsestError as error:
            if error.code is not Code.OUTCOME_UNKNOWN:
                raise
            if not journal.was_committed(self.version, error):
                raise rolled_back() from error
        journal.keep(written.row, written.state)
        for path, rows in self._rows.items():
            journal.held.put(path, rows)
        return written

    def _write(self, connection: CatalogConnection, held: Held) -> Written:
        row, committed = self._journal.look_in(connection)
        if row.fence != self._row.fence:
            raise Overtaken
        if row.generation != self._row.generation:
            check_catalog(self._transaction, committed)
        if self._writes[0].version <= max(committed.version, row.settled):
            raise Overtaken
        if rows_of.is_held_by_another(connection, ORDER, held.id, self._journal.now()):
            raise Overtaken
        catalog = committed.catalog
        for _, change in self._transaction.changes():
            catalog = apply(catalog, change)
        tables = self._states(committed)
        changed = catalog is not committed.catalog
        if self._alongside is not None:
            self._alongside(connection, committed)
        following = replace(
            row,
            generation=row.generation + 1,
            version=self.version,
            catalog=self.version if changed else row.catalog,
        )
        for table_id, state in tables.items():
            found = JournalRow(table_id, state.manifest, state.last_version, RowCounts())
            rows_of.put_journal(connection, found, following.generation)
        if changed:
            changes = [(self.version, c) for w in self._writes for c in w.changes]
            rows_of.add_changes(connection, changes)
        rows_of.add_claims(connection, self.version, self._claims)
        # Clocks of gateways may differ, so claims are kept longer than anybody relies on them.
        rows_of.forget_claims(connection, self.version - 2 * CLAIMS_KEPT_US)
        record = transaction_row(self._writes, self._transaction.message, self._author, catalog)
        rows_of.add_transaction(connection, record)
        rows_of.put_state(connection, following)
        return Written(following, committed.committed(self.version, catalog, tables))

    def _states(self, committed: JournalState) -> Mapping[int, TableState]:
        """The journals as they are with the new definitions and segments."""
        states: dict[int, TableState] = {}
        for statement in self._writes:
            for change in statement.changes:
                if isinstance(change, PutRelation) and isinstance(change.relation, Table):
                    table = change.relation
                    old = states.get(table.id) or committed.tables.get(table.id)
                    if old is None:
                        old = TableState(Manifest(1, ()), self.version, RowCounts())
                    known = old.with_layout(table)
                    states[table.id] = replace(known, last_version=self.version)
        for table_id, segments in self._segments.items():
            state = states.get(table_id) or committed.tables[table_id]
            manifest = state.manifest.with_segments(segments)
            states[table_id] = replace(state, manifest=manifest, last_version=self.version)
        return states

    def undo(self) -> None:
        """Remove the partitions that nobody will list."""
        self._journal.drop_segments(self._made)


def rolled_back() -> PalimpsestError:
    """The catalog was lost during COMMIT, and says now that nothing was kept."""
    return PalimpsestError(
        Code.STORE_LOST,
        "the connection to the catalog was lost during COMMIT; the transaction was rolled back",
        advice="run it again; nothing of it was kept",
    )


def _hashed(table: Table, sets: Sequence[RowSet]) -> frozenset[str] | None:
    """What a commit lays claim to, as checksums; None where only Spark can tell."""
    claims = conflicts.claims(table, sets)
    if claims is None:
        return None
    return frozenset(hashlib.sha256(repr(c).encode()).hexdigest()[:20] for c in claims)
