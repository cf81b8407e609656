"""COPY FROM STDIN and TO STDOUT as messages: pieces of data come or go between other messages."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from gateway.servers.pgwire import messages
from gateway.servers.pgwire.copy_binary import (
    HEADER,
    TRAILER,
    BinaryLoad,
    batches_of_copy,
    is_binary,
    start_binary,
)
from gateway.servers.pgwire.described_fields import DescribedFields
from gateway.servers.pgwire.messages import protocol_error
from gateway.servers.pgwire.portals import PreparedStatement
from gateway.servers.pgwire.rows import data_rows
from gateway.servers.pgwire.stream import MessageStream
from gateway.servers.pgwire.text_style import TextStyle
from gateway.session.copies.stream_copies import StreamCopy, query_of, stream_of
from gateway.session.named_schemas import with_home_schema
from gateway.session.outcome import Row, StatementOutcome
from gateway.session.session import Session
from journal.model.errors import Code, PalimpsestError
from rewriter.statement import SqlStatement
from rewriter.syntax.parsing import Parsed

_MESSAGE_HEAD = 5
"""Bytes of a message before its body: its kind and its length."""


def is_copy(parsed: Parsed) -> bool:
    """True for a COPY between a table and the client."""
    statement = parsed.statement
    return isinstance(statement, SqlStatement) and stream_of(statement.ast) is not None


def run_copy(stream: MessageStream, session: Session, text: str) -> StatementOutcome:
    """Take a client's rows, or send it rows; what came of it."""
    (parsed,) = session.parse(text)
    parsed = with_home_schema(parsed, session.dialect, session.catalog)
    assert isinstance(parsed.statement, SqlStatement)
    ast = parsed.statement.ast
    if isinstance(ast, exp.Copy) and is_binary(ast):
        loads = bool(ast.args.get("kind"))
        return (
            _load_binary(stream, session, ast) if loads else _send_binary(stream, session, parsed)
        )
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


def _load_binary(stream: MessageStream, session: Session, ast: exp.Copy) -> StatementOutcome:
    load = BinaryLoad(session, ast.copy())
    try:
        stream.write(_response(b"G", load.width, messages.BINARY))
        stream.flush()
        _receive(stream, load.write)
        return StatementOutcome("COPY", load.load().row_count)
    finally:
        load.close()


def _send_binary(stream: MessageStream, session: Session, parsed: Parsed) -> StatementOutcome:
    assert isinstance(parsed.statement, SqlStatement)
    query = query_of(parsed.statement.ast, session)
    outcome = start_binary(session, query)
    sent = 0
    try:
        statement = replace(parsed.statement, ast=query.this)
        described = PreparedStatement(parsed.text, replace(parsed, statement=statement))
        fields, columns = DescribedFields(session), outcome.columns or ()
        names = fields.sent_types(fields.fields(described, columns), columns)
        formats = [messages.BINARY] * len(names)
        style = TextStyle.of(session.settings)
        stream.write(_response(b"H", len(names), messages.BINARY))
        head = HEADER
        for batch in batches_of_copy(session, outcome):
            rest = batch
            if head and batch.num_rows:
                # Drivers look for the first row in the message of the header.
                first = data_rows(batch.slice(0, 1), names, formats, style, b"d")
                stream.write(messages.message(b"d", head + first[_MESSAGE_HEAD:]))
                head, rest = b"", batch.slice(1)
            stream.write(data_rows(rest, names, formats, style, b"d"))
            sent += batch.num_rows
        stream.write(messages.message(b"d", head + TRAILER) + messages.message(b"c"))
    finally:
        outcome.close()
    return StatementOutcome("COPY", sent)


def _response(kind: bytes, width: int, form: int = messages.TEXT) -> bytes:
    """What begins a COPY: the format, and that of each column, which is the same."""
    formats = struct.pack(f"!bh{width}h", form, width, *[form] * width)
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
