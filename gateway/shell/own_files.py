"""Files that a client of an owner reads and writes itself, while the owner serves others.

What the client reads becomes Parquet, which the owner loads without looking at its text; rows that
it writes come as Arrow batches. Both keep every value as it is: a file with a column of another
type than those of ``_EXACT`` is read by the owner.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sqlglot import exp

from gateway.dbapi.connection import Connection
from gateway.session.diagnosis import file_error
from gateway.session.operations import Advance, operation
from gateway.session.outcome import ResultRows
from gateway.session.session import Session
from gateway.sharing.remote_session import RemoteSession
from journal.local_engine.file_session import file_session, write_batches
from journal.local_engine.scratch import scratch
from journal.model.errors import PalimpsestError
from journal.model.plan import Export, Query
from journal.model.result_column import ResultColumn
from journal.sql.relations import column
from journal.sql.sql import cast, named

_EXACT = frozenset(
    {"BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL"}
    | {"UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "VARCHAR", "BLOB", "UUID", "JSON"}
    | {"DATE", "TIME", "TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE", "INTERVAL"}
)
_PARQUET = (("COMPRESSION", exp.Literal.string("zstd")),)


def reads_here(connection: Connection) -> bool:
    """True for a client of an owner on this machine whose store reads files."""
    session = connection.client_session
    return isinstance(session, RemoteSession) and session.perform(accesses_files)


@contextmanager
def as_parquet(rows: exp.Select, zone: str | None) -> Iterator[str | None]:
    """A Parquet file with the rows of a query over a file, for the block.

    None where a value might not survive: the query has a type that Parquet does not keep exactly.
    Raises what reading the file raises, with the line of the value.
    """
    with file_session(zone) as files, scratch() as at:
        query = Query.of(rows)
        try:
            if not all(_is_exact(found.type) for found in files.describe(query, {})):
                yield None
                return
            path = str(at / "rows.parquet")
            copy = exp.Copy(
                this=exp.Subquery(this=rows.copy()),
                kind=False,
                files=[exp.Literal.string(path)],
                params=[exp.CopyParameter(this=exp.var("FORMAT"), expression=exp.var("parquet"))],
            )
            files.execute(Query.of(copy), {})
        except PalimpsestError as error:
            raise file_error(error) from error
        yield path


def write_parquet(
    rows: ResultRows, columns: Sequence[ResultColumn], path: Path, zone: str | None
) -> int:
    """Write the rows of a statement as the store would; how many they were."""
    written = [named(cast(column(c.name, "r"), c.type), c.name) for c in columns]
    export = Export(Query.of(exp.select(exp.Star())), str(path), "parquet", _PARQUET)
    with file_session(zone) as files:
        return write_batches(files, rows.batches(0), export, written)


def _is_exact(kind: str) -> bool:
    return kind.rstrip("[]").split("(")[0] in _EXACT


@operation
def reads_files(_session: Session, _advance: Advance) -> bool:
    """True where the process that has the warehouse open reads files of this machine."""
    return True


@operation
def accesses_files(session: Session, _advance: Advance) -> bool:
    """True where the store reads and writes files of this machine."""
    return session.journal.capabilities.accesses_files
