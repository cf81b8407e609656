"""The journals of a Hive store, open in this process; other processes may have them open too.

    statement   catalog: what is committed -> queries in Spark, or here
    commit      leases -> checks -> append in Spark -> one transaction of the catalog

The store has no transactions, so the catalog's are the only ones: a partition is part of a journal
once the catalog lists it. A client's transaction holds no connection.
"""

from __future__ import annotations

import itertools
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from functools import partial

from sqlglot import exp

from journal.erasure.guard import load_fence
from journal.local_engine.database_file import IN_MEMORY, DuckDBStore
from journal.local_engine.scratch import Scratch
from journal.model.capabilities import Capabilities
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.model.segment import Fields, SegmentFile
from journal.model.version import HybridClock, Version
from journal.model.wall_clock import wall_clock_us
from journal.records import catalog as records
from journal.records.catalog_format import StateRow
from journal.records.numbers import DatabaseNumbers
from journal.records.schema import COUNTERS, STATE
from journal.records.seen_states import SeenStates
from journal.records.statements import text_of
from journal.sql.public_views import create_schema
from journal.sql.row_layout import fields_of
from journal.stores.hive import inlining, layout, section, shown_catalog
from journal.stores.hive.adopt import plain
from journal.stores.hive.catalog_db import catalog as rows_of
from journal.stores.hive.catalog_db.engine import CatalogConnection, CatalogDatabase
from journal.stores.hive.catalog_db.inlined import load_rows
from journal.stores.hive.catalog_db.opening import open_catalog
from journal.stores.hive.engine import HiveEngine
from journal.stores.hive.held_rows import RowsByKey
from journal.stores.hive.held_segments import HeldSegments
from journal.stores.hive.inline_flusher import Flusher
from journal.stores.hive.inlining import NO_INLINING, InlineOptions
from journal.stores.hive.leases import Leases
from journal.stores.hive.object_names import (
    column_name,
    left_id,
    segment_id,
    staging_name,
)
from journal.stores.hive.partition_check import EVERY_S, Presence
from journal.stores.hive.session import HiveSession
from journal.stores.hive.statement import HiveStatement
from journal.stores.hive.store import HiveConnection, HiveStore
from journal.stores.hive.views import PublicViews
from journal.transactions.group_commit import UNWATCHED, CancelToken, no_turn
from journal.transactions.state import JournalState
from journal.transactions.transaction import Transaction, staged_files
from journal.transactions.transaction_rows import Author

_CATALOG = "the catalog"
_CONFIRM_TRIES = 20
_CONFIRM_PAUSE_S = 0.5
_GONE = frozenset({Code.STORE_LOST, Code.STORE_UNREACHABLE})


class HiveJournal:
    """See the module's head; one per process and store."""

    def __init__(
        self,
        store: HiveStore,
        catalog: CatalogDatabase,
        names: layout.Names,
        *,
        wall_us: Callable[[], int] = wall_clock_us,
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
        lease_s: float = 15.0,
        held_rows: int = 0,
        has_views: bool = True,
        presence_s: float = EVERY_S,
        inline_options: InlineOptions = NO_INLINING,
    ) -> None:
        self.store = store
        self.capabilities = Capabilities(
            access_control=True,
            raises_in_sql=False,
            foreign_keys=False,
            expands_lists=False,
            scalar_json=False,
            enums=store.engine is HiveEngine.SPARK,
            addresses=store.engine is HiveEngine.SPARK,
            addresses_are_texts=True,
            inline_commits=True,
            lag_ms=inline_options.lag_ms,
            replicates_to=("palimpsest+hive:",),
            column_name=partial(column_name, engine=store.engine),
        )
        self.catalog = catalog
        self.held = HeldSegments()
        self.presence = Presence(self, presence_s)
        self.held_rows = held_rows
        self.inline_options = inline_options
        self.inline_turn = threading.Lock()
        self.now = wall_us
        self._new_id = new_id
        self._ready: set[str] = set()
        self._kept_secrets: dict[str, str] = {}
        self.staged: set[str] = set()
        self._scratch = Scratch()
        self.local = DuckDBStore(IN_MEMORY, {"temp_directory": str(self._scratch.path)})
        shown_catalog.make(self.local)
        self._seen: SeenStates = SeenStates(load_fence, _CATALOG, load_inlined=load_rows)
        with catalog.writing() as connection:
            store_id = open_catalog(connection, new_id(), self.local)
            row, state = self.look_in(connection)
            self._secret = state.fence, records.read_secret(connection)
        self.names = replace(names, store=store_id[:8])
        self.clock = HybridClock(wall_us, max(state.version, row.settled))
        self.counters = DatabaseNumbers.of(partial(catalog.writing, COUNTERS))
        self.leases = Leases(catalog, wall_us, lease_s)
        self._held_rows = RowsByKey(self.held.newest, self.statement)
        self.views = PublicViews(store, catalog, self.names, self.leases) if has_views else None
        self.flusher = Flusher(self._flush, inline_options.age_s, wall_us)
        self.flusher.note(state)

    @property
    def inline(self) -> None:
        """Appending takes too long."""

    @property
    def at_once(self) -> None:
        """Likewise."""

    @property
    def state(self) -> JournalState:
        """What is committed, as far as this process knows."""
        return self._seen.newest

    @property
    def in_memory(self) -> RowsByKey:
        """Rows of segments that are held here, and those that transactions have not committed."""
        return self._held_rows

    @property
    def held_names(self) -> None:
        """None are held: SKIP LOCKED is refused."""

    @property
    def place(self) -> str:
        """The store, for people."""
        return self.store.server.display_name

    def look_in(self, connection: CatalogConnection) -> tuple[StateRow, JournalState]:
        """What is committed, as a transaction of the catalog sees it."""
        return self._seen.read_committed(connection)

    def read_committed(self) -> tuple[StateRow, JournalState]:
        """What is committed now."""
        found = self.catalog.glance(text_of(records.STATE_NOW, self.catalog.dialect))
        if found is not None:
            row = records.state_row([found], _CATALOG)
            state = self._seen.cached_state(row)
            if state is not None:
                return row, state
        with self.catalog.reading() as connection:
            row, state = self.look_in(connection)
        self.flusher.note(self.state)
        return row, state

    def keep(self, row: StateRow, state: JournalState, *, is_shown: bool = True) -> None:
        """Remember what this process has committed itself; ``is_shown``: others may see it."""
        self.clock.settle(state.version)
        self._seen.keep(row, state)
        self.flusher.note(self.state)
        if self.views is not None and is_shown:
            self.views.request(state)

    def _flush(self, table_id: int) -> bool:
        """Flush the inlined rows of a table, unless another gateway is at it."""
        with self.leases.trying(f"flush:{table_id}") as is_ours:
            if is_ours:
                inlining.flush(self, table_id)
            return is_ours

    def begin(
        self, *, read_only: bool = False, at_once: bool = False, message: str | None = None
    ) -> Transaction:
        """Start a transaction that reads what its first statement finds, or what is now."""
        if at_once:
            self.read_committed()
        return Transaction(
            *(self.state, read_only, message, self.forget_files), is_fresh=not at_once
        )

    def statement(self, transaction: Transaction) -> HiveStatement:
        """Start a statement of a transaction; close what is returned.

        A later one reads at the transaction's snapshot anyway, so it need not ask what is new.
        """
        committed = self.read_committed()[1] if transaction.is_fresh else self.state
        transaction.begin_at(committed)
        return HiveStatement(self, committed, transaction)

    def forget_files(self, files: Iterable[SegmentFile]) -> None:
        """Drop the partitions of rows that were not committed."""
        gone = [file.path for file in files if file.path in self.staged]
        self.staged.difference_update(gone)
        self.drop_segments(gone)

    def drop_segments(self, paths: Iterable[str]) -> None:
        """Drop partitions that no manifest lists; what cannot be dropped now is cleaned later."""
        listed = list(paths)
        if not listed:
            return
        with suppress(PalimpsestError), self.store.connection() as connection:
            for path in listed:
                self.drop_segment(connection, path)

    def drop_segment(self, connection: HiveConnection, path: str) -> None:
        """Drop the partition of a segment, or only the view that shows a plain table as one."""
        if layout.is_adopted(self.names, path):
            plain.drop(connection, self.names.table(path.partition("/")[0]), "VIEW")
        else:
            connection.purge(layout.drop_rows(self.names, path))

    def drop_tables(self, names: Iterable[str]) -> None:
        """Drop tables of staged rows, which no trash may keep."""
        listed = list(names)
        if not listed:
            return
        with suppress(PalimpsestError), self.store.connection() as connection:
            for name in listed:
                table = self.names.table(name)
                connection.purge(exp.Drop(tables=[table], kind="TABLE", exists=True))

    def new_staging_name(self) -> str:
        """A name for a table of staged rows, which tells when it was made."""
        return staging_name(self.names.staging, self.now(), self._new_id())

    @contextmanager
    def new_segment(
        self,
        table: Table,
        connection: HiveConnection,
        fields: Fields | None = None,
        shape: layout.PartitionLayout = layout.FLAT,
        segment_name: str | None = None,
    ) -> Iterator[str]:
        """A block that writes a new partition, of this path, to a table that nobody else writes to.

        The partition is called ``segment_name``, if one is given.

        Two statements that write to one table of Spark's at once lose each other's files, because
        the first to end removes the folder in which both have theirs.
        """
        written = fields_of(table) if fields is None else fields
        for number in itertools.count():
            name = layout.journal_table(self.names, table, written, shape, number)
            with self.leases.trying(f"append:{name}") as is_ours:
                if not is_ours:
                    continue
                if name not in self._ready:
                    self.ensure_database(connection)
                    made = layout.create_journal(self.names, table, written, shape, number)
                    connection.execute(made)
                    self._ready.add(name)
                path = f"{name}/{segment_name or self.new_segment_id()}"
                self.staged.add(path)
                yield path
                return

    def new_segment_id(self) -> str:
        """A name for a partition, which tells when it was made."""
        return segment_id(self.now(), self._new_id())

    def new_left_id(self) -> str:
        """The same for one of what is left of a partition in a replica."""
        return left_id(self.now(), self._new_id())

    def ensure_database(self, connection: HiveConnection) -> None:
        """Make the store's own database, unless it is there."""
        if "" not in self._ready:
            connection.execute(create_schema(self.names.journal_database))
            self._ready.add("")

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
            with self.statement(transaction) as statement, watcher.watching(statement.session):
                written = section.write(self, transaction, author, statement, alongside)
            self.staged.difference_update(f.path for f in staged_files(transaction.writes))
            return written.state.version

    def was_committed(self, version: Version, error: PalimpsestError) -> bool:
        """Ask the catalog what became of a commit; raises ``error`` when it does not answer."""
        for _ in range(_CONFIRM_TRIES):
            try:
                with self.catalog.writing(STATE) as connection:
                    return records.was_committed(connection, version)
            except PalimpsestError as failed:
                if failed.code not in _GONE:
                    raise error from failed
            time.sleep(_CONFIRM_PAUSE_S)
        raise error

    def commit_turn(self, watcher: CancelToken) -> AbstractContextManager[None]:
        """Keeps nobody out: leases of tables are taken in their order, by commits alone."""
        return no_turn(watcher)

    def advance(self, point: Version, seen: JournalState) -> bool:
        """Note that a read is answered for the past up to ``point``; commits stay above it.

        False if something was committed after ``seen``, which the answer would lack.
        """
        while True:
            with self.catalog.writing(STATE) as connection:
                _, committed = self.look_in(connection)
                if not rows_of.is_held_by_another(connection, section.ORDER, "", self.now()):
                    settled = min(point, self.clock.now())
                    records.settle(connection, settled)
                    break
            time.sleep(_CONFIRM_PAUSE_S / 10)
        self.clock.settle(settled)
        return committed.version == seen.version

    def exclusive(self, name: str) -> AbstractContextManager[bool]:
        """A block that is given True if nobody else is inside one of that name, in any process.

        By a lease of the catalog, which is renewed meanwhile.
        """
        return self.leases.trying(name)

    @contextmanager
    def reading_session(self) -> Iterator[HiveSession]:
        """A session for what reads no journal."""
        with self.statement(Transaction(self.state)) as statement:
            yield statement.session

    @contextmanager
    def exclusive_session(self) -> Iterator[HiveSession]:
        """A session that may write to the records, in a transaction of the catalog."""
        with self.catalog.writing(rows_of.RECORDS) as connection:
            with self.recording(connection) as session:
                yield session

    @contextmanager
    def recording(self, connection: CatalogConnection) -> Iterator[HiveSession]:
        """A session that writes records in a transaction of the catalog; commit what it did."""
        stay = HiveStatement(self, self.state, Transaction(self.state), connection)
        with stay as statement, connection.savepoint() as part:
            statement.session.local.before_commit = part.commit
            yield statement.session

    @contextmanager
    def fencing_session(self) -> Iterator[HiveSession]:
        """An exclusive session that changes what may not be written; committed at the end."""
        with self.catalog.writing(STATE, rows_of.RECORDS) as connection:
            row, committed = self.look_in(connection)
            with self.recording(connection) as session:
                yield session
                fence = load_fence(session)
                session.commit()
            following = records.record_states(connection, row, {}, is_fenced=True)
        self.keep(following, committed.with_tables({}, fence))

    def read_secret(self, key: str | None = None) -> str:
        """What keyed hashes are made with, or that of another store: kept in the catalog."""
        if key is not None:
            if key not in self._kept_secrets:
                with self.catalog.reading() as connection:
                    self._kept_secrets[key] = records.read_secret(connection, key)
            return self._kept_secrets[key]
        fence = self.state.fence
        if self._secret[0] is not fence:
            # A replica takes that of its source, and has everybody load the fence anew.
            with self.catalog.reading() as connection:
                self._secret = fence, records.read_secret(connection)
        return self._secret[1]

    def make_secret(self) -> str:
        """The same: it is there from the beginning."""
        return self.read_secret()

    def keep_secret(self, secret: str) -> None:
        """Know the secret of another store: a property of the catalog."""
        with self.catalog.writing() as connection:
            records.keep_secret(connection, secret)

    def close(self) -> None:
        """Let go of the connections; open transactions are lost."""
        self.flusher.finish()
        self.presence.finish()
        if self.views is not None:
            self.views.finish()
        self.store.close()
        self.local.close()
        self._scratch.close()
        self.catalog.close()
