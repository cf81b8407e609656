"""PEP 249 cursors; rows are fetched from the store as they are asked for."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from gateway.dbapi import reaper
from gateway.errors import Warning as Notice
from gateway.errors import mapping
from gateway.session.outcome import ResultRows, Row, StatementOutcome
from journal.model.errors import Code, PalimpsestError

if TYPE_CHECKING:
    import pyarrow as pa

    from gateway.dbapi.connection import Connection
    from gateway.dbapi.copying import Copy
    from gateway.session.client_session import ClientSession

Description = tuple[str, str, None, None, int | None, int | None, None]
_ITERATION_ROWS = 1024
_UNKNOWN = -1
"""PEP 249's count of rows that nobody has counted."""


class Cursor:
    """Runs statements of its connection and holds one result.

    You can fetch a result after the COMMIT or ROLLBACK of its transaction. A loop over the cursor
    reads rows in chunks. Methods of a closed cursor raise ``InterfaceError`` (PAL-601).

    >>> import gateway
    >>> cursor = gateway.connect("palimpsest://").cursor()
    >>> [n for (n,) in cursor.execute("SELECT x FROM range(3) AS r(x)")]
    [0, 1, 2]
    """

    lastrowid = None
    """PEP 249 has it for databases with row ids; use RETURNING."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.arraysize = 1
        self.rownumber: int | None = None
        """Index of the row that the next fetch gives; None without a result."""
        self._outcome = StatementOutcome("NONE")
        self._ahead: list[Row] = []
        self._next = 0
        self._closed = False

    @property
    def closed(self) -> bool:
        """True after ``close`` of the cursor or its connection."""
        return self._closed

    @property
    def rowcount(self) -> int:
        """Rows changed or returned by the last statement; -1 while that is not known.

        Of a query it is known when its last row was fetched, or when its rows are in memory.
        """
        return self._outcome.row_count

    @property
    def skipped(self) -> int:
        """Rows that a bulk load left out because they were erased; see ``suppressed_rows``."""
        return self._outcome.skipped

    @property
    def rejected(self) -> int:
        """Rows of a file that a COPY with ON_ERROR ignore left out, as no column took a value."""
        return self._outcome.rejected

    @property
    def description(self) -> list[Description] | None:
        """Seven values for each result column as in PEP 249; None without a result.

        Filled are the name, the SQL type and, for decimals, precision and scale.

        >>> import gateway
        >>> cursor = gateway.connect("palimpsest://").execute("SELECT 1.50 AS price")
        >>> cursor.description
        [('price', 'DECIMAL(3,2)', None, None, 3, 2, None)]
        """
        if self._outcome.columns is None:
            return None
        return [_column_description(c.name, c.type) for c in self._outcome.columns]

    @property
    def messages(self) -> list[tuple[type[Exception], str]]:
        """What the last call was told beside its result, as in PEP 249: pairs with ``Warning``."""
        return [(Notice, notice) for notice in self._outcome.notices]

    @property
    def statusmessage(self) -> str:
        """The kind of statement that ran last, such as ``INSERT``."""
        return self._outcome.tag

    def execute(self, sql: str, parameters: Any = None) -> Cursor:
        """Run one or more statements and return the cursor; its result is that of the last one.

        ``sql`` is text, statements separated by semicolons. ``parameters`` is a sequence for ``?``,
        ``%s`` and ``$1``, or a mapping for ``:name``, ``%(name)s`` and ``$name``.

        Raises ``ProgrammingError`` for wrong SQL or names that do not exist, ``NotSupportedError``
        for SQL that the gateway does not take, ``IntegrityError`` for a violated constraint, and
        ``OperationalError`` with SQLSTATE 40001 if another transaction changed a row first.

        >>> import gateway
        >>> cursor = gateway.connect("palimpsest://").cursor()
        >>> cursor.execute("SELECT :name || '!' AS greeting", {"name": "Ada"}).fetchone()
        ('Ada!',)
        """
        with mapping(), self.connection.lock:
            self._reset()
            session = self.connection.client_session
            with session.cancellation.running():
                self._take(session.execute(_checked_text(sql), parameters))
        return self

    def executemany(self, sql: str, rows: Iterable[Any]) -> Cursor:
        """Run one statement for each row of parameters, all of them or none; return the cursor.

        ``rows`` is an iterable of sequences or of mappings. With RETURNING, the result holds what
        each row gave, one after the other. Raises ``InterfaceError`` for a query or several
        statements (PAL-605), otherwise what ``execute`` raises.

        >>> import gateway
        >>> cursor = gateway.connect("palimpsest://").cursor()
        >>> _ = cursor.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
        >>> cursor.executemany("INSERT INTO t VALUES (?, ?)", [(1, "x"), (2, "y")]).rowcount
        2
        """
        with mapping(), self.connection.lock:
            self._reset()
            session = self.connection.client_session
            self._take(session.execute_many(_checked_text(sql), _row_list(rows)))
        return self

    def copy(self, sql: str) -> Copy:
        """A COPY .. FROM STDIN or TO STDOUT, as a context manager to write to or read from.

        Formats are text, which it is unless you say another, and csv, as in PostgreSQL. The rows of
        a COPY FROM are loaded at the block's end, all or none; an error in the block loads nothing.
        Raises ``InterfaceError`` for other statements (PAL-605), otherwise what ``execute`` raises.
        """
        from gateway.dbapi.copying import Copy

        with mapping(), self.connection.lock:
            self._reset()
        return Copy(self, sql)

    def take_outcome(self, outcome: StatementOutcome) -> None:
        """Hold the result of a statement that was run for this cursor."""
        self._take(outcome)

    def callproc(self, procname: str, parameters: Sequence[Any] = ()) -> Sequence[Any]:
        """CALL a procedure with positional parameters, and return these unchanged.

        The procedure's report is the result set. Raises ``ProgrammingError`` for an unknown
        procedure or argument.
        """
        values = list(parameters)
        marks = ", ".join("?" for _ in values)
        self.execute(f"CALL {procname}({marks})", values)
        return values

    def fetchone(self) -> Row | None:
        """The next row, or None; raises ``InterfaceError`` without a result (PAL-602)."""
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    def fetchmany(self, size: int | None = None) -> list[Row]:
        """The next ``size`` rows (``arraysize`` unless given), fewer at the end of the result.

        Raises ``InterfaceError`` without a result (PAL-602).
        """
        with mapping(), self.connection.lock:
            return self._rows(self.arraysize if size is None else size)

    def fetchall(self) -> list[Row]:
        """All remaining rows as a list; raises ``InterfaceError`` without a result (PAL-602)."""
        with mapping(), self.connection.lock:
            size = _ITERATION_ROWS * 16
            found = rows = self._rows(size)
            while len(rows) == size:
                rows = self._rows(size)
                found += rows
            return found

    def fetch_arrow(self) -> pa.Table:
        """All remaining rows as an Arrow table.

        Raises ``InterfaceError`` (PAL-605) after a fetch that has left rows at hand: call it first.

        >>> import gateway
        >>> cursor = gateway.connect("palimpsest://").execute("SELECT 1 AS a, 'x' AS b")
        >>> cursor.fetch_arrow().to_pylist()
        [{'a': 1, 'b': 'x'}]
        """
        with mapping(), self.connection.lock:
            rows = self._all_rows()
            with self.connection.client_session.fetching(rows):
                table = rows.arrow()
            self.rownumber = (self.rownumber or 0) + table.num_rows
            self._note_end(self.rownumber)
            return table

    def fetch_record_batches(self, rows: int = 1 << 16) -> Iterator[pa.RecordBatch]:
        """All rows that are left, in Arrow batches of about ``rows``, each fetched when asked for.

        At least one batch comes, so that the schema is known.
        """
        with mapping(), self.connection.lock:
            source = self._all_rows()
            batches = source.batches(rows)
        while True:
            with mapping(), self.connection.lock, self.connection.client_session.fetching(source):
                batch = next(batches, None)
            if batch is None:
                self._note_end(self.rownumber or 0)
                return
            self.rownumber = (self.rownumber or 0) + batch.num_rows
            yield batch

    def fetch_df(self) -> Any:
        """All remaining rows as a pandas DataFrame.

        Raises ``OperationalError`` (PAL-604) if pandas is not installed.
        """
        with mapping():
            if importlib.util.find_spec("pandas") is None:
                raise PalimpsestError(
                    Code.DRIVER_MISSING,
                    "fetch_df needs pandas, which is not installed",
                    advice="pip install 'palimpsest-gateway[pandas]', or use fetch_arrow",
                )
        return self.fetch_arrow().to_pandas()

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Nothing to do; types come from the values."""
        self._check_open()

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Nothing to do; values are never cut."""
        self._check_open()

    def nextset(self) -> None:
        """There is never another result set."""
        self._check_open()

    def close(self) -> None:
        """Release the result; a second call does nothing."""
        with mapping(), self.connection.lock:
            self.discard()

    def discard(self) -> None:
        """What ``close`` does, for the connection that closes all its cursors."""
        self._closed = True
        self._forget()

    def __iter__(self) -> Iterator[Row]:
        return self

    def __next__(self) -> Row:
        # The rows at hand are given out without ceremony: this is the loop over millions of them.
        place = self._next
        if place < len(self._ahead) and self.rownumber is not None:
            self._next = place + 1
            self.rownumber += 1
            return self._ahead[place]
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

    def __del__(self) -> None:
        outcome = getattr(self, "_outcome", None)
        if outcome is not None and outcome.rows is not None and outcome.rows.is_held:
            if self.connection.process == os.getpid():
                reaper.REAPER.put(outcome.close)

    def _check_open(self) -> None:
        with mapping():
            self._open_session()

    def _open_session(self) -> ClientSession:
        session = self.connection.client_session
        if self._closed:
            raise PalimpsestError(Code.CLOSED, "the cursor is closed", advice="open another one")
        return session

    def _reset(self) -> None:
        self._open_session()
        self._forget()

    def _forget(self) -> None:
        self._outcome.close()
        self._outcome = StatementOutcome("NONE")
        self._ahead = []
        self._next = 0
        self.rownumber = None

    def _take(self, outcome: StatementOutcome) -> None:
        self._outcome = outcome
        self.rownumber = 0 if outcome.columns is not None else None

    def _result(self) -> StatementOutcome:
        self._open_session()
        if self._outcome.rows is None:
            raise PalimpsestError(
                Code.NO_RESULT,
                "there is no result to fetch from",
                advice="execute a query, or a change with RETURNING, first",
            )
        return self._outcome

    def _all_rows(self) -> ResultRows:
        """The rows of the result; raises INTERFACE if some are in hand already."""
        rows = self._result().rows
        assert rows is not None
        if self._next < len(self._ahead):
            raise PalimpsestError(
                Code.INTERFACE,
                "some rows were fetched one by one already",
                advice="call fetch_arrow first, or use fetchmany throughout",
            )
        return rows

    def _rows(self, size: int) -> list[Row]:
        rows = self._result().rows
        assert rows is not None
        if size < 0:
            raise PalimpsestError(
                Code.INTERFACE, f"{size} rows cannot be fetched", advice="give 0 or more"
            )
        found = self._ahead[self._next : self._next + size]
        self._next += len(found)
        if len(found) < size:
            wanted = max(size - len(found), _ITERATION_ROWS)
            self._ahead = self._take_rows(rows, wanted)
            if len(self._ahead) < wanted:
                self._note_end((self.rownumber or 0) + len(found) + len(self._ahead))
            self._next = min(size - len(found), len(self._ahead))
            found += self._ahead[: self._next]
        self.rownumber = (self.rownumber or 0) + len(found)
        return found

    def _take_rows(self, rows: ResultRows, size: int) -> list[Row]:
        """The next rows of a result; nobody works for those that have all come already."""
        if not rows.is_held:
            return rows.take(size)
        with self.connection.client_session.fetching(rows):
            return rows.take(size)

    def _note_end(self, count: int) -> None:
        """Know the count of a query whose last row was fetched; of changed rows it was known."""
        if self._outcome.row_count == _UNKNOWN:
            self._outcome.row_count = count


def _checked_text(sql: object) -> str:
    if not isinstance(sql, str):
        raise PalimpsestError(
            Code.INTERFACE,
            f"a statement is text, not {type(sql).__name__}",
            advice="pass a str",
        )
    if not sql.isascii():
        # Halves of surrogate pairs are no text: this raises UnicodeEncodeError for them.
        sql.encode()
    return sql


def _row_list(rows: object) -> list[Any]:
    if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
        raise PalimpsestError(
            Code.PARAMETERS,
            f"executemany takes one sequence of parameters per row, not {type(rows).__name__}",
            advice="give a list of tuples or of mappings",
        )
    return list(rows)


def _column_description(name: str, kind: str) -> Description:
    if kind.startswith("DECIMAL(") and kind.endswith(")"):
        precision, scale = kind[8:-1].split(",")
        return (name, kind, None, None, int(precision), int(scale), None)
    return (name, kind, None, None, None, None, None)
