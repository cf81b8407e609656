"""The commit of a Hive store: where rows in Spark become part of a journal, or do not.

    leases -> what is committed -> checks -> versions -> one append per table -> catalog's commit
              what is committed -> checks -> versions -> few rows, inlined ----^

The rows lie in partitions that no manifest lists until the catalog's transaction commits, which
checks first that the leases still hold: whoever is killed before it leaves only partitions to be
removed. Versions rise in commit order, so whoever was overtaken by a commit to other tables appends
once more, and then nobody else may go first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from journal.erasure import guard
from journal.erasure.access_log import record_access_changes
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import DropRelation, PutRelation
from journal.model.schema import Table
from journal.model.segment import Segment
from journal.model.store_session import MemoryRows, RowSet
from journal.records import catalog as records
from journal.records.catalog_format import StateRow
from journal.records.schema import LEASES, STATE
from journal.sql.row_layout import fields_of
from journal.stores.hive import inlining, layout
from journal.stores.hive.appending import Appending
from journal.stores.hive.catalog_db import catalog as rows_of
from journal.stores.hive.catalog_db import inlined
from journal.stores.hive.catalog_db.engine import CatalogConnection
from journal.stores.hive.claims import CLAIMS_KEPT_US, Claims
from journal.stores.hive.leases import HeldLeases
from journal.stores.hive.statement import HiveStatement
from journal.transactions.commit_plan import commit_plan, plan_above, with_definition
from journal.transactions.conflicts import check_catalog
from journal.transactions.inlined_rows import NOTHING_INLINED
from journal.transactions.state import JournalState, TableState
from journal.transactions.transaction import Transaction
from journal.transactions.transaction_rows import Author

if TYPE_CHECKING:
    from journal.stores.hive.journal import HiveJournal

ORDER = "order"
"""The lease of whoever must be the next to commit."""
_ROUNDS, _INLINE_TRIES = 20, 3


@dataclass(frozen=True, slots=True)
class CatalogWritten:
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
) -> CatalogWritten:
    """Check, append and commit a transaction's writes; ``statement`` is a stay to work in."""
    if inlining.may_inline(journal, transaction):
        with journal.inline_turn:
            for _ in range(_INLINE_TRIES):
                attempt = _Attempt(journal, transaction, author, statement, alongside)
                if not attempt.is_inlined:
                    break
                with suppress(Overtaken):
                    attempt.append()
                    return attempt.commit(None)
    with journal.leases.holding(lease_names(transaction)) as held:
        inlining.flush_changed(journal, transaction, held)
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
        "could not serialize access: other transactions always committed first",
        advice="roll back and run the transaction again, when fewer write at once",
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
        self._segments: dict[int, list[Segment]] = {}
        self._inlined: dict[int, MemoryRows] = {}
        self._row, self._committed = journal.read_committed()
        journal.clock.settle(max(self._committed.version, self._row.settled))
        check_catalog(transaction, self._committed)
        claims = Claims(journal, transaction, statement, self._committed)
        self._claims = claims.check()
        guard.check_buffers(
            journal, statement.session, transaction, self._committed, claims.show_whole
        )
        guard.check_onboarded(
            journal, statement.session, transaction, self._committed, statement.comparable_rows
        )
        self._plan = plan_above(self._committed, transaction.writes, journal.clock)
        versions = self._plan.first_version, self._plan.version
        self._appending = Appending(journal, statement, self._plan.overtaken, versions)

    @property
    def is_inlined(self) -> bool:
        """True if the catalog takes all its rows."""
        return all(self._takes(table_id, sets) for table_id, sets in self._plan.rows.items())

    def _takes(self, table_id: int, sets: Sequence[RowSet]) -> bool:
        table, state = self._plan.definitions[table_id], self._committed.tables.get(table_id)
        return inlining.is_inlined(self._journal.inline_options, table, state, sets)

    def check_changes(self) -> None:
        """Raise for types that Spark lacks, and for names that the metastore has already."""
        for made in self._plan.redefined:
            layout.create_journal(self._journal.names, made, fields_of(made))
            self._check_rows(made)
        views, before = self._journal.views, self._committed.catalog
        if views is not None and self._plan.catalog is not before:
            connection = self._statement.session.connection
            views.check_free(connection, before, self._plan.catalog)

    def _check_rows(self, table: Table) -> None:
        """Raise if a table cannot lie as it should, or comes back without its rows."""
        names = self._journal.names
        layout.check_shape(table, self._journal.store.engine)
        state = self._committed.tables.get(table.id)
        if state is None or self._committed.catalog.by_id(table.id) is not None:
            return
        for segment in state.manifest.segments:
            name = segment.files[0].path.partition("/")[0]
            if layout.is_adopted(names, name):
                connection = self._statement.session.connection
                if not connection.has_relation(names.journal_database, name):
                    raise PalimpsestError(
                        Code.UNKNOWN_TABLE,
                        f"{table.name} was ejected as the plain table it had been, with its rows",
                        advice=f"palimpsest adopt {table.name} takes it over again",
                    )

    def append(self) -> None:
        """Write the rows to partitions of their own, one statement per table where they are few.

        Those of tables that inline them wait for the catalog's transaction; others take along what
        is inlined.
        """
        for table_id, sets in self._plan.rows.items():
            table, state = self._plan.definitions[table_id], self._committed.tables.get(table_id)
            if not self._takes(table_id, sets):
                before = NOTHING_INLINED if state is None else state.inlined
                self._segments[table_id] = self._appending.append(table, sets, before)
                continue
            self._inlined[table_id] = inlining.as_one(table, sets, self._plan.overtaken)

    def commit(self, held: HeldLeases | None) -> CatalogWritten:
        """Make it all true in one transaction of the catalog; raises Overtaken.

        Without leases, nobody may hold one of those in that transaction, nor have committed since.
        """
        journal = self._journal
        try:
            # Who changes records locks the log of audits.
            more = () if self._transaction.alongside is None else (rows_of.RECORDS,)
            unheld = (LEASES,) if held is None else ()
            with journal.catalog.writing(STATE, *more, *unheld) as connection:
                if held is not None:
                    held.check(connection)
                elif rows_of.are_held(connection, lease_names(self._transaction)):
                    raise Overtaken
                written = self._write(connection, held)
        except PalimpsestError as error:
            if error.code is not Code.OUTCOME_UNKNOWN:
                raise
            if not journal.was_committed(self._plan.version, error):
                raise rolled_back() from error
        journal.flusher.note_own(self._inlined)
        # Views show no inlined rows.
        is_shown = bool(self._segments or self._plan.redefined or self._transaction.changes())
        journal.keep(written.row, written.state, is_shown=is_shown)
        for path, rows in self._appending.rows.items():
            journal.held.put(path, rows)
        return written

    def _write(self, connection: CatalogConnection, held: HeldLeases | None) -> CatalogWritten:
        row, committed = self._journal.look_in(connection)
        if row.fence != self._row.fence or (
            held is None and row.generation != self._row.generation
        ):
            raise Overtaken
        if row.generation != self._row.generation:
            check_catalog(self._transaction, committed)
        if self._plan.first_version <= max(committed.version, row.settled):
            raise Overtaken
        own = "" if held is None else held.id
        if rows_of.is_held_by_another(connection, ORDER, own, self._journal.now()):
            raise Overtaken
        plan = commit_plan(committed, self._plan.writes)
        tables = plan.states(
            committed,
            lambda old, table: with_definition(old, table, plan.version),
            lambda state, table, _: self._listed(connection, state, table),
        )
        if self._alongside is not None:
            self._alongside(connection, committed)
        rows_of.add_claims(connection, plan.version, self._claims)
        # Clocks of gateways may differ, so claims are kept longer than anybody relies on them.
        rows_of.forget_claims(connection, plan.version - 2 * CLAIMS_KEPT_US)
        changes, author = self._transaction.changes(), self._author
        record_access_changes(self._journal, connection, committed.catalog, changes, author.user)
        following = records.record_commit(
            connection, row, plan, committed, tables, (self._transaction, self._author)
        )
        return CatalogWritten(following, plan.next_state(committed, tables))

    def _listed(self, connection: CatalogConnection, state: TableState, table: Table) -> TableState:
        """A journal with the segments that its rows were appended as, or with inlined rows."""
        first, last = self._plan.first_version, self._plan.version
        known = self._committed.tables.get(table.id)
        if known is not None and known.inlined.oldest != state.inlined.oldest:
            raise Overtaken
        kept = self._inlined.get(table.id)
        if kept is not None:
            inlined.add_rows(connection, table.id, kept, first, last)
            return state.with_inlined(state.inlined.appended(kept, first, last), last)
        if state.inlined:
            inlined.remove_rows(connection, table.id, state.inlined.last)
        manifest = state.manifest.with_segments(self._segments[table.id])
        return replace(state.with_inlined(NOTHING_INLINED, last), manifest=manifest)

    def undo(self) -> None:
        """Remove the partitions that nobody will list."""
        self._appending.undo()


def rolled_back() -> PalimpsestError:
    """The catalog was lost during COMMIT, and says now that nothing was kept."""
    return PalimpsestError(
        Code.STORE_LOST,
        "the connection to the catalog was lost during COMMIT; the transaction was rolled back",
        advice="run it again; nothing of it was kept",
    )
