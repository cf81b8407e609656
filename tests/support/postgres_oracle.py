"""PostgreSQL itself as the oracle: ordinary tables of a real server; never touches the product.

Where it takes what the gateway refuses, it answers as the gateway promises to: COMMIT of a failed
transaction is an error, as are BEGIN inside of a transaction and its end outside of one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import psycopg
from psycopg.abc import Buffer
from psycopg.pq import TransactionStatus
from psycopg.types.datetime import IntervalLoader
from psycopg.types.string import TextLoader

from tests.support.control import Control, parse_control
from tests.support.outcome import Count, Done, Failure, Outcome, Rows

UNREADABLE = "XX000"
"""The state of what the server did and the driver cannot read, such as a date before year 1."""
_YEARS = re.compile(rb"([+-]?\d+) years?")
_COUNTED = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE"})


class _MonthsOfThirtyDays(IntervalLoader):
    """Intervals as the gateway gives them to Python: of years, too, each month has thirty days."""

    def load(self, data: Buffer) -> timedelta:
        """The days and seconds of an interval's text."""
        years = _YEARS.search(bytes(data))
        more = int(years[1]) if years is not None else 0
        return super().load(data) - timedelta(days=5 * more)


class PlainSession:
    """One connection, which begins and ends transactions by statements."""

    def __init__(
        self, conninfo: str, *, json_texts: bool = False, prepared_from: int | None = None
    ) -> None:
        """Connect; with ``json_texts`` JSON comes as its text, as from the gateway.

        A statement is prepared once it was run as often as ``prepared_from`` says, or never.
        """
        self._connection: psycopg.Connection[Any] = psycopg.connect(
            conninfo, autocommit=True, prepare_threshold=prepared_from
        )
        for name in ("json", "jsonb") if json_texts else ():
            self._connection.adapters.register_loader(name, TextLoader)
        if json_texts:
            self._connection.adapters.register_loader("interval", _MonthsOfThirtyDays)

    @property
    def in_transaction(self) -> bool:
        """Say whether an explicit transaction is open, a failed one included."""
        return self._status is not TransactionStatus.IDLE

    def run(self, sql: str, values: Sequence[object] | None = None) -> Outcome:
        """Run one statement; without parameters a `?` is an operator."""
        control = parse_control(sql)
        outcome = None if control is None else self._stricter(control)
        if values is not None:
            sql = sql.replace("%", "%%").replace("?", "%s")
        return outcome or self._executed(sql, values)

    def copy_in(self, sql: str, rows: str) -> Outcome:
        """Run a COPY FROM STDIN with the rows that it reads."""
        try:
            with self._connection.cursor() as cursor, cursor.copy(sql.encode()) as copy:
                copy.write(rows)
        except psycopg.Error as error:
            return Failure(error.sqlstate or "XX000", str(error))
        return Done()

    def copy_out(self, sql: str) -> Outcome:
        """Run a COPY TO STDOUT; its text is the one value of the one row."""
        try:
            with self._connection.cursor() as cursor, cursor.copy(sql.encode()) as copy:
                text = b"".join(bytes(piece) for piece in copy).decode()
        except psycopg.Error as error:
            return Failure(error.sqlstate or "XX000", str(error))
        return Rows(("copy",), ((text,),))

    def refuse(self) -> None:
        """Fail the open transaction, if there is one."""
        if self.in_transaction:
            self._executed("SELECT 1 / 0")

    def close(self) -> None:
        """Close the connection; what is open is rolled back."""
        self._connection.close()

    @property
    def _status(self) -> TransactionStatus:
        return self._connection.info.transaction_status

    def _stricter(self, control: Control) -> Outcome | None:
        if control.kind == "begin" and self.in_transaction:
            self.refuse()
            return Failure("25001", "a transaction is already open")
        if control.kind != "begin" and not self.in_transaction:
            return Failure("25P01", "no transaction is open")
        if control.kind == "commit" and self._status is TransactionStatus.INERROR:
            self._executed("ROLLBACK")
            return Failure("25P02", "the transaction has failed")
        return None

    def _executed(self, sql: str, values: Sequence[object] | None = None) -> Outcome:
        try:
            done = self._connection.execute(sql.encode(), values)
            rows = () if done.description is None else tuple(done.fetchall())
        except psycopg.Error as error:
            return Failure(error.sqlstate or UNREADABLE, str(error))
        except RuntimeError as error:
            # The driver reads moments in the DateStyle ISO alone.
            return Failure(UNREADABLE, str(error))
        if done.description is not None:
            return Rows(tuple(column.name for column in done.description), rows)
        if (done.statusmessage or "").split(" ")[0] in _COUNTED:
            return Count(done.rowcount)
        return Done()


@dataclass(slots=True)
class PostgresOracle:
    """A database of a server, and the sessions on it."""

    conninfo: str
    name: str = "postgres"
    _sessions: dict[str, PlainSession] = field(init=False, default_factory=dict)

    def session(self, name: str) -> PlainSession:
        """Return the session of that name, opening it on first use."""
        if name not in self._sessions:
            self._sessions[name] = PlainSession(self.conninfo)
        return self._sessions[name]

    def end(self, name: str) -> None:
        """Close the session of that name."""
        found = self._sessions.pop(name, None)
        if found is not None:
            found.close()

    def mark(self, name: str) -> None:
        """Refuse: a plain table has no past."""
        raise AssertionError(f"{name}: PostgreSQL keeps no past")

    def marked(self, schema: str, table: str, mark: str) -> str:
        """Refuse: a plain table has no past."""
        raise AssertionError(f"{mark}: PostgreSQL keeps no past")

    def adopt(self, journal: str, name: str, key: tuple[str, ...]) -> Outcome:
        """Refuse: the oracle has tables, and no journals."""
        return Failure("0A000", f"{name} is no journal here")

    def flush(self) -> None:
        """Do nothing: there is nothing to seal."""

    def restart(self) -> None:
        """Close every session, as a restart does."""
        for name in list(self._sessions):
            self.end(name)

    def close(self) -> None:
        """Let go of the database."""
        self.restart()
