"""One statement at a time over a session of HiveServer2: asked, waited for, its columns fetched.

Columns stay columns, as the server sends them, until somebody wants rows. What is wrong with a
statement is raised as the server says it (``CallRefused``); what it means is decided above.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from TCLIService import ttypes

Column = list[Any]
_FETCH_ROWS = 16_384
_BITS = tuple(tuple(bit for bit in range(8) if byte & (1 << bit)) for byte in range(256))

_PLAIN: dict[str, Callable[[Any], Any]] = {
    "DECIMAL_TYPE": Decimal,
    "TIMESTAMP_TYPE": datetime.datetime.fromisoformat,
}
"""What the text of a value stands for, where nothing but the server's word tells its type."""


class CallRefused(Exception):
    """What the server says that is wrong with a call."""


class HiveCursor:
    """See the module's head; for one thread at a time."""

    def __init__(self, client: Any, session: Any) -> None:
        self._client = client
        self._session = session
        self.operation: Any = None
        """What the server knows the statement by, until the next one or ``close``."""
        self._described: list[Any] | None = None
        self._held: list[Column] = []
        self._place = 0
        self._is_read = True

    def execute(self, sql: str, *, waits: bool) -> None:
        """Have a statement run, to its end if it ``waits`` for that."""
        self.close()
        asked = ttypes.TExecuteStatementReq(self._session, sql, runAsync=not waits)
        self.operation = _check_response(self._client.ExecuteStatement(asked)).operationHandle
        self._is_read = not self.operation.hasResultSet

    def status(self) -> Any:
        """How far the statement is; servers answer late while it runs."""
        asked = ttypes.TGetOperationStatusReq(self.operation, getProgressUpdate=False)
        return _check_response(self._client.GetOperationStatus(asked))

    def cancel(self) -> None:
        """Have the statement stopped."""
        _check_response(self._client.CancelOperation(ttypes.TCancelOperationReq(self.operation)))

    def described(self) -> list[Any]:
        """The server's description of each column; none where there are no rows."""
        if self.operation is None or not self.operation.hasResultSet:
            return []
        if self._described is None:
            asked = ttypes.TGetResultSetMetadataReq(self.operation)
            self._described = _check_response(
                self._client.GetResultSetMetadata(asked)
            ).schema.columns
        return self._described or []

    def columns(self, size: int | None = None) -> list[Column]:
        """The values of so many rows more, or of all that are left; shorter at the end, and then
        there are no columns.
        """
        found = self._held_columns(size)
        while not self._is_read and (size is None or _height(found) < size):
            self._load()
            more = self._held_columns(None if size is None else size - _height(found))
            if not _height(found):
                found = more
            elif more:
                for column, values in zip(found, more, strict=True):
                    column += values
        return found

    def _held_columns(self, size: int | None) -> list[Column]:
        """Of what was fetched already so many rows, or all."""
        first, height = self._place, _height(self._held)
        last = height if size is None else min(first + size, height)
        self._place = last
        if first == 0 and last == height:
            found, self._held, self._place = self._held, [], 0
            return found
        return [column[first:last] for column in self._held]

    def _load(self) -> None:
        """Have the server send more rows; none are the end."""
        asked = ttypes.TFetchResultsReq(
            self.operation, ttypes.TFetchOrientation.FETCH_NEXT, _FETCH_ROWS
        )
        sent = _check_response(self._client.FetchResults(asked)).results
        assert not sent.rows, "servers that speak of columns send columns"
        self._held, self._place = [_values(column) for column in sent.columns or ()], 0
        self._is_read = not _height(self._held)

    def close(self) -> None:
        """Let the server forget the statement and its rows."""
        operation, self.operation = self.operation, None
        self._described, self._held, self._place, self._is_read = None, [], 0, True
        if operation is not None:
            _check_response(self._client.CloseOperation(ttypes.TCloseOperationReq(operation)))


def told_type(described: Any) -> str:
    """The server's word for a type; what is made of others is text to it."""
    entry = described.types[0].primitiveEntry
    return "STRING_TYPE" if entry is None else str(ttypes.TTypeId._VALUES_TO_NAMES[entry.type])


def type_name(described: Any) -> str:
    """A type as the server describes it, by Spark's names, with digits and places."""
    entry = described.types[0].primitiveEntry
    told = None if entry is None else entry.typeQualifiers
    digits = {} if told is None else told.qualifiers
    name = told_type(described).removesuffix("_TYPE").lower()
    if name == "decimal" and digits:
        return f"decimal({digits['precision'].i32Value},{digits['scale'].i32Value})"
    return {"timestamp": "timestamp_ntz", "null": "void"}.get(name, name)


def plain_values(kind: str, values: Column) -> Column:
    """Values as Python has them, given the server's word for their type."""
    convert = _PLAIN.get(kind)
    return values if convert is None else [None if v is None else convert(v) for v in values]


def _height(columns: list[Column]) -> int:
    return len(columns[0]) if columns else 0


def _values(column: Any) -> Column:
    """The values of a column, with None where its mask has a bit."""
    (sent,) = (part for part in column.__dict__.values() if part is not None)
    values: Column = sent.values
    if any(sent.nulls):
        height = len(values)
        for place, byte in enumerate(sent.nulls):
            for bit in _BITS[byte]:
                if (row := place * 8 + bit) < height:
                    values[row] = None
    return values


def _check_response(response: Any) -> Any:
    """A response that says that all went well; raises Refused else."""
    if response.status.statusCode != ttypes.TStatusCode.SUCCESS_STATUS:
        raise CallRefused(response.status.errorMessage or str(response.status))
    return response
