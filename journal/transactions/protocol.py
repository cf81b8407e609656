"""What the gateway needs of a journal, whichever store holds it.

    OpenJournal     a store's journals, open in this process: transactions, commits, the clock
    OpenStatement   one statement's stay in the store
    Upkeep          sealing and verification

The embedded store, databases and Hive have one of each. Statements run without knowing which; jobs
and erasures, whose work differs from store to store, ask. Seams only: nothing is done here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from sqlglot import exp

from journal.model.capabilities import Capabilities
from journal.model.counters import Numbers
from journal.model.plan import StatementPlan, Step
from journal.model.point_rows import KeyLookup
from journal.model.result_column import ResultColumn
from journal.model.schema import Table
from journal.model.segment import Fields, Segment
from journal.model.store_session import FetchableRows, Parameters, Progress, StoreSession
from journal.model.verification import Verification
from journal.model.version import HybridClock, Version
from journal.transactions.group_commit import UNWATCHED, CancelToken
from journal.transactions.plain_rows import Key, Row
from journal.transactions.scan_access import ScanAccess
from journal.transactions.state import JournalState
from journal.transactions.statement_run import StatementRun
from journal.transactions.transaction import Transaction
from journal.transactions.transaction_rows import Author


class OpenStatement(AbstractContextManager["OpenStatement", None], Protocol):
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

    def access(self, table_id: int) -> ScanAccess:
        """How a table can be read; the same for as long as the statement lasts."""

    def varied_columns(self, table_id: int) -> frozenset[str]:
        """Columns, as stored, with nearly as many values as rows: a hint for the shape of reads."""

    def show(self, tables: Iterable[int], scans: Iterable[int] = ()) -> None:
        """Let queries read these tables, by id, with the transaction's own rows of them.

        ``scans`` are those that are read otherwise than by key.
        """

    def prepare(self, plan: StatementPlan, parameters: Parameters) -> dict[str, Any]:
        """Make ready what a plan reads, and keep out whom its writes must not meet.

        Returns the parameters that its look-ups need, given the client's. Raises the error of a
        segment that is missing or damaged.
        """

    def run(self, step: Step, run: StatementRun) -> None:
        """Run one step, except ``Fetch``; ``run`` takes what comes of it."""

    def comparable_rows(self, fields: Fields, rows: exp.Query) -> exp.Expr:
        """Rows of these columns as a relation that can be compared with the suppression list."""

    def close(self) -> None:
        """End the stay; nothing staged in it survives."""


class InlineStatement(OpenStatement, Protocol):
    """A statement inside the commit section: nobody else commits before it is closed."""

    def commit(self, run: StatementRun, digest: str, author: Author) -> None:
        """Commit what the steps of ``run`` have appended; without that nothing of it stays."""


class OneTripStatement(OpenStatement, Protocol):
    """A statement on the state that was seen last, committed in the trip that writes."""

    def takes(self, plan: StatementPlan) -> bool:
        """True for a plan that can be run so."""

    def write(self, plan: StatementPlan, run: StatementRun, digest: str, author: Author) -> bool:
        """Run a plan and commit it; ``run`` takes what it wrote.

        False where others have committed meanwhile, or something else is in the way: then nothing
        is written, and the statement has to be run otherwise.
        """


class OneTrips(Protocol):
    """Starts statements that take one trip to the store."""

    def may_write(self) -> bool:
        """False while it is not worth trying, as others commit in between; calls are counted."""

    def start(
        self, message: str | None, watcher: CancelToken
    ) -> AbstractContextManager[OneTripStatement]:
        """A write on the state that was seen last; the store is asked nothing yet."""

    def may_ask(self) -> bool:
        """The same for ``asking``."""

    def takes(self, plan: StatementPlan) -> bool:
        """True for a plan that one query is all of, which gives few rows."""

    def ask(
        self, plan: StatementPlan, parameters: Parameters, state: JournalState, watcher: CancelToken
    ) -> tuple[FetchableRows, Sequence[ResultColumn]] | None:
        """All rows of a plan that it takes, by itself, on a state, and their columns.

        None where that is not the state any more, and where the rows are too many to be held.
        """

    def asking(self, transaction: Transaction) -> OpenStatement:
        """A statement of a transaction on the state that was seen last, which asks for it with its
        one query.

        It raises LongWay where the state is another one, or more is asked. Close what is returned.
        """


class HeldNames(Protocol):
    """Names that this process holds among those that have a store open, until it gives them back.

    They are free once the process, or its connection, has ended.
    """

    def take(self, names: Sequence[str]) -> list[bool]:
        """For each name whether it was free, and is held from now on; none may be held already."""

    def give_back(self, names: Iterable[str]) -> None:
        """Let others take names that are held; never raises a store's error."""


class RowsInMemory(Protocol):
    """Rows that need not be asked of the store, as they were written lately or are held here."""

    @property
    def is_complete(self) -> bool:
        """True if it can be known that there is no row of a key, and the rest is the store's."""

    def seen_by(self, transaction: Transaction, table: Table, key: Key) -> Row | None:
        """What a key shows to a transaction, its own rows first; None if that is not known."""

    def rows(
        self, transaction: Transaction, keyed: Iterable[KeyLookup], parameters: Mapping[str, Any]
    ) -> list[tuple[Table, Row]] | None:
        """Looked-up rows as a transaction sees them, if all are in memory."""

    def check_latest(self, transaction: Transaction, table: Table, row: Row) -> None:
        """Raise SERIALIZATION if it is known already that a change of this row comes second."""

    def detached_statement(self, transaction: Transaction) -> OpenStatement:
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
        """Generated numbers, ids of tables among them."""

    @property
    def capabilities(self) -> Capabilities:
        """What the store can do."""

    @property
    def in_memory(self) -> RowsInMemory | None:
        """Rows for which the store need not be asked; None where others may write them too."""

    @property
    def place(self) -> str:
        """Where the journals lie: a folder, or the name of a database."""

    def begin(
        self, *, read_only: bool = False, at_once: bool = False, message: str | None = None
    ) -> Transaction:
        """Start a transaction; commit it, or roll it back.

        It reads what is committed when its first statement starts; ``at_once``: what is now.
        """

    def statement(self, transaction: Transaction) -> OpenStatement:
        """Start a statement of a transaction; close what is returned."""

    def commit(
        self, transaction: Transaction, author: Author, watcher: CancelToken = UNWATCHED
    ) -> Version | None:
        """Make a transaction's writes durable and visible; None if it wrote nothing.

        It may be cancelled until the store commits.
        """

    @property
    def inline(
        self,
    ) -> Callable[[str | None, CancelToken], AbstractContextManager[InlineStatement]] | None:
        """Starts a statement inside the commit section; None where appending takes too long."""

    @property
    def at_once(self) -> OneTrips | None:
        """Starts statements that are committed in one trip; None where the store knows no such."""

    def commit_turn(self, watcher: CancelToken) -> AbstractContextManager[None]:
        """A block of this thread during which nobody else commits, if the store can see to that.

        It begins once commits under way have ended, and lasts up to this thread's first commit at
        least: a transaction that begins inside it does not come second. Keep it short.
        """

    def advance(self, point: Version, seen: JournalState) -> bool:
        """Note that a read is answered for the past up to ``point``; False if it lacks commits."""

    def exclusive(self, name: str) -> AbstractContextManager[bool]:
        """A block that is given True if nobody else is inside one of that name.

        In all processes on the store; what a process held is free once it has ended.
        """

    @property
    def held_names(self) -> HeldNames | None:
        """Names that one process holds at a time; None where no other has the store open."""

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
