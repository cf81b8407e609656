"""A cursor that sends several statements in one packet, by the client library's pipelines.

The server keeps how it runs them, under names of their own. Nothing here knows what they mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import psycopg
from psycopg.abc import PQGen
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.generators import fetch, fetch_many, send
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult
from psycopg.raw_cursor import RawCursor

CHUNK_ROWS = 2000
"""So many rows are converted at a time; fewer are the last ones."""
Sent = tuple[str, Sequence[Any] | None]
"""A statement as the server gets it, and its parameters."""
FirstRow = tuple[bytes | None, ...]
"""The first row of a result, as text; empty without rows."""
_UNKNOWN_STATEMENT = "26000"
_Kept = tuple[str, tuple[int, ...]]
"""A statement that the server keeps, and the types of its parameters."""
_Dumped = tuple[Any, tuple[int, ...], Any]
"""Values, types and formats of parameters, as the server gets them."""
_NOTHING: _Dumped = (None, (), None)
_TOGETHER_MAX = 200
"""So many statements that are sent together the server keeps for a connection."""


class CommitFailed(Exception):
    """What the last of the statements that were sent together has met; it says what ``error``."""

    def __init__(self, error: psycopg.Error) -> None:
        super().__init__(str(error))
        self.error = error


class TooManyRows(Exception):
    """A query has more rows than shall be held; it was cancelled."""


def first_row(result: PGresult) -> FirstRow:
    """The first row of a result."""
    if not result.ntuples:
        return ()
    return tuple(result.get_value(0, i) for i in range(result.nfields))


class PipelineCursor(RawCursor[tuple[Any, ...]]):
    """See the module's head."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        super().__init__(connection)
        # The library makes one with the first statement that it runs by itself.
        self._tx = Transformer(self)
        self._kept: dict[_Kept, bytes] = {}
        self._kept_so_far = 0

    def run_together(self, statements: Sequence[Sent]) -> list[PGresult]:
        """Run statements in one trip, of which the last ends the transaction; the result of each.

        None of them is run after one that fails. Raises CommitFailed where the last has failed or
        the connection was cut, psycopg.Error for others.
        """
        self._reset()
        return self._run_all(statements, chunked=None)

    def run_alone(self, sql: str, parameters: Sequence[Any] | None, then: str) -> list[PGresult]:
        """Run a query in one trip with constant SQL that comes after it; both results.

        They are one transaction, which ends with them. Raises TooManyRows for a query that fills a
        chunk.
        """
        self._reset()
        try:
            found, seen = self._run_all([(sql, parameters), (then, None)], chunked=0)
        except CommitFailed as failed:
            raise failed.error from failed
        return [found, seen]

    def _run_all(self, statements: Sequence[Sent], *, chunked: int | None) -> list[PGresult]:
        """The result of each statement; that of the one at place ``chunked`` has few rows."""
        asked: list[Callable[[], None]] = []
        coming: list[tuple[_Kept, bytes] | None] = []
        if len(self._kept) + len(statements) > _TOGETHER_MAX:
            self._forget_kept()
        limited = None
        prepare, run = self._pgconn.send_prepare, self._pgconn.send_query_prepared
        for place, (sql, parameters) in enumerate(statements):
            values, types, formats = _NOTHING if parameters is None else self._dumped(parameters)
            key = (sql, types)
            name = self._kept.get(key)
            if name is None:
                self._kept_so_far += 1
                name = f"together_{self._kept_so_far}".encode()
                asked.append(partial(prepare, name, sql.encode(), types))
                coming.append((key, name))
            if place == chunked:
                limited = len(asked)
            asked.append(partial(run, name, values, param_formats=formats))
            coming.append(None)
        asked.append(self._pgconn.pipeline_sync)
        with self._conn.lock:
            answers = self._answers_of(asked, limited)
        return self._checked(coming, answers, len(statements))

    def _dumped(self, parameters: Sequence[Any]) -> _Dumped:
        """Parameters as the server gets them."""
        adapting = self._tx
        values = adapting.dump_sequence(parameters, [PyFormat.AUTO] * len(parameters))
        return values, adapting.types or (), adapting.formats

    def _checked(
        self,
        coming: Sequence[tuple[_Kept, bytes] | None],
        answers: Sequence[PGresult],
        number: int,
    ) -> list[PGresult]:
        """The results of so many statements; notes what the server keeps from now on."""
        found: list[PGresult] = []
        for kept, result in zip(coming, answers, strict=False):
            if result.status == ExecStatus.FATAL_ERROR:
                error = error_from_result(result, encoding=self._encoding)
                if error.sqlstate == _UNKNOWN_STATEMENT:
                    # Somebody had the server forget all it keeps.
                    self._kept.clear()
                if len(found) == number - 1:
                    raise CommitFailed(error)
                raise error
            if kept is not None:
                self._kept[kept[0]] = kept[1]
            elif result.status == ExecStatus.TUPLES_CHUNK and result.ntuples >= CHUNK_ROWS:
                raise TooManyRows
            else:
                found.append(result)
        return found

    def _answers_of(
        self, asked: Sequence[Callable[[], None]], limited: int | None
    ) -> list[PGresult]:
        """The result of each command; a connection whose answers do not all come is closed."""
        server = self._pgconn
        is_whole = False

        def communicate() -> PQGen[list[PGresult]]:
            # All of it goes in one packet, which is sent when the last command asks for answers.
            for ask in asked:
                ask()
            yield from send(server)
            answers = []
            for place in range(len(asked)):
                if place == limited:
                    answers.append((yield from self._fetch_few()))
                else:
                    answers += yield from fetch_many(server)
            return answers

        try:
            server.enter_pipeline_mode()
            answers = self._conn.wait(communicate())
            server.exit_pipeline_mode()
            is_whole = True
            return answers
        except psycopg.Error as error:
            raise CommitFailed(error) from error
        finally:
            if not is_whole:
                self._conn.close()

    def _fetch_few(self) -> PQGen[PGresult]:
        """The result of a query in one piece; of one that fills it the rest is not wanted."""
        server = self._pgconn
        server.set_chunked_rows_mode(CHUNK_ROWS)
        found: PGresult | None = yield from fetch(server)
        assert found is not None, "each command has an answer"
        is_full = found.status == ExecStatus.TUPLES_CHUNK and found.ntuples >= CHUNK_ROWS
        if is_full:
            with suppress(psycopg.Error):
                self._conn.cancel_safe()
        while (more := (yield from fetch(server))) is not None:
            if more.status == ExecStatus.FATAL_ERROR and not is_full:
                found = more
        return found

    def _forget_kept(self) -> None:
        """Have the server forget what it keeps, rather than keep ever more."""
        names, self._kept = list(self._kept.values()), {}
        forgotten = "; ".join(f"DEALLOCATE {name.decode()}" for name in names)
        super().execute(forgotten, prepare=False)
