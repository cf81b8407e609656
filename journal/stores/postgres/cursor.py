"""A cursor whose rows come from the server in chunks, each converted in one go.

The client library's own ``stream`` gives the rows of a chunk one by one, which costs a scan more
than a tenth of its time. Nothing here knows what the rows mean.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import timedelta
from functools import lru_cache
from types import TracebackType
from typing import Any

import psycopg
import pyarrow as pa
from psycopg.abc import Buffer, PQGen
from psycopg.adapt import Loader, Transformer
from psycopg.errors import error_from_result
from psycopg.generators import execute, fetch
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult

from journal.files.tcp_keepalive import is_quiet
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.stores.postgres.dialect.types import NUMERIC, WHOLE
from journal.stores.postgres.errors import translate
from journal.stores.postgres.far_moments import FarContext
from journal.stores.postgres.pipeline_cursor import CHUNK_ROWS, FirstRow, PipelineCursor, first_row

BEGIN_STATEMENT = "BEGIN ISOLATION LEVEL REPEATABLE READ"

_INTERVALS = (1186, 1187)
"""The types of intervals, and of lists of them."""
_MONTH_DAYS = 30
_INTERVAL = re.compile(
    r"(?:([-+]?\d+) years? ?)?(?:([-+]?\d+) mons? ?)?(?:([-+]?\d+) days? ?)?"
    r"(?:([-+])?(\d+):(\d\d):(\d\d)(?:\.(\d+))?)?"
)

Rows = list[tuple[Any, ...]]
Output = tuple[str, int, int]
"""Name, type and modifier of a result column."""


@dataclass(frozen=True, slots=True)
class Alone:
    """What a query in a transaction of its own assumes: ``holds`` is given the row of ``state``.

    That is constant SQL, which is run after the query: since states only follow one another, the
    query has seen none but the one that is the last still.
    """

    state: str
    holds: Callable[[FirstRow], bool]


SPENT = Alone("", lambda _: False)
"""Stands for that of a session whose one query has been run."""


class _Mapped:
    """See ``mapped``; as a generator, each statement would take longer."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, psycopg.Error):
            raise translated(error) from error


_MAPPED = _Mapped()


def mapped() -> AbstractContextManager[None]:
    """Errors of the client library as errors of the project."""
    return _MAPPED


def translated(error: psycopg.Error) -> PalimpsestError:
    """The project's error for one of the client library."""
    state = error.sqlstate
    if state is None and isinstance(error, psycopg.DataError | psycopg.ProgrammingError):
        return PalimpsestError(Code.DATA, str(error), advice="check the values of the parameters")
    message = error.diag.message_primary or str(error)
    return translate(state, message, hint=error.diag.message_hint)


class ChunkCursor(PipelineCursor):
    """A cursor of the client library whose rows are converted a chunk at a time."""

    has_far_moments = False
    """True when a row of the result that was loaded has a moment that Python has none for."""

    def run(
        self, sql: str, parameters: Sequence[Any] | None = None, *, often: bool = False
    ) -> None:
        """Run a statement; the server keeps how it runs one that comes ``often``."""
        super().execute(sql, parameters, prepare=None if often else False)

    def copy_rows(self, sql: str, rows: bytes) -> None:
        """Send rows to a COPY .. FROM STDIN."""
        with self.copy(sql) as copy:
            copy.write(rows)

    def roll_back(self) -> None:
        """Roll back; by a statement of its own the library would forget what the server keeps."""
        connection = self._conn
        with connection.lock:
            connection.pgconn.send_query(b"ROLLBACK")
            connection.wait(execute(connection.pgconn))

    def described(self, sql: str, types: Sequence[int]) -> PGresult:
        """What the server says of the columns of a query, given its parameters' types; not run."""
        server = self._pgconn
        result = server.prepare(b"", sql.encode(), types)
        if result.status == ExecStatus.COMMAND_OK:
            result = server.describe_prepared(b"")
        if result.status not in (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK):
            raise error_from_result(result, encoding=self._encoding)
        return result

    def run_alone_for_rows(
        self, alone: Alone, sql: str, parameters: Sequence[Any] | None
    ) -> Rows | None:
        """The rows of a query that is run in one trip with what it assumes; None if it is not so.

        Raises TooManyRows where they fill a chunk.
        """
        found, seen = self.run_alone(sql, parameters, alone.state)
        if not alone.holds(first_row(seen)):
            return None
        self.pgresult = found
        self._tx.set_pgresult(found)
        self._make_row = self._make_row_maker()
        return self._load(found, 0, found.ntuples)

    def next_rows(self, size: int | None) -> Rows:
        """The next rows of a result that was run to its end, so many at most; None: all."""
        result = self._check_result_for_fetch()
        last = result.ntuples if size is None else min(self._pos + size, result.ntuples)
        rows = self._load(result, self._pos, last)
        self._pos = last
        return rows

    def _load(self, result: PGresult, first: int, end: int) -> Rows:
        """Some rows of a result; those the library's loaders refuse with our slower ones."""
        try:
            return self._tx.load_rows(first, end, self._make_row)
        except psycopg.DataError:
            loading = Transformer(FarContext(self._conn))
            loading.set_pgresult(result)
            rows = loading.load_rows(first, end, self._make_row)
            self.has_far_moments = True
            return rows

    def _reset(self, reset_query: bool = True) -> None:
        super()._reset(reset_query)
        self.has_far_moments = False

    def chunks(self, sql: str, parameters: Sequence[Any] | None) -> Iterator[Rows]:
        """Run a query and give its rows in lists; none is empty.

        When it is closed before the end, the query is cancelled. What has come to its end with a
        list that is not full is known to have ended when that list is given.
        """
        connection = self._conn
        with connection.lock:
            try:
                sending = self._stream_send_gen(sql, parameters, size=CHUNK_ROWS)
                connection.wait(sending)
                first = True
                while result := connection.wait(self._stream_fetchone_gen(first)):
                    first = False
                    rows = self._load(result, 0, result.ntuples)
                    if len(rows) < CHUNK_ROWS:
                        connection.wait(self._stream_fetchone_gen(first))
                        yield rows
                        return
                    yield rows
            finally:
                if connection.pgconn.transaction_status == TransactionStatus.ACTIVE:
                    self._leave()

    @property
    def is_quiet(self) -> bool:
        """True while nothing waits to be read; of an idle connection that is mostly its end."""
        try:
            return is_quiet(self._conn.fileno())
        except psycopg.Error:
            return False

    @property
    def outputs(self) -> tuple[Output, ...]:
        """Name, type and modifier of each column of the result.

        The modifier narrows the type (precision, length); -1 if nothing does.
        """
        result = self.pgresult
        if result is None:
            return ()
        return tuple(
            ((result.fname(i) or b"").decode(), result.ftype(i), result.fmod(i))
            for i in range(result.nfields)
        )

    def _stream_fetchone_gen(self, first: bool) -> PQGen[PGresult | None]:
        """The next chunk; None at the end.

        Of a result without rows the library would forget the columns.
        """
        result: PGresult | None = yield from fetch(self._pgconn)
        if result is None:
            return None
        if result.status == ExecStatus.TUPLES_CHUNK:
            self.pgresult = result
            self._tx.set_pgresult(result, set_loaders=first)
            if first:
                self._make_row = self._make_row_maker()
            return result
        if result.status != ExecStatus.TUPLES_OK:
            self._raise_for_result(result)
        if first:
            self.pgresult = result
        while result is not None:
            result = yield from fetch(self._pgconn)
        return None

    def _leave(self) -> None:
        """Cancel the query and read off what the server has sent already."""
        connection = self._conn
        with suppress(psycopg.Error):
            connection.cancel_safe()
            while connection.wait(self._stream_fetchone_gen(first=False)):
                continue
        # What is read last is the error that says the query was cancelled; after it comes the end.
        with suppress(psycopg.Error):
            connection.wait(self._stream_fetchone_gen(first=False))


class MonthsLoader(Loader):
    """Intervals with their months, days and time apart, as Arrow has them."""

    def load(self, data: Buffer) -> pa.MonthDayNano:
        """The value; a DataError for what is none, such as infinity."""
        text = bytes(data).decode()
        found = _INTERVAL.fullmatch(text)
        if found is None or not text:
            raise psycopg.DataError(f"can't parse interval {text!r}")
        years, months, days, sign, hours, minutes, seconds, fraction = found.groups("0")
        clock = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
        nanoseconds = clock * 1_000_000_000 + int(fraction.ljust(9, "0"))
        signed = -nanoseconds if sign == "-" else nanoseconds
        return pa.MonthDayNano([int(years) * 12 + int(months), int(days), signed])


class NarrowLoader(Loader):
    """A FLOAT as the DOUBLE that it equals, as other stores give it, not as its text says it."""

    def load(self, data: Buffer) -> float:
        """The value."""
        return float(_NARROW.unpack(_NARROW.pack(float(bytes(data))))[0])


_NARROW = struct.Struct("f")


@lru_cache(maxsize=1024)
def odd_places(outputs: tuple[Output, ...]) -> Mapping[int, Callable[[Any], Any]]:
    """How Python has the values of columns that the library gives otherwise, by their places.

    Those of intervals, and of whole numbers that are NUMERICs to the server.
    """
    found: dict[int, Callable[[Any], Any]] = {}
    for place, (_, oid, modifier) in enumerate(outputs):
        if oid in _INTERVALS:
            found[place] = span
        elif oid == NUMERIC and modifier == WHOLE:
            found[place] = whole_number
    return found


def in_python(rows: Rows, shown: Mapping[int, Callable[[Any], Any]]) -> Rows:
    """Rows with the values at these places as Python has them: a month is 30 days."""
    if not shown:
        return rows
    return [tuple(shown[i](v) if i in shown else v for i, v in enumerate(row)) for row in rows]


def whole_number(value: Any) -> Any:
    """A NUMERIC that stands for a whole number, as one."""
    return None if value is None else int(value)


def span(value: Any) -> Any:
    """An interval, or a list of them, as Python has it; raises DATA for one that is too long."""
    if isinstance(value, list):
        return [span(v) for v in value]
    if value is None:
        return None
    try:
        days = timedelta(days=value.months * _MONTH_DAYS + value.days)
        return days + timedelta(microseconds=value.nanoseconds // 1000)
    except OverflowError as error:
        raise PalimpsestError(
            Code.DATA,
            f"an interval of {value.months} months and {value.days} days is too long for Python",
            advice="cast it to VARCHAR in the query",
        ) from error


def names_of_columns(names: Sequence[str], count: int) -> Sequence[str]:
    """Names of so many columns; those of the server, for which "" stands, where others are told."""
    return names if len(names) == count else ("",) * count
