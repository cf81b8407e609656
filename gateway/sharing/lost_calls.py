"""Decides whether to repeat a call whose answer never came."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from journal.model.errors import PalimpsestError
from journal.model.lazy_dataclass import dataclass
from rewriter.limits import Limits
from rewriter.statement import Call, Commit, Erase, SqlStatement
from rewriter.syntax.parsing import parse


@dataclass(frozen=True, slots=True)
class CallContents:
    """``commits``: it ends a transaction. ``is_single``: done twice it would do something else.

    ``only_reads``: it is queries and nothing else.
    """

    commits: bool
    is_single: bool
    only_reads: bool = False


def contents(
    operation: str, arguments: tuple[Any, ...], dialect: str, limits: Limits
) -> CallContents:
    """What stands in the text of a call, if it has one that can be parsed."""
    kinds: set[type] = set()
    only_reads = operation == "fetch"
    if operation in {"execute", "execute_many", "run_text"}:
        text = arguments[0]
        try:
            found = parse(text, "duckdb" if operation == "run_text" else dialect, limits)
        except PalimpsestError:
            found = []
        kinds = {type(parsed.statement) for parsed in found}
        only_reads = bool(found) and all(_is_query(parsed.statement) for parsed in found)
    commits = operation == "commit" or Commit in kinds
    return CallContents(commits, bool(kinds & {Call, Erase}), only_reads)


def _is_query(statement: object) -> bool:
    return isinstance(statement, SqlStatement) and isinstance(statement.ast, exp.Query)
