"""COPY from and to URLs: files are brought here for the statement, and put there when whole.

Paths of this machine are left to the store.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from sqlglot import exp

from gateway.session.bad_values import naming_bad_values
from journal.files.object_storage import local_copy_of, local_file_for
from journal.model.errors import Code, PalimpsestError
from journal.model.places import is_elsewhere, local_path
from journal.model.plan import Export
from journal.model.schema import CatalogSnapshot
from journal.transactions.protocol import OpenJournal, OpenStatement
from journal.transactions.statement_run import StatementRun
from rewriter.statement import SqlStatement
from rewriter.syntax.parsing import Parsed


def is_copy(parsed: Parsed) -> bool:
    """True for a COPY .. FROM."""
    statement = parsed.statement
    ast = statement.ast if isinstance(statement, SqlStatement) else None
    return isinstance(ast, exp.Copy) and bool(ast.args.get("kind"))


@contextmanager
def copied_from(parsed: Parsed, catalog: CatalogSnapshot, schema: str) -> Iterator[Parsed]:
    """The COPY .. FROM to run for one, in the block, whose errors say where a value is wrong."""
    with ExitStack() as stack:
        if _reads_remote_file(parsed):
            parsed = stack.enter_context(_with_local_file(parsed))
        stack.enter_context(naming_bad_values(parsed, catalog, schema))
        yield parsed


def _reads_remote_file(parsed: Parsed) -> bool:
    ast = parsed.statement.ast if isinstance(parsed.statement, SqlStatement) else None
    if not isinstance(ast, exp.Copy) or not ast.args.get("kind"):
        return False
    files = ast.args.get("files") or []
    return len(files) == 1 and isinstance(files[0], exp.Literal) and is_elsewhere(files[0].name)


@contextmanager
def _with_local_file(parsed: Parsed) -> Iterator[Parsed]:
    """Download the file of a COPY; yields the COPY of that copy, which the block's end removes."""
    assert isinstance(parsed.statement, SqlStatement)
    ast = parsed.statement.ast.copy()
    (file,) = ast.args["files"]
    with local_copy_of(file.name) as path:
        file.replace(exp.Literal.string(str(path)))
        # The text names the plan in the cache, and the next file here has another name.
        text = f"{parsed.text} -- from {path}"
        yield replace(parsed, statement=SqlStatement(ast), text=text)


def export_rows(
    journal: OpenJournal, statement: OpenStatement, export: Export, run: StatementRun
) -> None:
    """Write the rows of a statement to a file or a URL."""
    if not journal.capabilities.exports_files:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"COPY .. TO needs an embedded warehouse: the server of {journal.place} would write"
            " the file where it runs",
            advice="use palimpsest export, or the server's own tools on the current view",
        )
    if not is_elsewhere(export.path):
        statement.run(replace(export, path=str(local_path(export.path))), run)
        return
    if export.is_folder:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "COPY .. TO a URL writes one file, not a folder of them",
            advice="leave out PARTITION_BY and the like, or write a folder of this machine",
        )
    with local_file_for(export.path) as path:
        statement.run(replace(export, path=str(path)), run)
