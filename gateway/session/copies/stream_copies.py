"""COPY between a table and a stream, FROM STDIN and TO STDOUT, for every front end.

What comes is kept in a file that only this user can read, and loaded when all of it is there, so
that a COPY takes all rows or none. What goes is written as its rows are fetched.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from sqlglot import exp

from gateway.session.bad_values import STREAM_PREFIX
from gateway.session.copies.copy_targets import copied_table
from gateway.session.copies.copy_text import (
    CopyFormat,
    check_forced,
    check_header,
    csv_line,
    quoted_places,
    read_format,
    rows_of_text,
    text_line,
    text_of,
)
from gateway.session.named_schemas import with_home_schema
from gateway.session.outcome import Row, StatementOutcome
from journal.local_engine.scratch import Scratch
from journal.model.errors import Code, PalimpsestError
from journal.sql.network_text import is_network_kind
from journal.sql.relations import ident
from rewriter.definitions.generated_values import copied_columns, writable_columns
from rewriter.statement import SqlStatement

if TYPE_CHECKING:
    from gateway.session.client_session import ClientSession

STREAMS = frozenset({"STDIN", "STDOUT"})
_ROWS = 4096
_NULL = "\\N"
_END_MARK = re.compile(rb"(?:^|(?<=\n))\\\.\r?\n?\Z")
"""The line that ends the data of a script, which psql sends as well."""
_END_BYTES = 5
_WRITTEN_HERE = frozenset({"BLOB", "BOOLEAN"})
_DIMENSIONS = re.compile(r"(\[\d*\])+$")

Fetch = Callable[[int], list[Row]]
"""Gives the next rows of a result, fewer at the end."""


def stream_of(ast: exp.Expr) -> str | None:
    """STDIN or STDOUT for a COPY of one, else None."""
    files = ast.args.get("files") or [] if isinstance(ast, exp.Copy) else []
    name = files[0].name.upper() if len(files) == 1 else ""
    is_word = bool(files) and not isinstance(files[0], exp.Literal)
    return name if is_word and name in STREAMS else None


class StreamCopy:
    """A COPY on its way: ``receive``, ``write`` and ``load``; or ``start`` and ``pieces``.

    Raises INTERFACE for other statements, SYNTAX and NOT_SUPPORTED for a COPY that has no such
    stream or option. ``close`` removes what was kept.
    """

    def __init__(self, session: ClientSession, sql: str) -> None:
        self._session = session
        statements = [
            with_home_schema(parsed, session.dialect, session.catalog)
            for parsed in session.parse(sql)
        ]
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
        # FROM and TO say the direction, whichever of the two is named: PHP copies TO STDIN.
        self.loads = bool(self._ast.args.get("kind"))
        self._format = read_format(
            self._ast, loads=self.loads, as_postgres=session.dialect == "postgres"
        )
        self._file: IO[bytes] | None = None
        self._path: Path | None = None
        self._scratch: Scratch | None = None
        self._names: list[str] = []
        self._has_values = False

    @property
    def width(self) -> int:
        """How many columns a COPY TO writes, once it has started."""
        return len(self._names)

    def receive(self) -> None:
        """Make the file for what a COPY FROM takes."""
        self._scratch = Scratch()
        self._path = self._scratch.path / f"{STREAM_PREFIX}rows.csv"
        self._file = self._path.open("w+b")

    def write(self, data: str | bytes | bytearray | memoryview) -> None:
        """Add text of the format to what is loaded; raises INTERFACE for a COPY TO."""
        self._loaded_file().write(data.encode() if isinstance(data, str) else data)

    def write_row(self, row: Sequence[Any]) -> None:
        """Add one row of values; None is NULL."""
        form = self._format
        values = [text_of(v, form) for v in row]
        self.write(csv_line(values, form) if form.is_csv else text_line(values, form))

    def load(self) -> StatementOutcome:
        """Load all that was written, or raise the error of a row and load none."""
        file, form = self._loaded_file(), self._format
        file.flush()
        ast = self._ast.copy()
        if form.is_csv and self._session.dialect == "postgres":
            _remove_end_mark(file)
        if form.matches or form.quoted_nulls:
            names = [c.name for c in self._shape_of(query_of(ast, self._session)).columns or ()]
            check_forced(names, form)
            if form.matches:
                check_header(file, names, form)
        if not form.is_csv:
            _as_csv(file, form)
        ast.set("params", form.options(_NULL))
        if file.seek(0, os.SEEK_END) == 0:
            return self._session.run_text(no_rows(ast, self._session))
        path = str(self._path)
        ast.set("files", [exp.Literal.string(path)])
        return self._session.run_text(ast.sql(dialect="duckdb"), path)

    def data(self) -> IO[bytes]:
        """What was written so far, from its beginning."""
        file = self._loaded_file()
        file.flush()
        file.seek(0)
        return file

    def start(self) -> StatementOutcome:
        """Run the query of a COPY TO; its rows are fetched with the pieces."""
        query = query_of(self._ast, self._session)
        shape = self._shape_of(query)
        self._names = [c.name for c in shape.columns or ()]
        query.set("alias", _alias(self.width))
        # The gateway writes some values itself: stores do so in different ways.
        types = [_sent_as(c.type, self._format) for c in shape.columns or ()]
        self._has_values = any(kind != "VARCHAR" for kind in types)
        cells = [exp.column(f"c{place}") for place in range(self.width)]
        values = [
            cell if kind is None else exp.cast(cell, kind, dialect="duckdb")
            for cell, kind in zip(cells, types, strict=True)
        ]
        return self._session.run_text(exp.select(*values).from_(query).sql("duckdb"))

    def _shape_of(self, query: exp.Subquery) -> StatementOutcome:
        """A query's outcome without its rows."""
        found = self._session.run_text(exp.select("*").from_(query.copy()).limit(0).sql("duckdb"))
        found.close()
        return found

    def pieces(self, fetch: Fetch) -> Iterator[bytes]:
        """The text of a COPY TO that has started, whole lines at a time."""
        form = self._format
        quoted = quoted_places(self._names, form)
        line = partial(csv_line, quoted=quoted) if form.is_csv else text_line
        if form.header:
            yield (csv_line if form.is_csv else text_line)(list(self._names), form).encode()
        while rows := fetch(_ROWS):
            if self._has_values:
                rows = [tuple(text_of(value, form) for value in row) for row in rows]
            yield "".join(line(row, form) for row in rows).encode()

    def close(self) -> None:
        """Remove what was kept of a COPY FROM."""
        if self._file is not None:
            self._file.close()
        if self._scratch is not None:
            self._scratch.close()

    def _loaded_file(self) -> IO[bytes]:
        if self._file is None:
            raise wrong_way("write", "COPY .. FROM STDIN")
        return self._file


def _sent_as(kind: str, form: CopyFormat) -> str | None:
    """The type as which a COPY TO fetches values; None leaves them as they are."""
    element = _DIMENSIONS.sub("", kind)
    if (form.as_postgres and element in _WRITTEN_HERE) or is_network_kind(element):
        return None
    return "VARCHAR" + (kind[len(element) :] if form.as_postgres else "")


def wrong_way(what: str, statement: str) -> PalimpsestError:
    """The error of writing to what is read, and of reading from what is written."""
    return PalimpsestError(
        Code.INTERFACE, f"{what} is for {statement}", advice="use it inside of the with block"
    )


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


def no_rows(ast: exp.Expr, session: ClientSession) -> str:
    """What loads no rows, and fails as a COPY of some would."""
    target = ast.this
    table = target.this if isinstance(target, exp.Schema) else target
    columns: list[exp.Expr] = [exp.column(c.copy()) for c in target.expressions]
    known = copied_table(ast, session.catalog, session.settings.search_path)
    if not columns and known is not None:
        columns = [exp.column(ident(c.name)) for c in writable_columns(known.columns)]
        target = exp.Schema(this=table.copy(), expressions=[c.this.copy() for c in columns])
    rows = exp.select(*columns or [exp.Star()]).from_(table.copy()).where(exp.false())
    parts = (target.sql("duckdb"), "OVERRIDING SYSTEM VALUE", rows.sql("duckdb"))
    return " ".join(("INSERT INTO", *parts))


def query_of(ast: exp.Expr, session: ClientSession) -> exp.Subquery:
    """What a COPY TO reads; raises NOT_SUPPORTED for what is no table and no query."""
    source = ast.this
    if isinstance(source, exp.Subquery) and isinstance(source.this, exp.Query):
        return source.copy()
    if isinstance(source, exp.Subquery) and isinstance(source.this, exp.Values):
        return _rows_of_values(source.this.copy()).subquery()
    columns = None
    if session.dialect == "postgres":
        table = copied_table(ast, session.catalog, session.settings.search_path)
        columns = copied_columns(source, table)
    if isinstance(source, exp.Schema):
        names = [exp.column(c.copy()) for c in source.expressions]
        return exp.select(*names).from_(source.this.copy()).subquery()
    if isinstance(source, exp.Table):
        shown = [ident(name) for name in columns or ()]
        return exp.select(*shown or "*").from_(source.copy()).subquery()
    raise PalimpsestError(
        Code.NOT_SUPPORTED,
        "COPY .. TO STDOUT writes a table or a query",
        advice="write COPY (SELECT ..) TO STDOUT",
    )


def _rows_of_values(values: exp.Values) -> exp.Select:
    """All columns of VALUES, under the names that they have without any."""
    width = len(values.expressions[0].expressions) if values.expressions else 0
    columns = [ident(f"column{place}") for place in range(1, width + 1)]
    alias = exp.TableAlias(this=exp.to_identifier("v"), columns=columns)
    return exp.select("*").from_(exp.Subquery(this=values, alias=alias))


def _alias(width: int) -> exp.TableAlias:
    columns = [exp.to_identifier(f"c{i}") for i in range(width)]
    return exp.TableAlias(this=exp.to_identifier("r"), columns=columns)


def _remove_end_mark(file: IO[bytes]) -> None:
    """Remove the line ``\\.`` at the end of CSV data; ``_as_csv`` does so for text."""
    start = max(0, file.seek(0, os.SEEK_END) - _END_BYTES)
    file.seek(start)
    tail = file.read()
    found = _END_MARK.search(tail)
    # Without the byte before it, what stands at the beginning of the tail may be the end of a line.
    if found is not None and (found.start() > 0 or start == 0):
        file.truncate(start + found.start())
