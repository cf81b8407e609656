"""HiveServer2 and Spark's Thrift Server: connections that run text and give back columns.

A connection is used by one thread at a time; only ``interrupt`` may come from another. Nobody waits
for ever for a server that answers nothing. What the text means is decided above it.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from sqlglot import exp
from TCLIService import ttypes

from journal.files.tcp_keepalive import is_quiet
from journal.model.errors import Code, PalimpsestError
from journal.model.store_session import Parameters
from journal.stores.hive.cursor import (
    CallRefused,
    Column,
    HiveCursor,
    plain_values,
    told_type,
    type_name,
)
from journal.stores.hive.engine import HiveEngine
from journal.stores.hive.errors import cancelled, lost, still, stopped, translate
from journal.stores.hive.liveness import EVERY_S, Pulse
from journal.stores.hive.login import Server
from journal.stores.hive.opening import DRIVER_ERROR, LOST, gone, is_silence, opened, set_patience
from journal.stores.hive.shown import partitions_text, refresh_text, tables_text
from journal.stores.hive.text import rendered

Row = tuple[Any, ...]
_PAUSES_S = (0.002, 0.005, 0.01, 0.02, 0.05)
_RUNNING = {
    ttypes.TOperationState.INITIALIZED_STATE,
    ttypes.TOperationState.PENDING_STATE,
    ttypes.TOperationState.RUNNING_STATE,
}
_IDLE_MAX = 8
_CHECK_AFTER_S = 30.0
_CLOSE_S = 10.0
_POLL_S = 5.0
"""So long a server keeps the question how far a statement is before it says that it still runs."""


class HiveConnection:
    """One session of the server."""

    def __init__(self, server: Server, pulse: Pulse | None = None) -> None:
        self._server = server
        self._pulse = pulse or pulse_of(server)
        self._operation: Any = None
        self._asked_to_stop = threading.Event()
        self.zone = "UTC"
        self.used_at = time.monotonic()
        self.is_usable = True
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
        return HiveEngine.named(found.infoValue.stringValue or "")

    @contextlib.contextmanager
    def _mapped(self) -> Iterator[None]:
        try:
            yield
        except CallRefused as error:
            raise self._told(error) from error
        except LOST as error:
            self.is_usable = False
            raise gone(error, self._patience_s) from error

    def _told(self, error: CallRefused) -> PalimpsestError:
        if self._asked_to_stop.is_set():
            return cancelled()
        said = str(error)
        if "Invalid SessionHandle" in said:
            self.is_usable = False
            return lost(said)
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
            self._operation = operation = self._cursor.operation
            try:
                told = self._asked(beside)
                self._wait()
            except LOST:
                # A server that lost its client may run a statement to its end, for nobody.
                threading.Thread(
                    target=self._cancel_elsewhere, args=(operation,), daemon=True
                ).start()
                raise
            finally:
                self._operation = None
        if isinstance(told, PalimpsestError):
            raise told
        return told

    def _asked(self, beside: Sequence[str]) -> list[list[Row]] | PalimpsestError:
        """The rows of short statements; what they fail with is told after the longer one's."""
        found: list[list[Row]] = []
        for sql in beside:
            cursor = self._new_cursor()
            try:
                cursor.execute(sql, waits=True)
                found.append(list(zip(*cursor.columns(), strict=True)))
            except CallRefused as error:
                return self._told(error)
            finally:
                with contextlib.suppress(CallRefused):
                    cursor.close()
        return found

    def aside(self, sql: str) -> list[Row]:
        """The rows of a short statement; those of the one executed last are left to be fetched."""
        with self._mapped():
            told = self._asked([sql])
        if isinstance(told, PalimpsestError):
            raise told
        return told[0]

    def text(self, tree: exp.Expr, parameters: Parameters | None = None) -> str:
        """What the server is told for a tree."""
        return rendered(tree, parameters, self.engine)

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
                raise still(self._server.answer_timeout_s)
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

    def fetch_all(self) -> list[Row]:
        """All rows that are left."""
        kinds = [kind for _, kind in self.described()]
        columns = zip(kinds, self.columns(), strict=False)
        return list(zip(*(plain_values(kind, values) for kind, values in columns), strict=True))

    def run(self, statement: str | exp.Expr, parameters: Parameters | None = None) -> list[Row]:
        """Run a statement and hold its rows."""
        self.execute(statement, parameters)
        return self.fetch_all()

    def purge(self, drop: exp.Expr) -> None:
        """Run a DROP so that files go at once, and not to the file system's trash."""
        self.execute(f"{self.text(drop)} PURGE")

    def has_relation(self, database: str, name: str) -> bool:
        """True if a database has a table or view of that name."""
        return name in self.tables_of(database, name)

    def tables_of(self, database: str, like: str = "*") -> list[str]:
        """The tables and views of a database; none where there is no such database."""
        # Spark and Hive mean different patterns, so what is found is looked through here.
        try:
            rows = self.run(tables_text(database))
        except PalimpsestError as error:
            if error.code is not Code.UNKNOWN_SCHEMA:
                raise
            return []
        place = 0 if self.engine is HiveEngine.APACHE else 1
        return [name for row in rows if fnmatchcase(name := str(row[place]), like)]

    def partitions_of(self, database: str, table: str) -> list[str]:
        """The values of a table's first partition column."""
        rows = self.run(partitions_text(database, table))
        first = [str(row[0]).partition("/")[0] for row in rows]
        return [name.partition("=")[2] for name in dict.fromkeys(first)]

    def refresh(self, database: str, table: str) -> None:
        """Have the session list a table's files anew; Hive itself does so with every query."""
        if self.engine is HiveEngine.SPARK:
            self.aside(refresh_text(database, table))

    def interrupt(self) -> None:
        """Stop whatever runs, from another thread; it may be asked for again and again."""
        self._asked_to_stop.set()
        operation, self._operation = self._operation, None
        if operation is not None:
            self._cancel_elsewhere(operation)

    def _cancel_elsewhere(self, operation: Any) -> None:
        """Have a statement stopped over another connection: this one is in use, or is no more."""
        with contextlib.suppress(PalimpsestError, DRIVER_ERROR, *LOST):
            other, _ = opened(self._server)
            try:
                other.client.CancelOperation(ttypes.TCancelOperationReq(operation))
            finally:
                other.close()

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


class HiveStore:
    """A server, and the connections of this process that are idle; thread-safe."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._pulse = pulse_of(server)
        self._idle: list[HiveConnection] = []
        self._engine: HiveEngine | None = None
        self._lock = threading.Lock()
        self._closed = False

    @property
    def engine(self) -> HiveEngine:
        """Which program answers; asked for once."""
        if self._engine is None:
            with self.connection() as connection:
                self._engine = connection.engine
        return self._engine

    def text(self, tree: exp.Expr, parameters: Parameters | None = None) -> str:
        """What the server is told for a tree."""
        return rendered(tree, parameters, self.engine)

    def acquire(self) -> HiveConnection:
        """A connection for one thread; give it back with ``release``."""
        while True:
            with self._lock:
                found = self._idle.pop() if self._idle else None
            if found is None:
                return HiveConnection(self.server, self._pulse)
            if time.monotonic() - found.used_at < _CHECK_AFTER_S and found.is_quiet():
                return found
            try:
                found.run("SELECT 1")
            except PalimpsestError:
                found.close()
                continue
            return found

    def release(self, connection: HiveConnection) -> None:
        """Take a connection back."""
        connection.used_at = time.monotonic()
        with self._lock:
            if connection.is_usable and not self._closed and len(self._idle) < _IDLE_MAX:
                self._idle.append(connection)
                return
        connection.close()

    @contextlib.contextmanager
    def connection(self) -> Iterator[HiveConnection]:
        """A connection for a while."""
        found = self.acquire()
        try:
            yield found
        finally:
            self.release(found)

    def forget_idle(self) -> None:
        """Close what is idle: after one connection was lost the others are suspect."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def close(self) -> None:
        """Close every idle connection."""
        self._closed = True
        self.forget_idle()
