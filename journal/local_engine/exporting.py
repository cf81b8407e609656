"""Rows of a query written to a file of the client's, for COPY .. TO.

A single file appears only when it is whole: it is written beside its place and renamed. A folder
(partitions, several files) is written in place. Nothing is ever written inside the warehouse, where
it could take the place of a journal's files.
"""

from __future__ import annotations

from pathlib import Path

from sqlglot import exp

from journal.local_engine.session import DuckDBSession
from journal.local_engine.whole_file import appearing_whole
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Export, Query
from journal.model.store_session import Parameters


def export_rows(
    session: DuckDBSession, export: Export, parameters: Parameters, closed: Path | None = None
) -> int:
    """Write the rows; how many they were.

    Raises FILE_ACCESS where no file may lie, as in the folder ``closed``.
    """
    path = _export_path(closed, export)
    if export.is_folder:
        return _copy_rows(session, export, path, parameters)
    try:
        with appearing_whole(path) as draft:
            return _copy_rows(session, export, draft, parameters)
    except OSError as error:
        raise _export_error(export.path, error.strerror or str(error)) from error


def _export_path(closed: Path | None, export: Export) -> Path:
    """Where the file shall lie; raises FILE_ACCESS where none may."""
    path = Path(export.path)
    try:
        whole = path.resolve()
    except (OSError, ValueError) as error:
        raise _export_error(export.path, str(error)) from error
    if closed is not None and whole.is_relative_to(closed.resolve()):
        raise _export_error(
            export.path, "it lies inside the warehouse, which only commits write to"
        )
    if not whole.parent.is_dir() and not export.is_folder:
        raise _export_error(export.path, "its folder does not exist")
    goes = export.is_folder and whole.is_file() and _overwrites(export)
    if whole.exists() and whole.is_dir() != export.is_folder and not goes:
        raise _export_error(
            export.path, "it is a folder" if whole.is_dir() else "it is not a folder"
        )
    if whole.exists() and not (whole.is_dir() or whole.is_file() or whole.is_char_device()):
        # A pipe that nobody reads would stop here, and a disk would lose what is on it.
        raise _export_error(export.path, "it is not a regular file")
    return whole


def _overwrites(export: Export) -> bool:
    """True if what lies at the path goes before anything is written there."""
    value = dict(export.options).get("OVERWRITE")
    return value is not None and value.name.lower() in {"", "1", "true"} and value != exp.false()


def _copy_rows(session: DuckDBSession, export: Export, path: Path, parameters: Parameters) -> int:
    given = (("FORMAT", exp.Literal.string(export.form)), *export.options)
    copy = exp.Copy(
        this=exp.Subquery(this=export.query.ast.copy()),
        kind=False,
        files=[exp.Literal.string(str(path))],
        params=[exp.CopyParameter(this=exp.var(n), expression=v.copy()) for n, v in given],
    )
    session.execute(Query(copy, export.query.parameters), parameters)
    return int(session.fetch_many(1)[0][0])


def _export_error(path: str, why: str) -> PalimpsestError:
    return PalimpsestError(
        Code.FILE_ACCESS,
        f"cannot write {path}: {why}",
        advice="name a file in a folder that exists, that may be written to, and has space",
    )
