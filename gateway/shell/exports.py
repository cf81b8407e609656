r"""Tables and queries into files, for ``export`` and ``\copy``; a file appears when it is whole."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from sqlglot import exp

from gateway.dbapi.connection import Connection
from gateway.dbapi.cursor import Cursor
from gateway.errors import mapping
from gateway.shell.files import table_name, table_node
from gateway.shell.formats import FORMATS
from gateway.shell.own_files import accesses_files, reads_here, write_parquet
from gateway.shell.result import ShownResult
from gateway.shell.running import Advance, run_cancellable
from gateway.shell.table import Style
from journal.local_engine.whole_file import appearing_whole, is_written_in_place
from journal.model.errors import Code, PalimpsestError
from rewriter.statement import SqlStatement

_DELIMITERS = {"csv": ",", "tsv": "\t"}
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
"""Names of columns that need no quotes in a header."""
WRITERS = {".csv": "csv", ".tsv": "tsv", ".json": "json", ".jsonl": "jsonl", ".md": "markdown"}


def export_rows(
    connection: Connection,
    source: str,
    path: Path,
    form: str | None = None,
    advance: Advance | None = None,
) -> int:
    """Write a table's or query's rows to a file, which appears only when it is whole."""
    chosen = form or format_of(path)
    sql = _query_of(connection, source)
    copied = None
    if is_written_in_place(path):
        # The store may run in a process that has no such device or pipe.
        _check_form(chosen, path)
    elif chosen == "parquet":
        copied = _parquet_by_store(connection, sql, path, advance)
    elif chosen in _DELIMITERS:
        copied = _csv_by_store(connection, sql, path, _DELIMITERS[chosen], advance)
    if copied is not None:
        return copied
    cursor = connection.cursor()
    run_cancellable(connection, lambda: cursor.execute(sql))
    try:
        with appearing_whole(path) as draft:
            if chosen == "parquet":
                return _write_parquet(connection, cursor, draft)
            result = ShownResult.of(cursor, connection)
            with draft.open("w", encoding="utf-8", newline="") as out:
                return FORMATS[chosen](result, out, Style())
    except OSError as error:
        with mapping():
            raise PalimpsestError(
                Code.FILE_ACCESS,
                f"cannot write {path}: {error.strerror or error}",
                advice="check folder, permissions and space",
            ) from error
    finally:
        cursor.close()


def _check_form(form: str, path: Path) -> None:
    """Raise FILE_ACCESS for a form that needs a file that can be gone back in."""
    if form == "parquet" and path.is_fifo():
        with mapping():
            raise PalimpsestError(
                Code.FILE_ACCESS,
                f"cannot write Parquet to {path}, which is a pipe",
                advice="write it to a file, or choose another form by --format",
            )


def _query_of(connection: Connection, source: str) -> str:
    """The query that a table's name stands for, or the query itself."""
    if not is_name(source):
        return source
    with mapping():
        name = table_name(connection, source)
    dialect = connection.client_session.dialect
    return exp.select("*").from_(table_node(name)).sql(dialect="" if dialect == "ansi" else dialect)


def _parquet_by_store(
    connection: Connection, sql: str, path: Path, advance: Advance | None
) -> int | None:
    """Let the store write a query's rows, however many.

    None for statements that are no query, and where the store's server would write its own files.
    """
    with mapping(), connection.lock:
        query = _query_for_store(connection, sql)
        if query is None:
            return None
        if reads_here(connection):
            here = _write_here(connection, query, path, advance)
            if here is not None:
                return here
        options = {"FORMAT": exp.var("parquet"), "COMPRESSION": exp.var("zstd")}
        return _copy_by_store(connection, query, path, options, advance)


def _csv_by_store(
    connection: Connection, sql: str, path: Path, delimiter: str, advance: Advance | None
) -> int | None:
    """Let the store write a query's rows as text, which takes half the time of doing it here.

    None also for columns whose text would be another one.
    """
    if reads_here(connection):
        return None
    from journal.local_engine.csv_text import can_write, csv_values

    with mapping(), connection.lock:
        query = _query_for_store(connection, sql)
        if query is None:
            return None
        described = connection.client_session.run_text(query.limit(0).sql(dialect="duckdb"))
        described.close()
        columns = described.columns or []
        names = [column.name for column in columns]
        if (
            len({name.lower() for name in names}) < len(names)
            or not all(_PLAIN_NAME.fullmatch(name) for name in names)
            or not can_write(columns)
            # The store writes these in the session's time zone.
            or any(column.type == "TIMESTAMP WITH TIME ZONE" for column in columns)
        ):
            return None
        quoted = [f'"{name}"' for name in names]
        values = [
            exp.alias_(exp.maybe_parse(value, dialect="duckdb"), name, quoted=True)
            for value, name in zip(csv_values(quoted, columns), names, strict=True)
        ]
        written = exp.select(*values).from_(exp.Subquery(this=query.copy(), alias="r"))
        options = {
            "FORMAT": exp.var("csv"),
            "HEADER": exp.true(),
            "DELIMITER": exp.Literal.string(delimiter),
        }
        return _copy_by_store(connection, written, path, options, advance)


def _query_for_store(connection: Connection, sql: str) -> exp.Query | None:
    """The query that the store can write to a file of this machine; else None."""
    session = connection.client_session
    if not session.perform(accesses_files):
        return None
    statements = session.parse(sql, placeholders=False)
    found = statements[0].statement if len(statements) == 1 else None
    if not isinstance(found, SqlStatement) or not isinstance(found.ast, exp.Query):
        return None
    return found.ast


def _copy_by_store(
    connection: Connection,
    query: exp.Query,
    path: Path,
    options: Mapping[str, exp.Expr],
    advance: Advance | None,
) -> int | None:
    copy = exp.Copy(
        this=exp.Subquery(this=query.copy()),
        kind=False,
        files=[exp.Literal.string(str(path.absolute()))],
        params=[
            exp.CopyParameter(this=exp.var(name), expression=value)
            for name, value in options.items()
        ],
    )
    text, session = copy.sql(dialect="duckdb"), connection.client_session
    return run_cancellable(connection, lambda: session.run_text(text), advance).row_count


def _write_here(
    connection: Connection, query: exp.Query, path: Path, advance: Advance | None
) -> int | None:
    """Write a query's rows in this process; None for columns that a file could not tell apart."""
    session, text = connection.client_session, query.sql(dialect="duckdb")
    outcome = run_cancellable(connection, lambda: session.run_text(text), advance)
    if len({c.name.lower() for c in outcome.columns or []}) < len(outcome.columns or []):
        outcome.close()
        return None

    assert outcome.rows is not None
    rows = outcome.rows

    def write() -> int:
        with session.fetching(rows):
            return write_parquet(
                rows, outcome.columns or [], path.absolute(), session.settings.timezone
            )

    return run_cancellable(connection, write)


def format_of(path: Path) -> str:
    """The format a file's ending asks for; raises FILE_ACCESS for others."""
    if path.suffix.lower() == ".parquet":
        return "parquet"
    found = WRITERS.get(path.suffix.lower())
    if found is None:
        with mapping():
            raise PalimpsestError(
                Code.FILE_ACCESS,
                f"{path} does not end in the name of a format",
                advice="name it .csv, .tsv, .json, .jsonl, .md or .parquet, or give --format",
            )
    return found


def is_name(source: str) -> bool:
    """True for a table's name, false for a query: names hold no space outside quotes."""
    bare = source.strip()
    if bare.startswith('"') or ("." in bare and bare.endswith('"')):
        return True
    return bool(bare) and not any(c.isspace() or c in "()" for c in bare)


def _write_parquet(connection: Connection, cursor: Cursor, path: Path) -> int:
    import pyarrow.parquet as pq

    batches = cursor.fetch_record_batches()
    batch = run_cancellable(connection, lambda: next(batches, None))
    assert batch is not None, "one batch at least has the schema"
    rows = 0
    with pq.ParquetWriter(path, batch.schema, compression="zstd") as out:
        while batch is not None:
            out.write_batch(batch)
            rows += batch.num_rows
            batch = run_cancellable(connection, lambda: next(batches, None))
    return rows
