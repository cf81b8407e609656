"""What the gateway needs of a journal, whichever store holds it.

    OpenJournal     a store's journals, open in this process: transactions, commits, the clock
    OpenStatement   one statement's stay in the store
    Upkeep          sealing and verification

The embedded store, databases and Hive have one of each. Statements run without knowing which; jobs
and erasures, whose work differs from store to store, ask. Seams only: nothing is done here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Protocol

from sqlglot import exp

from journal.model.counters import CounterKey
from journal.model.plan import Export, Guard, KeyLookup, Query, Stage
from journal.model.schema import Table, TableName
from journal.model.segment import Fields, RowCounts, Segment, SegmentFile
from journal.model.store_session import Parameters, Progress, RowSet, StagedRows, StoreSession
from journal.model.verification import Verification
from journal.model.version import HybridClock, Version
from journal.transactions.group_commit import UNWATCHED, CancelToken
from journal.transactions.plain_rows import Key, Row
from journal.transactions.state import JournalState
from journal.transactions.transaction import Transaction
from journal.transactions.transaction_rows import Author


class OpenStatement(Protocol):
    """One statement's stay in the store: a session inside a transaction, and what it sees."""

    @property
    def session(self) -> StoreSession:
        """The store's session, inside a transaction of its own."""

    @property
    def committed(self) -> JournalState:
        """What was committed when the stay began."""

    @property
    def transaction(self) -> Transaction:
        """The client's transaction."""

    def show_buffers(self, table_ids: Iterable[int]) -> None:
        """Let queries see the transaction's own rows of these tables."""

    def is_placed(self, table_id: int) -> bool:
        """True if positions tell which sealed rows have ended, and the transaction wrote none."""

    def show_positions(self, table_ids: Iterable[int]) -> None:
        """Let queries read these tables by position, where that can be, now or later."""

    def check_segments(self, table_ids: Iterable[int]) -> None:
        """Raise if a segment that will be read is missing or damaged."""

    def stage(self, step: Stage, parameters: Parameters, rows_max: int) -> StagedRows | None:
        """Keep a step's rows for the later ones; what was written of them already, if so many."""

    def left_to_ask(self, guard: Guard, ahead: Mapping[str, StagedRows]) -> Query:
        """What a guard asks, less what can be proved of rows that were written already."""

    def near(self, fields: Fields, rows: exp.Query) -> exp.Expr:
        """Rows of these columns as a relation that can be compared with the suppression list."""

    def export(self, export: Export, parameters: Parameters) -> int:
        """Write a query's rows to a file of the client's; how many they were."""

    def append(
        self, table: Table, query: Query, parameters: Parameters, memory_rows_max: int | None
    ) -> RowSet | None:
        """The rows of ``query`` for the journal of ``table``, None when there are none.

        Without a limit they are known to be few.
        """

    def lock_written(self, names: Iterable[TableName]) -> None:
        """Keep everybody out of these tables' journals whom the commit section does not keep out.

        Only before a direct statement reads: what it reads is the latest then, and stays so.
        """

    def append_direct(self, table: Table, query: Query, parameters: Parameters) -> int:
        """Append a query's rows to the journal at once; how many they were."""

    def commit_direct(
        self, version: Version, appended: Mapping[int, RowCounts], digest: str, author: Author
    ) -> None:
        """Commit what ``append_direct`` has appended under ``version``."""

    def close(self) -> None:
        """End the stay; nothing staged in it survives."""

    def __enter__(self) -> OpenStatement:
        """The statement itself."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""


class Numbers(Protocol):
    """Generated numbers, never handed out twice."""

    def reserve(self, key: CounterKey, count: int, start: int, increment: int) -> int:
        """The first of ``count`` numbers that are now taken."""

    def skip_past(self, key: CounterKey, value: int, start: int, increment: int) -> None:
        """Make sure a value given explicitly is not generated later."""


class RowsInMemory(Protocol):
    """Rows that need not be asked of the store, as they were written lately or are held here."""

    @property
    def is_complete(self) -> bool:
        """True if it can be known that there is no row of a key, and the rest is the store's."""

    def seen_by(self, transaction: Transaction, table: Table, key: Key) -> Row | None:
        """What a key shows to a transaction, its own rows first; None if that is not known."""

    def recalled(
        self, transaction: Transaction, keyed: Iterable[KeyLookup], parameters: Mapping[str, Any]
    ) -> list[tuple[Table, Row]] | None:
        """Looked-up rows as a transaction sees them, if all are in memory."""

    def check_latest(self, transaction: Transaction, table: Table, row: Row) -> None:
        """Raise SERIALIZATION if it is known already that a change of this row comes second."""

    def aside(self, transaction: Transaction) -> OpenStatement:
        """A statement that reads nothing that is committed; close what is returned."""


class OpenJournal(Protocol):
    """The journals of one store, open in this process."""

    @property
    def state(self) -> JournalState:
        """What is committed, as far as this process knows."""

    @property
    def clock(self) -> HybridClock:
        """Where versions come from."""

    @property
    def counters(self) -> Numbers:
        """Where generated numbers come from."""

    @property
    def can_fail(self) -> bool:
        """True if a query of the store can fail on purpose, by a function ``error``."""

    @property
    def in_memory(self) -> RowsInMemory | None:
        """Rows for which the store need not be asked; None where others may write them too."""

    @property
    def takes_direct(self) -> bool:
        """True if writes that take no time may run inside the commit section."""

    @property
    def keeps_references(self) -> bool:
        """True if tables may have foreign keys: commits check them against what others did."""

    def column_name(self, name: str) -> str:
        """What journals call a new column of this name: the same, unless the store lacks it."""

    @property
    def backend(self) -> str:
        """What maintains them: the name of a package of ``spark_compaction.backends``."""

    @property
    def place(self) -> str:
        """Where the journals lie: a folder, or the name of a database."""

    def begin(
        self, *, read_only: bool = False, explicit: bool = False, message: str | None = None
    ) -> Transaction:
        """Start a transaction that reads what is committed now."""

    def statement(self, transaction: Transaction) -> OpenStatement:
        """Start a statement of a transaction; close what is returned."""

    def rollback(self, transaction: Transaction) -> None:
        """Forget a transaction and everything it wrote."""

    def commit(
        self, transaction: Transaction, author: Author, watcher: CancelToken = UNWATCHED
    ) -> Version | None:
        """Make a transaction's writes durable and visible; None if it wrote nothing.

        It may be cancelled until the store commits.
        """

    def direct(
        self, message: str | None, watcher: CancelToken = UNWATCHED
    ) -> AbstractContextManager[OpenStatement]:
        """A statement that runs inside the commit section, for writes that take no time."""

    def new_table_id(self) -> int:
        """An id that no table and no layout of a table has had."""

    def forget_files(self, files: Iterable[SegmentFile]) -> None:
        """Remove staged rows that no manifest lists."""

    def settle(self, point: Version, seen: JournalState) -> bool:
        """Note that a read is answered for the past up to ``point``; False if it lacks commits."""

    def reading_session(self) -> AbstractContextManager[StoreSession]:
        """A session inside a transaction of its own, without any lock."""

    def exclusive_session(self) -> AbstractContextManager[StoreSession]:
        """A session inside a transaction that may write to the catalog; commit it."""

    def close(self) -> None:
        """Close the store; open transactions are lost."""


class Upkeep(Protocol):
    """What a store's journals need besides statements."""

    def request(self, table_id: int, rows_max: int) -> None:
        """Have a table sealed if its heads hold more than ``rows_max`` rows; 0 means never."""

    def seal(self, table_id: int) -> tuple[Segment, ...]:
        """Seal a table's heads now; the new segments."""

    def verify(
        self, progress: Progress | None = None, only: Collection[int] | None = None
    ) -> Verification:
        """Check every journal, or those of some tables by id; nothing is repaired.

        ``progress`` is told which part is done, 0 to 1.
        """

    def close(self) -> None:
        """Stop."""
