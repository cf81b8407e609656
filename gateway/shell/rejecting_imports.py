"""Imports that leave out the rows of a CSV file that no column can take: ``import --rejects``.

The process that has the store open reads the file, and writes the reject file, as the same user.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from gateway.dbapi.connection import Connection
from gateway.errors import mapping
from gateway.session.copies.file_loads import failing
from gateway.session.copies.rejecting_loads import RejectingLoad, load_rejecting
from gateway.session.operations import Advance as Told
from gateway.session.operations import single_operation
from gateway.session.outcome import StatementOutcome
from gateway.session.own_parameters import own_parameters
from gateway.session.session import Session
from gateway.shell.file_source import FileOptions
from gateway.shell.files import (
    Imported,
    check_reads_files,
    match_columns,
    no_such_table,
    parsed_insert,
    reader_of,
    table_name,
    table_node,
)
from gateway.shell.running import run_cancellable
from journal.files.csv_rejects import CsvDialect, header_names
from journal.model.errors import Code, PalimpsestError
from journal.model.places import is_elsewhere, local_path
from journal.model.schema import Table, TableName
from rewriter.writing.copy_options import RejectOptions


def import_rejecting(
    connection: Connection,
    path: str,
    name: str,
    rejects: RejectOptions,
    options: FileOptions,
    shown: str = "",
) -> Imported:
    """Append the rows of a CSV file that a table can take; what becomes of others ``rejects`` says.

    Errors call the file ``shown``. Raises NOT_SUPPORTED for files of another kind, and for one
    whose first line names no columns.
    """
    with mapping():
        check_reads_files(connection, path)
        load = _load_of(path, options, rejects, shown or path)
        target = table_name(connection, name)
        session = connection.client_session
        found = session.catalog.get(target)
        if not isinstance(found, Table):
            raise no_such_table(target)
        names = [n for n, _ in load.columns]
        load = replace(load, columns=tuple(match_columns(found, names, load.shown)))
        quoted = [exp.to_identifier(n, quoted=True) for n in names]
        into = exp.Schema(this=table_node(target), expressions=quoted).sql("duckdb")

        def run() -> StatementOutcome:
            counts = session.perform(load_file_rejecting, target, into, load)
            return StatementOutcome("INSERT", counts[0], skipped=counts[1], rejected=counts[2])

        with connection.lock:
            done = run_cancellable(connection, run)
    counts = (done.skipped, done.rejected)
    return Imported(str(target), done.row_count, tuple(names), False, *counts)


def _load_of(path: str, options: FileOptions, rejects: RejectOptions, shown: str) -> RejectingLoad:
    """The load of a file whose columns have no types yet."""
    is_plain = not path.lower().endswith((".gz", ".zst"))
    if reader_of(path) != "read_csv" or not is_plain or options.header is False:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"rows are rejected of CSV files with a header, which {shown} is not",
            advice="name a .csv, .tsv or .txt file, not compressed, whose first line names columns",
        )
    usual = "\t" if path.lower().endswith(".tsv") else ","
    dialect = CsvDialect(
        header=True,
        delimiter=options.delimiter or usual,
        null=options.null or "",
        has_quoted_nulls=True,
    )
    place = local_path(path).absolute()
    columns = tuple((name, "") for name in header_names(place, dialect))
    if rejects.path is not None and not is_elsewhere(rejects.path):
        rejects = replace(rejects, path=str(local_path(rejects.path).absolute()))
    return RejectingLoad(str(place), dialect, columns, rejects, shown)


@single_operation
def load_file_rejecting(
    session: Session, _advance: Told, target: TableName, into: str, load: RejectingLoad
) -> tuple[int, int, int]:
    """Insert the rows of a file that fit: how many went in, were suppressed, and were rejected."""
    parsed, ast, table = parsed_insert(session, target, f"INSERT INTO {into} DEFAULT VALUES")
    columns = [c for c in (table.find(n.name) for n in ast.this.expressions) if c is not None]
    bound = own_parameters(session)
    with session.cancellation.running(), failing(session):
        done = load_rejecting(session, parsed, ast.this, table, columns, load, bound)
    return done.row_count, done.skipped, done.rejected
