"""A server behind HiveServer2's protocol, and the idle connections of this process to it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from sqlglot import exp

from journal.model.errors import PalimpsestError
from journal.model.store_session import Parameters
from journal.stores.hive.client.connection import HiveConnection as HiveConnection
from journal.stores.hive.client.login import Server
from journal.stores.hive.client.thrift_connection import ThriftConnection, pulse_of
from journal.stores.hive.dialect.text import rendered
from journal.stores.hive.engine import HiveEngine

_IDLE_MAX = 8
_CHECK_AFTER_S = 30.0


class HiveStore:
    """A server, and the connections of this process that are idle; thread-safe."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._pulse = pulse_of(server)
        self._idle: list[HiveConnection] = []
        self._engine: HiveEngine | None = None
        self._lock = threading.Lock()
        self._closed = False
        self._elsewhere: ContextVar[Callable[[], HiveConnection] | None] = ContextVar(
            "palimpsest_connections", default=None
        )

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
        elsewhere = self._elsewhere.get()
        if elsewhere is not None:
            return elsewhere()
        while True:
            with self._lock:
                found = self._idle.pop() if self._idle else None
            if found is None:
                return ThriftConnection(self.server, self._pulse)
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
        if not isinstance(connection, ThriftConnection):
            connection.close()
            return
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

    @contextlib.contextmanager
    def connecting_with(self, connect: Callable[[], HiveConnection]) -> Iterator[None]:
        """Have what this thread runs in the block run on connections that ``connect`` makes."""
        token = self._elsewhere.set(connect)
        try:
            yield
        finally:
            self._elsewhere.reset(token)

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
