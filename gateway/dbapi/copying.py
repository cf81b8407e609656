"""COPY between a table and the program: FROM STDIN and TO STDOUT, as psycopg's ``cursor.copy``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from gateway.errors import mapping
from gateway.session.copies.stream_copies import StreamCopy, wrong_way
from gateway.session.outcome import Row, StatementOutcome
from gateway.sharing.remote_session import RemoteSession

if TYPE_CHECKING:
    from gateway.session.client_session import ClientSession


class CopyConnection(Protocol):
    """What a COPY needs of its connection."""

    @property
    def lock(self) -> AbstractContextManager[Any]:
        """Held while a statement runs."""

    @property
    def client_session(self) -> ClientSession:
        """What runs statements."""


class CopyCursor(Protocol):
    """What a COPY needs of the cursor it runs for."""

    @property
    def connection(self) -> CopyConnection:
        """The cursor's connection."""

    def take_outcome(self, outcome: StatementOutcome) -> None:
        """Hold the result of a statement."""

    def fetchmany(self, size: int | None = None) -> list[Row]:
        """The next rows of the result."""


class Copy:
    """A COPY that runs: a context manager, whose end loads what was written.

    >>> import gateway
    >>> cursor = gateway.connect("palimpsest://").cursor()
    >>> _ = cursor.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
    >>> with cursor.copy("COPY t FROM STDIN (FORMAT csv)") as copy:
    ...     copy.write("1,x\\n2,y\\n")
    >>> cursor.rowcount
    2
    >>> with cursor.copy("COPY t TO STDOUT") as copy:
    ...     bytes(copy.read())
    b'1\\tx\\n2\\ty\\n'
    """

    def __init__(self, cursor: CopyCursor, sql: str) -> None:
        self._cursor = cursor
        self._sql = sql
        with mapping():
            self._copy = StreamCopy(cursor.connection.client_session, sql)
        self._pieces: Iterator[bytes] | None = None

    def __enter__(self) -> Self:
        with mapping(), self._cursor.connection.lock:
            if self._copy.loads:
                self._copy.receive()
            else:
                self._cursor.take_outcome(self._copy.start())
                self._pieces = self._copy.pieces(self._cursor.fetchmany)
        return self

    def write(self, data: str | bytes | bytearray | memoryview) -> None:
        """Add text of the format to what is loaded; raises ``InterfaceError`` for a COPY TO."""
        with mapping():
            self._copy.write(data)

    def write_row(self, row: Sequence[Any]) -> None:
        """Add one row of values; None is NULL."""
        with mapping():
            self._copy.write_row(row)

    def read(self) -> bytes:
        """The next piece of what is written; empty at the end."""
        with mapping():
            if self._pieces is None:
                raise wrong_way("read", "COPY .. TO STDOUT")
            return next(self._pieces, b"")

    def __iter__(self) -> Iterator[bytes]:
        while piece := self.read():
            yield piece

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if self._copy.loads and kind is None:
                with mapping(), self._cursor.connection.lock:
                    self._cursor.take_outcome(self._load())
        finally:
            self._copy.close()

    def _load(self) -> StatementOutcome:
        """Load what was written; a server takes it through its protocol."""
        session = self._cursor.connection.client_session
        sent = None
        if isinstance(session, RemoteSession):
            sent = session.copy_in(self._sql, self._copy.data())
        return sent or self._copy.load()
