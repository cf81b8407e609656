"""A client's session: its transaction, its settings, and each statement's way to the executor.

    IDLE --statement, autocommit--> IDLE          (a transaction for that statement alone)
    IDLE --BEGIN, or statement without autocommit--> IN TRANSACTION
    IN TRANSACTION --error--> FAILED --ROLLBACK TO--> IN TRANSACTION
    IN TRANSACTION --COMMIT--> IDLE        IN TRANSACTION | FAILED --ROLLBACK--> IDLE

Front ends hold one session per connection; it is used by one thread at a time. How a statement is
rewritten and run is the executor's; nothing here builds SQL.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from gateway.access.passwords import has_password, without_password
from gateway.access.procedures import check_file
from gateway.access.run_as import record_name
from gateway.config import Settings
from gateway.lineage.temporary_origins import TemporaryOrigins
from gateway.session.cancellation import Cancellation
from gateway.session.commit_names import CommitNames, known_outcome
from gateway.session.constraint_checks import check_deferred
from gateway.session.control_statements import run_control
from gateway.session.copies.file_copies import is_copy, run_copy_from
from gateway.session.execute_many import execute_many
from gateway.session.executor import Executor
from gateway.session.given_moments import values_given
from gateway.session.literal_templates import Templated, run_template
from gateway.session.named_schemas import as_meant
from gateway.session.notice_levels import without_unheard
from gateway.session.operations import Advance, Operation, P, T, no_progress
from gateway.session.outcome import ResultRows, StatementOutcome
from gateway.session.own_parameters import SessionClock, own_parameters
from gateway.session.parsed_texts import read_text
from gateway.session.path_parameters import with_paths
from gateway.session.prepared import run_prepared
from gateway.session.request import StatementRequest
from gateway.session.results import StreamedRows
from gateway.session.retries import RetryPolicy, run_until_first
from gateway.session.savepoints import in_progress
from gateway.session.setting_statements import TransactionSettings
from gateway.session.standing import StandingStatements
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import CatalogSnapshot
from journal.transactions.constraint_timing import ConstraintTiming
from journal.transactions.protocol import OpenJournal
from journal.transactions.temporary import Temporary
from journal.transactions.transaction import Status, Transaction
from journal.transactions.transaction_rows import Author
from rewriter.context import PlanForm
from rewriter.dialect_semantics import check_dialect
from rewriter.statement import Begin, Call, Deallocate, Erase, Execute, Prepare, SelectedCalls
from rewriter.statements.entities import AlterEntity, CreateEntity, DropEntity, ShowEntities
from rewriter.syntax.parsing import Parsed, parse

if TYPE_CHECKING:
    from spark_compaction.contract import Engine

Parameters = Sequence[Any] | Mapping[str, Any] | None


class Session:
    """One client's transaction, settings and temporary tables.

    Without ``autocommit`` the first statement begins a transaction. ``user`` is recorded with
    commits. ``retries`` is how it waits before it runs a statement again.
    """

    def __init__(
        self,
        journal: OpenJournal,
        executor: Executor,
        *,
        dialect: str,
        autocommit: bool,
        user: str | None,
        settings: Settings,
        retries: RetryPolicy,
    ) -> None:
        check_dialect(dialect)
        self.journal = journal
        self.executor = executor
        self.dialect = dialect
        self.user = user
        self.proxy: str | None = None
        """Who has logged in for the user, where that is another."""
        self.retries = retries
        self.settings = self.settings_at_start = replace(settings, dialect=dialect)
        self.transaction_settings = TransactionSettings()
        self.autocommit = autocommit
        self.clock = SessionClock()
        self.transaction: Transaction | None = None
        self.temporary = Temporary(journal)
        self.cancellation = Cancellation(lambda: self.settings.statement_timeout)
        self.activity = executor.activity.enter(self)
        self._standing = StandingStatements(executor.lineage)
        self.engine: Callable[[int], Engine] | None = None
        """What jobs of this session work with, by the bytes of a table; None: as settings say."""
        self.folder: str | None = None
        """The folder in which the client works; None: that of this process."""
        self.names: CommitNames | None = None
        self.catalog_answers: Callable[[str], StatementOutcome | None] | None = None
        self._origins = TemporaryOrigins()
        self._stream_file: str | None = None

    def session_as(self, role: int | None) -> Session:
        """Another session of the same user on the store, in autocommit, as a role; close it."""
        settings = Settings(role=role).in_home_schema(self.catalog.home)
        return Session(
            *(self.journal, self.executor),
            dialect="duckdb",
            autocommit=True,
            user=self.user,
            settings=settings,
            retries=self.retries,
        )

    @property
    def status(self) -> str:
        """``idle``, ``transaction`` or ``failed``."""
        if self.transaction is None:
            return "idle"
        return "failed" if self.transaction.status is Status.FAILED else "transaction"

    @property
    def has_written(self) -> bool:
        """True inside a transaction that has something to commit."""
        return self.transaction is not None and bool(self.transaction.writes)

    @property
    def in_transaction(self) -> bool:
        """True while a transaction is open or failed."""
        return self.transaction is not None

    @property
    def recorded_user(self) -> str | None:
        """Who acts, as records show it: the user, and the proxy that asks for them."""
        return record_name(self.user, self.proxy)

    @property
    def place(self) -> str:
        """Where the journals lie: a folder, or the name of a database."""
        return self.journal.place

    @property
    def catalog(self) -> CatalogSnapshot:
        """The current catalog, as the session sees it."""
        if self.transaction is not None and not self.transaction.is_fresh:
            return self.transaction.catalog
        return self.temporary.catalog(self.journal.state.catalog)

    def execute(self, text: str, parameters: Parameters = None) -> StatementOutcome:
        """Run the statements of ``text``; the outcome is that of the last one, notices of all."""
        outcome = StatementOutcome("EMPTY")
        for parsed in self.to_run(text) if parameters is None else self.parse(text):
            outcome.close()
            notices = outcome.notices
            outcome = self.run(parsed, parameters)
            outcome.notices = (*notices, *outcome.notices)
        return outcome

    def execute_many(self, text: str, rows: Sequence[Any]) -> StatementOutcome:
        """Run a change for each row of parameters, all of them or none."""
        return execute_many(self, text, rows)

    def run_text(self, text: str, file: str | None = None) -> StatementOutcome:
        """Run one statement in DuckDB's dialect; ``file`` has rows that the client has sent."""
        (parsed,) = parse(text, "duckdb", self.settings.limits)
        self._stream_file = file
        try:
            # The text names the plan in the cache, where one in another dialect may stand.
            return self.run(replace(parsed, text=f"{text} -- built"))
        finally:
            self._stream_file = None

    def perform(self, what: Operation[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run an operation on this session."""
        return self.perform_watched(no_progress, what, *args, **kwargs)

    def perform_watched(
        self, advance: Advance, what: Operation[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run an operation on this session; ``advance`` is told how far it is."""
        with self.cancellation.running():
            return what(self, advance, *args, **kwargs)

    @contextmanager
    def naming(self, name: str | None, *, again: bool) -> Iterator[None]:
        """Commits of the block bear a client's name: ``name``, then ``name-1`` and so on.

        ``again``: the client asked for the same before and did not hear the answer, so what was
        committed under such a name is not done once more.
        """
        self.names = None if name is None else CommitNames(self.journal, name, again)
        try:
            yield
        finally:
            self.names = None

    def parse(self, text: str, placeholders: bool = True) -> list[Parsed]:
        """The statements of a text; a syntax error fails the transaction like any other."""
        try:
            return read_text(self, text, self.executor.planner.cache, placeholders)
        except PalimpsestError:
            self._mark_failed()
            raise

    def to_run(self, text: str) -> list[Parsed]:
        """The statements of a text without parameters, fit for ``run`` and for nothing else."""
        templated = self.executor.planner.templates.templated(self, text)
        return self.parse(text, placeholders=False) if templated is None else [templated]

    def run(
        self, parsed: Parsed, parameters: Parameters = None, batch: pa.Table | None = None
    ) -> StatementOutcome:
        """Run one parsed statement."""
        with self.activity.running(parsed) as answered:
            return answered(without_unheard(self._run(parsed, parameters, batch), self.settings))

    def _run(
        self, parsed: Parsed, parameters: Parameters, batch: pa.Table | None
    ) -> StatementOutcome:
        if isinstance(parsed, Templated):
            return run_template(self, parsed, self._run)
        self.cancellation.check()
        self.clock.begin(continues=self.transaction is not None)
        if (again := self._standing.run_again(self, parsed, parameters, batch)) is not None:
            self._seal(again.written)
            return again
        if has_password(parsed):
            parsed = without_password(parsed, os.urandom)
        parsed = as_meant(self, parsed, parameters)
        if (control := run_control(self, parsed)) is not None:
            return control
        bound = own_parameters(self) | ({} if batch is not None else self._bind(parsed, parameters))
        match parsed.statement:
            case Call() | Erase() | CreateEntity() | AlterEntity() | DropEntity() | ShowEntities():
                return self.executor.run_immediate(self, parsed, bound)
            case Prepare() | Execute() | Deallocate() | SelectedCalls():
                return self._run_prepared(parsed, bound)
            case _ if is_copy(parsed):
                check_file(parsed, self.settings, self.catalog, self._stream_file)
                return run_copy_from(self, parsed, bound)
            case _:
                return self.run_bound(parsed, bound, batch)

    @contextmanager
    def fetching(self, rows: ResultRows) -> Iterator[None]:
        """Inside the block rows are fetched; the store may work for it, and ``cancel`` finds it."""
        store = rows.store if isinstance(rows, StreamedRows) else None
        watching = nullcontext() if store is None else self.cancellation.watching(store)
        with self.cancellation.running(), watching:
            yield

    def cancel(self) -> None:
        """Stop the statement that runs, from another thread; returns when it has stopped."""
        self.cancellation.cancel()

    def _bind(self, parsed: Parsed, parameters: Parameters) -> dict[str, Any]:
        try:
            return values_given(self, parsed, parameters)
        except PalimpsestError:
            self._mark_failed()
            raise

    def _run_prepared(self, parsed: Parsed, bound: Mapping[str, Any]) -> StatementOutcome:
        if self.transaction is not None:
            self.transaction.check_open()
        try:
            return run_prepared(self, parsed, bound)
        except PalimpsestError:
            self._mark_failed()
            raise

    def run_bound(
        self,
        parsed: Parsed,
        bound: Mapping[str, Any],
        batch: pa.Table | None = None,
        skips: bool | None = None,
    ) -> StatementOutcome:
        """Run a statement whose parameters have values; ``skips`` erased rows of a file."""
        parsed = with_paths(parsed, bound, self.journal.capabilities, self.dialect)
        how = (self.settings, self.dialect, batch, PlanForm.FULL, skips, self._stream_file)
        request = StatementRequest(parsed, {**own_parameters(self), **bound}, *how)
        if self.transaction is None and self.autocommit:
            return self._autocommit(request)
        if self.transaction is None:
            self.transaction = self._client_transaction()
        try:
            return self.executor.run(self.transaction, request, self.cancellation)
        except BaseException:
            self._mark_failed()
            raise

    def _autocommit(self, request: StatementRequest) -> StatementOutcome:
        """Run a statement in a transaction of its own; again if another one came first."""
        author = self._author()
        rows = self._rows_committed(author)
        if rows is not None:
            return known_outcome(request.parsed, rows)
        if request.batch is None:
            done = self.executor.run_inline(request, self.cancellation, author, self.temporary)
            if done is not None:
                self._seal(done.written)
                return self._standing.keep(request, done)
        outcome = run_until_first(
            lambda is_last: self._try(request, author, is_last=is_last),
            *(self.settings.retries, self.retries),
            lambda: self.journal.commit_turn(self.cancellation),
        )
        return self._standing.keep(request, outcome)

    def _try(self, request: StatementRequest, author: Author, *, is_last: bool) -> StatementOutcome:
        """Run a statement and commit it; raises SERIALIZATION where another came first."""
        transaction = self.new_transaction()
        try:
            outcome = self.executor.run(transaction, request, self.cancellation)
            if not isinstance(outcome.rows, StreamedRows):
                self._commit(transaction, author)
            return outcome
        except PalimpsestError as error:
            if is_last or error.code is not Code.SERIALIZATION:
                self.executor.lineage.commit_failed(transaction, author, error)
            self._undo(transaction)
            raise
        except BaseException:
            self._undo(transaction)
            raise

    def _author(self) -> Author:
        """Who commits next, and under which name."""
        name = None if self.names is None else self.names.next()
        return Author(self.recorded_user, self.settings.application, name)

    def _rows_committed(self, author: Author) -> int | None:
        """How many rows were changed under the author's name by a call whose answer was lost."""
        return None if self.names is None else self.names.rows_committed(author.transaction_id)

    def _commit(self, transaction: Transaction, author: Author) -> None:
        prepared = self.executor.lineage.prepare(transaction, self._origins)
        own = self.temporary.take(transaction)
        written = transaction.buffered_tables()
        try:
            self.journal.commit(transaction, author, self.cancellation)
        except BaseException:
            if own is not None:
                transaction.forget(own.files())
            raise
        self._origins = prepared.origins
        self.executor.lineage.committed(transaction, prepared, author)
        if own is not None:
            self.temporary.keep(own, self.settings.memory_rows)
        self._seal(written)

    def _seal(self, table_ids: Iterable[int]) -> None:
        for table_id in table_ids:
            self.executor.upkeep.request(table_id, self.settings.flush_rows)

    def _mark_failed(self) -> None:
        if self.transaction is not None:
            self.transaction.fail()

    def begin(self, *, read_only: bool | None = None) -> None:
        """Start an explicit transaction; None: the session's settings say if it may write."""
        if self.transaction is not None and (self.transaction.explicit or self.transaction.writes):
            self._mark_failed()
            raise in_progress()
        if self.transaction is not None:
            self._undo(self.transaction)
        self.clock.begin_transaction()
        self.transaction = self._client_transaction(Begin(read_only))

    def new_transaction(self, *, read_only: bool | None = None) -> Transaction:
        """A transaction that begins with its first statement, and sees what the session sees."""
        message = self.settings.commit_message
        only = self.settings.is_read_only if read_only is None else read_only
        found = self.journal.begin(read_only=only, message=message)
        return self.temporary.show(found)

    def _client_transaction(self, begin: Begin | None = None) -> Transaction:
        """A transaction that the client ends, so that constraints may wait for its COMMIT."""
        found = self.new_transaction(read_only=None if begin is None else begin.read_only)
        found.explicit = begin is not None
        found.timing = ConstraintTiming()
        self.executor.row_claims.enter(found)
        return found

    def commit(self) -> None:
        """End the transaction; a failed one is rolled back and the error says so."""
        with self.cancellation.running(), self.transaction_settings.ending(self):
            self._end()

    def _end(self) -> None:
        transaction = self._leave_transaction()
        if transaction is None:
            return
        if transaction.status is Status.FAILED:
            self._undo(transaction)
            transaction.check_open()
        author = self._author()
        if self._rows_committed(author) is not None:
            self._undo(transaction)
            return
        try:
            check_deferred(self, transaction, transaction.deferred)
        except BaseException:
            self._undo(transaction)
            raise
        try:
            self._commit(transaction, author)
        except PalimpsestError as error:
            self.executor.lineage.commit_failed(transaction, author, error)
            raise

    def rollback(self) -> None:
        """Undo the transaction."""
        transaction = self._leave_transaction()
        self.transaction_settings.end(self, committed=False)
        if transaction is not None:
            self._undo(transaction)

    def _leave_transaction(self) -> Transaction | None:
        """The transaction, which is about to end."""
        transaction, self.transaction = self.transaction, None
        self.executor.advisory_locks.end(self, of_transaction=True)
        return transaction

    def _undo(self, transaction: Transaction) -> None:
        self.temporary.forget(transaction)
        transaction.rollback()

    def begin_implicitly(self) -> None:
        """Begin a transaction where the next statement would begin one."""
        if self.transaction is None and not self.autocommit:
            self.transaction = self._client_transaction()

    def close(self) -> None:
        """Roll back and let go."""
        self.rollback()
        self.executor.advisory_locks.end(self, of_transaction=False)
        self.temporary.close()
        self.activity.leave()
