"""Loads of CSV files that leave out the rows that no column can take, and count them.

Those rows go into a reject file, where one is asked for; the others are loaded as by any load, all
of them or none. A row that a key or constraint refuses still fails the load.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlglot import exp

from gateway.session.bad_values import STREAM_PREFIX
from gateway.session.copies.copy_targets import copied_table
from gateway.session.copies.file_loads import LoadSession, load_rows
from gateway.session.diagnosis import file_error
from gateway.session.outcome import StatementOutcome
from gateway.wording import counted
from journal.erasure.reject_files import kept_rejects
from journal.files.csv_rejects import CsvDialect, divide_csv
from journal.files.rejected_rows import RejectedRow
from journal.local_engine.file_session import file_session
from journal.local_engine.scratch import scratch
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.places import is_elsewhere, local_path
from journal.model.plan import P_USER
from journal.model.schema import Column, Table
from journal.model.visibility import visible_to
from journal.sql.sql import select_star
from rewriter.statement import SqlStatement
from rewriter.syntax.parsing import Parsed
from rewriter.writing.copy_files import file_of, skips_suppressed, target_columns
from rewriter.writing.copy_options import (
    OF_REJECTS,
    READ_REJECTING,
    RejectOptions,
    format_of,
    given_options,
    known_options,
    taken_rejects,
)
from rewriter.writing.copy_texts import take_postgres_texts


@dataclass(frozen=True, slots=True)
class RejectingLoad:
    """A CSV file to be loaded: how it is written, what it fills, and what becomes of other rows.

    ``shown`` is what errors call the file.
    """

    path: str
    dialect: CsvDialect
    columns: tuple[tuple[str, str], ...]
    rejects: RejectOptions
    shown: str


def copy_rejecting(
    session: LoadSession, parsed: Parsed, bound: Mapping[str, Any]
) -> tuple[Parsed, StatementOutcome | None]:
    """Run a COPY that says ON_ERROR ignore; one that does not is given back without such words.

    Raises NOT_SUPPORTED for options that do not go together, DATA for more rows than its limit.
    """
    assert isinstance(parsed.statement, SqlStatement)
    ast = parsed.statement.ast
    assert isinstance(ast, exp.Copy)
    options = given_options(ast)
    if not OF_REJECTS & options.keys():
        return parsed, None
    rejects = taken_rejects(options, ast)
    bare = ast.copy()
    kept = [p for p in bare.args["params"] if p.name.lower() not in OF_REJECTS]
    bare.set("params", kept)
    plain = replace(parsed, statement=SqlStatement(bare), text=f"{parsed.text} -- ON_ERROR stop")
    seen = visible_to(session.catalog, session.catalog.rights_of(session.settings.role))
    table = copied_table(ast, seen, session.settings.search_path)
    if rejects is None or table is None:
        # What is wrong with the table, the rewriter says best.
        return plain, None
    skips = skips_suppressed(options, ast)
    file = file_of(ast)
    if format_of(file.name, options, ast) != "csv":
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "ON_ERROR ignore is for CSV and text: other files have typed values",
            advice="leave the option out",
        )
    path = str(local_path(file.name).absolute())
    columns = target_columns(ast, table)
    if foreign := take_postgres_texts(options, columns).foreign:
        name = columns[foreign[0]].name
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"ON_ERROR ignore reads no bytes and no arrays, which column {name} takes",
            advice="leave the option out, or load the column as text and convert it",
        )
    load = RejectingLoad(
        path,
        CsvDialect.of(known_options(options, READ_REJECTING, "csv", ast)),
        tuple((c.name, c.type) for c in columns),
        rejects,
        "STDIN" if _is_stream(path) else file.name,
    )
    return plain, load_rejecting(session, plain, ast.this, table, columns, load, bound, skips)


def load_rejecting(
    session: LoadSession,
    parsed: Parsed,
    target: exp.Expr,
    table: Table,
    columns: Sequence[Column],
    load: RejectingLoad,
    bound: Mapping[str, Any],
    skips: bool | None = None,
) -> StatementOutcome:
    """Load the rows of a file that fit into ``target``, and write the others to the reject file.

    Raises DATA if more rows are rejected than the limit allows: then nothing is loaded or written.
    """
    with ExitStack() as stack:
        good = stack.enter_context(scratch()) / "rows.parquet"
        found = _divide(session, load, good)
        if load.rejects.limit is not None and len(found) > load.rejects.limit:
            raise _too_many(load, found)
        if load.rejects.path is not None and found:
            path, by = _reject_path(load.rejects.path), bound.get(P_USER)
            stack.enter_context(kept_rejects(session.journal, table, path, load.shown, found, by))
        read = exp.Anonymous(this="read_parquet", expressions=[exp.Literal.string(str(good))])
        rows = select_star(exp.Table(this=read))
        outcome = load_rows(session, parsed, target, rows, columns, bound, skips)
    outcome.rejected = len(found)
    return outcome


def _divide(session: LoadSession, load: RejectingLoad, good: Path) -> list[RejectedRow]:
    with (
        file_session(session.settings.timezone) as files,
        session.cancellation.watching(files),
    ):
        try:
            return divide_csv(
                *(files, Path(load.path), load.dialect, load.columns, good),
                counts_lines=not _is_stream(load.path),
            )
        except PalimpsestError as error:
            raise file_error(error) from error


def _is_stream(path: str) -> bool:
    return Path(path).name.startswith(STREAM_PREFIX)


def _reject_path(text: str) -> Path:
    if is_elsewhere(text):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "a reject file lies on the machine of the gateway, not at a URL",
            advice="name a file of this machine, and copy it where erasures need not reach it",
        )
    return local_path(text).absolute()


def _too_many(load: RejectingLoad, found: Sequence[RejectedRow]) -> PalimpsestError:
    first = found[0]
    where = f"line {first.line}" + (f", column {first.column}" if first.column else "")
    return PalimpsestError(
        Code.DATA,
        f"{load.shown}: {counted(len(found), 'row')} cannot be taken, more than REJECT_LIMIT"
        f" {load.rejects.limit}; the first: {where}, {first.reason}",
        advice="correct the file, or raise the limit; nothing was loaded",
    )
