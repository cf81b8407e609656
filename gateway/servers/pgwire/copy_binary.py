"""COPY in PostgreSQL's binary format: rows of a client become a file to load, results become rows.

    signature, flags, extension | count of fields, (length, bytes) .. | .. | -1

What comes is kept as Parquet in a file that only this user can read, and loaded when all of it is
there. What goes has the bytes that DataRow messages have.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp

from gateway.servers.arrow_schemas import arrow_type
from gateway.servers.pgwire.messages import BINARY, Field
from gateway.servers.pgwire.parameters import value_of
from gateway.servers.pgwire.types import JSON, element_type, field_of
from gateway.session.bad_values import STREAM_PREFIX
from gateway.session.copies.copy_targets import copied_table
from gateway.session.copies.stream_copies import no_rows
from gateway.session.outcome import StatementOutcome
from gateway.session.session import Session
from journal.local_engine.scratch import Scratch
from journal.model.errors import Code, PalimpsestError
from journal.model.result_column import ResultColumn
from journal.model.schema import Column
from journal.model.visibility import visible_to
from rewriter.reading.taken_types import AS_WRITTEN
from rewriter.writing.copy_files import target_columns
from rewriter.writing.copy_options import given_options

SIGNATURE = b"PGCOPY\n\xff\r\n\0"
HEADER = SIGNATURE + struct.pack("!ii", 0, 0)
TRAILER = struct.pack("!h", -1)
_COUNT, _SIZE = struct.Struct("!h"), struct.Struct("!i")
_HEAD_BYTES = len(HEADER)
_CRITICAL = 0xFFFF0000
_CHUNK_ROWS = 1 << 14


def is_binary(ast: exp.Copy) -> bool:
    """True for a COPY in the binary format; raises NOT_SUPPORTED for other options beside it."""
    given = given_options(ast)
    found = given.pop("format", None)
    if "binary" not in given and (found is None or found.name.lower() != "binary"):
        return False
    others = sorted(set(given) - {"binary", "suppressed", "freeze"})
    if others:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"the COPY option {others[0].upper()} has no meaning for the binary format",
            advice="leave it out",
        )
    return True


class BinaryLoad:
    """Rows on their way in: ``write`` the pieces, then ``load``; ``close`` removes the file.

    Raises what is wrong with the table, and CONVERSION, COLUMN_COUNT and DATA for bytes that are
    no rows of it.
    """

    def __init__(self, session: Session, ast: exp.Copy) -> None:
        self._session, self._ast = session, ast
        catalog = session.catalog
        seen = visible_to(catalog, catalog.rights_of(session.settings.role))
        table = copied_table(ast, seen, session.settings.search_path)
        self._columns: list[Column] = [] if table is None else target_columns(ast, table)
        if not self._columns:
            # It fails as the COPY would, before any row comes.
            session.run_text(no_rows(ast, session)).close()
        fields = [_field(column) for column in self._columns]
        self._places = [(f.oid, f.size, c.name) for f, c in zip(fields, self._columns, strict=True)]
        self._types = [_kept_type(c.type) for c in self._columns]
        self._data = bytearray()
        self._rows: list[list[Any]] = []
        self._is_begun = self._is_ended = False
        self._scratch = Scratch()
        self._path = self._scratch.path / f"{STREAM_PREFIX}rows.parquet"
        self._schema = pa.schema([(f"c{i}", kind) for i, kind in enumerate(self._types)])
        self._writer = pq.ParquetWriter(str(self._path), self._schema, compression="lz4")

    @property
    def width(self) -> int:
        """How many columns a row has."""
        return len(self._columns)

    def write(self, piece: bytes) -> None:
        """Take bytes, which may end anywhere within a row."""
        self._data += piece
        at = self._begin()
        while not self._is_ended and (end := self._read_row(at)) is not None:
            at = end
        del self._data[:at]
        if len(self._rows) >= _CHUNK_ROWS:
            self._keep()

    def load(self) -> StatementOutcome:
        """Load all rows, or none."""
        if self._is_ended and self._data:
            raise _no_copy_data("it goes on after its end")
        if not self._is_begun or self._data:
            raise _no_copy_data("it ends within a row")
        self._keep()
        self._writer.close()
        ast = self._ast.copy()
        path = str(self._path)
        ast.set("files", [exp.Literal.string(path)])
        said = [exp.CopyParameter(this=exp.var("FORMAT"), expression=exp.var("parquet"))]
        suppressed = given_options(self._ast).get("suppressed")
        if suppressed is not None:
            said.append(exp.CopyParameter(this=exp.var("SUPPRESSED"), expression=suppressed.copy()))
        ast.set("params", said)
        return self._session.run_text(ast.sql(dialect="duckdb"), path)

    def close(self) -> None:
        """Remove what was kept."""
        self._writer.close()
        self._scratch.close()

    def _begin(self) -> int:
        """Where the rows go on; reads the header once it is there."""
        if self._is_begun:
            return 0
        if not SIGNATURE.startswith(bytes(self._data[: len(SIGNATURE)])):
            raise _no_copy_data("the signature is missing")
        if len(self._data) < _HEAD_BYTES:
            return 0
        flags, size = struct.unpack_from("!Ii", self._data, len(SIGNATURE))
        if flags & _CRITICAL or size < 0:
            raise _no_copy_data(f"the flags {flags:#x} are unknown")
        if len(self._data) < _HEAD_BYTES + size:
            return 0
        self._is_begun = True
        return _HEAD_BYTES + int(size)

    def _read_row(self, at: int) -> int | None:
        """Read the row that begins there; where it ends, None if not all of it has come."""
        data = self._data
        if not self._is_begun or len(data) < at + _COUNT.size:
            return None
        (count,) = _COUNT.unpack_from(data, at)
        at += _COUNT.size
        if count == -1:
            self._is_ended = True
            return at
        if count != self.width:
            raise PalimpsestError(
                Code.COLUMN_COUNT,
                f"a row of STDIN has {count} values, and COPY takes {self.width}",
                advice="send one value for each column, or name the columns",
            )
        row = []
        for oid, width, name in self._places:
            if len(data) < at + _SIZE.size:
                return None
            (size,) = _SIZE.unpack_from(data, at)
            at += _SIZE.size
            if size < -1:
                raise _no_copy_data(f"a value has {size} bytes")
            if len(data) < at + max(size, 0):
                return None
            if size >= 0 and width not in (-1, size):
                raise PalimpsestError(
                    Code.CONVERSION,
                    f"STDIN, column {name}: a value has {size} bytes, and its type {width}",
                    advice="send values of the column's type",
                )
            row.append(None if size < 0 else value_of(bytes(data[at : at + size]), oid, BINARY))
            at += max(size, 0)
        self._rows.append(row)
        return at

    def _keep(self) -> None:
        """Write the rows that have come to the file."""
        if not self._rows:
            return
        columns = zip(*self._rows, strict=True)
        arrays = []
        for values, kind, column in zip(columns, self._types, self._columns, strict=True):
            if pa.types.is_string(kind):
                values = tuple(None if v is None else str(v) for v in values)
            try:
                arrays.append(pa.array(values, kind))
            except (pa.ArrowException, OverflowError) as error:
                raise PalimpsestError(
                    Code.CONVERSION,
                    f"STDIN, column {column.name}: a value is no {column.type}: {error}",
                    advice="send values of the column's type",
                ) from error
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        self._rows = []


def _field(column: Column) -> Field:
    """The column with the type of what comes: a json has no version before its text."""
    found = field_of(ResultColumn(column.name, column.type))
    return replace(found, oid=JSON.oid) if column.spelled == AS_WRITTEN else found


def start_binary(session: Session, query: exp.Subquery) -> StatementOutcome:
    """Run the query of a COPY TO."""
    return session.run_text(exp.select("*").from_(query).sql("duckdb"))


def batches_of_copy(session: Session, outcome: StatementOutcome) -> Iterator[pa.RecordBatch]:
    """The rows of a COPY TO, batch by batch."""
    assert outcome.rows is not None
    found = outcome.rows.batches(_CHUNK_ROWS)
    while True:
        with session.fetching(outcome.rows):
            batch = next(found, None)
        if batch is None:
            return
        yield batch


def _kept_type(name: str) -> pa.DataType:
    """The type in the file; texts for numbers that are rounded and for what the store reads."""
    if element_type(name) is not None:
        return arrow_type(name)
    kind = arrow_type(name)
    is_plain = any(
        check(kind)
        for check in (
            pa.types.is_boolean,
            pa.types.is_integer,
            pa.types.is_floating,
            pa.types.is_binary,
            pa.types.is_date,
            pa.types.is_time,
            pa.types.is_timestamp,
        )
    )
    return kind if is_plain else pa.string()


def _no_copy_data(why: str) -> PalimpsestError:
    return PalimpsestError(
        Code.DATA,
        f"STDIN is no COPY in binary: {why}",
        advice="send PostgreSQL's binary format, or leave FORMAT binary out",
    )
