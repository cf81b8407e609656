"""Statements that routes run for the sender of a request, as it may, and their rows as objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from gateway.session.session import Session
from gateway.session.typed_names import table_name
from journal.model.failures import failures
from rewriter.statement import Call, Show
from rewriter.syntax.parsing import Parsed


def rows_of(session: Session, text: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
    """The rows of a constant query in DuckDB's words, by the names of their columns."""
    with failures():
        outcome = session.execute(text, tuple(values) if values else None)
        return [] if outcome.rows is None else outcome.rows.arrow().to_pylist()


def rows_of_call(
    session: Session, procedure: str, arguments: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The rows of ``CALL procedure(name => value, ..)``."""
    given = tuple((name, exp.convert(value)) for name, value in arguments.items())
    return _rows(session, Call(procedure, given), f"CALL {procedure} over HTTP")


def rows_of_show(session: Session, what: str, table: str) -> list[dict[str, Any]]:
    """The rows of ``SHOW what table``."""
    name = table_name(table, session.catalog, session.settings.schema)
    named = exp.table_(name.name, db=name.schema, quoted=True)
    text = f"SHOW {what} {named.sql(dialect='duckdb', identify=True)}"
    return _rows(session, Show(what, named), text)


def _rows(session: Session, statement: Call | Show, text: str) -> list[dict[str, Any]]:
    with failures():
        outcome = session.run(Parsed(statement, text, ()))
        return [] if outcome.rows is None else outcome.rows.arrow().to_pylist()
