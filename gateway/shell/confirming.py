"""Asks before a statement that changes every row of a table."""

from __future__ import annotations

import re

from sqlglot import exp

from gateway.shell.command_context import CommandContext
from journal.model.errors import PalimpsestError
from rewriter.dialect_semantics import DIALECTS
from rewriter.limits import Limits
from rewriter.syntax.parsing import parse

_YES = {"y", "yes"}
# Most statements need no second reading.
_MAY_CHANGE = re.compile(r"\b(update|delete)\b", re.IGNORECASE)


def confirmed(shell: CommandContext, text: str) -> bool:
    """True unless the statement changes every row of a table, and the person says no."""
    question = question_about(text, shell.connection.client_session.dialect)
    if question is None:
        return True
    try:
        return input(f"{question} Run it? [y/N] ").strip().lower() in _YES
    except EOFError:
        return False


def question_about(text: str, dialect: str) -> str | None:
    """What to ask about an UPDATE or DELETE without a condition; None for other statements.

    >>> question_about("DELETE FROM depts", "duckdb")
    'This DELETE has no WHERE: it ends every row of depts.'
    >>> question_about("DELETE FROM depts WHERE deptno = 10", "duckdb") is None
    True
    """
    if not _MAY_CHANGE.search(text):
        return None
    try:
        ast = getattr(parse(text, dialect, Limits())[0].statement, "ast", None)
    except PalimpsestError:
        return None
    if not isinstance(ast, exp.Update | exp.Delete) or not ast.this:
        return None
    if any(ast.args.get(part) for part in ("where", "using", "from_", "limit")):
        return None
    table = ast.this.sql(dialect=DIALECTS[dialect])
    if isinstance(ast, exp.Delete):
        return f"This DELETE has no WHERE: it ends every row of {table}."
    return f"This UPDATE has no WHERE: it changes every row of {table}."
