"""New rows of a bulk INSERT, written as a segment at once instead of staged first.

    write:  the rows with their version, as unlisted files
    look:   guards and RETURNING read the files through a view of the stage's name
    append: the segment is what the statement appends; if a guard fails, the files are removed

Only for sources that may bring many rows. When they were few after all they are staged from the
files, which are removed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from journal.local_engine.layout import conformed, fields_of, segment_query, segment_rows
from journal.local_engine.session import DuckDBSession
from journal.model.plan import P_VERSION, PHYSICAL, Guard, Query, Stage
from journal.model.schema import Table
from journal.model.segment import RowCounts
from journal.model.store_session import Parameters, StagedRows
from journal.sql.relations import column, ident, version_type, version_value
from journal.stores.embedded.distinct import proved_distinct

if TYPE_CHECKING:
    from journal.stores.embedded.journal import Journal
    from journal.stores.embedded.statement import Statement

_TIER = re.compile(r"t(\d+)(x\d+)?_(base|delta|history|head)")
_MANY_TIMES = 10
"""A table with so many times the rows that are held in memory may bring many."""


def may_be_many(statement: Statement, stage: Stage, rows_max: int) -> bool:
    """True for new rows, unless everything they come from is known to be small."""
    if stage.rows_of is None:
        return False
    for source in stage.query.ast.find_all(exp.Table):
        if not isinstance(source.this, exp.Identifier):
            return True
        found = _TIER.fullmatch(source.name) if source.meta.get(PHYSICAL) else None
        if found is not None:
            state = statement.committed.tables.get(int(found[1]))
            if state is not None and state.rows > rows_max * _MANY_TIMES:
                return True
        elif statement.session.holds(source.name):
            if statement.session.count(source.name) > rows_max:
                return True
    return False


def write_ahead(
    journal: Journal, statement: Statement, stage: Stage, parameters: Parameters, rows_max: int
) -> StagedRows | None:
    """The rows of ``stage`` as an unlisted segment; None if they were few and are staged now.

    Either way later steps can read them under the stage's name.
    """
    table, session = stage.rows_of, statement.session
    assert table is not None
    query = _journal_rows(table, stage.query)
    files = journal.warehouse.write_segment(session, table, query, parameters)
    journal.staged.update(f.path for f in files)
    written = StagedRows(files, fields_of(table), RowCounts(open=sum(f.rows for f in files)))
    rows = _read_back(journal, stage, table, written)
    try:
        if written.counts.total > rows_max:
            _show(statement, stage.name, rows)
            return written
        session.stage(stage.name, rows, {})
    except BaseException:
        journal.forget_files(files)
        raise
    journal.forget_files(files)
    return None


def unproved(session: DuckDBSession, guard: Guard, ahead: Mapping[str, StagedRows]) -> Query:
    """A guard's query, less what can be proved of rows that were written ahead, by stage."""
    distinct = guard.distinct
    if distinct is None or distinct.stage not in ahead:
        return guard.query
    files = ahead[distinct.stage].files
    proved = proved_distinct(session, distinct.stage, distinct.columns, files)
    return distinct.rest if proved else guard.query


def _journal_rows(table: Table, query: Query) -> Query:
    """The staged query's rows as journal rows, in the types that survive Parquet."""
    assert isinstance(query.ast, exp.Query)
    version = version_value(table, exp.Placeholder(this=P_VERSION))
    ends = version_type(table)
    outputs: list[exp.Expr] = [
        exp.alias_(column(given, "q"), ident(name))
        for given, (name, _) in zip(query.ast.named_selects, fields_of(table), strict=True)
    ]
    start = exp.cast(version, ends, dialect="duckdb")
    outputs.append(exp.alias_(start, ident(table.format.version_column)))
    end = exp.cast(exp.Null(), ends, dialect="duckdb")
    outputs.append(exp.alias_(end, ident(table.format.subsequent_column)))
    rows = exp.select(*outputs).from_(query.ast.subquery("q"))
    whole = conformed(table, Query.of(rows))
    assert isinstance(whole.ast, exp.Query)
    return segment_query(table, whole.ast)


def _show(statement: Statement, name: str, rows: Query) -> None:
    """Let the later steps read the files as the relation that was to be staged."""
    view = exp.Create(
        this=exp.to_table(name),
        kind="VIEW",
        replace=True,
        properties=exp.Properties(expressions=[exp.TemporaryProperty()]),
        expression=rows.ast,
    )
    statement.session.execute(Query(view, ()), {})


def _read_back(journal: Journal, stage: Stage, table: Table, written: StagedRows) -> Query:
    """The rows in the files, under the columns of the stage."""
    assert isinstance(stage.query.ast, exp.Query)
    paths = [f.path for f in written.files]
    rows = segment_rows(table, paths, written.fields, journal.root).subquery("w")
    outputs = [
        exp.alias_(column(name, "w"), given)
        for given, (name, _) in zip(stage.query.ast.named_selects, written.fields, strict=True)
    ]
    return Query(exp.select(*outputs).from_(rows), ())
