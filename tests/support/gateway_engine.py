"""The product as an engine: one warehouse, reached only through `gateway.connect`.

Flushing goes through a connection of its own, so that it also happens while a client's
transaction is open: maintenance never changes an answer, whenever it runs.
"""

import datetime
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

import psycopg

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.adopting import adopt
from journal.model.errors import PalimpsestError
from tests.support.away_session import Away, AwaySession
from tests.support.control import parse_control
from tests.support.engine import Session
from tests.support.outcome import Count, Done, Failure, Outcome, Rows


class GatewaySession:
    """One autocommit connection to the warehouse."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.in_transaction = False

    def run(self, sql: str, values: Sequence[object] | None = None) -> Outcome:
        """Run one statement."""
        control = parse_control(sql)
        try:
            outcome = self._execute(sql, values)
        except gateway.Error as error:
            if control is not None and control.kind == "commit":
                self.in_transaction = False
            return Failure(error.sqlstate, str(error))
        if control is not None and control.kind in ("begin", "commit", "rollback"):
            self.in_transaction = control.kind == "begin"
        return outcome

    def refuse(self) -> None:
        """Do nothing: a real refusal has already failed the transaction."""

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _execute(self, sql: str, values: Sequence[object] | None) -> Outcome:
        with self._connection.cursor() as cursor:
            cursor.execute(sql, values)
            if cursor.description is not None:
                columns = tuple(str(column[0]) for column in cursor.description)
                return Rows(columns, tuple(tuple(row) for row in cursor.fetchall()))
            return Count(cursor.rowcount) if cursor.rowcount >= 0 else Done()


class _Session(Session, Protocol):
    """A session that ends."""

    def close(self) -> None:
        """Let go of it."""
        ...


class GatewayEngine:
    """A warehouse, by directory or URL, and its sessions."""

    name = "gateway"

    def __init__(
        self, warehouse: Path | str, dialect: str = "duckdb", memory_rows: int | None = None
    ) -> None:
        url = warehouse if isinstance(warehouse, str) else f"palimpsest:///{warehouse.absolute()}"
        self.url = url
        if url.startswith("palimpsest+postgresql:"):
            self.name = "gateway+postgres"
        elif url.startswith("palimpsest+hive:"):
            self.name = "gateway+hive" if "held_rows" in url else "gateway+hive+spark"
        self._dialect = dialect
        self._memory_rows = memory_rows
        self._sessions: dict[str, _Session] = {}
        self._away = Away(partial(_opened, url, dialect, memory_rows))
        self._maintenance: Connection | None = None
        self._marks: dict[str, int] = {}

    def session(self, name: str) -> "_Session":
        """Return the session of that name, opening it on first use.

        It is another process's if the name ends in `!`.
        """
        if name not in self._sessions:
            self._sessions[name] = self._opened(name)
        return self._sessions[name]

    def end(self, name: str) -> None:
        """Close the session of that name."""
        session = self._sessions.pop(name, None)
        if session is not None:
            session.close()

    def mark(self, name: str) -> None:
        """Remember the version of the last commit under a name."""
        with self._maintaining().cursor() as cursor:
            cursor.execute("SELECT max(version) FROM system.transactions")
            self._marks[name] = int(cursor.fetchall()[0][0])

    def marked(self, schema: str, table: str, mark: str) -> str:
        """Return time travel to the version of a mark, or to its time."""
        version = self._marks[mark]
        if version % 2:
            return f"{schema}.{table} FOR SYSTEM_VERSION AS OF {version}"
        moment = datetime.datetime.fromtimestamp(version / 1e6, datetime.UTC)
        return f"{schema}.{table} FOR SYSTEM_TIME AS OF TIMESTAMPTZ '{moment}'"

    def adopt(self, journal: str, name: str, key: tuple[str, ...]) -> Outcome:
        """Create a classic journal past the gateway, and adopt it as the table of that name."""
        names = ("_journal", "version_number", "subsequent_version_number")
        with psycopg.connect(self.url.removeprefix("palimpsest+"), autocommit=True) as past:
            past.execute(journal)
        try:
            adopt(self._maintaining().session, name, key, names, run=True)
        except PalimpsestError as error:
            return Failure(error.sqlstate, str(error))
        return Done()

    def flush(self, *tables: str) -> None:
        """Seal the heads of the given tables, or of all tables; in a database, compact them."""
        procedure = "compact" if self.name.endswith("postgres") else "flush"
        with self._maintaining().cursor() as cursor:
            if not tables:
                cursor.execute(f"CALL system.{procedure}()")
            for table in tables:
                cursor.execute(f"CALL system.{procedure}(?)", [table])

    def restart(self) -> None:
        """Close every connection, and thereby the warehouse; it opens again on next use."""
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()
        if self._maintenance is not None:
            self._maintenance.close()
            self._maintenance = None

    def close(self) -> None:
        """Let go of the warehouse."""
        self.restart()
        self._away.end()

    def _maintaining(self) -> Connection:
        if self._maintenance is None:
            self._maintenance = self._connect()
        return self._maintenance

    def _opened(self, name: str) -> "_Session":
        if name.endswith("!"):
            return AwaySession(self._away, name)
        return GatewaySession(self._connect())

    def _connect(self) -> Connection:
        return _connected(self.url, self._dialect, self._memory_rows)


def _connected(url: str, dialect: str, memory_rows: int | None) -> Connection:
    connection = gateway.connect(url, dialect=dialect, autocommit=True)
    if memory_rows is not None:
        connection.execute(f"SET memory_rows = {memory_rows}").close()
    return connection


def _opened(url: str, dialect: str, memory_rows: int | None) -> GatewaySession:
    return GatewaySession(_connected(url, dialect, memory_rows))
