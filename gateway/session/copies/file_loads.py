"""Rows of files for stores that read none of this machine: read here, sent as Arrow batches.

A batch is a statement, as an ``executemany`` is one; all of them are one transaction. The gateway
converts values to the types of their columns, so that a wrong one is named as everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

import pyarrow as pa
from sqlglot import exp

from gateway.config import Settings
from gateway.session.cancellation import Cancellation
from gateway.session.copies.bulk_loads import SKIP
from gateway.session.copies.copy_targets import copied_table
from gateway.session.diagnosis import file_error
from gateway.session.outcome import StatementOutcome
from journal.local_engine.file_session import file_session
from journal.local_engine.session import DuckDBSession
from journal.model.errors import PalimpsestError
from journal.model.lineage import FILE_META
from journal.model.plan import USER_PARAMETER, Query
from journal.model.schema import CatalogSnapshot, Column
from journal.model.visibility import visible_to
from journal.sql.relations import column
from journal.sql.sql import cast, named, select
from journal.transactions.protocol import OpenJournal
from journal.transactions.transaction import Transaction
from rewriter.statement import SqlStatement
from rewriter.syntax.parsing import Parsed
from rewriter.writing.copy_files import file_rows, skips_suppressed, target_columns
from rewriter.writing.copy_options import given_options
from rewriter.writing.copy_texts import rows_with_texts, take_postgres_texts

BATCH_ROWS = 50_000
_NATIVE = frozenset(
    {"BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "VARCHAR"}
    | {"UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "DECIMAL"}
)
"""Types that Arrow has as every store takes them."""
_CHECKED = frozenset(
    {"DATE", "TIME", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ", "UUID", "JSON"}
    | {"HUGEINT", "UHUGEINT", "INTERVAL", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"}
)
"""Types whose values go as text, once they have been read as such."""


class LoadSession(Protocol):
    """What of a session is needed to load a file."""

    journal: OpenJournal
    settings: Settings
    cancellation: Cancellation
    autocommit: bool
    transaction: Transaction | None

    @property
    def catalog(self) -> CatalogSnapshot:
        """The current catalog, as the session sees it."""

    def run_bound(
        self,
        parsed: Parsed,
        bound: Mapping[str, Any],
        batch: pa.Table | None = None,
        skips: bool | None = None,
    ) -> StatementOutcome:
        """Run a statement of SQL whose parameters have values."""

    def begin(self) -> None:
        """Start an explicit transaction."""

    def commit(self) -> None:
        """End the transaction."""

    def rollback(self) -> None:
        """Undo the transaction."""


def load_copy(session: LoadSession, parsed: Parsed, bound: Mapping[str, Any]) -> StatementOutcome:
    """Run a COPY .. FROM of a file of this machine; raises what an INSERT of its rows does."""
    assert isinstance(parsed.statement, SqlStatement)
    ast = parsed.statement.ast
    assert isinstance(ast, exp.Copy)
    options = given_options(ast)
    skips = skips_suppressed(options, ast)
    seen = visible_to(session.catalog, session.catalog.rights_of(session.settings.role))
    table = copied_table(ast, seen, session.settings.search_path)
    if table is None:
        # What is wrong with it, the rewriter says best.
        return session.run_bound(parsed, bound)
    columns = target_columns(ast, table)
    texts = take_postgres_texts(options, columns)
    rows = rows_with_texts(file_rows(ast, options, columns), columns, texts)
    return load_rows(session, parsed, ast.this, rows, columns, bound, skips)


def load_rows(
    session: LoadSession,
    parsed: Parsed,
    target: exp.Expr,
    rows: exp.Select,
    columns: Sequence[Column],
    bound: Mapping[str, Any],
    skips: bool | None = None,
) -> StatementOutcome:
    """Insert the rows of a query over a file into ``target``, a table or some of its columns.

    ``columns`` are what the rows fill, by place. All rows go in or none.
    """
    if skips is None:
        skips = session.settings.suppressed_rows == SKIP
    with (
        file_session(session.settings.timezone) as files,
        session.cancellation.watching(files),
    ):
        with _reading():
            names = [c.name for c in files.describe(Query.of(rows), {})]
        insert = _insert(parsed, target, len(names))
        batches = _batches(files, rows, names, columns)
        first = next(batches)
        second = next(batches, None)
        every = _chain(first, second, batches)
        if second is None or session.transaction is not None or not session.autocommit:
            return _run_all(session, insert, bound, every, skips)
        session.begin()
        try:
            outcome = _run_all(session, insert, bound, every, skips)
            session.commit()
        except BaseException:
            session.rollback()
            raise
    return outcome


@contextmanager
def failing(session: LoadSession) -> Iterator[None]:
    """An error in the block fails the client's transaction, which may have a part of the rows."""
    try:
        yield
    except BaseException:
        if session.transaction is not None:
            session.transaction.fail()
        raise


def _run_all(
    session: LoadSession,
    insert: Parsed,
    bound: Mapping[str, Any],
    batches: Iterator[pa.Table],
    skips: bool,
) -> StatementOutcome:
    rows = skipped = 0
    for batch in batches:
        outcome = session.run_bound(insert, bound, batch, skips)
        rows, skipped = rows + outcome.row_count, skipped + outcome.skipped
    outcome.row_count, outcome.skipped = rows, skipped
    return outcome


def _chain(
    first: pa.Table, second: pa.Table | None, others: Iterator[pa.Table]
) -> Iterator[pa.Table]:
    yield first
    if second is not None:
        yield second
        yield from others


def _insert(parsed: Parsed, target: exp.Expr, width: int) -> Parsed:
    """An INSERT of one row of parameters, whose batch the rows are."""
    cells = [exp.Placeholder(this=f"{USER_PARAMETER}{place}") for place in range(width)]
    row = exp.Values(expressions=[exp.Tuple(expressions=cells)])
    ast = exp.Insert(this=target.copy(), expression=row, conflict=_conflict_of(parsed))
    ast.set("overriding", "SYSTEM")  # A COPY brings numbers for GENERATED ALWAYS as well.
    file = _file_of(parsed)
    if file is not None:
        ast.meta[FILE_META] = file
    # The text names the plan in the cache, where the same COPY of a wider file may stand.
    text = f"{parsed.text} -- {width} columns"
    return replace(parsed, statement=SqlStatement(ast), text=text, parameters=())


def _conflict_of(parsed: Parsed) -> exp.Expr | None:
    """What the statement does with rows whose key is there; None where that is an error."""
    if not isinstance(parsed.statement, SqlStatement):
        return None
    found: exp.Expr | None = parsed.statement.ast.args.get("conflict")
    return None if found is None else found.copy()


def _file_of(parsed: Parsed) -> str | None:
    """The file whose rows a statement loads, as the client named it."""
    if not isinstance(parsed.statement, SqlStatement):
        return None
    ast = parsed.statement.ast
    named = ast.args.get("files") or [ast.find(exp.Literal)]
    file = next((node for node in named if isinstance(node, exp.Literal) and node.is_string), None)
    return None if file is None else file.meta.get(FILE_META, file.name)


def _batches(
    files: DuckDBSession, rows: exp.Select, names: Sequence[str], columns: Sequence[Column]
) -> Iterator[pa.Table]:
    """The rows as tables of parameters; one without rows at least."""
    kinds = [c.type for c in columns[: len(names)]]
    kinds += ["VARCHAR"] * (len(names) - len(kinds))
    outputs = [
        named(_sent(column(name, "f"), kind), f"{USER_PARAMETER}{place}")
        for place, (name, kind) in enumerate(zip(names, kinds, strict=True))
    ]
    query = select(outputs, rows.subquery("f", copy=False))
    with _reading():
        files.stream(Query.of(query), {})
        found = files.rest_as_batches(BATCH_ROWS)
        batch = next(found, None)
    while batch is not None:
        yield pa.Table.from_batches([batch])
        with _reading():
            batch = next(found, None)


@contextmanager
def _reading() -> Iterator[None]:
    """Errors of the reader leave the block in one line, without the lines of the file."""
    try:
        yield
    except PalimpsestError as error:
        raise file_error(error) from error


def _sent(value: exp.Expr, kind: str) -> exp.Expr:
    """A value of a file as it goes to the store, which converts it to the column's type."""
    bare = kind.split("(")[0].upper()
    if kind.upper().rstrip("[]") == "DECIMAL":
        # It keeps any number, which no type of this reader does: the text goes, checked.
        brackets = kind[len(kind.rstrip("[]")) :]
        checked = exp.Not(this=exp.Is(this=cast(value, f"DOUBLE{brackets}"), expression=exp.Null()))
        return exp.Case().when(checked, cast(value, f"VARCHAR{brackets}"))
    if bare in _NATIVE or kind.endswith("]") or bare in {"STRUCT", "MAP"}:
        return cast(value, kind)
    if bare in _CHECKED:
        # Of a bare cast to a text DuckDB would give the text of the file, whatever DATEFORMAT says.
        known = exp.Not(this=exp.Is(this=value.copy(), expression=exp.Null()))
        return cast(exp.Case().when(known, cast(value, kind)), "VARCHAR")
    return value if bare == "BLOB" else cast(value, "VARCHAR")
