"""The Flight SQL server: dispatches each call to the module that answers it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import Message
from pyarrow import flight

from gateway.servers.flight import metadata, session_options, sql_info, statements
from gateway.servers.flight.clients import FlightClients
from gateway.servers.flight.failures import answering
from gateway.servers.flight.ingest import ingest
from gateway.servers.flight.login import KEY, Caller, CallerOfCall, LoginGate, NoHandshake
from gateway.servers.flight.sessions import FlightClient, FlightStatement
from gateway.servers.flight.wire import flight_pb2
from gateway.servers.flight.wire import flight_sql_pb2 as wire
from gateway.servers.limits import ServerLimits
from journal.model.errors import Code, PalimpsestError

_CANCELLED = 1
_COMMIT = _RELEASE = 1
_ROLLBACK = 2
_CLOSED = 1
_COMMANDS: dict[str, Any] = {
    str(message.DESCRIPTOR.full_name): message  # type: ignore[attr-defined]
    for message in vars(wire).values()
    if isinstance(message, type) and issubclass(message, Message)
}
ACTIONS = {
    "CreatePreparedStatement": "Prepare a statement",
    "ClosePreparedStatement": "Forget a prepared statement",
    "BeginTransaction": "Begin a transaction",
    "EndTransaction": "Commit or roll back a transaction",
    "BeginSavepoint": "Set a savepoint",
    "EndSavepoint": "Release a savepoint, or go back to it",
    "CancelQuery": "Cancel a result",
    "CancelFlightInfo": "Cancel a result",
    "SetSessionOptions": "Set options of the session",
    "GetSessionOptions": "Get the options of the session",
    "CloseSession": "End the session",
}


class FlightSqlServer(flight.FlightServerBase):  # type: ignore[misc]
    """Answers the calls of Flight SQL; raises nothing but errors of Flight."""

    def __init__(
        self,
        location: str,
        clients: FlightClients,
        gate: LoginGate,
        limits: ServerLimits,
        certificates: list[tuple[bytes, bytes]] | None = None,
    ) -> None:
        super().__init__(
            location,
            auth_handler=NoHandshake(),
            tls_certificates=certificates,
            middleware={KEY: gate},
        )
        self._clients = clients
        self._limits = limits

    def get_flight_info(
        self, context: flight.ServerCallContext, descriptor: flight.FlightDescriptor
    ) -> flight.FlightInfo:
        """Run a statement; the ticket of its rows. What the catalog has is read by its ticket."""
        with answering(), self._clients.calling(context, _caller(context)) as client:
            command = _unpacked(descriptor.command)
            ticket, schema, count = self._run(client, command, descriptor.command)
            endpoint = flight.FlightEndpoint(ticket, [])
            return flight.FlightInfo(schema, descriptor, [endpoint], count, -1)

    def get_schema(
        self, context: flight.ServerCallContext, descriptor: flight.FlightDescriptor
    ) -> flight.SchemaResult:
        """The schema of a statement's rows; it does not run."""
        with answering(), self._clients.calling(context, _caller(context)) as client:
            command = _unpacked(descriptor.command)
            match command:
                case wire.CommandStatementQuery():
                    found = statements.prepare(client, command.query, _transaction(command))
                    schema, _, _ = statements.describe_prepared(client, found)
                case wire.CommandPreparedStatementQuery():
                    kept = client.statement(command.prepared_statement_handle)
                    schema, _, _ = statements.describe_prepared(client, kept)
                case _:
                    schema = self._about(client, command).schema
            return flight.SchemaResult(schema)

    def do_get(
        self, context: flight.ServerCallContext, ticket: flight.Ticket
    ) -> flight.FlightDataStream:
        """The rows of a ticket: those of a statement that has run, or what the catalog has."""
        with answering(), self._clients.calling(context, _caller(context)) as client:
            command = _unpacked(ticket.ticket)
            if not isinstance(command, wire.TicketStatementQuery):
                return flight.RecordBatchStream(self._about(client, command))
            result = client.take_result(command.statement_handle)
            batches = self._sent(context, client, result.batches())
            return flight.GeneratorStream(result.schema, batches)

    def do_put(
        self,
        context: flight.ServerCallContext,
        descriptor: flight.FlightDescriptor,
        reader: flight.MetadataRecordBatchReader,
        writer: flight.FlightMetadataWriter,
    ) -> None:
        """Run a change, bind rows of parameters, or load rows."""
        with answering(), self._clients.calling(context, _caller(context)) as client:
            command = _unpacked(descriptor.command)
            match command:
                case wire.CommandStatementUpdate():
                    count = statements.run_update(client, command.query, _transaction(command))
                case wire.CommandPreparedStatementUpdate():
                    found = client.statement(command.prepared_statement_handle)
                    found.rows = self._rows(reader)
                    count = statements.update_prepared(client, found)
                case wire.CommandPreparedStatementQuery():
                    handle = command.prepared_statement_handle
                    client.statement(handle).rows = self._rows(reader)
                    kept = wire.DoPutPreparedStatementResult(prepared_statement_handle=handle)
                    writer.write(pa.py_buffer(kept.SerializeToString()))
                    return
                case wire.CommandStatementIngest():
                    count = ingest(client, command, reader.schema, _batches(reader))
                case _:
                    raise _unknown(command)
            done = wire.DoPutUpdateResult(record_count=count)
            writer.write(pa.py_buffer(done.SerializeToString()))

    def list_actions(self, context: flight.ServerCallContext) -> list[tuple[str, str]]:
        """What ``do_action`` takes."""
        return list(ACTIONS.items())

    def do_action(
        self, context: flight.ServerCallContext, action: flight.Action
    ) -> Iterator[flight.Result]:
        """Prepare, begin, end, cancel, and options of the session."""
        with answering(), self._clients.calling(context, _caller(context)) as client:
            answer = self._act(client, action.type, action.body.to_pybytes())
        return iter([] if answer is None else [flight.Result(pa.py_buffer(answer))])

    def _sent(
        self,
        context: flight.ServerCallContext,
        client: FlightClient,
        batches: Iterator[pa.RecordBatch],
    ) -> Iterator[pa.RecordBatch]:
        """Batches on their way; the call counts as one of the client's as long as they go."""
        caller = Caller(token=client.token)
        with answering(), self._clients.calling(context, caller):
            yield from batches

    def _run(
        self, client: FlightClient, command: Message, text: bytes
    ) -> tuple[flight.Ticket, pa.Schema, int]:
        match command:
            case wire.CommandStatementQuery():
                transaction = _transaction(command)
                found = statements.run_query(client, command.query, transaction, self._limits)
            case wire.CommandPreparedStatementQuery():
                kept = client.statement(command.prepared_statement_handle)
                found = statements.query_prepared(client, kept, self._limits)
            case _:
                return flight.Ticket(text), self._about(client, command).schema, -1
        handle, schema, count = found
        ticket = wire.TicketStatementQuery(statement_handle=handle)
        return flight.Ticket(_any_bytes(ticket)), schema, count

    def _about(self, client: FlightClient, command: Message) -> pa.Table:
        """What a command on the catalog, or on the server itself, gives."""
        if isinstance(command, wire.CommandGetTableTypes):
            return metadata.table_types()
        if isinstance(command, wire.CommandGetXdbcTypeInfo):
            wanted = command.data_type if command.HasField("data_type") else None
            return sql_info.xdbc_types(wanted)
        with client.working(None) as worker:
            session = worker.session
            if isinstance(command, wire.CommandGetSqlInfo):
                is_read_only = session.settings.is_read_only
                return sql_info.sql_info(command.info, is_read_only=is_read_only)
            if isinstance(command, wire.CommandGetTables):
                return metadata.tables(session, command)
            catalog = metadata.seen_by(session)
        match command:
            case wire.CommandGetCatalogs():
                return metadata.catalogs(catalog)
            case wire.CommandGetDbSchemas():
                return metadata.schemas(catalog, command)
            case wire.CommandGetPrimaryKeys():
                return metadata.primary_keys(catalog, command)
            case wire.CommandGetExportedKeys():
                return metadata.exported_keys(catalog, command)
            case wire.CommandGetImportedKeys():
                return metadata.imported_keys(catalog, command)
            case wire.CommandGetCrossReference():
                return metadata.cross_reference(catalog, command)
        raise _unknown(command)

    def _act(self, client: FlightClient, kind: str, body: bytes) -> bytes | None:
        plain: dict[str, Callable[[], bytes]] = {
            "SetSessionOptions": partial(session_options.set_options, client, body),
            "GetSessionOptions": partial(session_options.get_options, client),
            "CancelFlightInfo": partial(_cancel_info, client, body),
            "CloseSession": partial(self._close, client),
        }
        if kind in plain:
            return plain[kind]()
        if kind not in ACTIONS:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"there is no action {kind}",
                advice="list_actions says which there are",
            )
        asked = _unpacked(body)
        answer = self._act_in_transactions(client, asked)
        return None if answer is None else _any_bytes(answer)

    def _act_in_transactions(self, client: FlightClient, asked: Message) -> Message | None:
        match asked:
            case wire.ActionCreatePreparedStatementRequest():
                return _prepared(client, asked)
            case wire.ActionClosePreparedStatementRequest():
                client.statements.pop(asked.prepared_statement_handle, None)
                return None
            case wire.ActionBeginTransactionRequest():
                return wire.ActionBeginTransactionResult(transaction_id=client.begin())
            case wire.ActionEndTransactionRequest():
                _check_end(asked.action)
                client.end(asked.transaction_id, commits=asked.action == _COMMIT)
                return None
            case wire.ActionBeginSavepointRequest():
                made = statements.begin_savepoint(client, asked.transaction_id)
                return wire.ActionBeginSavepointResult(savepoint_id=made)
            case wire.ActionEndSavepointRequest():
                _check_end(asked.action)
                releases = asked.action == _RELEASE
                statements.end_savepoint(client, asked.savepoint_id, releases=releases)
                return None
            case wire.ActionCancelQueryRequest():
                _cancel(client, asked.info)
                return wire.ActionCancelQueryResult(result=_CANCELLED)
        raise _unknown(asked)

    def _close(self, client: FlightClient) -> bytes:
        # The call itself is under way; the session ends when it has been answered.
        threading.Thread(target=self._clients.end, args=(client,), daemon=True).start()
        return bytes(flight_pb2.CloseSessionResult(status=_CLOSED).SerializeToString())

    def _rows(self, reader: flight.MetadataRecordBatchReader) -> pa.Table:
        """Rows of parameters, which are few."""
        found, size = [], 0
        for batch in _batches(reader):
            size += batch.nbytes
            if size > self._limits.message_bytes:
                raise PalimpsestError(
                    Code.PROTOCOL,
                    f"parameters of more than {self._limits.message_bytes:,} bytes came",
                    advice="load many rows by the driver's call for bulk loads",
                )
            found.append(batch)
        return pa.Table.from_batches(found, reader.schema)


def _caller(context: flight.ServerCallContext) -> Caller:
    found = context.get_middleware(KEY)
    assert isinstance(found, CallerOfCall)
    return found.caller


def _batches(reader: flight.MetadataRecordBatchReader) -> Iterator[pa.RecordBatch]:
    while True:
        try:
            chunk = reader.read_chunk()
        except StopIteration:
            return
        if chunk.data is not None:
            yield chunk.data


def _unpacked(data: bytes) -> Any:
    """The message in an ``Any``; raises PROTOCOL for what is none of Flight SQL."""
    packed = AnyMessage.FromString(data)
    name = packed.type_url.rpartition("/")[2]
    kind = _COMMANDS.get(name)
    if kind is None:
        raise PalimpsestError(
            Code.PROTOCOL if not name else Code.NOT_SUPPORTED,
            f"{name or 'the command'} is no command of Flight SQL that the server knows",
            advice="use a driver of Arrow Flight SQL",
        )
    return kind.FromString(packed.value)


def _any_bytes(message: Message) -> bytes:
    found = AnyMessage()
    found.Pack(message)
    return bytes(found.SerializeToString())


def _transaction(command: Any) -> bytes | None:
    return (command.transaction_id or None) if command.HasField("transaction_id") else None


def _prepared(
    client: FlightClient, asked: wire.ActionCreatePreparedStatementRequest
) -> wire.ActionCreatePreparedStatementResult:
    made: FlightStatement = statements.prepare(client, asked.query, _transaction(asked))
    rows, given, is_update = statements.describe_prepared(client, made)
    return wire.ActionCreatePreparedStatementResult(
        prepared_statement_handle=client.keep_statement(made),
        dataset_schema=rows.serialize().to_pybytes() if len(rows) else b"",
        parameter_schema=given.serialize().to_pybytes() if len(given) else b"",
        is_update=is_update,
    )


def _check_end(action: int) -> None:
    if action not in (_COMMIT, _ROLLBACK):
        raise PalimpsestError(
            Code.PROTOCOL,
            f"{action} is no way to end a transaction",
            advice="send 1 to commit or release, 2 to roll back",
        )


def _cancel_info(client: FlightClient, body: bytes) -> bytes:
    _cancel(client, flight_pb2.CancelFlightInfoRequest.FromString(body).info)
    return bytes(flight_pb2.CancelFlightInfoResult(status=_CANCELLED).SerializeToString())


def _cancel(client: FlightClient, info: bytes) -> None:
    """Let go of the result of a ticket, and stop what runs where it is on its way."""
    for endpoint in flight.FlightInfo.deserialize(info).endpoints:
        ticket = _unpacked(endpoint.ticket.ticket)
        if isinstance(ticket, wire.TicketStatementQuery):
            found = client.results.pop(ticket.statement_handle, None)
            if found is None:
                client.cancel()
            else:
                found.close()


def _unknown(command: Message) -> PalimpsestError:
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        f"{command.DESCRIPTOR.name} cannot be used here",
        advice="see docs/server.md for what works over Flight",
    )
