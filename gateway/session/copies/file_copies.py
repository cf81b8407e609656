"""COPY from and to URLs: files are brought here for the statement, and put there when whole.

Paths of this machine are left to the store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from sqlglot import exp

from gateway.session.bad_values import naming_bad_values
from gateway.session.copies.file_loads import LoadSession, failing, load_copy
from gateway.session.copies.rejecting_loads import copy_rejecting
from gateway.session.outcome import StatementOutcome
from journal.files.object_storage import local_copy_of, local_file_for
from journal.local_engine.file_session import file_session, write_batches
from journal.model.errors import Code, PalimpsestError
from journal.model.lineage import FILE_META
from journal.model.places import is_elsewhere, local_path
from journal.model.plan import Export
from journal.model.visibility import visible_to
from journal.transactions.protocol import OpenJournal, OpenStatement
from journal.transactions.statement_run import StatementRun
from rewriter.statement import SqlStatement
from rewriter.syntax.parsing import Parsed

_EXPORT_ROWS = 50_000


def is_copy(parsed: Parsed) -> bool:
    """True for a COPY .. FROM."""
    statement = parsed.statement
    ast = statement.ast if isinstance(statement, SqlStatement) else None
    return isinstance(ast, exp.Copy) and bool(ast.args.get("kind"))


def run_copy_from(
    session: LoadSession, parsed: Parsed, bound: Mapping[str, Any]
) -> StatementOutcome:
    """Run a COPY .. FROM in the store, or here where the store reads no files of this machine."""
    catalog = session.catalog
    seen = visible_to(catalog, catalog.rights_of(session.settings.role))
    path = session.settings.search_path
    with failing(session), _with_local_file(parsed) as local:
        copied, outcome = copy_rejecting(session, local, bound)
        if outcome is not None:
            return outcome
        with naming_bad_values(copied, seen, path):
            if session.journal.capabilities.accesses_files:
                return session.run_bound(copied, bound)
            return load_copy(session, copied, bound)


def _reads_remote_file(parsed: Parsed) -> bool:
    ast = parsed.statement.ast if isinstance(parsed.statement, SqlStatement) else None
    if not isinstance(ast, exp.Copy) or not ast.args.get("kind"):
        return False
    files = ast.args.get("files") or []
    return len(files) == 1 and isinstance(files[0], exp.Literal) and is_elsewhere(files[0].name)


@contextmanager
def _with_local_file(parsed: Parsed) -> Iterator[Parsed]:
    """A COPY of a file of this machine: one at a URL is here until the block ends."""
    if not _reads_remote_file(parsed):
        yield parsed
        return
    assert isinstance(parsed.statement, SqlStatement)
    ast = parsed.statement.ast.copy()
    (file,) = ast.args["files"]
    with local_copy_of(file.name) as path:
        here = exp.Literal.string(str(path))
        here.meta[FILE_META] = file.name
        file.replace(here)
        # The text names the plan in the cache, and the next file here has another name.
        text = f"{parsed.text} -- from {path}"
        yield replace(parsed, statement=SqlStatement(ast), text=text)


def export_rows(
    journal: OpenJournal,
    statement: OpenStatement,
    export: Export,
    run: StatementRun,
    zone: str | None,
) -> None:
    """Write the rows of a statement to a file or a URL, timestamps in a time zone."""
    if not is_elsewhere(export.path):
        _write(journal, statement, replace(export, path=str(local_path(export.path))), run, zone)
        return
    if export.is_folder:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "COPY .. TO a URL writes one file, not a folder of them",
            advice="leave out PARTITION_BY and the like, or write a folder of this machine",
        )
    with local_file_for(export.path) as path:
        _write(journal, statement, replace(export, path=str(path)), run, zone)


def _write(
    journal: OpenJournal,
    statement: OpenStatement,
    export: Export,
    run: StatementRun,
    zone: str | None,
) -> None:
    """Let the store write a file of this machine, or write the rows that it gives."""
    if journal.capabilities.accesses_files:
        statement.run(export, run)
        return
    session = statement.session
    session.stream(export.query, run.parameters)
    with file_session(zone) as files:
        run.count = write_batches(files, session.rest_as_batches(_EXPORT_ROWS), export)
