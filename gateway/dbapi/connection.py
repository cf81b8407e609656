"""PEP 249 connections.

Threads may share one (threadsafety 2): its statements and fetches take turns; ``cancel`` alone
does not wait. A connection belongs to the process that opened it and refuses to work in a fork.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from gateway import errors
from gateway.config import Settings
from gateway.dbapi import reaper
from gateway.dbapi.cursor import Cursor
from gateway.errors import mapping
from gateway.opening.sessions import open_session
from gateway.session.client_session import ClientSession
from gateway.sharing.remote_session import RemoteSession
from journal.model.errors import Code, PalimpsestError

if TYPE_CHECKING:
    from gateway.session.session import Session


class Connection:
    """A connection to a store: one session, any number of cursors; ``gateway.connect`` makes one.

    As a context manager it commits at the end of the block, or rolls back after an error, and
    closes. Every method raises ``gateway.Error`` or a class below it.

    >>> import gateway
    >>> with gateway.connect("palimpsest://") as connection:
    ...     _ = connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    ...     connection.in_transaction
    True
    """

    Warning = errors.Warning
    Error = errors.Error
    InterfaceError = errors.InterfaceError
    DatabaseError = errors.DatabaseError
    DataError = errors.DataError
    OperationalError = errors.OperationalError
    IntegrityError = errors.IntegrityError
    InternalError = errors.InternalError
    ProgrammingError = errors.ProgrammingError
    NotSupportedError = errors.NotSupportedError

    def __init__(
        self,
        url: str,
        *,
        dialect: str,
        autocommit: bool,
        user: str | None,
        application: str | None,
        settings: Settings,
        short: bool = False,
    ) -> None:
        self.lock = threading.RLock()
        self._closed = False
        self.process = os.getpid()
        self._cursors: weakref.WeakSet[Cursor] = weakref.WeakSet()
        reaper.REAPER.start()
        with mapping():
            self._opened = open_session(
                url,
                dialect=dialect,
                autocommit=autocommit,
                user=user,
                application=application,
                settings=settings,
                short=short,
            )
            self._session = self._opened.session

    @property
    def closed(self) -> bool:
        """True after ``close``."""
        return self._closed

    @property
    def session(self) -> Session:
        """The session, where this process has the warehouse open; else raises NOT_SUPPORTED."""
        found = self.client_session
        if isinstance(found, RemoteSession):
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"another process has the warehouse {found.place} open; this call works in that"
                " process only",
                advice="do it in that process, or end that process first",
            )
        return cast("Session", found)

    @property
    def client_session(self) -> ClientSession:
        """The session; raises when the connection is closed or was opened by another process."""
        if self._closed:
            raise PalimpsestError(Code.CLOSED, "the connection is closed", advice="connect again")
        if self.process != os.getpid():
            raise PalimpsestError(
                Code.INTERFACE,
                f"the connection belongs to process {self.process}, this is {os.getpid()}",
                advice="connect after forking, or start processes with spawn",
            )
        return self._session

    @property
    def autocommit(self) -> bool:
        """Whether each statement commits by itself.

        Setting it inside a transaction raises ``OperationalError`` (PAL-405).
        """
        return self._session.autocommit

    @autocommit.setter
    def autocommit(self, value: bool) -> None:
        with mapping(), self.lock:
            if self.client_session.in_transaction:
                raise PalimpsestError(
                    Code.ACTIVE_TRANSACTION,
                    "autocommit cannot change inside a transaction",
                    advice="commit or roll back first",
                )
            self.client_session.autocommit = bool(value)

    @property
    def in_transaction(self) -> bool:
        """True while a transaction is open or failed."""
        return self._session.in_transaction

    @contextmanager
    def reading_as_of(self, point: object) -> Iterator[Connection]:
        """Let statements inside the block read the past, and refuse writes (25006).

        ``point`` is a datetime, a version number from ``system.transactions``, or the text of an
        expression, as in ``SET as_of``. For other values statements raise ``DataError`` (PAL-230).

        >>> import gateway
        >>> connection = gateway.connect("palimpsest://", autocommit=True)
        >>> _ = connection.execute("CREATE TABLE t AS SELECT 1 AS a")
        >>> versions = connection.execute("SELECT max(version) FROM system.transactions")
        >>> (before,) = versions.fetchone()
        >>> _ = connection.execute("UPDATE t SET a = 2")
        >>> with connection.reading_as_of(before):
        ...     connection.execute("SELECT a FROM t").fetchall()
        [(1,)]
        """
        with mapping(), self.lock:
            before = self.client_session.settings
            self.client_session.settings = before.with_setting("as_of", point)
        try:
            yield self
        finally:
            with self.lock:
                self._session.settings = self._session.settings.with_setting("as_of", before.as_of)

    def cursor(self) -> Cursor:
        """A new cursor; raises ``InterfaceError`` if the connection is closed (PAL-601)."""
        with mapping(), self.lock:
            self.client_session  # noqa: B018 - raises when closed
            cursor = Cursor(self)
            self._cursors.add(cursor)
            return cursor

    def execute(self, sql: str, parameters: Any = None) -> Cursor:
        """A new cursor on which the statement has run; see ``Cursor.execute``.

        >>> import gateway
        >>> gateway.connect("palimpsest://").execute("SELECT ? + 1 AS n", (41,)).fetchone()
        (42,)
        """
        return self.cursor().execute(sql, parameters)

    def executemany(self, sql: str, rows: Any) -> Cursor:
        """A new cursor on which the statement has run for each row; see ``Cursor.executemany``."""
        return self.cursor().executemany(sql, rows)

    def commit(self) -> None:
        """Commit the transaction, if there is one.

        Raises ``OperationalError`` with SQLSTATE 40001 if another transaction changed the same
        rows first: run the transaction again. A failed transaction raises PAL-402.
        """
        with mapping(), self.lock:
            self.client_session.commit()

    def rollback(self) -> None:
        """Roll back the transaction, if there is one."""
        with mapping(), self.lock:
            self.client_session.rollback()

    def cancel(self) -> None:
        """Stop the running statement, from another thread; it fails with SQLSTATE 57014.

        Does nothing if no statement runs.
        """
        with mapping():
            self.client_session.cancel()

    def close(self) -> None:
        """Stop the running statement, roll back, and close the connection and its cursors.

        A second call does nothing.
        """
        if not self._closed and self.process == os.getpid():
            # Whoever runs a statement holds the lock.
            self._session.cancel()
        with self.lock:
            if self._closed:
                return
            self._closed = True
            if self.process != os.getpid():
                return
            for cursor in list(self._cursors):
                cursor.discard()
            with mapping():
                self._opened.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Commit, or roll back after an error, and close."""
        try:
            if self._closed:
                return
            if kind is None:
                self.commit()
            else:
                self.rollback()
        finally:
            self.close()

    def __del__(self) -> None:
        # A half-made connection has no session, and its warehouse was released already.
        if getattr(self, "_closed", True) or not hasattr(self, "_session"):
            return
        if self.process == os.getpid():
            reaper.REAPER.put(self._opened.close)
