"""A statement's result as the writers of output take it: columns, rows as they come, and a tag."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any

from gateway.dbapi.connection import Connection
from gateway.dbapi.cursor import Cursor
from gateway.shell.running import run_cancellable
from gateway.wording import counted
from journal.model.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

Row = tuple[Any, ...]
FETCH_ROWS = 2048
"""How many rows are fetched at a time."""


@dataclass(frozen=True, slots=True)
class ShownColumn:
    """Name and SQL type of a result column."""

    name: str
    type: str

    @property
    def is_number(self) -> bool:
        """True where digits line up at the right."""
        return self._bare in _NUMBERS

    @property
    def is_exact(self) -> bool:
        """True where a part of a value would read like another one: numbers, dates and times."""
        return self._bare in _NUMBERS or self._bare.startswith(_TIMES)

    @property
    def _bare(self) -> str:
        return "" if self.type.endswith("]") else self.type.split("(")[0].upper()


_NUMBERS = frozenset(
    {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER"}
    | {"UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL"}
)
_TIMES = ("DATE", "TIME", "INTERVAL", "BOOLEAN")


@dataclass(slots=True)
class ShownResult:
    """What one statement gave back; ``columns`` is empty for those without rows."""

    tag: str
    row_count: int
    columns: tuple[ShownColumn, ...] = ()
    rows: Iterator[Row] = field(default_factory=lambda: iter(()))
    skipped: int = 0
    rejected: int = 0
    notices: tuple[str, ...] = ()
    count: Callable[[], int] | None = None
    """How many rows there are, once all are fetched; -1 where that is not known."""
    stream: Callable[[Callable[[Iterator[pa.RecordBatch]], int]], int] | None = None
    """Calls a function with the rows that ``rows`` has not fetched, in Arrow batches."""

    @property
    def has_rows(self) -> bool:
        """True for a query, even when it found nothing."""
        return bool(self.columns)

    @property
    def status(self) -> str:
        """What happened, as one line: ``UPDATE 3``."""
        if self.row_count >= 0 and self.tag in _COUNTED:
            return f"{self.tag} {self.row_count}{self._left_out}"
        return self.tag

    @property
    def _left_out(self) -> str:
        suppressed = f", {counted(self.skipped, 'suppressed row')} skipped" if self.skipped else ""
        return suppressed + (f", {counted(self.rejected, 'row')} rejected" if self.rejected else "")

    def has_fewer(self, rows: int) -> bool:
        """True where a query gave fewer rows; fetches those that are left to know."""
        if rows and self.final_count < 0:
            deque(self.rows, maxlen=0)
        return self.final_count < rows

    @property
    def final_count(self) -> int:
        """How many rows it gave or changed; -1 while some are not fetched."""
        return self.row_count if self.count is None else self.count()

    @staticmethod
    def of(cursor: Cursor, connection: Connection) -> ShownResult:
        """The current result of a cursor; Ctrl-C can stop the fetching of its rows."""
        columns = tuple(ShownColumn(d[0], d[1]) for d in cursor.description or ())
        rows = _rows(cursor, connection) if columns else iter(())
        left_out = (cursor.skipped, cursor.rejected)
        return ShownResult(
            *(cursor.statusmessage, cursor.rowcount, columns, rows, *left_out),
            tuple(notice for _, notice in cursor.messages),
            lambda: cursor.rowcount,
            lambda use: run_cancellable(connection, lambda: use(cursor.fetch_record_batches())),
        )


_COUNTED = frozenset(
    {"INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE", "COPY", "REPLACE", "RESTORE"}
)


def _rows(cursor: Cursor, connection: Connection) -> Iterator[Row]:
    while rows := run_cancellable(connection, lambda: cursor.fetchmany(FETCH_ROWS)):
        yield from rows
