"""Parses the text of one condition in the client's dialect; refuses anything else. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from journal.model.errors import Code, PalimpsestError
from rewriter.dialect_semantics import DIALECTS

if TYPE_CHECKING:
    from gateway.session.session import Session


def read_condition(session: Session, text: str) -> exp.Expr:
    """The parsed condition; raises SYNTAX unless the text is one condition."""
    try:
        (found,) = sqlglot.parse(text, read=DIALECTS[session.dialect])
    except (SqlglotError, ValueError) as error:
        raise _condition_error(text) from error
    # Arguments of jobs have no parameters of their own.
    unbound = found is None or found.find(exp.Placeholder, exp.Parameter) is not None
    if found is None or unbound or not isinstance(found, exp.Condition):
        raise _condition_error(text)
    return found


def _condition_error(text: str) -> PalimpsestError:
    return PalimpsestError(
        Code.SYNTAX,
        f'the condition "{text}" cannot be read',
        advice="write one condition, as behind WHERE, with its values in it",
    )
