"""The journals of a database, open in this process; other processes may have them open too.

    statement   BEGIN (repeatable read) -> what is committed -> queries -> ROLLBACK
    commit      BEGIN -> advisory lock -> what is committed -> checks -> appends -> COMMIT

What is committed stands in the database; here are only states seen before, so that a statement
loads what has changed since and nothing else. A transaction of a client holds no connection.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from journal.erasure import guard
from journal.erasure.access_log import record_access_changes
from journal.identity.suppression_list import SuppressionList
from journal.model.capabilities import Capabilities
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.model.segment import SegmentFile
from journal.model.version import HybridClock, Version
from journal.model.wall_clock import wall_clock_us
from journal.records import catalog as records
from journal.records.catalog_format import StateRow
from journal.records.numbers import DatabaseNumbers
from journal.records.seen_states import SeenStates
from journal.stores.postgres import catalog as rows_of
from journal.stores.postgres import section
from journal.stores.postgres.at_once import AtOnce
from journal.stores.postgres.cursor import BEGIN_STATEMENT
from journal.stores.postgres.dialect.text import PUBLIC_SCHEMA, rendered
from journal.stores.postgres.errors import lost_at_commit, still_under_way
from journal.stores.postgres.held_row_names import HeldRowNames
from journal.stores.postgres.outcome import GONE, PATIENCE_S, pauses
from journal.stores.postgres.pool import PostgresStore
from journal.stores.postgres.rows import drop_staged, show_rows, staged_table
from journal.stores.postgres.statement import DatabaseStatement
from journal.stores.postgres.store import BEGIN_SECTION, PostgresSession
from journal.transactions.group_commit import UNWATCHED, CancelToken
from journal.transactions.state import JournalState
from journal.transactions.transaction import Transaction, staged_files
from journal.transactions.transaction_rows import Author

_LOCKED = f"{rows_of.TAKE_LOCK}; {rows_of.READ_STATE}"
_NAMED_LOCKS = 1905_5283
"""The first half of the advisory locks that go by names."""
_ASYNCHRONOUS = "SET LOCAL synchronous_commit = off; SELECT 1"


class DatabaseJournal:
    """See the module's head; one per process and database."""

    def __init__(
        self,
        store: PostgresStore,
        *,
        wall_us: Callable[[], int] = wall_clock_us,
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        self.store = store
        self.capabilities = Capabilities(
            postgres_functions=True,
            collations=True,
            enums=True,
            addresses=True,
            access_control=True,
            fences_by_offset=True,
            analyzes=True,
            skips_locked=True,
            replicates_to=("palimpsest+postgresql:", "palimpsest+postgres:"),
        )
        skew_max_us = store.skew_max_us
        self._new_id = new_id
        self.staged: set[str] = set()
        self._secret: tuple[SuppressionList, str] | None = None
        self._kept_secrets: dict[str, str] = {}
        self._turn = threading.local()
        self.held_names = HeldRowNames(store)
        with self.store.lent() as session:
            has_index = not session.abilities.distributes
            self.capabilities = replace(self.capabilities, indexes_endings=has_index)
            self._seen = SeenStates(guard.load_fence, rows_of.WHAT, PUBLIC_SCHEMA, session.database)
            session.begin_with(BEGIN_SECTION, rows_of.TAKE_LOCK)
            if not rows_of.exists(session):
                rows_of.create(session, new_id())
            row, state = self._seen.read_committed(session)
            session.commit()
        self.at_once = AtOnce(self) if store.takes_together else None
        self.clock = HybridClock(wall_us, max(state.version, row.settled), skew_max_us)
        self.counters = DatabaseNumbers(
            self._counting,
            rows_of.reserve,
            rows_of.skip_past,
            rows_of.change_number,
            self._new_table_id,
        )

    @property
    def state(self) -> JournalState:
        """What is committed, as far as this process knows."""
        return self._seen.newest

    @property
    def seen_last(self) -> tuple[StateRow, JournalState]:
        """The same, with its row."""
        return self._seen.newest_with_row

    @property
    def has_turn(self) -> bool:
        """True inside a block of ``commit_turn`` of this thread, up to its commit."""
        return getattr(self._turn, "session", None) is not None

    @property
    def in_memory(self) -> None:
        """No rows: other processes write them too."""

    @property
    def place(self) -> str:
        """The database, for people."""
        return self.store.display_name

    def _new_table_id(self) -> int:
        with self.store.lent() as session:
            return rows_of.new_table_id(session)

    @contextmanager
    def _counting(self) -> Iterator[PostgresSession]:
        """A transaction that need not wait for the disk: what commits later makes it durable."""
        session, _ = self.store.begun(BEGIN_SECTION, _ASYNCHRONOUS)
        with self.store.lent(session):
            yield session
            session.commit_unasked()

    def begin(
        self, *, read_only: bool = False, at_once: bool = False, message: str | None = None
    ) -> Transaction:
        """Start a transaction that reads what its first statement finds, or what is now."""
        if at_once:
            session, rows = self.store.ask(rows_of.READ_STATE)
            with self.store.lent(session):
                if self._seen.cached_state(rows_of.state_of(rows)) is None:
                    # What has changed is read as one transaction sees it.
                    session.begin()
                    self._seen.read_committed(session)
        return Transaction(
            *(self.state, read_only, message, self.forget_files), is_fresh=not at_once
        )

    def statement(self, transaction: Transaction) -> DatabaseStatement:
        """Start a statement of a transaction; close what is returned."""
        session, rows = self.store.begun(BEGIN_STATEMENT, rows_of.READ_STATE)
        try:
            committed = self._seen.at(session, rows_of.state_of(rows))
        except BaseException:
            session.rollback()
            self.store.release(session)
            raise
        transaction.begin_at(committed)
        return DatabaseStatement(self, session, committed, transaction)

    def forget_files(self, files: Iterable[SegmentFile]) -> None:
        """Drop staged rows that were not committed."""
        gone = [file for file in files if file.path in self.staged]
        self.staged.difference_update(file.path for file in gone)
        if not gone:
            return
        try:
            with self.store.lent() as session:
                for file in gone:
                    session.text(f"DROP TABLE IF EXISTS {rendered(staged_table(file)).sql}")
        except PalimpsestError as error:
            # What stays is removed when a gateway opens the database the next time.
            if error.code not in {Code.STORE_LOST, Code.STORE_UNREACHABLE}:
                raise

    def drop_staged(self, older_than_us: int) -> None:
        """Drop staged rows of gateways that ended without a word."""
        with self.reading_session() as session:
            drop_staged(session, older_than_us)

    def new_staged_name(self) -> str:
        """A name for a table of staged rows, which tells when it was made."""
        name = f"w_{wall_clock_us()}_{self._new_id()[:12]}"
        self.staged.add(name)
        return name

    @contextmanager
    def commit_section(self) -> Iterator[tuple[PostgresSession, JournalState, StateRow]]:
        """The commit section: nobody else, in no process, commits before it ends."""
        with self._locked_session() as (session, rows):
            yield session, *self._committed_in(session, rows)

    def enter_section(self, session: PostgresSession) -> tuple[JournalState, StateRow]:
        """Begin the commit section in a transaction, of any other use before, up to its end.

        It reads what others commit meanwhile.
        """
        session.text(rows_of.TAKE_LOCK)
        return self._committed_in(session, session.text(rows_of.READ_STATE))

    def _committed_in(
        self, session: PostgresSession, rows: list[tuple[Any, ...]]
    ) -> tuple[JournalState, StateRow]:
        row = rows_of.state_of(rows)
        committed = self._seen.at(session, row)
        session.read_epochs(committed.epoch_of)
        session.know_definitions(row.catalog)
        self.clock.settle(max(committed.version, row.settled))
        return committed, row

    @contextmanager
    def _locked_session(self) -> Iterator[tuple[PostgresSession, list[tuple[Any, ...]]]]:
        """A session inside a transaction beside which nobody else commits, and the state's row."""
        mine = getattr(self._turn, "session", None)
        rows = None if mine is None else self._state_in(mine)
        if mine is None or rows is None:
            # Whose turn was cut off waits for the lock like everybody else.
            session, rows = self.store.begun(BEGIN_SECTION, _LOCKED)
            with self.store.lent(session):
                yield session, rows
            return
        try:
            yield mine, rows
        finally:
            mine.rollback()

    def _state_in(self, session: PostgresSession) -> list[tuple[Any, ...]] | None:
        """The state's row as a turn sees it, which ends with what uses it; None if it is cut."""
        self._turn.session = None
        try:
            return session.text(rows_of.READ_STATE)
        except PalimpsestError as error:
            if error.code is not Code.STORE_LOST:
                raise
        return None

    @contextmanager
    def commit_turn(self, watcher: CancelToken) -> Iterator[None]:
        """A block of this thread during which nobody else commits, up to its own first commit.

        The lock of the commit section is taken at its begin, in the transaction in which the
        thread's commit runs then, so that it goes with that however it ends.
        """
        session, _ = self.store.begun(BEGIN_SECTION, rows_of.TAKE_LOCK)
        with self.store.lent(session):
            self._turn.session = session
            try:
                watcher.check()
                yield
            finally:
                self._turn.session = None

    def commit(
        self,
        transaction: Transaction,
        author: Author,
        watcher: CancelToken = UNWATCHED,
        alongside: section.Alongside | None = None,
    ) -> Version | None:
        """Make a transaction's writes durable and visible; None if it wrote nothing.

        Raises SERIALIZATION when others committed changes of the same keys or definitions first;
        the transaction is over either way.
        """
        with transaction.committing():
            if not transaction.writes:
                return None
            if self.at_once is not None and alongside is None:
                version = self.at_once.commit(transaction, author, watcher)
                if version is not None:
                    return version
            with self.commit_section() as (session, committed, row):
                with watcher.watching(session):
                    self._check_fence(session, transaction, committed)
                    written = section.write(
                        session, transaction, committed, row, self.clock, author, alongside
                    )
                    record_access_changes(
                        self, session, committed.catalog, transaction.changes(), author.user
                    )
                self.conclude(session, written)
                self.staged.difference_update(f.path for f in staged_files(transaction.writes))
                return written.state.version

    def _check_fence(
        self, session: PostgresSession, transaction: Transaction, committed: JournalState
    ) -> None:
        def show(table: Table, name: str) -> None:
            show_rows(session, table, name, transaction.buffered(table.id))

        guard.check_buffers(self, session, transaction, committed, show)
        guard.check_onboarded(self, session, transaction, committed)

    def conclude(self, session: PostgresSession, written: section.SectionResult) -> None:
        """Commit, and know what became of it even if the connection is cut meanwhile."""
        if written.version is None:
            session.commit()
        else:
            self._commit(session, written.version)
        self.keep(written)

    def keep(self, written: section.SectionResult) -> None:
        """Know what is committed now."""
        self.clock.settle(written.state.version)
        self._seen.keep(written.row, written.state)

    def conclude_past(self, session: PostgresSession, version: Version) -> None:
        """Commit what ``section.write_past`` has written at a version, and read all of it anew."""
        self._commit(session, version)
        self.clock.settle(version)
        self.begin(read_only=True, at_once=True).rollback()

    def _commit(self, session: PostgresSession, version: Version) -> None:
        """Commit a transaction that has a row: in one round trip, unless the connection is cut."""
        try:
            session.commit_unasked()
        except PalimpsestError as error:
            if error.code is not Code.OUTCOME_UNKNOWN:
                raise
            if not self.was_committed(version, error):
                raise lost_at_commit() from error

    def was_committed(self, version: Version, error: PalimpsestError) -> bool:
        """Ask the server, as soon as it answers; its transaction is over before it does."""
        self.store.forget_idle()
        locked = f"SET LOCAL lock_timeout = {PATIENCE_S * 1000:.0f}; {rows_of.TAKE_LOCK}"
        for _ in pauses(PATIENCE_S):
            try:
                with self.store.lent() as session:
                    # The lock is free only when the transaction that was cut has ended.
                    session.begin_with(BEGIN_SECTION, locked)
                    return records.was_committed(session, version)
            except PalimpsestError as failed:
                if failed.code is Code.JOB_BUSY:
                    raise still_under_way() from error
                if failed.code not in GONE:
                    raise error from failed
        raise error

    @contextmanager
    def inline(
        self, message: str | None, watcher: CancelToken = UNWATCHED
    ) -> Iterator[DatabaseStatement]:
        """A statement that runs inside the commit section, for writes that take no time."""
        with self.commit_section() as (session, committed, row):
            transaction = Transaction(committed, message=message, forget=self.forget_files)
            yield DatabaseStatement(self, session, committed, transaction, row)

    def advance(self, point: Version, seen: JournalState) -> bool:
        """Note that a read is answered for the past up to ``point``; commits stay above it.

        False if something was committed after ``seen``, which the answer would lack. On a standby,
        where nothing can be noted, the answer is what has arrived there.
        """
        try:
            return self._advance(point, seen)
        except PalimpsestError as error:
            if error.code is Code.OUTCOME_UNKNOWN:
                # A note may be made twice.
                return self._advance(point, seen)
            if error.code is not Code.STORE_READ_ONLY or not self._on_standby():
                raise
            return True

    def _advance(self, point: Version, seen: JournalState) -> bool:
        with self.commit_section() as (session, committed, _):
            settled = min(point, self.clock.now())
            records.settle(session, settled)
            session.commit_unasked()
            self.clock.settle(settled)
            return committed.version == seen.version

    def _on_standby(self) -> bool:
        with self.store.lent() as session:
            return session.text("SELECT pg_is_in_recovery()") == [(True,)]

    @contextmanager
    def exclusive(self, name: str) -> Iterator[bool]:
        """A block that is given True if nobody else is inside one of that name, in any process.

        By an advisory lock, which ends with its connection.
        """
        with self.reading_session() as session:
            key = [_NAMED_LOCKS, name]
            is_mine = session.text("SELECT pg_try_advisory_lock(?, hashtext(?))", key)[0][0]
            try:
                yield bool(is_mine)
            finally:
                if is_mine:
                    with suppress(PalimpsestError):
                        session.text("SELECT pg_advisory_unlock(?, hashtext(?))", key)

    @contextmanager
    def reading_session(self) -> Iterator[PostgresSession]:
        """A session for what needs no transaction."""
        with self.store.lent() as session:
            yield session

    @contextmanager
    def exclusive_session(self) -> Iterator[PostgresSession]:
        """A session inside a transaction beside which nobody else commits; commit it."""
        with self._locked_session() as (session, rows):
            rows_of.state_of(rows)
            yield session

    @contextmanager
    def fencing_session(self) -> Iterator[PostgresSession]:
        """An exclusive session that changes what may not be written; committed at the end."""
        with self.commit_section() as (session, committed, row):
            yield session
            fence = guard.load_fence(session)
            self.conclude(session, section.replace_states(session, committed, row, {}, fence))

    def read_secret(self, key: str | None = None) -> str:
        """What keyed hashes are made with, as old as the store; or that of another store.

        Raises WAREHOUSE_FORMAT if it is gone.
        """
        if key is not None:
            if key not in self._kept_secrets:
                with self.store.lent() as session:
                    self._kept_secrets[key] = records.read_secret(session, key)
            return self._kept_secrets[key]
        fence = self.state.fence
        if self._secret is None or self._secret[0] is not fence:
            # A replica takes that of its source, and has everybody load the fence anew.
            with self.store.lent() as session:
                self._secret = fence, records.read_secret(session)
        return self._secret[1]

    def make_secret(self) -> str:
        """The same: it is there from the beginning."""
        return self.read_secret()

    def keep_secret(self, secret: str) -> None:
        """Know the secret of another store: a property of the catalog."""
        with self.exclusive_session() as session:
            records.keep_secret(session, secret)
            session.commit()

    def close(self) -> None:
        """Let go of the connections; open transactions are lost."""
        self.store.close()
