"""What PostgreSQL says of BEGIN, COMMIT and their like where they change nothing."""

from __future__ import annotations

from rewriter.statement import Begin, Commit, Rollback, SetConstraints, SetSetting
from rewriter.syntax.parsing import Parsed

Warned = tuple[str, str]
"""The SQLSTATE of a warning, and its text."""


def begin_tag(parsed: Parsed) -> str:
    """The tag of a statement that begins a transaction."""
    return "START TRANSACTION" if _begins_with(parsed, "START") else "BEGIN"


def warning_of(parsed: Parsed, *, in_transaction: bool, is_implicit: bool) -> Warned | None:
    """The warning for a statement; None where there is nothing to say.

    ``is_implicit``: the transaction is that of a text of several statements.
    """
    match parsed.statement:
        case Begin() if in_transaction and not is_implicit:
            return "25001", "there is already a transaction in progress"
        case Commit(False) | Rollback(None, False) if not in_transaction or is_implicit:
            return "25P01", "there is no transaction in progress"
        case SetSetting() if not in_transaction and _begins_with(parsed, "SET", "TRANSACTION"):
            return _outside("SET TRANSACTION")
        case SetSetting(local=True) if not in_transaction:
            return _outside("SET LOCAL")
        case SetConstraints() if not in_transaction:
            return _outside("SET CONSTRAINTS")
        case _:
            return None


def _begins_with(parsed: Parsed, *words: str) -> bool:
    return tuple(parsed.text.upper().split(None, len(words))[: len(words)]) == words


def _outside(what: str) -> Warned:
    return "25P01", f"{what} can only be used in transaction blocks"
