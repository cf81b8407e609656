"""Adopts Parquet files into an embedded warehouse, and ejects tables to Parquet files.

A warehouse has no plain tables of others, so what is adopted are files, and what is ejected are
two: the current rows, and every row of the journal. Both can be undone: the files that were adopted
stay as they are, and UNDROP TABLE brings an ejected table back.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sqlglot import exp

from gateway.dbapi.connection import Connection
from gateway.procedures.procedures import embedded
from gateway.session.operations import Advance, operation, single_operation
from gateway.session.session import Session
from gateway.shell.exports import export_rows
from gateway.shell.files import import_file, named_table, run_ast, table_name
from gateway.wording import counted
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table, TableName
from journal.sql.relations import ident

HISTORY_SUFFIX = "_history"


def adopt_files(
    connection: Connection, table: str, place: Path, key: Sequence[str], *, run: bool
) -> list[str]:
    """Make a table of a Parquet file or folder, or only say what that would do."""
    from gateway.shell.parquet_folder import read_parquet_folder

    connection.client_session.perform(check_embedded, "adopting files")
    found = read_parquet_folder(place)
    name = table_name(connection, table)
    keyed = f"key {', '.join(key)}" if key else "no key, so rows get hidden ids"
    steps = [
        f"{name} is made with the columns of {counted(len(found.files), 'file')}, {keyed}",
        f"their {found.rows} rows become its first versions; the files stay as they are",
        f"DROP TABLE {name} undoes it",
    ]
    if run:
        files = [str(file) for file in found.files]
        import_file(connection, files, table, create=True, key=key, shown=str(place))
    return steps


def eject_files(connection: Connection, table: str, folder: Path, *, run: bool) -> list[str]:
    """Leave a table's rows and its journal as Parquet files, or only say what that would do."""
    connection.client_session.perform(check_embedded, "ejecting to files")
    found = named_table(connection, table)
    name = found.name
    current = folder / f"{name.name}.parquet"
    history = folder / f"{name.name}{HISTORY_SUFFIX}.parquet"
    steps = [
        f"{current} holds the current rows of {name}",
        f"{history} holds every row of its journal",
        f"{name} is dropped; UNDROP TABLE brings it back",
    ]
    if run:
        _write_and_drop(connection, found, {found.name: current, found.journal_name: history})
    return steps


def _write_and_drop(connection: Connection, table: Table, files: dict[TableName, Path]) -> None:
    """Write and drop in one transaction; raises SERIALIZATION if others wrote meanwhile."""
    session = connection.client_session
    session.begin()
    try:
        for name, path in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            export_rows(connection, str(_place(name).sql(dialect=session.dialect)), path)
        run_ast(connection, exp.Drop(tables=[_place(table.name)], kind="TABLE")).close()
        session.perform(commit_untouched, table)
    except BaseException:
        session.rollback()
        raise


@operation
def has_folder(session: Session, _advance: Advance) -> bool:
    """True for a store whose journals lie in a folder of this machine."""
    return session.journal.capabilities.folder is not None


@operation
def check_embedded(session: Session, _advance: Advance, what: str) -> None:
    """Raise NOT_SUPPORTED unless the store is an embedded warehouse."""
    embedded(session, what)


@single_operation
def commit_untouched(session: Session, _advance: Advance, table: Table) -> None:
    """Commit, unless others have written to a table since the transaction began."""
    journal = embedded(session, "ejecting to files")
    with journal.commit_lock:
        assert session.transaction is not None
        if session.transaction.is_pinned(table.id, journal.state):
            raise PalimpsestError(
                Code.SERIALIZATION,
                f"others have written to {table.name} while it was ejected",
                advice="eject it again when nobody writes to it",
            )
        session.commit()


def _place(name: TableName) -> exp.Table:
    return exp.Table(this=ident(name.name), db=ident(name.schema))
