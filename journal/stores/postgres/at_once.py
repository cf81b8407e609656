"""Statements and commits that take one trip to the server, on the state that was seen last.

    a write of its own         committed as it is sent (``one_trip``)
    in a client's transaction  a query, and after it the state
    a read that stands         the same, without a statement around it
    COMMIT of few rows         rows, checks and record (``buffered_trip``)

It is tried while the commits of this process follow each other: whoever finds that another gateway
has committed takes the long way, and the longer the more often that happens.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, ClassVar

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Append, Fetch, Query, StatementPlan
from journal.model.result_column import ResultColumn
from journal.model.segment import RowCounts
from journal.model.store_session import LongWay, Parameters
from journal.model.version import Version
from journal.records import catalog as records
from journal.records.catalog_format import StateRow
from journal.sql.relations_flat import is_flat
from journal.stores.postgres import buffered_trip, section
from journal.stores.postgres.brief_queries import is_brief
from journal.stores.postgres.catalog import READ_STATE, text_of_state
from journal.stores.postgres.cursor import Alone
from journal.stores.postgres.dialect.pivot import has_pivots
from journal.stores.postgres.errors import lost_at_commit
from journal.stores.postgres.fetching import HeldRows
from journal.stores.postgres.one_trip import one_trip_text, run_in_one_trip
from journal.stores.postgres.pipeline_cursor import FirstRow
from journal.stores.postgres.statement import DatabaseStatement
from journal.stores.postgres.store import PostgresSession
from journal.transactions.group_commit import CancelToken, acquired, take
from journal.transactions.state import JournalState
from journal.transactions.statement_run import StatementRun
from journal.transactions.transaction import Transaction
from journal.transactions.transaction_rows import Author, inline_row

if TYPE_CHECKING:
    from journal.stores.postgres.journal import DatabaseJournal

_PAUSE_MAX = 64
"""So many statements at most take the long way after one that came second."""
_MANY = (exp.Unnest, exp.Explode, exp.GenerateSeries)
"""What makes many rows of one."""


class Luck:
    """Whether the state that was seen last has been the state, lately."""

    def __init__(self) -> None:
        self._pause = self._left = 0

    def may_try(self) -> bool:
        """False while others commit in between; each call counts as a statement."""
        if self._left:
            self._left -= 1
            return False
        return True

    def note(self, *, came_first: bool) -> None:
        """Note whether the state was the one that had been seen last."""
        self._pause = 0 if came_first else min(_PAUSE_MAX, max(1, 2 * self._pause))
        self._left = self._pause


class _OnSeenState(DatabaseStatement):
    """A statement on the state that was seen last; ``luck`` is told whether it still was that."""

    _journal: DatabaseJournal
    _commits: ClassVar[bool]
    """True for one that is committed as it is sent."""

    def __init__(
        self,
        journal: DatabaseJournal,
        session: PostgresSession,
        seen: tuple[StateRow, JournalState],
        transaction: Transaction,
        luck: Luck,
    ) -> None:
        self._seen_row, state = seen
        super().__init__(
            journal, session, state, transaction, self._seen_row if self._commits else None
        )
        self._luck = luck


class DatabaseOneTrip(_OnSeenState):
    """A statement whose one write is committed as it is sent.

    It asks the server nothing before; its session is in no transaction.
    """

    _commits = True

    def takes(self, plan: StatementPlan) -> bool:
        """True for a plan of one append, of rows that need no look at what was erased."""
        if len(plan.steps) != 1 or plan.points or plan.system:
            return False
        (step,) = plan.steps
        if not isinstance(step, Append) or not (step.single or step.per_change is not None):
            return False
        table, state = self.committed.catalog.by_id(step.table_id), self.committed.tables
        if table is None or step.query.once("postgres pivots", lambda: has_pivots(step.query.ast)):
            return False
        if is_flat(table):
            # Its own triggers look at what was erased.
            return True
        return bool(state[table.id].manifest.heads) and not self.committed.fence.concerns(table)

    def write(self, plan: StatementPlan, run: StatementRun, digest: str, author: Author) -> bool:
        """Run a plan and commit; False where it has to take the long way, and nothing was done."""
        (step,) = plan.steps
        assert isinstance(step, Append), "such a plan was taken"
        table = run.table(step.table_id, self.transaction.catalog)
        text = one_trip_text(self.session, self.committed, self._seen_row, table, step)
        if text is None:
            return False
        message, catalog = self.transaction.message, self.committed.catalog
        record = inline_row(run.version, digest, message, author, catalog, {table.id: RowCounts()})
        try:
            total = run_in_one_trip(self.session, text, run.parameters, self._seen_row, record)
        except PalimpsestError as error:
            if error.code is not Code.OUTCOME_UNKNOWN:
                raise
            if not self._journal.was_committed(run.version, error):
                raise lost_at_commit() from error
            with self._journal.reading_session() as session:
                changed = records.rows_of_commit(session, run.version)
            each = step.per_change
            total = changed if each is None else changed // each.changed * each.total
            run.take_appended(step, total)
            return True
        self._luck.note(came_first=total is not None)
        if total is None:
            return False
        run.take_appended(step, total)
        if run.appended:
            following = section.after_inline(
                self.committed, self._seen_row, run.version, run.appended
            )
            self._journal.keep(following)
        return True


class DatabaseAskedOnce(_OnSeenState):
    """A statement of a transaction whose one query goes to the server with all that is around it.

    It sees what a statement that asks first would see, or raises LongWay. Close it.
    """

    _commits = False

    def begin(self) -> DatabaseAskedOnce:
        """Begin the transaction, if it has not begun, and have the next query asked so; itself."""
        self._holds, self._was_fresh = False, self.transaction.is_fresh
        self.transaction.begin_at(self.committed)
        self.session.know_definitions(self._seen_row.catalog)
        self.session.run_alone(Alone(READ_STATE, self._is_now))
        return self

    def _is_now(self, row: FirstRow) -> bool:
        self._holds = row == text_of_state(self._seen_row)
        self._luck.note(came_first=self._holds)
        return self._holds

    def close(self) -> None:
        """End the stay; a transaction that it did not begin is as fresh as it was."""
        if self._open and not self._holds:
            self.transaction.is_fresh = self._was_fresh
        super().close()


class _Turn:
    """A write's turn among those of this process; as a generator, each would take longer."""

    __slots__ = ("_journal", "_lock", "_luck", "_message", "_session", "_watcher")

    def __init__(
        self,
        journal: DatabaseJournal,
        lock: threading.RLock,
        luck: Luck,
        message: str | None,
        watcher: CancelToken,
    ) -> None:
        self._journal, self._lock, self._luck = journal, lock, luck
        self._message, self._watcher = message, watcher

    def __enter__(self) -> DatabaseOneTrip:
        take(self._lock, self._watcher)
        store, session = self._journal.store, None
        try:
            self._session = session = store.acquire()
            seen = self._journal.seen_last
            transaction = Transaction(seen[1], message=self._message)
            return DatabaseOneTrip(self._journal, session, seen, transaction, self._luck)
        except BaseException:
            if session is not None:
                store.give_back(session)
            self._lock.release()
            raise

    def __exit__(self, *_: object) -> None:
        try:
            self._journal.store.give_back(self._session)
        finally:
            self._lock.release()


class AtOnce:
    """Starts such statements, and makes such commits; one for each journal of a process."""

    def __init__(self, journal: DatabaseJournal) -> None:
        self._journal = journal
        self._lock = threading.RLock()
        self._writing, self._asking = Luck(), Luck()

    def may_write(self) -> bool:
        """False while others commit in between, and inside a turn, which has the lock already."""
        return not self._journal.has_turn and self._writing.may_try()

    def start(
        self, message: str | None, watcher: CancelToken
    ) -> AbstractContextManager[DatabaseOneTrip]:
        """A write on the state that was seen last; one after the other."""
        return _Turn(self._journal, self._lock, self._writing, message, watcher)

    def may_ask(self) -> bool:
        """The same, for ``asking``: it needs no lock, so others of this process come in between."""
        return self._asking.may_try()

    def takes(self, plan: StatementPlan) -> bool:
        """True for a plan whose one query stays as it is, and is likely to give few rows soon."""
        if not plan.asks_once:
            return False
        (step,) = plan.steps
        assert isinstance(step, Append | Fetch), "one that asks once"
        query = step.query
        if isinstance(step, Fetch) and not _is_likely_brief(plan, query):
            return False
        if query.once("postgres pivots", lambda: has_pivots(query.ast)):
            return False
        return not query.once("makes many rows", lambda: query.ast.find(*_MANY) is not None)

    def asking(self, transaction: Transaction) -> DatabaseAskedOnce:
        """A statement of a transaction on the state that was seen last."""
        journal = self._journal
        session = journal.store.acquire()
        seen = journal.seen_last
        return DatabaseAskedOnce(journal, session, seen, transaction, self._asking).begin()

    def ask(
        self, plan: StatementPlan, parameters: Parameters, state: JournalState, watcher: CancelToken
    ) -> tuple[HeldRows, Sequence[ResultColumn]] | None:
        """All rows of a plan that it takes, by itself, on a state, and their columns.

        None where that is not the state any more, and where the rows are too many to be held.
        """
        (step,) = plan.steps
        assert isinstance(step, Fetch), "it reads"
        row, seen = self._journal.seen_last
        if seen is not state or not _is_likely_brief(plan, step.query) or not self.may_ask():
            return None

        def is_now(found: FirstRow) -> bool:
            holds = found == text_of_state(row)
            self._asking.note(came_first=holds)
            return holds

        store = self._journal.store
        session = store.acquire()
        try:
            session.read_epochs(state.epoch_of)
            session.know_definitions(row.catalog)
            session.run_alone(Alone(READ_STATE, is_now))
            with watcher.watching(session):
                session.execute(step.query, parameters)
            held = session.held_rows()
            return held, held.columns
        except LongWay:
            return None
        finally:
            store.give_back(session)

    def commit(
        self, transaction: Transaction, author: Author, watcher: CancelToken
    ) -> Version | None:
        """Commit what a transaction wrote; None where that takes the long way."""
        if not buffered_trip.may_fit(transaction) or not self.may_write():
            return None
        with acquired(self._lock, watcher), self._journal.store.lent() as session:
            row, committed = self._journal.seen_last
            trip = buffered_trip.planned(transaction, committed, row, self._journal.clock, author)
            if trip is None:
                return None
            with watcher.watching(session):
                fits = self._sent(session, trip)
            if fits is not None:
                self._writing.note(came_first=fits)
            if not fits:
                return None
            self._journal.keep(trip.result)
            return trip.version

    def _sent(self, session: PostgresSession, trip: buffered_trip.BufferedTrip) -> bool | None:
        """Whether a trip has committed, as nothing stood in the way; None where it failed."""
        try:
            return trip.run(session)
        except PalimpsestError as error:
            if error.code is Code.CANCELLED:
                raise
            if error.code is not Code.OUTCOME_UNKNOWN:
                # The long way says best what it is.
                return None
            if not self._journal.was_committed(trip.version, error):
                raise lost_at_commit() from error
            return True


def _is_likely_brief(plan: StatementPlan, query: Query) -> bool:
    """True if a plan that reads finds all its rows by their keys, or was brief the last time."""
    by_key = bool(plan.shapes) and all(found.shape == found.BY_KEY for found in plan.shapes)
    return by_key or is_brief(query)
