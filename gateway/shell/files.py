r"""Files into tables, for ``import`` and ``\copy``.

The statements are built as AST and run like any other, so keys and constraints hold for imported
rows too. Columns of a file are matched to those of the table by name. Nothing is appended unless
all rows of the file are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sqlglot import exp, parse_one

from gateway.dbapi.connection import Connection
from gateway.errors import mapping
from gateway.procedures.procedures import no_table
from gateway.session import typed_names
from gateway.session.copies.file_loads import failing, load_rows
from gateway.session.operations import Advance as Told
from gateway.session.operations import operation, single_operation
from gateway.session.outcome import StatementOutcome
from gateway.session.own_parameters import own_parameters
from gateway.session.session import Session
from gateway.shell.file_source import FOUND_OUT, FileOptions, FileSource
from gateway.shell.key_conflicts import APPEND, check_once, on_conflict, repeated_key
from gateway.shell.own_files import accesses_files, as_parquet, reads_files, reads_here
from gateway.shell.running import Advance, run_cancellable
from gateway.shell.unread_csv import check_is_divided, divided_wrongly
from journal.local_engine.file_session import file_session
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.places import local_path
from journal.model.plan import Query
from journal.model.schema import Table, TableName, fold
from rewriter.statement import SqlStatement
from rewriter.syntax.parsing import Parsed, parse

READERS = {
    ".parquet": "read_parquet",
    **dict.fromkeys((".csv", ".tsv", ".txt"), "read_csv"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), "read_json"),
}
_CSV_ERROR = re.compile(r"line (\d+) of the file: (.*)", re.DOTALL)
_COMPRESSED = (".gz", ".zst")
_KEPT_TWICE = "name further columns with --key, or leave it out: rows then get hidden ids"
_KNOWN_KEYS = (
    "--load merge replaces rows whose key is there, --load ignore leaves theirs out; nothing was"
    " imported"
)


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did; ``rows`` are those that were new and those that were ``updated``."""

    table: str
    rows: int
    columns: tuple[str, ...]
    created: bool
    skipped: int = 0
    rejected: int = 0
    updated: int = 0


def reader_of(path: str) -> str:
    """The function that reads a file, by its ending; raises FILE_ACCESS for others."""
    bare = path.lower()
    for ending in _COMPRESSED:
        bare = bare.removesuffix(ending)
    reader = READERS.get(Path(bare).suffix)
    if reader is None:
        raise PalimpsestError(
            Code.FILE_ACCESS,
            f"{path} is not a kind of file that can be imported",
            advice="name it .csv, .tsv, .txt, .json, .ndjson (also .gz or .zst) or .parquet",
        )
    return reader


def import_file(
    connection: Connection,
    path: str | Sequence[str],
    name: str,
    *,
    create: bool = False,
    key: Sequence[str] = (),
    options: FileOptions = FOUND_OUT,
    advance: Advance | None = None,
    shown: str = "",
    load: str = APPEND,
) -> Imported:
    """Append a file's rows to a table, all or none; with ``create`` the table is made of them.

    ``load`` says what becomes of rows whose key is there, see ``key_conflicts``. Several files are
    of one kind; a column that some of them lack is NULL there. Errors call the file ``shown``.
    """
    with mapping():
        paths = [path] if isinstance(path, str) else list(path)
        shown = shown or paths[0]
        check_reads_files(connection, shown)
        reader = reader_of(paths[0])
        target = table_name(connection, name)
        found = connection.client_session.catalog.get(target)
        source = FileSource(tuple(str(local_path(p).absolute()) for p in paths), reader, options)
        columns = _columns_of_file(connection, source, shown)
        if create:
            definition = _definition(target, columns, key)
        else:
            if not isinstance(found, Table):
                raise no_such_table(target)
            columns = match_columns(found, [n for n, _ in columns], shown)
            definition = None
        into = _Target(target, shown, definition)
        if isinstance(found, Table) and not create:
            conflict = on_conflict(found, [n for n, _ in columns], load, shown)
            into = _Target(target, shown, None, conflict)
        try:
            done = _append(connection, source, into, columns, advance)
        except PalimpsestError as error:
            raise _of_file(error, shown, create=create) from error
    rows, skipped, updated = done
    return Imported(str(target), rows, tuple(n for n, _ in columns), create, skipped, 0, updated)


def check_reads_files(connection: Connection, path: str) -> None:
    """Raise NOT_SUPPORTED where whoever has the warehouse open is on another machine."""
    if not connection.client_session.perform(reads_files):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"the server of the warehouse does not read {path}, a file of this machine",
            advice="send its rows: COPY t FROM STDIN (FORMAT csv, HEADER)",
        )


def _of_file(error: PalimpsestError, path: str, *, create: bool) -> PalimpsestError:
    """An error about a value of a CSV file, or a key, that says where it is and what to do."""
    if error.code is Code.DUPLICATE_KEY:
        return PalimpsestError(
            error.code, f"{path}: {error.message}", advice=_KEPT_TWICE if create else _KNOWN_KEYS
        )
    found = _CSV_ERROR.match(error.message)
    if found is None:
        return error
    advice = "correct the value, and import the file again; nothing was imported"
    if "not utf-8" in found[2]:
        advice = (
            "convert it by iconv -f WINDOWS-1252 -t UTF-8, or name what it is in:"
            f" COPY t FROM '{path}' (HEADER, ENCODING 'latin-1')"
        )
    return PalimpsestError(error.code, f"{path}, line {found[1]}: {found[2]}", advice=advice)


@dataclass(frozen=True, slots=True)
class _Target:
    """The table that is filled: its name, what makes it if that is asked for, its ON CONFLICT.

    Errors call the file ``shown``.
    """

    name: TableName
    shown: str
    definition: exp.Create | None = None
    conflict: exp.OnConflict | None = None


def _append(
    connection: Connection,
    source: FileSource,
    target: _Target,
    columns: Sequence[tuple[str, str]],
    advance: Advance | None,
) -> tuple[int, int, int]:
    """Make the table if need be and insert; one transaction of its own unless one is open.

    How many rows were written, skipped, and updated.
    """
    session = connection.client_session
    outer = session.in_transaction or not session.autocommit
    if not outer:
        session.begin()
    try:
        if target.definition is not None:
            run_ast(connection, target.definition).close()
        updates = target.conflict is not None and bool(target.conflict.expressions)
        counted = exp.select(exp.Count(this=exp.Star())).from_(table_node(target.name))
        before = _rows_of(connection, counted)[0][0] if updates else 0
        names = [exp.to_identifier(n, quoted=True) for n, _ in columns]
        rows = exp.select(*[exp.column(n.copy()) for n in names]).from_(
            source.relation(dict(columns))
        )
        into = exp.Schema(this=table_node(target.name), expressions=names)
        if session.perform(accesses_files):
            with _read_here(connection, rows) as found:
                if target.conflict is not None:
                    repeated = _rows_of(connection, repeated_key(found, target.conflict))
                    check_once(target.conflict, repeated, target.shown)
                insert = exp.Insert(this=into, expression=found, conflict=target.conflict)
                outcome = run_ast(connection, insert, advance)
        else:
            outcome = _load_here(connection, into, rows, target)
        after = _rows_of(connection, counted)[0][0] if updates else outcome.row_count
        if not outer:
            session.commit()
    except BaseException:
        if not outer:
            session.rollback()
        raise
    return outcome.row_count, outcome.skipped, outcome.row_count - (after - before)


def _rows_of(connection: Connection, query: exp.Select) -> list[tuple[Any, ...]]:
    """The rows of a query that has one at most."""
    outcome = run_ast(connection, query)
    assert outcome.rows is not None
    with closing(outcome):
        return outcome.rows.take(1)


@contextmanager
def _read_here(connection: Connection, rows: exp.Select) -> Iterator[exp.Select]:
    """The query over a file, or one over Parquet that a client of an owner has made of it."""
    if not reads_here(connection):
        yield rows
        return
    with as_parquet(rows, connection.client_session.settings.timezone) as path:
        if path is None:
            yield rows
            return
        read = exp.Anonymous(this="read_parquet", expressions=[exp.Literal.string(path)])
        yield exp.select(*[e.copy() for e in rows.expressions]).from_(exp.Table(this=read))


def _load_here(
    connection: Connection, into: exp.Schema, rows: exp.Select, target: _Target
) -> StatementOutcome:
    """Have the session read the rows of a file for a store that does not."""
    session = connection.client_session

    def load() -> StatementOutcome:
        texts = (into.sql("duckdb"), rows.sql("duckdb"))
        conflict = "" if target.conflict is None else target.conflict.sql("duckdb")
        found = session.perform(load_file, target.name, *texts, conflict, target.shown)
        return StatementOutcome("INSERT", found[0], skipped=found[1])

    with connection.lock:
        return run_cancellable(connection, load)


@single_operation
def load_file(
    session: Session,
    _advance: Told,
    target: TableName,
    into: str,
    rows: str,
    conflict: str = "",
    shown: str = "",
) -> tuple[int, int]:
    """Insert the rows of a query over a file: how many went in, and how many were left out.

    ``into`` is the table with its columns, ``rows`` the query and ``conflict`` the clause behind
    it, in DuckDB's dialect; errors call the file ``shown``.
    """
    text = f"INSERT INTO {into} {rows} {conflict}".strip()
    parsed, ast, table = parsed_insert(session, target, text)
    columns = [c for c in (table.find(n.name) for n in ast.this.expressions) if c is not None]
    with session.cancellation.running(), failing(session):
        own = own_parameters(session)
        clause = ast.args.get("conflict")
        if clause is not None:
            _check_keys(session, ast.expression, clause, shown)
        done = load_rows(session, parsed, ast.this, ast.expression, columns, own)
    return done.row_count, done.skipped


def _check_keys(session: Session, rows: exp.Select, conflict: exp.OnConflict, shown: str) -> None:
    with file_session(session.settings.timezone) as files:
        files.execute(Query.of(repeated_key(rows, conflict)), {})
        check_once(conflict, files.fetch_many(1), shown)


def parsed_insert(session: Session, target: TableName, text: str) -> tuple[Parsed, exp.Expr, Table]:
    """An INSERT into a table in DuckDB's dialect, its tree, and the table."""
    (parsed,) = parse(text, "duckdb", session.settings.limits)
    assert isinstance(parsed.statement, SqlStatement)
    table = session.catalog.get(target)
    assert isinstance(table, Table)
    return parsed, parsed.statement.ast, table


@operation
def file_columns(session: Session, _advance: Told, query: str) -> list[tuple[str, str]]:
    """The names and types of a query over a file, in DuckDB's dialect."""
    ast = parse_one(query, dialect="duckdb")
    with file_session(session.settings.timezone) as files:
        return [(c.name, c.type) for c in files.describe(Query.of(ast), {})]


def _columns_of_query(connection: Connection, relation: exp.Table) -> list[tuple[str, str]]:
    query = exp.select("*").from_(relation).limit(0)
    session = connection.client_session
    if not session.perform(accesses_files):
        return session.perform(file_columns, query.sql("duckdb"))
    outcome = run_ast(connection, query)
    outcome.close()
    return [(c.name, c.type) for c in outcome.columns or []]


def _columns_of_file(
    connection: Connection, source: FileSource, shown: str
) -> list[tuple[str, str]]:
    """The columns that DuckDB finds in a file; raises COLUMN_COUNT where it finds no separator."""
    delimiter = source.options.delimiter
    try:
        columns = _columns_of_query(connection, source.relation({}))
    except PalimpsestError as error:
        if source.reader == "read_csv" and "sniffing" in error.message:
            raise divided_wrongly(source.paths[0], delimiter, shown) or error from error
        raise _of_file(error, shown, create=True) from error
    if source.reader == "read_csv":
        check_is_divided(columns, source.paths[0], delimiter, shown)
    return columns


def _definition(
    target: TableName, columns: Sequence[tuple[str, str]], key: Sequence[str]
) -> exp.Create:
    known = {fold(n): n for n, _ in columns}
    missing = [k for k in key if fold(k) not in known]
    if missing:
        raise PalimpsestError(
            Code.UNKNOWN_COLUMN,
            f'the file has no column "{missing[0]}" to be the key',
            advice="its columns are " + ", ".join(known.values()),
        )
    elements: list[exp.Expr] = [
        exp.ColumnDef(
            this=exp.to_identifier(n, quoted=True), kind=exp.DataType.build(t, dialect="duckdb")
        )
        for n, t in columns
    ]
    if key:
        names = [exp.to_identifier(known[fold(k)], quoted=True) for k in key]
        elements.append(exp.PrimaryKey(expressions=names))
    return exp.Create(this=exp.Schema(this=table_node(target), expressions=elements), kind="TABLE")


def no_such_table(target: TableName) -> PalimpsestError:
    """The error of an import into a table that is not there."""
    return PalimpsestError(
        Code.UNKNOWN_TABLE,
        f"table {target} does not exist",
        advice="make it from the file: --create --key COLUMN",
    )


def match_columns(table: Table, names: Sequence[str], path: str) -> list[tuple[str, str]]:
    """The file's columns under the table's types; all must be columns of the table."""
    matched = []
    for name in names:
        found = table.find(name)
        if found is None:
            known = ", ".join(c.name for c in table.columns)
            raise PalimpsestError(
                Code.UNKNOWN_COLUMN,
                f'{path} has a column "{name}", which {table.name} does not have',
                advice=f"the table's columns are {known}; a CSV file names them in its first line",
            )
        matched.append((name, found.type))
    return matched


def table_name(connection: Connection, name: str) -> TableName:
    """A table's name as typed on the command line: ``t`` or ``schema.t``."""
    catalog = connection.client_session.catalog
    if catalog.own is not None:
        own = typed_names.table_name(name, catalog, catalog.own)
        if catalog.get(own) is not None:
            return own
    return typed_names.table_name(name, catalog, connection.client_session.settings.schema)


def named_table(connection: Connection, name: str) -> Table:
    """The table of a name as typed on the command line; raises UNKNOWN_TABLE or WRONG_OBJECT."""
    known = table_name(connection, name)
    session = connection.client_session
    found = session.catalog.get(known)
    if not isinstance(found, Table):
        raise no_table(known, session.catalog, session.settings.role)
    return found


def table_node(name: TableName) -> exp.Table:
    """A table's name in a statement."""
    return exp.table_(
        exp.to_identifier(name.name, quoted=True), db=exp.to_identifier(name.schema, quoted=True)
    )


def run_ast(
    connection: Connection, ast: exp.Expr, advance: Advance | None = None
) -> StatementOutcome:
    """Run a statement that was built here, whatever dialect the connection speaks."""
    text, session = ast.sql(dialect="duckdb"), connection.client_session
    with connection.lock:
        return run_cancellable(connection, lambda: session.run_text(text), advance)
