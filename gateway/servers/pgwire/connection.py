"""One client's connection after its login: messages in, answers out, over a session.

    simple query      each statement of a text in turn; several are one transaction
    extended query    Parse, Bind, Describe, Execute, up to Sync, which are one transaction
    after an error    everything up to Sync is passed over

A statement whose Execute is followed by Sync commits by itself, so that the session can run it
again when another one came first; others begin a transaction, which Sync ends.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from sqlglot import exp

from gateway.errors import TOO_DEEP
from gateway.network.calls import NetworkCalls
from gateway.servers.limits import ServerLimits
from gateway.servers.pg_catalog.reader import CatalogReader
from gateway.servers.pg_catalog.user_types import UserDefinitions
from gateway.servers.pgwire import messages
from gateway.servers.pgwire.copying import is_copy, run_copy
from gateway.servers.pgwire.cursor_portals import CursorPortals
from gateway.servers.pgwire.deep_arrays import with_dimensions
from gateway.servers.pgwire.described_fields import DescribedFields, filled_up
from gateway.servers.pgwire.messages import Bind, BodyReader, protocol_error
from gateway.servers.pgwire.parameters import FIRST_OF_USERS, value_of
from gateway.servers.pgwire.portals import Portal, Portals, RowStream
from gateway.servers.pgwire.reported_settings import ReportedSettings
from gateway.servers.pgwire.rows import data_rows
from gateway.servers.pgwire.statement_store import StatementStore
from gateway.servers.pgwire.stream import ClientGone, MessageStream
from gateway.servers.pgwire.tags import (
    command_tag,
    error_fields,
    error_for_clients,
    text_for_clients,
)
from gateway.servers.pgwire.taken_texts import text_given
from gateway.servers.pgwire.text_style import TextStyle
from gateway.servers.pgwire.told_values import ToldValues
from gateway.servers.pgwire.transaction_words import begin_tag, warning_of
from gateway.servers.pgwire.void_arguments import without_void_values
from gateway.session.notice_levels import is_heard
from gateway.session.outcome import StatementOutcome
from gateway.session.session import Session
from journal.model.errors import Code, PalimpsestError
from journal.model.failures import failures
from journal.model.result_column import ResultColumn
from rewriter.statement import (
    Begin,
    Call,
    Commit,
    Deallocate,
    Discard,
    Rollback,
    SetSetting,
    SqlStatement,
)
from rewriter.statements.entities import EntityStatement
from rewriter.syntax.parsing import Parsed

_LOG = logging.getLogger("palimpsest.pgwire")
_STATUS = {"idle": "I", "transaction": "T", "failed": "E"}


class ClientConnection:
    """Answers the messages of one client with what its session does."""

    def __init__(
        self,
        stream: MessageStream,
        session: Session,
        catalog: CatalogReader,
        limits: ServerLimits,
        reported: ReportedSettings,
    ) -> None:
        self._stream = stream
        self._limits = limits
        self._reported = reported
        self._session = session
        self._catalog = catalog
        self._calls = NetworkCalls(session)
        self._portals = Portals()
        self._cursors = CursorPortals(session, self._portals, self._open_cursor)
        self._fields = DescribedFields(session)
        self._statements = StatementStore(session, catalog, self._cursors.columns)
        self.is_answering = False
        """True from the first message of a request until the answer to all of it is sent."""
        self._is_implicit = False
        """The transaction is that of messages up to Sync, or of one text."""
        self._skips = False
        self._text = ""
        self._handlers: dict[bytes, Callable[[bytes], None]] = {
            b"Q": self._query,
            b"P": self._parse,
            b"B": self._bind,
            b"D": self._describe,
            b"E": self._execute,
            b"C": self._close,
            b"S": self._sync,
            b"H": self._flush,
        }

    def serve(self) -> None:
        """Answer messages until the client says goodbye; raises ClientGone, PROTOCOL."""
        self._ready()
        while True:
            if not self._stream.is_buffering:
                self._stream.flush()
            kind, body = self._stream.read()
            self.is_answering = True
            if kind == b"X":
                return
            if self._skips and kind != b"S":
                continue
            handler = self._handlers.get(kind)
            if handler is None and kind in (b"d", b"c", b"f"):
                continue  # What is left of a COPY that has failed.
            if handler is None:
                raise protocol_error(f"there is no message of type {kind!r}")
            self._guarded(kind, partial(handler, body))

    def close(self) -> None:
        """Let go of all results."""
        self._portals.close()
        self._calls.close()
        self._catalog.close()

    def _guarded(self, kind: bytes, act: Callable[[], None]) -> None:
        """Handle a message; its error is answered, and up to Sync nothing else happens."""
        try:
            with failures():
                act()
            return
        except PalimpsestError as error:
            if error.code in {Code.PROTOCOL, Code.TERMINATED}:
                # It ends the connection, which the server tells the client.
                raise
            found = error
        except RecursionError:
            found = TOO_DEEP
        except ClientGone:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, its client hears of it
            _LOG.exception("a statement failed")
            found = PalimpsestError(
                Code.INVARIANT, f"{type(error).__name__}: {error}", advice="report it"
            )
        found = error_for_clients(found, self._session.dialect, self._session.catalog)
        self._stream.write(messages.error_response(error_fields(found, self._text)))
        if self._session.transaction is not None:
            # Also where the statement was only to be prepared, or is on the catalog.
            self._session.transaction.fail()
        if self._is_implicit:
            self._session.rollback()
            self._is_implicit = False
            self._cursors.settle(committed=False)
        if kind in (b"Q", b"S"):
            self._drop_unnamed()
            self._ready()
        else:
            self._skips = True

    def _ready(self) -> None:
        for name, value in self._reported.changes().items():
            self._stream.write(messages.parameter_status(name, value))
        self._stream.write(messages.ready(_STATUS[self._session.status]))
        self._stream.flush()
        self.is_answering = False

    def _query(self, body: bytes) -> None:
        """A text of any number of statements, answered in text format."""
        self._text = text = BodyReader(body).text()
        self._statements.forget("")
        self._drop_unnamed()
        found = self._statements.split(text, runs=True)
        if not found:
            self._stream.write(messages.EMPTY_QUERY)
        for place, statement in enumerate(found):
            if statement.parsed is not None:
                self._begin_implicitly(statement.parsed, is_last=len(found) == 1)
            portal = Portal(statement, (), ())
            # The time of a statement ends when its rows have been sent.
            with self._session.cancellation.running():
                self._start(portal)
                if portal.outcome is not None and portal.outcome.columns is not None:
                    self._describe_rows(portal, portal.outcome.columns)
                self._run(portal, 0)
            if place == len(found) - 1:
                self._end_implicitly()
        self._drop_unnamed()
        self._ready()

    def _parse(self, body: bytes) -> None:
        message = messages.read_parse(body)
        self._text = message.text
        self._statements.prepare(message)
        self._stream.write(messages.PARSE_COMPLETE)

    def _bind(self, body: bytes) -> None:
        message = messages.read_bind(body)
        statement = self._statements.get(message.statement)
        self._text = statement.text
        oids = self._statements.current_oids(statement)
        values = without_void_values(self._values(message, oids, statement.texts), oids)
        parsed = with_dimensions(statement.parsed, values, oids)
        if parsed is not statement.parsed:
            statement = replace(statement, parsed=parsed)
        self._portals.drop(message.portal)
        self._portals.by_name[message.portal] = Portal(statement, values, message.result_formats)
        self._stream.write(messages.BIND_COMPLETE)

    def _values(
        self, message: Bind, oids: Sequence[int], texts: frozenset[int] = frozenset()
    ) -> list[Any]:
        if len(message.values) != len(oids):
            raise protocol_error(
                f"Bind gives {len(message.values)} values to a statement that takes {len(oids)}"
            )
        formats = message.formats
        if len(formats) <= 1:
            formats = (formats[0] if formats else messages.TEXT,) * len(oids)
        if any(oid >= FIRST_OF_USERS for oid in oids):
            # Values of enums are their labels, also in binary.
            oids = UserDefinitions(self._session.catalog).texts_of(oids)
        given = zip(message.values, oids, formats, strict=True)
        values = [value_of(value, oid, form) for value, oid, form in given]
        for place in texts:
            style = TextStyle.of(self._session.settings)
            values[place] = text_given(values[place], oids[place], style)
        return values

    def _describe(self, body: bytes) -> None:
        kind, name = messages.read_named(body)
        if kind == "S":
            statement = self._statements.get(name)
            oids = self._statements.parameter_oids(statement)
            self._stream.write(messages.parameter_description(oids))
            columns = self._statements.columns(statement)
            if columns is None:
                self._stream.write(messages.NO_DATA)
            else:
                fields = self._fields.fields(statement, columns)
                self._stream.write(messages.row_description(fields, [messages.TEXT] * len(fields)))
            return
        portal = self._portals.find(name)
        statement = portal.statement
        shown: Sequence[ResultColumn] | None = self._statements.columns(statement)
        if portal.is_cursor and portal.outcome is not None:
            shown = portal.outcome.columns
        asked = statement.parsed.statement if statement.parsed else None
        if shown is None and isinstance(asked, Call | EntityStatement):
            # What a procedure gives is known when it has run; psycopg asks just before.
            self._start(portal)
            shown = portal.outcome.columns if portal.outcome else None
        if shown is None:
            self._stream.write(messages.NO_DATA)
        else:
            self._describe_rows(portal, shown)

    def _describe_rows(self, portal: Portal, columns: Sequence[ResultColumn]) -> None:
        formats = portal.result_formats(columns)
        fields = self._fields.fields(portal.statement, columns)
        self._stream.write(messages.row_description(fields, formats))

    def _execute(self, body: bytes) -> None:
        reader = BodyReader(body)
        name, limit = reader.text(), max(0, reader.int32())
        portal = self._portals.find(name)
        self._text = portal.statement.text
        parsed = portal.statement.parsed
        if portal.statement.is_empty:
            self._stream.write(messages.EMPTY_QUERY)
            return
        if parsed is not None and portal.outcome is None and not portal.is_complete:
            # A portal that may be left half-read needs a transaction, too.
            is_last = limit == 0 and self._stream.next_kind() == b"S"
            self._begin_implicitly(parsed, is_last=is_last)
        with self._session.cancellation.running():
            if parsed is None or not portal.is_complete:
                self._start(portal)
            self._run(portal, limit)

    def _close(self, body: bytes) -> None:
        kind, name = messages.read_named(body)
        if kind == "S":
            self._statements.forget(name)
        else:
            self._portals.drop(name)
        self._stream.write(messages.CLOSE_COMPLETE)

    def _sync(self, body: bytes) -> None:
        del body
        self._skips = False
        self._end_implicitly()
        if not self._session.in_transaction:
            self._portals.drop_ended()
        self._ready()

    def _flush(self, body: bytes) -> None:
        del body
        self._stream.flush()

    def _begin_implicitly(self, parsed: Parsed, *, is_last: bool) -> None:
        """Begin the transaction of several statements, unless a client begins its own."""
        if self._is_implicit and isinstance(parsed.statement, Begin):
            # As in PostgreSQL, what came before in the same text belongs to it.
            return
        joins = isinstance(parsed.statement, SqlStatement | SetSetting)
        runs_alone = not joins or self._is_implicit
        if is_last or runs_alone or self._session.in_transaction:
            return
        self._session.begin()
        self._is_implicit = True

    def _end_implicitly(self) -> None:
        if self._is_implicit:
            self._is_implicit = False
            self._session.commit()
            self._cursors.settle(committed=True)

    def _start(self, portal: Portal) -> None:
        """Run the statement of a portal, up to its first row."""
        if portal.outcome is not None:
            return
        if portal.statement.catalog is not None:
            self._read_catalog(portal, portal.statement.catalog)
            return
        if portal.statement.is_call:
            portal.outcome = self._calls.run(*portal.values)
            portal.stream = RowStream(portal.outcome)
            return
        if portal.statement.cursor is not None:
            self._cursors.run(portal, portal.statement.cursor)
            return
        parsed = portal.statement.parsed
        assert parsed is not None
        is_open, is_implicit = self._session.in_transaction, self._is_implicit
        warning = warning_of(parsed, in_transaction=is_open, is_implicit=is_implicit)
        match parsed.statement:
            case Begin() if self._session.transaction is not None:
                self._session.transaction.check_open()
                self._is_implicit = False
                portal.outcome = StatementOutcome(begin_tag(parsed))
            case Begin():
                portal.outcome = self._session.run(parsed, portal.values)
                portal.outcome.tag = begin_tag(parsed)
            case Commit(chains) if self._session.status == "failed":
                self._session.rollback()
                if chains:
                    self._session.begin()
                portal.outcome = StatementOutcome("ROLLBACK")
            case Commit(False) | Rollback(None, False) if not self._session.in_transaction:
                is_commit = isinstance(parsed.statement, Commit)
                portal.outcome = StatementOutcome("COMMIT" if is_commit else "ROLLBACK")
            case _ if is_copy(parsed):
                portal.outcome = run_copy(self._stream, self._session, parsed.text)
            case Deallocate(str(name)) if self._statements.release(name):
                portal.outcome = StatementOutcome("DEALLOCATE")
            case Deallocate(None) | Discard("ALL"):
                portal.outcome = self._session.run(parsed, portal.values)
                self._statements.release_all()
            case _:
                portal.outcome = self._session.run(parsed, portal.values)
        if warning is not None:
            self._send_notice("WARNING", *warning)
        if isinstance(parsed.statement, Commit | Rollback):
            self._is_implicit = False
            if not self._session.in_transaction or parsed.statement.chains:
                self._cursors.settle(committed=portal.outcome.tag == "COMMIT")
        outcome = portal.outcome
        if outcome.rows is not None and outcome.columns is not None:
            with self._session.fetching(outcome.rows):
                portal.stream = RowStream(outcome)

    def _read_catalog(self, portal: Portal, query: exp.Expr) -> None:
        if self._session.transaction is not None:
            self._session.transaction.check_open()
        portal.outcome = self._catalog.run(query, portal.values)
        portal.stream = RowStream(portal.outcome)

    def _open_cursor(self, query: str, values: Sequence[Any]) -> Portal:
        """The portal of a cursor's query, which has run up to its first row."""
        (statement,) = self._statements.split(query, placeholders=bool(values))
        opened = Portal(statement, values, (), is_cursor=True)
        self._start(opened)
        return opened

    def _run(self, portal: Portal, limit: int) -> None:
        """Send rows of a portal, and how its statement ended or that there are more."""
        outcome = portal.outcome
        assert outcome is not None
        for notice in () if portal.is_complete else outcome.notices:
            said = text_for_clients(notice, self._session.dialect, self._session.catalog)
            self._send_notice("NOTICE", "00000", said)
        if portal.stream is None:
            count = 0 if portal.is_complete else outcome.row_count
            self._stream.write(messages.command_complete(command_tag(outcome.tag, count)))
            portal.is_complete = True
            return
        assert outcome.columns is not None
        assert outcome.rows is not None
        formats = portal.result_formats(outcome.columns)
        style = TextStyle.of(self._session.settings)
        told = ToldValues(portal.statement.columns, outcome.columns, formats, style)
        described = self._fields.fields(portal.statement, told.columns)
        names = self._fields.sent_types(described, told.columns)
        with self._session.fetching(outcome.rows):
            for batch in portal.stream.take(limit):
                rows = data_rows(filled_up(told.of(batch), described), names, formats, style)
                portal.sent_bytes += len(rows)
                self._limits.check_result(portal.stream.sent, portal.sent_bytes)
                self._stream.write(rows)
                if portal.statement.parsed is not None:
                    self._session.activity.sent(batch.num_rows, len(rows))
            is_done = portal.stream.is_done
        if not is_done:
            self._stream.write(messages.PORTAL_SUSPENDED)
            return
        sent = portal.stream.sent
        portal.close()
        portal.is_complete = True
        count = outcome.row_count if outcome.row_count >= 0 else sent
        self._stream.write(messages.command_complete(command_tag(outcome.tag, count)))

    def _send_notice(self, severity: str, code: str, text: str) -> None:
        if not is_heard(severity, self._session.settings):
            return
        fields = {"S": severity, "V": severity, "C": code, "M": text}
        self._stream.write(messages.error_response(fields, b"N"))

    def _drop_unnamed(self) -> None:
        """A simple query ends the unnamed portal; cursors stay until their transaction ends."""
        if not self._session.in_transaction:
            self._portals.drop_ended()
        else:
            self._portals.drop("")
