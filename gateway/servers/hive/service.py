"""The calls of the protocol: dispatches each by its name, and answers it.

Errors of statements are statuses in the response; what is no call of the protocol is an exception
of Thrift, and the connection goes on.
"""

from __future__ import annotations

import logging
import re
import struct
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import pyarrow as pa

from gateway.errors import TOO_DEEP
from gateway.servers.hive import messages
from gateway.servers.hive.catalog_tables import CatalogTables
from gateway.servers.hive.client_session import ThriftSession
from gateway.servers.hive.column_types import schema_of
from gateway.servers.hive.columns import empty_batch, row_set, rows_one_by_one
from gateway.servers.hive.messages import Incoming
from gateway.servers.hive.operations import FINISHED, RUNNING, Operation
from gateway.servers.hive.wire import ttypes
from gateway.version import VERSION
from journal.model.errors import Code, PalimpsestError
from journal.model.failures import failures
from journal.model.lazy_dataclass import dataclass

_LOG = logging.getLogger("palimpsest.hive")
V6, NEWEST = ttypes.TProtocolVersion.V6, ttypes.TProtocolVersion.V11
_OK = ttypes.TStatus(ttypes.TStatusCode.SUCCESS_STATUS)
_FIRST_POLL_S, _POLL_S = 0.05, 0.5
_T = ttypes.TOperationType
_BOOL, _STRUCT = b"\2", b"\x0c"
_FIELD = struct.Struct("!Bh")
_STATUS_CALL = b"\x80\x01\0\1\0\0\0\x12GetOperationStatus"
_LOG_FETCH = 1
_NEXT, _FIRST = ttypes.TFetchOrientation.FETCH_NEXT, ttypes.TFetchOrientation.FETCH_FIRST
_TABLE_NOT_FOUND = 10001
_TABLE_NAME = re.compile(r"table (\S+) does not exist")
_KEYWORDS = "ANTI,DATABASE,DISTRIBUTE,FORMATTED,LATERAL,MSCK,PERCENT,PIVOT,SEMI,SORT,TABLESAMPLE"
_INFO: Mapping[int, Any] = {
    0: ttypes.TGetInfoValue(lenValue=0), 1: ttypes.TGetInfoValue(lenValue=0),
    2: ttypes.TGetInfoValue("palimpsest"), 13: ttypes.TGetInfoValue("Palimpsest"),
    14: ttypes.TGetInfoValue("\\"), 17: ttypes.TGetInfoValue("Palimpsest"),
    18: ttypes.TGetInfoValue(VERSION), 25: ttypes.TGetInfoValue("N"),
    28: ttypes.TGetInfoValue(smallIntValue=4), 29: ttypes.TGetInfoValue("`"),
    30: ttypes.TGetInfoValue(lenValue=128), 32: ttypes.TGetInfoValue(lenValue=128),
    34: ttypes.TGetInfoValue(lenValue=0), 35: ttypes.TGetInfoValue(lenValue=128),
    46: ttypes.TGetInfoValue(smallIntValue=0), 105: ttypes.TGetInfoValue(lenValue=0),
    10003: ttypes.TGetInfoValue("N"), 10005: ttypes.TGetInfoValue(lenValue=128),
    10006: ttypes.TGetInfoValue(_KEYWORDS),
}  # fmt: skip
"""What GetInfo says, by the numbers of ODBC's CLIGetInfo."""


@dataclass(frozen=True, slots=True)
class ServiceCall:
    """A call of the protocol: its request, the method that answers, and what carries an error."""

    request: type
    answer: str
    response: type = ttypes.TStatusResp


class Sessions(Protocol):
    """The sessions that calls may name; a front end says who may open one, and who sees which."""

    def open(self, request: ttypes.TOpenSessionReq, version: int) -> ThriftSession:
        """A new session; raises what lets nobody in."""

    def find(self, handle: ttypes.TSessionHandle) -> ThriftSession:
        """The session of a handle; raises NO_CURSOR."""

    def all(self) -> list[ThriftSession]:
        """Those whose operations may be named."""

    def close(self, session: ThriftSession) -> None:
        """End a session."""


class HiveService:
    """Answers the calls of one client, over its sessions."""

    def __init__(self, sessions: Sessions, limit: int) -> None:
        self._sessions = sessions
        self._limit = limit
        self._statuses: dict[bytes, tuple[bytes, bytes]] = {}
        """The answers to GetOperationStatus of finished operations, before and behind the number of
        the call, by the bytes of the calls."""

    def serve_call(self, incoming: Incoming) -> bytes:
        """Read a call and answer it; raises PROTOCOL for what is none."""
        arrived = incoming.arrived()
        known = self._known_status(arrived)
        if known is not None:
            incoming.skip_arrived()
            return known
        head = messages.read_head(incoming)
        call = CALLS.get(head.name)
        if call is None:
            messages.skip_request(incoming, self._limit)
            return messages.failure(
                head, messages.UNKNOWN_METHOD, f"Invalid method name: '{head.name}'"
            )
        request = messages.read_request(incoming, call.request, self._limit)
        found = messages.answer(head, self._answered(call, request))
        if head.name == "GetOperationStatus":
            self._remember_status(arrived, request, found)
        return found

    def _answered(self, call: ServiceCall, request: Any) -> bytes:
        try:
            with failures():
                response = getattr(self, call.answer)(request)
            return response if isinstance(response, bytes) else messages.structure(response)
        except PalimpsestError as error:
            found = error
        except RecursionError:
            found = TOO_DEEP
        except Exception as error:  # noqa: BLE001 - whatever it is, its client hears of it
            _LOG.exception("a call failed")
            message = f"{type(error).__name__}: {error}"
            found = PalimpsestError(Code.INVARIANT, message, advice="report it")
        return messages.structure(_refusal(call.response, status_of(found)))

    # What a client asks once for each row is answered by the bytes that it sends.

    def _known_status(self, arrived: bytes) -> bytes | None:
        if not arrived.startswith(_STATUS_CALL):
            return None
        found = self._statuses.get(arrived[30:])
        return None if found is None else b"%b%b%b" % (found[0], arrived[26:30], found[1])

    def _remember_status(self, arrived: bytes, request: Any, found: bytes) -> None:
        try:
            _, operation = self._operation(request.operationHandle)
        except PalimpsestError:
            return
        if operation.state == FINISHED and arrived.startswith(_STATUS_CALL):
            if len(self._statuses) >= 64:
                self._statuses.clear()
            self._statuses[arrived[30:]] = (found[:26], found[30:])

    # Sessions.

    def open_session(self, request: ttypes.TOpenSessionReq) -> Any:
        """OpenSession: the newest version that both know."""
        version = max(0, min(request.client_protocol, NEWEST))
        opened = self._sessions.open(request, version)
        handle = ttypes.TSessionHandle(ttypes.THandleIdentifier(opened.id, opened.secret))
        shown = {"hive.server2.thrift.resultset.default.fetch.size": "10000"}
        return ttypes.TOpenSessionResp(_OK, version, handle, shown)

    def close_session(self, request: ttypes.TSessionReq) -> Any:
        """CloseSession."""
        self._statuses.clear()
        self._sessions.close(self._session(request))
        return ttypes.TStatusResp(_OK)

    def get_info(self, request: ttypes.TGetInfoReq) -> Any:
        """GetInfo."""
        session = self._session(request)
        found = _INFO.get(request.infoType)
        if request.infoType == 47:
            found = ttypes.TGetInfoValue(session.session.user or "")
        if found is None:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"the server does not offer the information {request.infoType}",
                advice="go without it",
            )
        return ttypes.TGetInfoResp(_OK, found)

    def set_client_info(self, request: ttypes.TSetClientInfoReq) -> Any:
        """SetClientInfo: the application's name is recorded with commits."""
        name = (request.configuration or {}).get("ApplicationName")
        session = self._session(request).session
        if name:
            session.settings = session.settings.with_setting("application", name)
        return ttypes.TStatusResp(_OK)

    # Statements.

    def execute(self, request: ttypes.TExecuteStatementReq) -> Any:
        """ExecuteStatement."""
        found = self._session(request).execute(
            request.statement,
            runs_async=bool(request.runAsync),
            timeout_s=float(max(request.queryTimeout or 0, 0)),
        )
        return ttypes.TOperationResp(_OK, found.handle)

    def operation_status(self, request: ttypes.TGetOperationStatusReq) -> Any:
        """GetOperationStatus: waits a little where the statement still runs."""
        session, operation = self._operation(request.operationHandle)
        if not operation.is_over:
            elapsed = time.time() - operation.began_s
            operation.wait(min(_POLL_S, max(_FIRST_POLL_S, elapsed / 10)))
        error = operation.error
        status = None if error is None else status_of(error)
        return ttypes.TGetOperationStatusResp(
            _OK,
            operation.state,
            sqlState=None if status is None else status.sqlState,
            errorCode=None if status is None else status.errorCode,
            errorMessage=None if status is None else status.errorMessage,
            operationStarted=int(operation.began_s * 1000),
            operationCompleted=None if operation.ended_s is None else int(operation.ended_s * 1000),
            hasResultSet=operation.has_rows,
            progressUpdateResponse=_progress(session, operation)
            if request.getProgressUpdate
            else None,
            numModifiedRows=operation.modified,
        )

    def cancel_operation(self, request: ttypes.TOperationReq) -> Any:
        """CancelOperation."""
        session, operation = self._operation(request.operationHandle)
        session.cancel(operation)
        return ttypes.TStatusResp(_OK)

    def close_operation(self, request: ttypes.TOperationReq) -> Any:
        """CloseOperation."""
        session, operation = self._operation(request.operationHandle)
        self._statuses.clear()
        session.close_operation(operation)
        return ttypes.TStatusResp(_OK)

    def result_metadata(self, request: ttypes.TOperationReq) -> Any:
        """GetResultSetMetadata: waits for a statement that still runs."""
        _, operation = self._operation(request.operationHandle)
        while not operation.wait(_POLL_S):
            pass
        if operation.error is not None:
            raise operation.error
        if not operation.has_rows:
            raise PalimpsestError(
                Code.NO_RESULT, "the statement gives no rows", advice="ask for its count instead"
            )
        return ttypes.TGetResultSetMetadataResp(_OK, schema_of(operation.columns))

    def fetch(self, request: ttypes.TFetchResultsReq) -> Any:
        """FetchResults; of the log there is nothing."""
        session, operation = self._operation(request.operationHandle)
        if request.fetchType == _LOG_FETCH:
            return _rows_answer(session.version, empty_batch(["VARCHAR"]))
        orientation = request.orientation
        if orientation not in (
            ttypes.TFetchOrientation.FETCH_NEXT,
            ttypes.TFetchOrientation.FETCH_FIRST,
        ):
            raise PalimpsestError(
                Code.CURSOR_DIRECTION, "results are read forwards", advice="FETCH_NEXT, FETCH_FIRST"
            )
        first = request.orientation == _FIRST
        batch = session.fetch(operation, request.maxRows, first=first)
        names = [column.type for column in operation.columns]
        zone = session.session.settings.timezone or "UTC"
        count = 0 if batch is None else batch.num_rows
        start = operation.fetched - count
        if batch is None:
            batch = empty_batch(names)
        if session.version < V6:
            rows = ttypes.TRowSet(start, rows_one_by_one(batch, names, zone))
            return ttypes.TFetchResultsResp(_OK, count > 0, rows)
        found = row_set(batch, names, zone, start)
        session.note_sent(operation, count, len(found))
        head = _FIELD.pack(12, 1) + messages.structure(_OK) + _FIELD.pack(2, 2)
        return head + (b"\1" if count else b"\0") + _FIELD.pack(12, 3) + found + b"\0"

    def query_id(self, request: ttypes.TOperationReq) -> Any:
        """GetQueryId."""
        _, operation = self._operation(request.operationHandle)
        return ttypes.TQueryIdResp(f"palimpsest_{operation.id.hex()}")

    # The catalog.

    def type_info(self, request: ttypes.TSessionReq) -> Any:
        """GetTypeInfo."""
        return self._listed(request, _T.GET_TYPE_INFO, lambda c: c.type_info())

    def catalogs(self, request: ttypes.TSessionReq) -> Any:
        """GetCatalogs."""
        return self._listed(request, _T.GET_CATALOGS, lambda c: c.catalogs())

    def table_types(self, request: ttypes.TSessionReq) -> Any:
        """GetTableTypes."""
        return self._listed(request, _T.GET_TABLE_TYPES, lambda c: c.table_types())

    def schemas(self, request: ttypes.TGetSchemasReq) -> Any:
        """GetSchemas."""
        return self._listed(request, _T.GET_SCHEMAS, lambda c: c.schemas(request.schemaName))

    def tables(self, request: ttypes.TGetTablesReq) -> Any:
        """GetTables."""
        names = (request.schemaName, request.tableName, request.tableTypes)
        return self._listed(request, _T.GET_TABLES, lambda c: c.tables(*names))

    def columns(self, request: ttypes.TGetColumnsReq) -> Any:
        """GetColumns."""
        names = (request.schemaName, request.tableName, request.columnName)
        return self._listed(request, _T.GET_COLUMNS, lambda c: c.columns(*names))

    def functions(self, request: ttypes.TGetFunctionsReq) -> Any:
        """GetFunctions."""
        names = (request.schemaName, request.functionName)
        return self._listed(request, _T.GET_FUNCTIONS, lambda c: c.functions(*names))

    def primary_keys(self, request: ttypes.TGetPrimaryKeysReq) -> Any:
        """GetPrimaryKeys."""
        names = (request.schemaName, request.tableName)
        return self._listed(request, _T.UNKNOWN, lambda c: c.primary_keys(*names))

    def cross_reference(self, request: ttypes.TGetCrossReferenceReq) -> Any:
        """GetCrossReference."""
        parent = (request.parentSchemaName, request.parentTableName)
        child = (request.foreignSchemaName, request.foreignTableName)
        return self._listed(request, _T.UNKNOWN, lambda c: c.cross_reference(parent, child))

    def no_token(self, request: ttypes.TSessionReq) -> Any:
        """Delegation tokens, which nothing here gives out."""
        self._session(request)
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "the server has no delegation tokens",
            advice="log in with user and password",
        )

    def _listed(self, request: Any, kind: int, make: Callable[[CatalogTables], Any]) -> Any:
        session = self._session(request)
        found = session.table(kind, lambda: make(CatalogTables(session.session)))
        return ttypes.TOperationResp(_OK, found.handle)

    def _session(self, request: Any) -> ThriftSession:
        return self._sessions.find(request.sessionHandle)

    def _operation(self, handle: ttypes.TOperationHandle) -> tuple[ThriftSession, Operation]:
        for session in self._sessions.all():
            found = session.find(handle)
            if found is not None:
                return session, found
        raise PalimpsestError(
            Code.NO_CURSOR,
            "there is no such operation",
            advice="it was closed, or belongs to another session",
        )


def _rows_answer(version: int, nothing: pa.RecordBatch) -> Any:
    """No rows, in the form of a version."""
    if version < V6:
        return ttypes.TFetchResultsResp(_OK, False, ttypes.TRowSet(0, []))
    head = _FIELD.pack(12, 1) + messages.structure(_OK) + _FIELD.pack(2, 2)
    return head + b"\0" + _FIELD.pack(12, 3) + row_set(nothing, ["VARCHAR"], "UTC", 0) + b"\0"


def status_of(error: PalimpsestError) -> ttypes.TStatus:
    """An error as the protocol says it; Hive's clients know missing tables by Hive's words."""
    message = f"{error.message} ({error.code.value.code})"
    if error.advice:
        message += f". Hint: {error.advice}"
    code, state = int(error.code.value.code.removeprefix("PAL-")), error.sqlstate
    if error.code is Code.UNKNOWN_TABLE:
        name = _TABLE_NAME.search(error.message)
        shown = name[1] if name else ""
        message = (
            "Error while compiling statement: FAILED: SemanticException [Error"
            f" {_TABLE_NOT_FOUND}]: Table not found {shown}: {message}"
        )
        code, state = _TABLE_NOT_FOUND, "42S02"
    return ttypes.TStatus(
        ttypes.TStatusCode.INVALID_HANDLE_STATUS
        if error.code is Code.NO_CURSOR
        else ttypes.TStatusCode.ERROR_STATUS,
        None,
        state,
        code,
        message,
    )


def _refusal(response: type, status: ttypes.TStatus) -> Any:
    """A response that says what went wrong; where more is required, nothing stands there."""
    if response is ttypes.TOpenSessionResp:
        return ttypes.TOpenSessionResp(status, 0)
    if response is ttypes.TGetInfoResp:
        return ttypes.TGetInfoResp(status, ttypes.TGetInfoValue(""))
    if response is ttypes.TQueryIdResp:
        return ttypes.TQueryIdResp("")
    return ttypes.TStatusResp(status)


def _progress(session: ThriftSession, operation: Operation) -> Any:
    """How far a statement is, as beeline shows it below the prompt."""
    is_running = operation.state == RUNNING
    done = session.session.cancellation.progress() if is_running else None
    status = ttypes.TJobExecutionStatus.NOT_AVAILABLE
    if done is not None:
        status = ttypes.TJobExecutionStatus.IN_PROGRESS
    began_ms = int(operation.began_s * 1000)
    return ttypes.TProgressUpdateResp([], [], done or 0.0, status, "", began_ms)


_SESSION, _OPERATION = ttypes.TSessionReq, ttypes.TOperationReq
CALLS: Mapping[str, ServiceCall] = {
    "OpenSession": ServiceCall(ttypes.TOpenSessionReq, "open_session", ttypes.TOpenSessionResp),
    "CloseSession": ServiceCall(_SESSION, "close_session"),
    "GetInfo": ServiceCall(ttypes.TGetInfoReq, "get_info", ttypes.TGetInfoResp),
    "SetClientInfo": ServiceCall(ttypes.TSetClientInfoReq, "set_client_info"),
    "ExecuteStatement": ServiceCall(ttypes.TExecuteStatementReq, "execute"),
    "GetOperationStatus": ServiceCall(ttypes.TGetOperationStatusReq, "operation_status"),
    "CancelOperation": ServiceCall(_OPERATION, "cancel_operation"),
    "CloseOperation": ServiceCall(_OPERATION, "close_operation"),
    "GetResultSetMetadata": ServiceCall(_OPERATION, "result_metadata"),
    "FetchResults": ServiceCall(ttypes.TFetchResultsReq, "fetch"),
    "GetQueryId": ServiceCall(_OPERATION, "query_id", ttypes.TQueryIdResp),
    "GetTypeInfo": ServiceCall(_SESSION, "type_info"),
    "GetCatalogs": ServiceCall(_SESSION, "catalogs"),
    "GetSchemas": ServiceCall(ttypes.TGetSchemasReq, "schemas"),
    "GetTables": ServiceCall(ttypes.TGetTablesReq, "tables"),
    "GetTableTypes": ServiceCall(_SESSION, "table_types"),
    "GetColumns": ServiceCall(ttypes.TGetColumnsReq, "columns"),
    "GetFunctions": ServiceCall(ttypes.TGetFunctionsReq, "functions"),
    "GetPrimaryKeys": ServiceCall(ttypes.TGetPrimaryKeysReq, "primary_keys"),
    "GetCrossReference": ServiceCall(ttypes.TGetCrossReferenceReq, "cross_reference"),
    "GetDelegationToken": ServiceCall(_SESSION, "no_token"),
    "CancelDelegationToken": ServiceCall(_SESSION, "no_token"),
    "RenewDelegationToken": ServiceCall(_SESSION, "no_token"),
}
