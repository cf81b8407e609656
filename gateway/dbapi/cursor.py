"""PEP 249 cursors; rows are fetched from the store as they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from gateway.errors import mapping
from gateway.parameters import batch_table
from gateway.results import Outcome, Row
from journal.errors import Code, PalimpsestError
from rewriter.statement import SqlStatement

if TYPE_CHECKING:
    from gateway.dbapi.connection import Connection

Description = tuple[str, str, None, None, int | None, int | None, None]
_ITERATION_ROWS = 1024


class Cursor:
    """Runs statements of its connection and holds one result."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.arraysize = 1
        self._outcome = Outcome("NONE")
        self._ahead: list[Row] = []
        self._next = 0
        self._closed = False
        self.rownumber: int | None = None

    @property
    def rowcount(self) -> int:
        """Rows changed or returned; -1 while that is not known."""
        return self._outcome.row_count

    @property
    def description(self) -> list[Description] | None:
        """Name, type and, for decimals, precision and scale of each result column."""
        if self._outcome.columns is None:
            return None
        return [_described(c.name, c.type) for c in self._outcome.columns]

    @property
    def statusmessage(self) -> str:
        """The kind of statement that ran last."""
        return self._outcome.tag

    def execute(self, sql: str, parameters: Any = None) -> Cursor:
        """Run one or more statements; the result is that of the last one."""
        with mapping(), self.connection.lock:
            self._reset()
            self._take(self.connection.session.execute(sql, parameters))
        return self

    def executemany(self, sql: str, rows: Sequence[Any]) -> Cursor:
        """Run one statement for each row of parameters, as one transaction's work."""
        with mapping(), self.connection.lock:
            self._reset()
            session = self.connection.session
            parameter_rows = list(rows)
            if not parameter_rows:
                self._outcome = Outcome("EMPTY", 0)
                return self
            statements = session.parse(sql)
            if len(statements) != 1:
                raise PalimpsestError(
                    Code.INTERFACE, "executemany takes one statement", advice="call it for each"
                )
            parsed = statements[0]
            if _can_batch(parsed.statement):
                batch = batch_table(parsed, parameter_rows)
                if batch is not None:
                    self._take(session.run(parsed, None, batch))
                    return self
            self._take(session.run_each(parsed, parameter_rows))
        return self

    def callproc(self, name: str, parameters: Sequence[Any] = ()) -> Sequence[Any]:
        """CALL a procedure; its report is the result set."""
        marks = ", ".join("?" for _ in parameters)
        self.execute(f"CALL {name}({marks})", list(parameters))
        return parameters

    def fetchone(self) -> Row | None:
        """The next row, or None."""
        with mapping():
            rows = self._rows(1)
        return rows[0] if rows else None

    def fetchmany(self, size: int | None = None) -> list[Row]:
        """The next ``size`` rows (``arraysize`` by default)."""
        with mapping():
            return self._rows(self.arraysize if size is None else size)

    def fetchall(self) -> list[Row]:
        """All rows that are left."""
        with mapping():
            found: list[Row] = []
            while rows := self._rows(_ITERATION_ROWS * 16):
                found += rows
            return found

    def fetch_arrow(self) -> pa.Table:
        """All rows that are left, as an Arrow table."""
        with mapping():
            rows = self._result().rows
            assert rows is not None
            if self._next < len(self._ahead):
                raise PalimpsestError(
                    Code.INTERFACE,
                    "some rows were fetched one by one already",
                    advice="call fetch_arrow first, or use fetchmany throughout",
                )
            return rows.arrow()

    def fetch_df(self) -> Any:
        """All rows that are left, as a pandas DataFrame; needs the pandas extra."""
        return self.fetch_arrow().to_pandas()

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Nothing to do; types come from the values."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Nothing to do; values are never cut."""

    def nextset(self) -> None:
        """There is never another result set."""

    def close(self) -> None:
        """Let go of the result; closing twice is fine."""
        self._reset()
        self._closed = True

    def __iter__(self) -> Iterator[Row]:
        return self

    def __next__(self) -> Row:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    def __enter__(self) -> Cursor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _reset(self) -> None:
        if self._closed:
            raise PalimpsestError(Code.CLOSED, "the cursor is closed", advice="open another one")
        self._outcome.close()
        self._outcome = Outcome("NONE")
        self._ahead = []
        self._next = 0
        self.rownumber = None

    def _take(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self.rownumber = 0 if outcome.columns is not None else None

    def _result(self) -> Outcome:
        if self._closed:
            raise PalimpsestError(Code.CLOSED, "the cursor is closed", advice="open another one")
        self.connection.session  # noqa: B018 - raises when closed
        if self._outcome.rows is None:
            raise PalimpsestError(
                Code.NO_RESULT,
                "there is no result to fetch from",
                advice="execute a query, or a change with RETURNING, first",
            )
        return self._outcome

    def _rows(self, size: int) -> list[Row]:
        rows = self._result().rows
        assert rows is not None
        found = self._ahead[self._next : self._next + size]
        self._next += len(found)
        if len(found) < size:
            self._ahead = rows.take(max(size - len(found), _ITERATION_ROWS))
            self._next = size - len(found)
            found += self._ahead[: self._next]
            self._next = min(self._next, len(self._ahead))
        self.rownumber = (self.rownumber or 0) + len(found)
        return found


def _can_batch(statement: object) -> bool:
    if not isinstance(statement, SqlStatement) or statement.ast.key != "insert":
        return False
    values = statement.ast.expression
    simple = values is not None and values.key == "values" and len(values.expressions) == 1
    return simple and not statement.ast.args.get("conflict")


def _described(name: str, kind: str) -> Description:
    if kind.startswith("DECIMAL("):
        precision, scale = kind[8:-1].split(",")
        return (name, kind, None, None, int(precision), int(scale), None)
    return (name, kind, None, None, None, None, None)
