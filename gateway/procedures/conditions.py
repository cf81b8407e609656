"""Conditions in the client's dialect that stand in no query: their texts, and their meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.sql.relations import ident
from rewriter.context import RewriteContext, no_scan_info
from rewriter.limits import DEFAULT_LIMITS
from rewriter.reading.kept_conditions import kept_condition
from rewriter.statement import SqlStatement
from rewriter.syntax.parsing import parse

if TYPE_CHECKING:
    from gateway.session.session import Session

_PARTS = {"expressions", "where"}


def read_condition(session: Session, text: str) -> exp.Expr:
    """The condition, as behind WHERE; raises SYNTAX unless the text is one condition."""
    try:
        (found,) = parse(f"SELECT 1 WHERE (\n{text}\n)", session.dialect, DEFAULT_LIMITS)
    except (PalimpsestError, ValueError) as error:
        raise _condition_error(text) from error
    query = found.statement.ast if isinstance(found.statement, SqlStatement) else None
    if not isinstance(query, exp.Select) or {k for k, v in query.args.items() if v} != _PARTS:
        raise _condition_error(text)
    held = query.args["where"].this
    # Arguments of jobs have no parameters of their own.
    if not isinstance(held, exp.Paren) or held.find(exp.Placeholder, exp.Parameter) is not None:
        raise _condition_error(text)
    condition: exp.Expr = held.this
    return condition.pop()


def condition_to_keep(session: Session, condition: exp.Expr, table: Table) -> exp.Expr:
    """A client's condition over a table's rows in words of the store, over clients' names.

    The table may be one that is gone.
    """
    context = RewriteContext(
        session.journal.state.catalog.with_relation(table),
        no_scan_info,
        dialect=session.dialect,
        path=session.settings.search_path,
        capabilities=session.journal.capabilities,
    )
    named = exp.Table(this=ident(table.name.name), db=ident(table.name.schema))
    return kept_condition(condition, named, context)


def _condition_error(text: str) -> PalimpsestError:
    return PalimpsestError(
        Code.SYNTAX,
        f'the condition "{text}" cannot be read',
        advice="write one condition, as behind WHERE, with its values in it",
    )
