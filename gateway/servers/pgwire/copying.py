"""COPY FROM STDIN and TO STDOUT as messages: pieces of text come or go between other messages."""

from __future__ import annotations

import struct
from collections.abc import Callable

from gateway.servers.pgwire import messages
from gateway.servers.pgwire.messages import protocol_error
from gateway.servers.pgwire.stream import MessageStream
from gateway.session.outcome import Row, StatementOutcome
from gateway.session.session import Session
from gateway.session.stream_copies import StreamCopy, stream_of
from journal.model.errors import Code, PalimpsestError
from rewriter.statement import SqlStatement
from rewriter.syntax.parsing import Parsed


def is_copy(parsed: Parsed) -> bool:
    """True for a COPY between a table and the client."""
    statement = parsed.statement
    return isinstance(statement, SqlStatement) and stream_of(statement.ast) is not None


def run_copy(stream: MessageStream, session: Session, text: str) -> StatementOutcome:
    """Take a client's rows, or send it rows; what came of it."""
    copy = StreamCopy(session, text)
    try:
        if copy.loads:
            copy.receive()
            stream.write(_response(b"G", 0))
            stream.flush()
            _receive(stream, copy.write)
            return StatementOutcome("COPY", copy.load().row_count)
        outcome = copy.start()
        try:
            stream.write(_response(b"H", copy.width))
            return StatementOutcome("COPY", _send(stream, session, copy, outcome))
        finally:
            outcome.close()
    finally:
        copy.close()


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


def _send(
    stream: MessageStream, session: Session, copy: StreamCopy, outcome: StatementOutcome
) -> int:
    """Send each line in a message of its own, as drivers expect of text; how many rows went."""
    sent = 0

    def fetch(size: int) -> list[Row]:
        nonlocal sent
        assert outcome.rows is not None
        with session.fetching(outcome.rows):
            rows = outcome.rows.take(size)
        sent += len(rows)
        return rows

    for piece in copy.pieces(fetch):
        for line in piece.split(b"\n")[:-1]:
            stream.write(messages.message(b"d", line + b"\n"))
    stream.write(messages.message(b"c"))
    return sent
