"""A warehouse's journals, open in this process: what is committed, transactions, statements.

The one stateful object of the package. It holds the published ``JournalState`` and three locks: the
commit lock (commit sections take turns), the publish lock (a statement's start and a commit's last
step exclude each other, so that the state and the store's snapshot agree), and one for bookkeeping.
"""

from __future__ import annotations

import threading
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from journal import commit as section
from journal import direct
from journal.catalog import apply
from journal.commit import Author, CommitRecord
from journal.counters import Counters
from journal.erasure import fence, guard
from journal.errors import PalimpsestError
from journal.integrity import SegmentChecker
from journal.jobs.pins import Pins
from journal.loading import load_journals
from journal.removals import Removals
from journal.schema import CatalogSnapshot
from journal.segment import Head, RowCounts, SegmentFile
from journal.state import JournalState, TableState
from journal.statement import Statement
from journal.stores import duckdb_catalog as rows_of
from journal.stores.duckdb import DuckDBSession, DuckDBStore
from journal.stores.duckdb_public import refresh_views
from journal.transaction import Transaction
from journal.turns import UNWATCHED, Watcher, taken
from journal.version import HybridClock, Version
from journal.wall_clock import wall_clock_us
from journal.warehouse import DATABASE_FILE, Warehouse


class Journal:
    """The journals of one warehouse; open it once per process."""

    def __init__(
        self,
        root: Path,
        *,
        settings: Mapping[str, str] | None = None,
        wall_us: Callable[[], int] = wall_clock_us,
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        self.root = root
        self.store = DuckDBStore(root / DATABASE_FILE, settings or {})
        self.warehouse = Warehouse(root, new_id)
        self.checker = SegmentChecker(root)
        self.commit_lock = threading.RLock()
        self._publish_lock = threading.Lock()
        self._records: list[CommitRecord] = []
        self._active: weakref.WeakSet[Transaction] = weakref.WeakSet()
        self._active_lock = threading.RLock()
        self._sealing: dict[int, threading.Lock] = {}
        self._jobs: dict[int, threading.Lock] = {}
        self.staged: set[str] = set()
        self.pins, self.removals = Pins(), Removals()
        try:
            with rows_of.reading():
                self.state, self.counters = self._load(new_id)
        except BaseException:
            self.store.close()
            raise
        self.clock = HybridClock(wall_us, self.state.version)
        layouts = [t.layout for state in self.state.tables.values() for t in state.layouts]
        self._last_table_id = max([*self.state.tables, *layouts], default=0)

    def _load(self, new_id: Callable[[], str]) -> tuple[JournalState, Counters]:
        with self._session() as session:
            session.begin()
            state, counters = load_journals(session, self.root, new_id)
            session.commit()
            refresh_views(session, state.catalog)
        return state, counters

    @contextmanager
    def _session(self) -> Iterator[DuckDBSession]:
        session = self.store.acquire()
        try:
            yield session
        finally:
            session.rollback()
            self.store.release(session)

    def begin(
        self, *, read_only: bool = False, explicit: bool = False, message: str | None = None
    ) -> Transaction:
        """Start a transaction that reads what is committed now."""
        with self._active_lock:
            # A commit that publishes after this snapshot was taken must find the transaction.
            transaction = Transaction(self.state, read_only, explicit, message)
            self._active.add(transaction)
        return transaction

    def statement(self, transaction: Transaction) -> Statement:
        """Start a statement of a transaction; close what is returned."""
        try:
            return self._start(transaction)
        except PalimpsestError:
            if not self.store.is_broken():
                raise
        with self.commit_lock:
            self._reopen()
        return self._start(transaction)

    def _start(self, transaction: Transaction) -> Statement:
        session = self.store.acquire()
        try:
            with self._publish_lock:
                session.begin()
                statement = Statement(self, session, self.state, transaction)
                self.pins.enter(statement)
                return statement
        except BaseException:
            self.store.release(session)
            raise

    def _reopen(self) -> None:
        """Open a store that broke down; the caller holds the commit lock."""
        with self._publish_lock:
            if self.store.is_broken():
                self.store.reopen()
                self.state, _ = self._load(self.warehouse.new_id)

    def rollback(self, transaction: Transaction) -> None:
        """Forget a transaction and everything it wrote."""
        transaction.discard()
        self._finish(transaction)

    def _finish(self, transaction: Transaction) -> None:
        with self._active_lock:
            self._active.discard(transaction)
        for rows in transaction.abandoned:
            self.forget_files(rows.files)
        transaction.abandoned.clear()

    def new_segment_id(self) -> str:
        """A name for a new segment's folder."""
        return self.warehouse.new_id()

    def new_table_id(self) -> int:
        """An id that no table and no layout of a table has had."""
        with self._active_lock:
            self._last_table_id += 1
            return self._last_table_id

    def forget_files(self, files: Iterable[SegmentFile]) -> None:
        """Remove staged files that no manifest lists."""
        for file in files:
            self.staged.discard(file.path)
            self.warehouse.remove(file)

    def commit(
        self, transaction: Transaction, author: Author, watcher: Watcher = UNWATCHED
    ) -> Version | None:
        """Make a transaction's writes durable and visible; None if it wrote nothing.

        Raises SERIALIZATION when others committed changes of the same keys or definitions first;
        the transaction is over either way.
        """
        try:
            transaction.check_open()
            if not transaction.writes:
                return None
            with taken(self.commit_lock, watcher), self._session() as session:
                return self._commit(session, transaction, author, watcher)
        except BaseException:
            transaction.discard()
            raise
        finally:
            self._finish(transaction)

    def _commit(
        self, session: DuckDBSession, transaction: Transaction, author: Author, watcher: Watcher
    ) -> Version:
        committed = self.state
        section.check_catalog(transaction, committed)
        session.begin()
        with watcher.watching(session):
            section.check_conflicts(session, transaction, committed, self._records)
            self.removals.check(session, transaction, committed)
            guard.check_buffers(self, session, transaction, committed)
            catalog = committed.catalog
            for _, change in transaction.changes():
                catalog = apply(catalog, change)
            writes = section.restamped(self.warehouse, session, transaction, self.clock)
            appended = section.append(self.warehouse, session, committed, writes)
            section.write_catalog(
                self.warehouse, session, committed, catalog, writes, appended.tables
            )
        row = section.transaction_row(writes, transaction.message, author, catalog)
        self._finish_commit(session, committed, catalog, appended.tables, row)
        if catalog is not committed.catalog:
            refresh_views(session, catalog)
        self._keep(transaction, CommitRecord(row.version, appended.rows))
        written = section.staged_files(writes)
        if writes is not transaction.writes:
            self.forget_files(set(section.staged_files(transaction.writes)) - set(written))
        for file in written:
            self.staged.discard(file.path)
            self.checker.trust(file)
        return row.version

    def _finish_commit(
        self,
        session: DuckDBSession,
        committed: JournalState,
        catalog: CatalogSnapshot,
        tables: Mapping[int, TableState],
        row: rows_of.TransactionRow,
    ) -> None:
        """Record the transaction, commit, and publish what is true from now on."""
        counters = self.counters.unrecorded(tables)
        for (table_id, name), value in counters:
            rows_of.add_counter(session, table_id, name, value)
        rows_of.add_transaction(session, row)
        try:
            with self._publish_lock:
                session.commit()
                self.state = committed.committed(row.version, catalog, tables)
                self.clock.settle(row.version)
        except PalimpsestError:
            if not self._was_committed(row.version):
                raise
        self.counters.recorded(counters)

    def _was_committed(self, version: Version) -> bool:
        """Whether a commit is durable whose store broke down while it said so."""
        if not self.store.is_broken():
            return False
        self._reopen()
        self.clock.settle(self.state.version)
        return self.state.version >= version

    @contextmanager
    def direct(self, message: str | None, watcher: Watcher = UNWATCHED) -> Iterator[Statement]:
        """A statement that runs inside the commit section, for writes that take no time.

        Nobody can commit meanwhile, so it needs neither buffer nor conflict check. Its rows are
        appended with ``append_direct``, and ``commit_direct`` ends it; without that nothing stays.
        """
        with taken(self.commit_lock, watcher):
            transaction = Transaction(self.state, False, False, message)
            with self.statement(transaction) as statement:
                yield statement

    def commit_direct(
        self,
        statement: Statement,
        version: Version,
        appended: Mapping[int, RowCounts],
        digest: str,
        author: Author,
    ) -> None:
        """Commit what a direct statement has appended to heads under ``version``."""
        with self._active_lock:
            # No transaction may begin until this is published: it would not be looked at.
            committed = statement.committed
            guard.check_direct(self, statement, appended, version)
            record = None
            if self._active:
                rows = direct.head_rows_at(statement.session, committed, appended, version)
                record = CommitRecord(version, rows)
            tables = {
                table_id: replace(
                    committed.tables[table_id],
                    last_version=version,
                    head_counts=committed.tables[table_id].head_counts + counts,
                )
                for table_id, counts in appended.items()
            }
            section.write_catalog(
                self.warehouse, statement.session, committed, committed.catalog, (), tables
            )
            row = direct.direct_row(
                version, digest, statement.transaction.message, author, committed.catalog, appended
            )
            self._finish_commit(statement.session, committed, committed.catalog, tables, row)
            self._keep(statement.transaction, record)

    def _keep(self, transaction: Transaction, record: CommitRecord | None) -> None:
        with self._active_lock:
            self._active.discard(transaction)
            oldest = min((t.snapshot.version for t in self._active), default=None)
        if oldest is None:
            self._records.clear()
            return
        kept = self._records if record is None else [*self._records, record]
        self._records = [r for r in kept if r.version > oldest]

    def swap(
        self,
        session: DuckDBSession,
        table_id: int,
        change: Callable[[TableState], TableState],
        dropped: Iterable[Head] = (),
    ) -> TableState:
        """Replace a journal's manifest in the session's transaction, commit, and publish.

        The caller holds the commit lock and has begun the transaction.
        """
        return self.swap_all(session, {table_id: change}, [(table_id, h) for h in dropped])[
            table_id
        ]

    def swap_all(
        self,
        session: DuckDBSession,
        changes: Mapping[int, Callable[[TableState], TableState]],
        dropped: Iterable[tuple[int, Head]] = (),
        fenced: fence.Fence | None = None,
    ) -> dict[int, TableState]:
        """Swap several journals at once."""
        committed = self.state
        states = {i: change(committed.tables[i]) for i, change in changes.items()}
        section.write_catalog(self.warehouse, session, committed, committed.catalog, (), states)
        for table_id, head in dropped:
            section.drop_head(session, table_id, head)
        with self._publish_lock:
            session.commit()
            self.state = committed.with_tables(states, fenced)
        return states

    def sealing_lock(self, table_id: int) -> threading.Lock:
        """Held while a table's heads are sealed, so that two threads do not do it at once."""
        with self._active_lock:
            return self._sealing.setdefault(table_id, threading.Lock())

    def oldest_snapshot(self) -> Version:
        """What the oldest open transaction reads at; what is committed if there is none."""
        with self._active_lock:
            return min((t.snapshot.version for t in self._active), default=self.state.version)

    def job_lock(self, table_id: int) -> threading.Lock:
        """Held by the one job that may replace segments of a table."""
        with self._active_lock:
            return self._jobs.setdefault(table_id, threading.Lock())

    def paths_in_use(self) -> set[str]:
        """Segment files that a running statement or a job may read."""
        with self._publish_lock:
            return self.pins.paths()

    @contextmanager
    def exclusive_session(self) -> Iterator[DuckDBSession]:
        """A session inside a transaction, with the commit lock held."""
        with self.commit_lock, self._session() as session:
            session.begin()
            yield session

    @contextmanager
    def reading_session(self) -> Iterator[DuckDBSession]:
        """A session inside a transaction of its own, without any lock."""
        with self._session() as session:
            session.begin()
            yield session

    def settle(self, point: Version, seen: JournalState) -> bool:
        """Note that a read is answered for the past up to ``point``; commits stay above it.

        False if something was committed after ``seen``, which the answer would lack.
        """
        with self.commit_lock:
            self.clock.settle(min(point, self.clock.now()))
            return self.state.version == seen.version

    @property
    def can_fail(self) -> bool:
        """Whether queries can fail on purpose."""
        return True

    @property
    def takes_direct(self) -> bool:
        """Whether writes may run inside the commit section."""
        return True

    @property
    def place(self) -> str:
        """Where the journals lie, for people."""
        return str(self.root)

    def close(self) -> None:
        """Close the store; open transactions are lost."""
        self.store.close()
