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
from contextlib import contextmanager, suppress
from pathlib import Path

from journal.erasure.audit_marks import check_known_secret, has_marks, is_note_due, note_head
from journal.erasure.guard import load_fence
from journal.erasure.secret import has_secret, keep_secret, make_secret, read_secret
from journal.files.filters.key_filters import KeyFilters
from journal.identity import suppression_list
from journal.local_engine.database_file import DuckDBStore
from journal.local_engine.file_modes import OWNER, FileModes
from journal.local_engine.session import DuckDBSession
from journal.model.capabilities import Capabilities
from journal.model.counters import Counters
from journal.model.errors import PalimpsestError
from journal.model.number_source import CounterKey
from journal.model.segment import Head, SegmentFile
from journal.model.version import HybridClock, Version
from journal.model.wall_clock import wall_clock_us
from journal.records.pins import Pins
from journal.stores.embedded import catalog_tables as rows_of
from journal.stores.embedded import commit as section
from journal.stores.embedded.commits import Commits
from journal.stores.embedded.file_names import DATABASE_FILE
from journal.stores.embedded.integrity import SegmentChecker
from journal.stores.embedded.loading import load_journals
from journal.stores.embedded.positions import PositionKeeper
from journal.stores.embedded.public import refresh_views
from journal.stores.embedded.removals import Removals
from journal.stores.embedded.rows_at_hand import RowsAtHand
from journal.stores.embedded.statement import Statement
from journal.stores.embedded.varied_columns import VariedColumns
from journal.stores.embedded.warehouse import Warehouse
from journal.transactions.group_commit import UNWATCHED, CancelToken, acquired
from journal.transactions.named_locks import NamedLocks
from journal.transactions.row_cache import Written
from journal.transactions.state import JournalState, TableState
from journal.transactions.transaction import Transaction
from journal.transactions.transaction_rows import Author


class Journal:
    """The journals of one warehouse; open it once per process."""

    def __init__(
        self,
        root: Path,
        *,
        settings: Mapping[str, str] | None = None,
        modes: FileModes = OWNER,
        wall_us: Callable[[], int] = wall_clock_us,
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        self.root = root
        self.capabilities = Capabilities(
            fences_by_offset=True,
            plans_unions_apart=True,
            counts_rows=True,
            names_outputs=True,
            rounds_seconds=True,
            replicates_to=("palimpsest:",),
            access_control=True,
            accesses_files=True,
            collations=True,
            equates_texts=True,
            enums=True,
            enums_are_texts=True,
            addresses=True,
            addresses_are_texts=True,
            divides_by_type=True,
            joins_in_place=True,
            normalizes_json=True,
            skips_locked=True,
            lists_rows=True,
            folder=root,
        )
        self.store = DuckDBStore(root / DATABASE_FILE, settings or {}, modes)
        self.warehouse = Warehouse(root, new_id)
        self.checker = SegmentChecker(root)
        self.commit_lock = threading.RLock()
        self._turn_of: int | None = None
        self.commits = Commits(self)
        self._publish_lock = threading.Lock()
        self._active: weakref.WeakSet[Transaction] = weakref.WeakSet()
        self._active_lock = threading.RLock()
        self._sealing: dict[int, threading.Lock] = {}
        self._jobs: dict[int, threading.Lock] = {}
        self.exclusive, self.held_names = NamedLocks().trying, None
        self.staged: set[str] = set()
        self.pins, self.removals = Pins(), Removals()
        self.in_memory = RowsAtHand(root, self.checker.check_files, self._detached)
        self.positions = PositionKeeper(self)
        self.varied_columns = VariedColumns(root, self.session)
        self.filters = KeyFilters()
        try:
            with rows_of.reading():
                self.state, self.counters = self._load(new_id)
        except BaseException:
            self.store.close()
            raise
        self.in_memory.clear(self.state.version)
        self.clock = HybridClock(wall_us, self.state.version)

    def _load(self, new_id: Callable[[], str]) -> tuple[JournalState, Counters]:
        with self.session() as session:
            session.begin()
            state, counters = load_journals(session, self.root, new_id, self._record_number)
            if has_secret(self.root):
                check_known_secret(session, read_secret(self.root))
            session.commit()
            refresh_views(session, state.catalog)
        return state, counters

    def _record_number(self, key: CounterKey, following: int) -> None:
        """Record what a sequence goes on with, beside whatever is being committed."""
        with self.session() as session:
            session.begin()
            rows_of.put_counter(session, *key, following)
            session.commit()

    @contextmanager
    def session(self) -> Iterator[DuckDBSession]:
        """A session for a while; what it has begun and not committed is undone."""
        if self.store.broke_down:
            self._reopen()
        session = self.store.acquire()
        try:
            yield session
        finally:
            session.rollback()
            self.store.release(session)

    def begin(
        self, *, read_only: bool = False, at_once: bool = False, message: str | None = None
    ) -> Transaction:
        """Start a transaction that reads what its first statement finds, or what is now."""
        with self._active_lock:
            # A commit that publishes after this snapshot was taken must find the transaction.
            told = (self.state, read_only, message, self.forget_files)
            transaction = Transaction(*told, is_fresh=not at_once)
            self._active.add(transaction)
        return transaction

    def statement(self, transaction: Transaction, *, inline: bool = False) -> Statement:
        """Start a statement of a transaction; close what is returned."""
        try:
            return self._start(transaction, inline)
        except PalimpsestError:
            if not self.store.is_broken():
                raise
        self._reopen()
        return self._start(transaction, inline)

    def _start(self, transaction: Transaction, inline: bool) -> Statement:
        session = self.store.acquire()
        try:
            with self._publish_lock:
                session.begin()
                statement = Statement(self, session, self.state, transaction, inline=inline)
                self.pins.enter(statement)
                return statement
        except BaseException:
            self.store.release(session)
            raise

    def _detached(self, transaction: Transaction) -> Statement:
        """A statement that reads nothing of the store; close what is returned."""
        return Statement(self, self.store.acquire(), self.state, transaction)

    def _reopen(self) -> None:
        """Open a store that broke down."""
        with self.commit_lock, self._publish_lock:
            if self.store.is_broken():
                self.store.reopen()
                state, _ = self._load(self.warehouse.new_id)
                self.in_memory.clear(state.version)
                self.state = state

    def new_segment_id(self) -> str:
        """A name for a new segment's folder."""
        return self.warehouse.new_id()

    def forget_files(self, files: Iterable[SegmentFile]) -> None:
        """Remove staged files that no manifest lists; the next start does it after a breakdown.

        Whether a commit listed them that ended in one is known when the store is open again.
        """
        for file in files:
            self.staged.discard(file.path)
            if not self.store.broke_down:
                self.warehouse.remove(file)

    def commit(
        self, transaction: Transaction, author: Author, watcher: CancelToken = UNWATCHED
    ) -> Version | None:
        """Make a transaction's writes durable and visible; None if it wrote nothing.

        Raises SERIALIZATION when others committed changes of the same keys or definitions first;
        the transaction is over either way.
        """
        with transaction.committing():
            if not transaction.writes:
                return None
            return self.commits.commit(transaction, author, watcher)

    def publish(self, session: DuckDBSession, state: JournalState, written: Written) -> None:
        """Commit a session's transaction and let everybody see what is true from now on.

        The caller holds the commit lock.
        """
        before = self.state.tables
        try:
            with self._publish_lock:
                session.commit()
                self.in_memory.take(self.state, state, written)
                self.state = state
                self.clock.settle(state.version)
            self.positions.follow(
                before, {i: state.tables[i] for i in written if i in state.tables}
            )
        except PalimpsestError:
            if not self._was_committed(state.version):
                raise

    def _was_committed(self, version: Version) -> bool:
        """Whether a commit is durable whose store broke down while it said so."""
        if not self.store.is_broken():
            return False
        self._reopen()
        self.clock.settle(self.state.version)
        return self.state.version >= version

    @contextmanager
    def commit_turn(self, watcher: CancelToken) -> Iterator[None]:
        """A block of this thread during which nobody else commits."""
        with acquired(self.commit_lock, watcher):
            self._turn_of = threading.get_ident()
            try:
                yield
            finally:
                self._turn_of = None

    @property
    def at_once(self) -> None:
        """Nothing: there are no trips to save."""

    @property
    def has_turn(self) -> bool:
        """True inside a block of ``commit_turn`` of this thread."""
        return self._turn_of == threading.get_ident()

    @contextmanager
    def inline(self, message: str | None, watcher: CancelToken = UNWATCHED) -> Iterator[Statement]:
        """A statement that runs inside the commit section, for writes that take no time.

        Nobody can commit meanwhile, so it needs neither buffer nor conflict check. Its rows are
        appended to heads at once, and its ``commit`` ends it; without that nothing stays.
        """
        with acquired(self.commit_lock, watcher):
            transaction = Transaction(self.state, message=message, forget=self.forget_files)
            with self.statement(transaction, inline=True) as statement:
                yield statement

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
        fenced: suppression_list.SuppressionList | None = None,
    ) -> dict[int, TableState]:
        """Swap several journals at once."""
        committed = self.state
        states = {i: change(committed.tables[i]) for i, change in changes.items()}
        section.write_catalog(self.warehouse, session, committed, committed.catalog, (), states)
        for table_id, head in dropped:
            section.drop_head(session, table_id, head)
        with self._publish_lock:
            session.commit()
            self.in_memory.follow(committed, states)
            self.state = committed.with_tables(states, fenced)
        self.positions.follow(committed.tables, states)
        return states

    def publish_records(self, session: DuckDBSession) -> None:
        """Commit a session's transaction that wrote records of the past, and read all anew.

        The caller holds the commit lock. Who began before reads on in what was true then.
        """
        with self._publish_lock:
            session.commit()
            state, _ = self._load(self.warehouse.new_id)
            self.in_memory.clear(state.version)
            self.state = state
            self.clock.settle(state.version)

    def sealing_lock(self, table_id: int) -> threading.Lock:
        """Held while a table's heads are sealed, so that two threads do not do it at once."""
        with self._active_lock:
            return self._sealing.setdefault(table_id, threading.Lock())

    def oldest_snapshot(self) -> Version:
        """What the oldest open transaction reads at; what is committed if there is none."""
        with self._active_lock:
            return min((t.snapshot.version for t in self._open()), default=self.state.version)

    def finish_transactions(self, transactions: Iterable[Transaction]) -> Version | None:
        """Count transactions as over; the oldest snapshot of the others, None if there are none."""
        with self._active_lock:
            for transaction in transactions:
                self._active.discard(transaction)
            return min((t.snapshot.version for t in self._open()), default=None)

    def _open(self) -> list[Transaction]:
        return [t for t in self._active if not t.is_over]

    @contextmanager
    def nobody_begins(self) -> Iterator[bool]:
        """No transaction begins meanwhile; True if some are open."""
        with self._active_lock:
            yield bool(self._open())

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
        with self.commit_lock, self.session() as session:
            session.begin()
            yield session

    @contextmanager
    def reading_session(self) -> Iterator[DuckDBSession]:
        """A session inside a transaction of its own, without any lock."""
        with self.session() as session:
            session.begin()
            yield session

    @contextmanager
    def fencing_session(self) -> Iterator[DuckDBSession]:
        """An exclusive session that changes what may not be written; committed at the end."""
        with self.exclusive_session() as session:
            yield session
            self.swap_all(session, {}, fenced=load_fence(session))

    def make_secret(self) -> str:
        """What keyed hashes are made with, made if there is none."""
        return make_secret(self.root)

    def read_secret(self, key: str | None = None) -> str:
        """The same, or that of another store; raises WAREHOUSE_FORMAT if it is gone."""
        return read_secret(self.root, key)

    def keep_secret(self, secret: str) -> None:
        """Know the secret of another store: a file beside that of its own."""
        keep_secret(self.root, secret)

    def advance(self, point: Version, seen: JournalState) -> bool:
        """Note that a read is answered for the past up to ``point``; commits stay above it.

        False if something was committed after ``seen``, which the answer would lack.
        """
        with self.commit_lock:
            self.clock.settle(min(point, self.clock.now()))
            return self.state.version == seen.version

    @property
    def place(self) -> str:
        """Where the journals lie, for people."""
        return str(self.root)

    def close(self) -> None:
        """Close the store; open transactions are lost."""
        self.positions.close()
        self.counters.settle()
        with suppress(PalimpsestError, OSError):
            # What the file says is out of date if this fails, and that shows nothing wrong.
            self._note_audit_head()
        self.store.close()

    def _note_audit_head(self) -> None:
        """Note the newest entry of the audit log in the warehouse's file, if it has a new one."""
        with self.reading_session() as session:
            if not has_marks(session) or not is_note_due(self.root, session, self.read_secret()):
                return
        with self.exclusive_session() as session:
            note_head(self.root, session, self.read_secret())
            session.commit()
