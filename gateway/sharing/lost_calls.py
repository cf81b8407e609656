"""What a call was about to do whose answer never came: whether it may be made again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from journal.model.errors import PalimpsestError
from rewriter.limits import Limits
from rewriter.statement import Call, Commit, Erase
from rewriter.syntax.parsing import parse


@dataclass(frozen=True, slots=True)
class CallContents:
    """``commits``: it ends a transaction. ``is_single``: done twice it would do something else."""

    commits: bool
    is_single: bool


def contents(
    operation: str, arguments: tuple[Any, ...], dialect: str, limits: Limits
) -> CallContents:
    """What stands in the text of a call, if it has one that can be parsed."""
    kinds: set[type] = set()
    if operation in {"execute", "execute_many", "run_text"}:
        text = arguments[0]
        try:
            found = parse(text, "duckdb" if operation == "run_text" else dialect, limits)
        except PalimpsestError:
            found = []
        kinds = {type(parsed.statement) for parsed in found}
    return CallContents(operation == "commit" or Commit in kinds, bool(kinds & {Call, Erase}))
