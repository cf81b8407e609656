"""A client's session of the protocol: its operations, one after another, over a session.

A statement that is to run by itself goes to a thread of the session; the client polls it. What
takes no longer than ``GRACE_S`` is over before its client hears that it has begun.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
from sqlglot import exp

from gateway.activity.activity import next_session_id
from gateway.errors import TOO_DEEP
from gateway.servers.client_sessions import OpenSession
from gateway.servers.hive.client_settings import ClientSettings, run_as_of
from gateway.servers.hive.operations import (
    CANCELLED,
    RUNNING,
    TIMED_OUT,
    Operation,
)
from gateway.servers.hive.wire import ttypes
from gateway.servers.limits import ServerLimits
from gateway.session.outcome import StatementOutcome
from gateway.session.session import Session
from journal.model.access import Role
from journal.model.errors import Code, PalimpsestError
from journal.model.failures import failures
from rewriter.statement import Call, SqlStatement
from rewriter.syntax.parsing import Parsed

_LOG = logging.getLogger("palimpsest.hive")
_ID_BYTES = 16
GRACE_S = 0.1
_OPERATIONS_MAX = 1_000
_ALL = 100_000


class ThriftSession:
    """One session; ``close`` ends what it runs."""

    def __init__(
        self, session: Session, version: int, settings: ClientSettings, limits: ServerLimits
    ) -> None:
        self.id = secrets.token_bytes(_ID_BYTES)
        self.secret = secrets.token_bytes(_ID_BYTES)
        self.session = session
        self.version = version
        self.settings = settings
        self.touched_s = time.monotonic()
        self._limits = limits
        self._operations: dict[bytes, Operation] = {}
        self._using = threading.Lock()
        self._running: Operation | None = None
        self._worker: ThreadPoolExecutor | None = None
        self._is_closed = False

    def execute(self, text: str, *, runs_async: bool, timeout_s: float) -> Operation:
        """Run a statement; with ``runs_async`` return while it runs. Raises what it raises."""
        operation = self._new(ttypes.TOperationType.EXECUTE_STATEMENT)
        operation.timeout_s = timeout_s
        work = self.settings.answer_to(text, self.session)
        if work is None:
            parsed = self.session.to_run(text)
            operation.has_rows = bool(parsed) and _gives_rows(parsed[-1])

            def work() -> StatementOutcome:
                return self._run_all(parsed)

        if runs_async:
            self._thread().submit(self._perform, operation, work)
            operation.wait(GRACE_S)
        else:
            self._perform(operation, work)
        if operation.error is not None:
            self.close_operation(operation)
            raise operation.error
        return operation

    def table(self, kind: int, make: Callable[[], pa.Table]) -> Operation:
        """An operation on the catalog, whose rows the gateway makes."""
        operation = self._new(kind)
        operation.has_rows = True

        def work() -> StatementOutcome:
            return self.session.executor.table_outcome("SHOW", make())

        self._perform(operation, work)
        if operation.error is not None:
            self.close_operation(operation)
            raise operation.error
        return operation

    def find(self, handle: ttypes.TOperationHandle) -> Operation | None:
        """The operation of a handle, None for one of another session."""
        wanted = handle.operationId
        found = self._operations.get(wanted.guid)
        if found is None or not secrets.compare_digest(found.secret, wanted.secret or b""):
            return None
        return found

    def fetch(self, operation: Operation, most: int, *, first: bool) -> pa.RecordBatch | None:
        """Rows of an operation that has finished; raises what it has ended with."""
        if not operation.is_over:
            raise PalimpsestError(
                Code.NO_RESULT,
                "the statement still runs",
                advice="ask for its state until it has finished",
            )
        if operation.error is not None:
            raise operation.error
        with self._using, failures():
            if first:
                operation.rewind()
            if operation.rows is None:
                return operation.fetch(most)
            with self.session.fetching(operation.rows):
                return operation.fetch(most)

    def note_sent(self, operation: Operation, rows: int, size: int) -> None:
        """Rows go to the client; raises RESULT_SIZE."""
        operation.sent_bytes += size
        self._limits.check_result(operation.fetched, operation.sent_bytes)
        self.session.activity.sent(rows, size)

    def cancel(self, operation: Operation, state: int = CANCELLED) -> None:
        """Stop an operation that runs or waits; others stay as they are."""
        if operation.is_over:
            return
        operation.ends_as = state
        if self._running is operation:
            why = None
            if state == TIMED_OUT:
                why = PalimpsestError(
                    Code.STATEMENT_TIME,
                    f"the statement took longer than its {operation.timeout_s:g} seconds",
                    advice="ask for less at once, or give it more time",
                )
            self.session.cancellation.cancel(why)

    def end_late(self) -> None:
        """Stop what has run longer than its client or the server allows."""
        running = self._running
        if running is None:
            return
        elapsed = time.time() - running.began_s
        if 0 < running.timeout_s < elapsed:
            self.cancel(running, TIMED_OUT)
        why = self._limits.check_running(elapsed)
        if why is not None:
            self.session.cancellation.cancel(why)

    def close_operation(self, operation: Operation) -> None:
        """Stop an operation, and let go of its rows."""
        self.cancel(operation)
        with self._using:
            self._operations.pop(operation.id, None)
            operation.close()

    def close(self) -> None:
        """Stop what runs, and end the session."""
        self._is_closed = True
        for operation in list(self._operations.values()):
            operation.ends_as = operation.ends_as or CANCELLED
        self.session.cancel()
        if self._worker is not None:
            self._worker.shutdown(wait=True)
        with self._using:
            for operation in self._operations.values():
                operation.close()
            self._operations.clear()
            self.session.close()

    def show(self, address: str, terminate: Callable[[], None]) -> None:
        """List the session with its client's address; ``terminate`` ends the client."""
        self.session.activity.describe(
            "hive", address, number=next_session_id(), terminate=terminate
        )

    @property
    def in_transaction(self) -> bool:
        """True while a transaction is open."""
        return self.session.in_transaction

    @property
    def is_busy(self) -> bool:
        """True while a statement runs."""
        return self._running is not None or self.session.cancellation.is_running

    def _new(self, kind: int) -> Operation:
        if len(self._operations) >= _OPERATIONS_MAX:
            raise PalimpsestError(
                Code.TOO_MANY_CONNECTIONS,
                f"the session has {_OPERATIONS_MAX} open operations",
                advice="close statements whose rows were read",
            )
        operation = Operation(kind, has_rows=False)
        self._operations[operation.id] = operation
        return operation

    def _thread(self) -> ThreadPoolExecutor:
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, thread_name_prefix="palimpsest-hive-session")
        return self._worker

    def _perform(self, operation: Operation, work: Callable[[], StatementOutcome]) -> None:
        with self._using:
            try:
                if operation.ends_as is not None or self._is_closed:
                    raise PalimpsestError(
                        Code.CANCELLED, "the statement was cancelled", advice="nothing was done"
                    )
                operation.state = RUNNING
                self._running = operation
                with failures():
                    operation.finish(work())
            except PalimpsestError as error:
                operation.fail(error)
            except RecursionError:
                operation.fail(TOO_DEEP)
            except Exception as error:  # noqa: BLE001 - whatever it is, its client hears of it
                _LOG.exception("a statement failed")
                message = f"{type(error).__name__}: {error}"
                operation.fail(PalimpsestError(Code.INVARIANT, message, advice="report it"))
            finally:
                self._running = None

    def _run_all(self, statements: list[Parsed]) -> StatementOutcome:
        outcome = StatementOutcome("EMPTY")
        for parsed in statements:
            outcome.close()
            outcome = self.session.run(parsed)
        return outcome


class SessionOpener:
    """Opens the sessions of a front end, in whichever way their calls come."""

    def __init__(self, open_session: OpenSession, limits: ServerLimits) -> None:
        self._open_session = open_session
        self._limits = limits

    def open_for(
        self, user: str, role: Role | None, configuration: Mapping[str, str], version: int
    ) -> ThriftSession:
        """A session that speaks a version of the protocol; raises what its settings raise."""
        given = run_as_of(configuration)
        session = self._open_session(user or None, None, given, role)
        try:
            settings = ClientSettings()
            settings.start(session, configuration)
        except BaseException:
            session.close()
            raise
        return ThriftSession(session, version, settings, self._limits)


def session_of(handle: ttypes.TSessionHandle, sessions: Iterable[ThriftSession]) -> ThriftSession:
    """The session of a handle, which a client has used now; raises NO_CURSOR."""
    wanted = handle.sessionId
    for session in sessions:
        if session.id == wanted.guid:
            if secrets.compare_digest(session.secret, wanted.secret or b""):
                session.touched_s = time.monotonic()
                return session
    raise PalimpsestError(
        Code.NO_CURSOR,
        "there is no such session",
        advice="open one, on this connection or by this login; idle ones are ended",
    )


def _gives_rows(parsed: Parsed) -> bool:
    """Whether a statement surely gives rows, before it has run; when it has, that is known."""
    statement = parsed.statement
    if isinstance(statement, Call):
        return True
    if not isinstance(statement, SqlStatement):
        return False
    is_query = isinstance(statement.ast, exp.Query | exp.Values)
    return is_query or statement.ast.args.get("returning") is not None
