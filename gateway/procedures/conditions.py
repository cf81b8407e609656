"""Parses the text of one condition in the client's dialect; refuses anything else. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from rewriter.limits import DEFAULT_LIMITS
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


def _condition_error(text: str) -> PalimpsestError:
    return PalimpsestError(
        Code.SYNTAX,
        f'the condition "{text}" cannot be read',
        advice="write one condition, as behind WHERE, with its values in it",
    )
