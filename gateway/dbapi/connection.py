"""PEP 249 connections."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any

from gateway import errors
from gateway.config import Settings
from gateway.dbapi.cursor import Cursor
from gateway.errors import mapping
from gateway.session import Session
from gateway.warehouses import WAREHOUSES, OpenWarehouse
from journal.errors import Code, PalimpsestError


class Connection:
    """A connection to a warehouse: one session, any number of cursors.

    Threads may share it; their statements take turns.
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
    ) -> None:
        self.lock = threading.RLock()
        self._closed = False
        with mapping():
            self._warehouse: OpenWarehouse = WAREHOUSES.acquire(url)
            try:
                self._session = Session(
                    self._warehouse.journal,
                    self._warehouse.executor,
                    dialect=dialect,
                    autocommit=autocommit,
                    user=user,
                    settings=settings
                    if application is None
                    else settings.changed("application", application),
                )
            except BaseException:
                WAREHOUSES.release(self._warehouse)
                raise

    @property
    def closed(self) -> bool:
        """True after ``close``."""
        return self._closed

    @property
    def session(self) -> Session:
        """The session; raises when the connection is closed."""
        if self._closed:
            raise PalimpsestError(Code.CLOSED, "the connection is closed", advice="connect again")
        return self._session

    @property
    def autocommit(self) -> bool:
        """Whether each statement commits by itself."""
        return self._session.autocommit

    @autocommit.setter
    def autocommit(self, value: bool) -> None:
        with mapping(), self.lock:
            if self.session.transaction is not None:
                raise PalimpsestError(
                    Code.ACTIVE_TRANSACTION,
                    "autocommit cannot change inside a transaction",
                    advice="commit or roll back first",
                )
            self.session.autocommit = value

    @property
    def in_transaction(self) -> bool:
        """True while a transaction is open or failed."""
        return self._session.transaction is not None

    def cursor(self) -> Cursor:
        """A new cursor."""
        with mapping():
            self.session  # noqa: B018 - raises when closed
        return Cursor(self)

    def execute(self, sql: str, parameters: Any = None) -> Cursor:
        """A new cursor on which the statement has run."""
        return self.cursor().execute(sql, parameters)

    def commit(self) -> None:
        """Commit the transaction, if there is one."""
        with mapping(), self.lock:
            self.session.commit()

    def rollback(self) -> None:
        """Roll back the transaction, if there is one."""
        with mapping(), self.lock:
            self.session.rollback()

    def cancel(self) -> None:
        """Stop the statement that runs, from another thread."""
        with mapping():
            self.session.cancel()

    def close(self) -> None:
        """Roll back and close; closing twice is fine."""
        with self.lock:
            if self._closed:
                return
            self._closed = True
            try:
                with mapping():
                    self._session.close()
            finally:
                WAREHOUSES.release(self._warehouse)

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
        if not getattr(self, "_closed", True) and hasattr(self, "_session"):
            self.close()
