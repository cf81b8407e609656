"""COPY between a table and the program: FROM STDIN and TO STDOUT, as psycopg's ``cursor.copy``.

What comes is kept in a file that only this user can read, and loaded when all of it is there, so
that a COPY takes all rows or none. What goes is written as its rows are fetched.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Protocol, Self

from sqlglot import exp

from gateway.dbapi.copy_text import CopyFormat, csv_line, read_format, rows_of_text, text_line
from gateway.errors import mapping
from gateway.session.bad_values import STREAM_PREFIX
from gateway.session.outcome import Row, StatementOutcome
from journal.model.errors import Code, PalimpsestError
from rewriter.statement import SqlStatement

if TYPE_CHECKING:
    from gateway.session.client_session import ClientSession

STREAMS = frozenset({"STDIN", "STDOUT"})
_ROWS = 4096
_NULL = "\\N"


def stream_of(ast: exp.Expr) -> str | None:
    """STDIN or STDOUT for a COPY of one, else None."""
    files = ast.args.get("files") or [] if isinstance(ast, exp.Copy) else []
    name = files[0].name.upper() if len(files) == 1 else ""
    is_word = bool(files) and not isinstance(files[0], exp.Literal)
    return name if is_word and name in STREAMS else None


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
        with mapping():
            statements = cursor.connection.client_session.parse(sql)
            found = statements[0].statement if len(statements) == 1 else None
            stream = stream_of(found.ast) if isinstance(found, SqlStatement) else None
            if stream is None or not isinstance(found, SqlStatement):
                raise PalimpsestError(
                    Code.INTERFACE,
                    "copy takes one COPY .. FROM STDIN or COPY .. TO STDOUT",
                    advice="run other statements with execute",
                )
            self._ast: exp.Expr = found.ast.copy()
            assert isinstance(self._ast, exp.Copy)
            self.loads = stream != "STDOUT"
            if bool(self._ast.args.get("kind")) != self.loads:
                raise PalimpsestError(
                    Code.SYNTAX,
                    f"COPY goes FROM STDIN or TO STDOUT, not {stream}",
                    advice="write COPY t FROM STDIN, or COPY t TO STDOUT",
                )
            self._format = read_format(self._ast, loads=self.loads)
        self._file: IO[bytes] | None = None
        self._lines: Iterator[bytes] | None = None
        self.width = 0
        """How many columns a COPY TO writes, inside of the block."""

    def __enter__(self) -> Self:
        if self.loads:
            handle, name = tempfile.mkstemp(prefix=STREAM_PREFIX, suffix=".csv")
            self._path = Path(name)
            self._file = os.fdopen(handle, "w+b")
        else:
            with mapping(), self._cursor.connection.lock:
                self._lines = self._written_lines()
        return self

    def write(self, data: str | bytes | bytearray | memoryview) -> None:
        """Add text of the format to what is loaded; raises ``InterfaceError`` for a COPY TO."""
        file = self._loaded_file()
        file.write(data.encode() if isinstance(data, str) else data)

    def write_row(self, row: Sequence[Any]) -> None:
        """Add one row of values; None is NULL."""
        form = self._format
        values = [None if v is None else str(v) for v in row]
        self.write(csv_line(values, form) if form.is_csv else text_line(values, form))

    def read(self) -> bytes:
        """The next piece of what is written; empty at the end."""
        with mapping():
            if self._lines is None:
                raise _wrong_way("read", "COPY .. TO STDOUT")
            return next(self._lines, b"")

    def __iter__(self) -> Iterator[bytes]:
        while piece := self.read():
            yield piece

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is None:
            return
        try:
            if kind is None:
                with mapping(), self._cursor.connection.lock:
                    self._cursor.take_outcome(self._load())
        finally:
            self._file.close()
            self._path.unlink(missing_ok=True)

    def _loaded_file(self) -> IO[bytes]:
        with mapping():
            if self._file is None:
                raise _wrong_way("write", "COPY .. FROM STDIN")
        return self._file

    def _load(self) -> StatementOutcome:
        file, form = self._loaded_file(), self._format
        file.flush()
        ast = self._ast.copy()
        if not form.is_csv:
            _as_csv(file, form)
        options = form.options(_NULL)
        ast.set("params", options)
        session = self._cursor.connection.client_session
        if file.seek(0, os.SEEK_END) == 0:
            return session.run_text(_no_rows(ast).sql(dialect="duckdb"))
        ast.set("files", [exp.Literal.string(str(self._path))])
        return session.run_text(ast.sql(dialect="duckdb"))

    def _written_lines(self) -> Iterator[bytes]:
        """The pieces of a COPY TO; its query runs now, and its rows are fetched with the pieces."""
        session, query = self._cursor.connection.client_session, _query_of(self._ast)
        shape = session.run_text(exp.select("*").from_(query.copy()).limit(0).sql("duckdb"))
        shape.close()
        names = [c.name for c in shape.columns or ()]
        self.width = len(names)
        query.set("alias", _alias(len(names)))
        values = [exp.cast(exp.column(f"c{i}"), "VARCHAR") for i in range(len(names))]
        self._cursor.take_outcome(session.run_text(exp.select(*values).from_(query).sql("duckdb")))
        return self._pieces(names)

    def _pieces(self, names: Sequence[str]) -> Iterator[bytes]:
        form = self._format
        line = csv_line if form.is_csv else text_line
        if form.header:
            yield line(list(names), form).encode()
        while rows := self._cursor.fetchmany(_ROWS):
            yield "".join(line(row, form) for row in rows).encode()


def _as_csv(file: IO[bytes], form: CopyFormat) -> None:
    """Replace PostgreSQL's text by a CSV file, in which all but NULL stands in quotes."""
    with tempfile.TemporaryFile("w+b") as made:
        file.seek(0)
        for row in rows_of_text(file, form):
            cells = (_NULL if v is None else '"' + v.replace('"', '""') + '"' for v in row)
            made.write((",".join(cells) + "\n").encode())
        made.seek(0)
        file.seek(0)
        file.truncate()
        while chunk := made.read(1 << 20):
            file.write(chunk)
    file.flush()


def _no_rows(ast: exp.Expr) -> exp.Insert:
    """What loads no rows, and fails as a COPY of some would."""
    target = ast.this
    table = target.this if isinstance(target, exp.Schema) else target
    columns: list[exp.Expr] = [exp.column(c.copy()) for c in target.expressions]
    rows = exp.select(*columns or [exp.Star()]).from_(table.copy()).where(exp.false())
    return exp.Insert(this=target.copy(), expression=rows)


def _query_of(ast: exp.Expr) -> exp.Subquery:
    source = ast.this
    if isinstance(source, exp.Subquery) and isinstance(source.this, exp.Query):
        return source.copy()
    if isinstance(source, exp.Schema):
        names = [exp.column(c.copy()) for c in source.expressions]
        return exp.select(*names).from_(source.this.copy()).subquery()
    if isinstance(source, exp.Table):
        return exp.select("*").from_(source.copy()).subquery()
    raise PalimpsestError(
        Code.NOT_SUPPORTED,
        "COPY .. TO STDOUT writes a table or a query",
        advice="write COPY (SELECT ..) TO STDOUT",
    )


def _alias(width: int) -> exp.TableAlias:
    columns = [exp.to_identifier(f"c{i}") for i in range(width)]
    return exp.TableAlias(this=exp.to_identifier("r"), columns=columns)


def _wrong_way(what: str, statement: str) -> PalimpsestError:
    return PalimpsestError(
        Code.INTERFACE, f"{what} is for {statement}", advice="use it inside of the with block"
    )
