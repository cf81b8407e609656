"""Asks before a statement that changes every row of a table."""

from __future__ import annotations

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from gateway.shell.command_context import CommandContext
from rewriter.dialect_semantics import DIALECTS

_YES = {"y", "yes"}


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
    if text.lstrip()[:6].lower() not in {"update", "delete"}:
        return None
    try:
        statement = sqlglot.parse_one(text, dialect=DIALECTS[dialect])
    except SqlglotError:
        return None
    narrowed = any(statement.args.get(part) for part in ("where", "using", "from_", "limit"))
    if narrowed or not isinstance(statement, exp.Update | exp.Delete):
        return None
    table = statement.this.sql(dialect=DIALECTS[dialect]) if statement.this else "the table"
    if isinstance(statement, exp.Delete):
        return f"This DELETE has no WHERE: it ends every row of {table}."
    return f"This UPDATE has no WHERE: it changes every row of {table}."
