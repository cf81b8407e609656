"""The embedded store's DuckDB database file: opened, its idle sessions kept, closed.

What a session does is ``duckdb``'s; this module never runs a client's query.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb

from journal.stores.duckdb import DuckDBSession
from journal.stores.duckdb_errors import mapped, open_error

_IDLE_SESSIONS_MAX = 64
_IDLE_POLL_S = 0.01


Reopen = Callable[[Callable[[Path], None]], DuckDBSession]


class DuckDBStore:
    """An open DuckDB database file and its idle sessions."""

    def __init__(self, file: Path, settings: Mapping[str, str]) -> None:
        config: dict[str, Any] = {
            "immediate_transaction_mode": True,
            "autoinstall_known_extensions": False,
            "arrow_lossless_conversion": True,
            **settings,
        }
        self._file = file
        self._config = config
        self._idle: list[DuckDBSession] = []
        self._sessions: weakref.WeakSet[DuckDBSession] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._root = self._connect()

    def _connect(self) -> duckdb.DuckDBPyConnection:
        try:
            connection = duckdb.connect(str(self._file), config=self._config)
        except duckdb.Error as error:
            raise open_error(self._file, error) from error
        with mapped():
            # Not accepted as connection configuration, because parquet loads later.
            connection.execute("SET GLOBAL parquet_metadata_cache = true")
        return connection

    def is_broken(self) -> bool:
        """True when DuckDB refuses to go on before it is opened again, say after a full disk."""
        with self._lock:
            try:
                self._root.execute("SELECT 1").fetchall()
            except (duckdb.FatalException, duckdb.ConnectionException):
                return True
            return False

    def reopen(self) -> None:
        """Close everything and open the file again; sessions in use elsewhere are lost."""
        with self._lock:
            self._idle.clear()
            for session in list(self._sessions):
                session.close()
            self._sessions.clear()
            self._root.close()
            self._root = self._connect()

    def acquire(self) -> DuckDBSession:
        """A session for one thread; give it back with ``release``."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
            with mapped():
                session = DuckDBSession(self._root.cursor(), self._file.parent)
            self._sessions.add(session)
            return session

    def release(self, session: DuckDBSession) -> None:
        """Take a session back; it has no open transaction."""
        with suppress(duckdb.Error):
            session.use_zone(None)
        with self._lock:
            if session in self._sessions and len(self._idle) < _IDLE_SESSIONS_MAX:
                self._idle.append(session)
                return
            self._sessions.discard(session)
        session.close()

    def when_idle(self, action: Callable[[Path, Reopen], None], wait_s: float) -> bool:
        """Do something while no session is in use and none can be had; False if that never was.

        ``action`` is given the file, and a function that closes it, lets another write it anew, and
        gives a session on the new file.
        """
        until = time.monotonic() + wait_s
        while True:
            with self._lock:
                if all(session in self._idle for session in self._sessions):
                    action(self._file, self._rewritten)
                    return True
            if time.monotonic() >= until:
                return False
            time.sleep(_IDLE_POLL_S)

    def _rewritten(self, write: Callable[[Path], None]) -> DuckDBSession:
        for session in self._idle:
            session.close()
        self._idle.clear()
        self._sessions.clear()
        self._root.close()
        try:
            write(self._file)
        finally:
            self._root = self._connect()
        session = DuckDBSession(self._root.cursor(), self._file.parent)
        self._sessions.add(session)
        self._idle.append(session)
        return session

    def close(self) -> None:
        """Close every connection; the database file is checkpointed."""
        with self._lock:
            # A result that nobody read to the end still holds its session.
            for session in list(self._sessions):
                session.close()
            self._idle.clear()
            self._root.close()
