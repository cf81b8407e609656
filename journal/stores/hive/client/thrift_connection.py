"""A session of HiveServer2 or Spark's Thrift Server: it runs text and gives back columns.

Nobody waits for ever for a server that answers nothing.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp
from TCLIService import ttypes

from journal.files.tcp_keepalive import is_quiet
from journal.model.errors import PalimpsestError
from journal.model.store_session import Parameters
from journal.stores.hive.client.connection import HiveConnection, Row
from journal.stores.hive.client.cursor import (
    CallRefused,
    Column,
    HiveCursor,
    told_type,
    type_name,
)
from journal.stores.hive.client.errors import (
    cancelled,
    metastore_hangs,
    server_gone,
    stopped,
    translate,
)
from journal.stores.hive.client.liveness import EVERY_S, Pulse
from journal.stores.hive.client.login import Server
from journal.stores.hive.client.opening import (
    DRIVER_ERROR,
    LOST,
    connection_lost,
    is_silence,
    opened,
    set_patience,
)
from journal.stores.hive.engine import HiveEngine

_PAUSES_S = (0.002, 0.005, 0.01, 0.02, 0.05)
_RUNNING = {
    ttypes.TOperationState.INITIALIZED_STATE,
    ttypes.TOperationState.PENDING_STATE,
    ttypes.TOperationState.RUNNING_STATE,
}
_CLOSE_S = 10.0
_CANCELLED_S = 0.2
"""So long a statement that was stopped may still tell its own end."""
_POLL_S = 5.0
"""So long a server keeps the question how far a statement is before it says that it still runs."""


class ThriftConnection(HiveConnection):
    """One session of a server."""

    def __init__(self, server: Server, pulse: Pulse | None = None) -> None:
        super().__init__()
        self._server = server
        self._pulse = pulse or pulse_of(server)
        self._operation: Any = None
        self._asked_to_stop = threading.Event()
        self._stopping = threading.Lock()
        self._waited_for: Any = None
        self._is_stopped = False
        self._talks = True
        self._connection, self._socket = opened(server)
        self._patience_s = server.answer_timeout_s
        self._cursor = self._new_cursor()
        self.engine = self._asked_engine()

    def _new_cursor(self) -> HiveCursor:
        return HiveCursor(self._connection.client, self._connection.sessionHandle)

    def _asked_engine(self) -> HiveEngine:
        asked = ttypes.TGetInfoReq(
            self._connection.sessionHandle, ttypes.TGetInfoType.CLI_DBMS_NAME
        )
        with self._mapped():
            found = self._connection.client.GetInfo(asked)
        return HiveEngine.of_name(found.infoValue.stringValue or "")

    @contextlib.contextmanager
    def _mapped(self) -> Iterator[None]:
        """Errors of calls in the gateway's terms.

        Ctrl-C may end a call whose answer is still to come, which the next call would take for its
        own: nobody may use the connection any more.
        """
        is_between_calls = False
        try:
            yield
            is_between_calls = True
        except CallRefused as error:
            is_between_calls = True
            raise self._mapped_error(error) from error
        except LOST as error:
            raise connection_lost(error, self._patience_s) from error
        except PalimpsestError:
            is_between_calls = True
            raise
        finally:
            if not is_between_calls:
                self._give_up()

    def _give_up(self) -> None:
        """Talk to the server no more: an answer may still come that nobody waits for."""
        self.is_usable = self._talks = False

    def _mapped_error(self, error: CallRefused) -> PalimpsestError:
        if self._asked_to_stop.is_set():
            return cancelled()
        said = str(error)
        if "Invalid SessionHandle" in said:
            self.is_usable = False
            return server_gone(said)
        return translate(said)

    def execute(
        self,
        statement: str | exp.Expr,
        parameters: Parameters | None = None,
        beside: Sequence[str] = (),
    ) -> list[list[Row]]:
        """Run a statement, a tree or its text, to its end; its rows are fetched later.

        What is asked ``beside`` it, in short statements that only read, runs at the same time; the
        rows of these are returned. Raises CANCELLED after ``interrupt`` or the statement's time,
        STORELOST when the server is gone, NOT_SUPPORTED for a tree that the server's language
        cannot say.
        """
        sql = statement if isinstance(statement, str) else self.text(statement, parameters)
        self._asked_to_stop.clear()
        self._be_patient(self._server.answer_timeout_s)
        with self._mapped():
            self._cursor.execute(sql, waits=False)
            self._is_stopped = False
            self._operation = operation = self._waited_for = self._cursor.operation
            try:
                told = self._side_results(beside)
                self._wait()
            except (KeyboardInterrupt, *LOST) as error:
                if self._is_stopped and not isinstance(error, KeyboardInterrupt):
                    self._give_up()
                    raise cancelled() from error
                # A server that lost its client may run a statement to its end, for nobody.
                threading.Thread(
                    target=self._cancel_elsewhere, args=(operation,), daemon=True
                ).start()
                raise
            finally:
                with self._stopping:
                    self._operation = self._waited_for = None
        if isinstance(told, PalimpsestError):
            raise told
        return told

    def _side_results(self, beside: Sequence[str]) -> list[list[Row]] | PalimpsestError:
        """The rows of short statements; what they fail with is told after the longer one's."""
        found: list[list[Row]] = []
        for sql in beside:
            cursor = self._new_cursor()
            try:
                cursor.execute(sql, waits=True)
                found.append(list(zip(*cursor.columns(), strict=True)))
            except CallRefused as error:
                return self._mapped_error(error)
            finally:
                with contextlib.suppress(CallRefused):
                    cursor.close()
        return found

    def short_query(self, sql: str) -> list[Row]:
        """The rows of a short statement; those of the one executed last are left to be fetched."""
        with self._mapped():
            told = self._side_results([sql])
        if isinstance(told, PalimpsestError):
            raise told
        return told[0]

    def _be_patient(self, seconds: float) -> None:
        self._patience_s = seconds
        set_patience(self._socket, seconds)

    def _wait(self) -> None:
        """Wait for the statement's end; how far it is any server tells at once."""
        limit_s = self._server.silence_timeout_s
        self._be_patient(limit_s + _POLL_S if limit_s else 0)
        self._wait_for_end()
        self._be_patient(self._server.answer_timeout_s)

    def _wait_for_end(self) -> None:
        limit_ms = self._server.statement_timeout_ms
        began = time.monotonic()
        until = began + limit_ms / 1000 if limit_ms else None
        turn = 0
        while True:
            found = self._cursor.status()
            if found.operationState not in _RUNNING:
                break
            if until is not None and time.monotonic() > until:
                self._cursor.cancel()
                raise stopped(limit_ms)
            if self._asked_to_stop.is_set():
                self._cursor.cancel()
                raise cancelled()
            if not self._pulse.is_felt(began):
                self.is_usable = False
                with contextlib.suppress(CallRefused):
                    self._cursor.cancel()
                raise metastore_hangs(self._server.answer_timeout_s)
            time.sleep(_PAUSES_S[min(turn, len(_PAUSES_S) - 1)])
            turn += 1
        if self._asked_to_stop.is_set():
            raise cancelled()
        if found.operationState != ttypes.TOperationState.FINISHED_STATE:
            raise translate(found.errorMessage or "the server stopped the statement")

    def described(self) -> list[tuple[str, str]]:
        """Name and type of each column of the statement executed last, as the server calls them."""
        with self._mapped():
            return [(c.columnName, told_type(c.typeDesc)) for c in self._cursor.described()]

    def types(self) -> list[tuple[str, str]]:
        """The type of each column of the statement executed last: the server's word for it, and
        what it is with digits and places.
        """
        with self._mapped():
            found = [c.typeDesc for c in self._cursor.described()]
        return [(told_type(kind), type_name(kind)) for kind in found]

    def columns(self, size: int | None = None) -> list[Column]:
        """The values of the next rows by column, of all that are left without a ``size``; fewer at
        the end, and then no columns. Decimals, dates and times are text.
        """
        with self._mapped():
            return self._cursor.columns(size)

    def interrupt(self) -> None:
        """Stop whatever runs, from another thread; it may be asked for again and again."""
        self._asked_to_stop.set()
        operation, self._operation = self._operation, None
        if operation is None or not self._cancel_elsewhere(operation):
            return
        time.sleep(_CANCELLED_S)
        with self._stopping:
            if self._waited_for is operation:
                # The server has stopped it, and answers those who wait for it seconds later.
                self._is_stopped = True
                with contextlib.suppress(OSError):
                    self._socket.handle.shutdown(socket.SHUT_RDWR)

    def _cancel_elsewhere(self, operation: Any) -> bool:
        """Have a statement stopped over another connection: this one is in use, or is no more.

        True once the server says that it is.
        """
        with contextlib.suppress(PalimpsestError, DRIVER_ERROR, *LOST):
            other, _ = opened(self._server)
            try:
                asked = ttypes.TCancelOperationReq(operation)
                status = other.client.CancelOperation(asked).status.statusCode
            finally:
                other.close()
            return bool(status == ttypes.TStatusCode.SUCCESS_STATUS)
        return False

    def is_quiet(self) -> bool:
        """False where the server has said something unasked: good-bye, as a rule."""
        return is_quiet(self._socket.handle)

    def close(self) -> None:
        """Close the session."""
        self.is_usable = False
        try:
            with contextlib.suppress(DRIVER_ERROR, *LOST):
                # A server whose metastore hangs would never answer.
                self._socket.setTimeout(_CLOSE_S * 1000)
                if self._talks:
                    self._connection.close()
        finally:
            # Where the server is gone the driver leaves its end open.
            self._connection._transport.close()


def pulse_of(server: Server) -> Pulse:
    """What asks a server's metastore over a connection of its own, for those who wait."""
    limit_s = server.answer_timeout_s

    def ask() -> bool:
        try:
            session, _ = opened(replace(server, connect_timeout_s=limit_s))
        except PalimpsestError as error:
            # A server that refuses, or is gone, does not stand still.
            return error.__cause__ is None or not is_silence(error.__cause__)
        with contextlib.suppress(DRIVER_ERROR, *LOST):
            session.close()
        return True

    return Pulse(ask, limit_s, EVERY_S)
