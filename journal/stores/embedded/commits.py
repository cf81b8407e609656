"""Commits, one group after another: who waits for the commit section goes through it together.

    wait -> (of the whole group: checks, versions) -> one append -> one COMMIT -> publish

Each transaction keeps versions, row of ``system.transactions`` and conflict check of its own: one
that is refused fails alone. Transactions that change the catalog, or whose rows are many, go alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from journal.erasure import guard
from journal.erasure.access_log import record_access_changes
from journal.local_engine import layout
from journal.local_engine.rows import show_rows
from journal.local_engine.session import DuckDBSession
from journal.model.errors import Code, PalimpsestError
from journal.model.failures import failures
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import CatalogChange
from journal.model.schema import CatalogSnapshot, Table
from journal.model.segment import RowCounts
from journal.model.store_session import MemoryRows
from journal.model.version import Version
from journal.records.catalog import add_transactions
from journal.stores.embedded import catalog_tables as rows_of
from journal.stores.embedded import commit as section
from journal.stores.embedded import inline
from journal.stores.embedded.commit import CommitRecord
from journal.stores.embedded.public import refresh_views
from journal.stores.embedded.statement import Statement
from journal.transactions import conflicts, references
from journal.transactions.commit_plan import CommitPlan, commit_plan
from journal.transactions.group_commit import CancelToken, CommitQueue, acquired
from journal.transactions.plain_rows import newest
from journal.transactions.row_cache import Written, written_rows
from journal.transactions.state import JournalState, TableState
from journal.transactions.transaction import Transaction, staged_files
from journal.transactions.transaction_rows import (
    Author,
    TransactionRow,
    inline_row,
    transaction_row,
)

if TYPE_CHECKING:
    from journal.stores.embedded.journal import Journal


_ROWS_MAX = 1000
"""A transaction of more rows goes alone."""


@dataclass(slots=True, eq=False)
class Waiting:
    """A transaction on its way through the commit section, and how that ended."""

    transaction: Transaction
    author: Author
    version: Version | None = None
    error: PalimpsestError | None = None

    @property
    def is_over(self) -> bool:
        """True when it is known how it ended."""
        return self.version is not None or self.error is not None


class Commits:
    """The commits of one journal; see the module's head."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._queue: CommitQueue[Waiting] = CommitQueue()
        self._records: list[CommitRecord] = []

    def commit(self, transaction: Transaction, author: Author, watcher: CancelToken) -> Version:
        """Commit what a transaction wrote; see ``Journal.commit``."""
        journal = self._journal
        # Who has the turn would keep waiting for a group that cannot be served meanwhile.
        if not _is_short(transaction) or journal.has_turn:
            with acquired(journal.commit_lock, watcher), journal.session() as session:
                return self._commit_alone(session, transaction, author, watcher)
        waiting = Waiting(transaction, author)
        self._queue.run(waiting, watcher, journal.commit_lock, self._serve)
        if waiting.error is not None:
            raise waiting.error
        if waiting.version is None:
            raise PalimpsestError(
                Code.OUTCOME_UNKNOWN,
                "the thread that committed this transaction together with its own was interrupted",
                advice="look in system.transactions whether it is there",
            )
        return waiting.version

    def _serve(self, group: Sequence[Waiting], watcher: CancelToken) -> None:
        """Commit a group; whoever asked last for the section may cancel when alone in it."""
        with self._journal.session() as session:
            if len(group) > 1:
                try:
                    with failures():
                        self._commit_group(session, group)
                except PalimpsestError:
                    # Whose fault it is shows when each goes alone.
                    session.rollback()
            for waiting in group:
                if not waiting.is_over:
                    try:
                        with failures():
                            waiting.version = self._commit_alone(
                                session, waiting.transaction, waiting.author, watcher
                            )
                    except PalimpsestError as error:
                        session.rollback()
                        waiting.error = error

    def _commit_group(self, session: DuckDBSession, group: Sequence[Waiting]) -> None:
        """Commit what of a group can go together, by one append; the rest is left to go alone.

        A transaction that comes second is told so here. Raises what the store raises, with nothing
        committed.
        """
        journal = self._journal
        committed = journal.state
        session.begin()
        records = list(self._records)
        passed: list[tuple[Waiting, CommitPlan]] = []
        refused: list[tuple[Waiting, PalimpsestError]] = []
        floor = journal.clock.floor
        written: set[int] = set()
        for waiting in group:
            own = waiting.transaction.buffered_tables()
            needed = references.linked(committed.catalog, own) | waiting.transaction.relied_on
            if not written.isdisjoint(needed):
                # What its keys and policies are checked by is in the group: it goes alone.
                continue
            try:
                self._check(session, waiting.transaction, committed, records)
            except PalimpsestError as error:
                if error.code is not Code.SERIALIZATION:
                    raise
                refused.append((waiting, error))
                continue
            plan = self._planned(session, waiting.transaction, floor)
            floor = plan.version
            passed.append((waiting, plan))
            written |= own
            records.append(CommitRecord(floor, plan.rows))
        if passed:
            whole = commit_plan(committed, [w for _, plan in passed for w in plan.writes])
            tables = section.append(journal.warehouse, session, committed, whole)
            rows = [
                transaction_row(plan.writes, r.transaction, r.author, plan.catalog)
                for r, plan in passed
            ]
            self._finish(session, whole, tables, rows)
            self._records = records
            self._keep(r.transaction for r, _ in passed)
        for waiting, plan in passed:
            waiting.version = plan.version
        for waiting, reason in refused:
            waiting.error = reason

    def _check(
        self,
        session: DuckDBSession,
        transaction: Transaction,
        committed: JournalState,
        records: Iterable[CommitRecord],
    ) -> None:
        """Raise if what a transaction wrote may not be committed any more."""
        conflicts.check_catalog(transaction, committed)
        section.check_conflicts(session, transaction, committed, records)
        self._journal.removals.check(session, transaction, committed)

        def show(table: Table, name: str) -> None:
            show_rows(session, table, name, transaction.buffered(table.id))

        references.check_references(session, transaction, committed, show)
        guard.check_buffers(self._journal, session, transaction, committed, show)
        guard.check_onboarded(self._journal, session, transaction, committed)

    def _commit_alone(
        self, session: DuckDBSession, transaction: Transaction, author: Author, watcher: CancelToken
    ) -> Version:
        """Commit one transaction, which may have changed the catalog; its version."""
        journal = self._journal
        committed = journal.state
        conflicts.check_catalog(transaction, committed)
        session.begin()
        with watcher.watching(session):
            self._check(session, transaction, committed, self._records)
            plan = self._planned(session, transaction, journal.clock.floor)
            tables = section.append(journal.warehouse, session, committed, plan)
            changes = transaction.changes()
            record_access_changes(journal, session, committed.catalog, changes, author.user)
        row = transaction_row(plan.writes, transaction, author, plan.catalog)
        self._finish(session, plan, tables, [row])
        if plan.catalog is not committed.catalog:
            refresh_views(session, plan.catalog)
        self._records.append(CommitRecord(row.version, plan.rows))
        self._keep([transaction])
        files = staged_files(plan.writes)
        if plan.writes is not transaction.writes:
            journal.forget_files(set(staged_files(transaction.writes)) - set(files))
        for file in files:
            journal.staged.discard(file.path)
            journal.checker.trust(file)
        return row.version

    def commit_inline(
        self,
        statement: Statement,
        version: Version,
        appended: Mapping[int, RowCounts],
        digest: str,
        author: Author,
    ) -> None:
        """Commit what an inline statement has appended to heads under ``version``."""
        journal, session, committed = self._journal, statement.session, statement.committed
        with journal.nobody_begins() as others:
            # Whoever began before this is published may conflict with it later.
            guard.check_inline(
                *(journal, session, committed, appended, version),
                lambda t: layout.head_table(t.id, committed.tables[t.id].manifest.heads[-1]),
            )
            known = statement.appended
            written = {i: newest(*known[i]) if i in known else None for i in appended}
            tables = {
                table_id: replace(
                    committed.tables[table_id],
                    last_version=version,
                    head_counts=committed.tables[table_id].head_counts + counts,
                )
                for table_id, counts in appended.items()
            }
            message = statement.transaction.message
            row = inline_row(version, digest, message, author, committed.catalog, appended)
            if others:
                rows = {i: inline.rows_at(statement, i, version) for i in appended}
                self._records.append(CommitRecord(version, rows))
            self._publish(session, [row], committed.catalog, (), tables, written)
            self._keep([statement.transaction])

    def _planned(
        self, session: DuckDBSession, transaction: Transaction, floor: Version
    ) -> CommitPlan:
        journal = self._journal
        clock, warehouse = journal.clock, journal.warehouse
        return section.planned(warehouse, session, transaction, journal.state, clock, floor)

    def _finish(
        self,
        session: DuckDBSession,
        plan: CommitPlan,
        tables: Mapping[int, TableState],
        rows: Sequence[TransactionRow],
    ) -> None:
        written = written_rows(plan.catalog, plan.rows)
        self._publish(session, rows, plan.catalog, plan.changes, tables, written)

    def _publish(
        self,
        session: DuckDBSession,
        rows: Sequence[TransactionRow],
        catalog: CatalogSnapshot,
        changes: Sequence[tuple[Version, CatalogChange]],
        tables: Mapping[int, TableState],
        written: Written,
    ) -> None:
        """Record what is appended already, commit, and publish what is true from now on."""
        journal = self._journal
        committed = journal.state
        section.write_catalog(journal.warehouse, session, committed, catalog, changes, tables)
        counters = journal.counters.unrecorded(tables)
        for (table_id, name), value in counters:
            rows_of.add_counter(session, table_id, name, value)
        add_transactions(session, rows)
        state = committed.committed(rows[-1].version, catalog, tables)
        journal.publish(session, state, written)
        journal.counters.recorded(counters)

    def _keep(self, over: Iterable[Transaction]) -> None:
        """Forget what no open transaction can conflict with any more."""
        oldest = self._journal.finish_transactions(over)
        self._records = [r for r in self._records if oldest is not None and r.version > oldest]


def _is_short(transaction: Transaction) -> bool:
    """True for a few rows in memory and no change of the catalog."""
    sets = [rows for w in transaction.writes for _, rows in w.rows]
    if any(w.changes for w in transaction.writes):
        return False
    held = [s.rows.num_rows for s in sets if isinstance(s, MemoryRows)]
    return len(held) == len(sets) and sum(held) <= _ROWS_MAX
