"""COPY FROM STDIN and TO STDOUT as messages: pieces of text come or go between other messages."""

from __future__ import annotations

import struct
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from gateway.dbapi.copying import Copy, stream_of
from gateway.errors import Error
from gateway.servers.pgwire import messages
from gateway.servers.pgwire.messages import protocol_error
from gateway.servers.pgwire.stream import MessageStream
from gateway.session.outcome import Row, StatementOutcome
from gateway.session.session import Session
from journal.model.errors import Code, PalimpsestError
from rewriter.statement import SqlStatement
from rewriter.syntax.parsing import Parsed


def is_copy(parsed: Parsed) -> bool:
    """True for a COPY between a table and the client."""
    statement = parsed.statement
    return isinstance(statement, SqlStatement) and stream_of(statement.ast) is not None


def run_copy(stream: MessageStream, session: Session, text: str) -> StatementOutcome:
    """Take a client's rows, or send it rows; what came of it."""
    cursor = _Cursor(session)
    try:
        copy = Copy(cursor, text)
        with copy:
            if copy.loads:
                stream.write(_response(b"G", 0))
                stream.flush()
                _receive(stream, copy.write)
            else:
                stream.write(_response(b"H", copy.width))
                _send(stream, copy)
    except Error as error:
        # What the DB-API made of it has the error itself as its cause.
        if isinstance(error.__cause__, PalimpsestError):
            raise error.__cause__ from error
        raise
    loaded = cursor.outcome.row_count if copy.loads and cursor.outcome is not None else 0
    return StatementOutcome("COPY", loaded if copy.loads else cursor.fetched)


def _response(kind: bytes, width: int) -> bytes:
    """What begins a COPY: text in all, and in each column."""
    formats = struct.pack(f"!bh{width}h", messages.TEXT, width, *[messages.TEXT] * width)
    return messages.message(kind, formats)


def _receive(stream: MessageStream, write: Callable[[bytes], None]) -> None:
    while True:
        kind, body = stream.read()
        match kind:
            case b"d":
                write(body)
            case b"c":
                return
            case b"f":
                why = body.rstrip(b"\0").decode(errors="replace")
                raise PalimpsestError(
                    Code.CANCELLED,
                    f"the client ended the COPY: {why}",
                    advice="none of its rows were kept; run it again if you still want them",
                )
            case b"H" | b"S":
                continue
            case _:
                raise protocol_error(f"a message of type {kind!r} came during COPY")


def _send(stream: MessageStream, copy: Copy) -> None:
    """Send each line in a message of its own, as drivers expect of text."""
    for piece in copy:
        for line in piece.split(b"\n")[:-1]:
            stream.write(messages.message(b"d", line + b"\n"))
    stream.write(messages.message(b"c"))


class _Connection:
    def __init__(self, session: Session) -> None:
        self.client_session = session

    @property
    def lock(self) -> AbstractContextManager[Any]:
        return nullcontext()


class _Cursor:
    """What the DB-API's COPY needs of a cursor, over a session."""

    def __init__(self, session: Session) -> None:
        self.connection = _Connection(session)
        self.outcome: StatementOutcome | None = None
        self.fetched = 0

    def take_outcome(self, outcome: StatementOutcome) -> None:
        self.outcome = outcome

    def fetchmany(self, size: int | None = None) -> list[Row]:
        assert self.outcome is not None
        assert self.outcome.rows is not None
        with self.connection.client_session.fetching(self.outcome.rows):
            rows = self.outcome.rows.take(size or 1)
        self.fetched += len(rows)
        return rows
