"""Columns that triggers name in UPDATE OF and WHEN, when they are dropped or changed. Pure.

What the function of a trigger names is looked up when it runs, as PostgreSQL does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Column, fold
from journal.model.triggers import Trigger
from rewriter.name_resolution import position_of
from rewriter.syntax.statements.function_bodies import ROWS, condition_of
from rewriter.syntax.tokens import tokenize


def triggers_over(triggers: Iterable[Trigger], column: Column) -> list[Trigger]:
    """The triggers whose UPDATE OF or WHEN names a column."""
    return [t for t in triggers if column.physical in t.columns or _is_asked(t, column.name)]


def check_retyped(triggers: Iterable[Trigger], column: Column, node: exp.Expr) -> None:
    """Raise NOT_SUPPORTED where a trigger names a column whose type is to change."""
    for trigger in triggers_over(triggers, column):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "cannot alter type of a column used in a trigger definition:"
            f" trigger {trigger.name} depends on column {column.name}",
            advice="drop the trigger, and create it again afterwards",
            position=position_of(node),
        )


def with_renamed(triggers: Sequence[Trigger], old: str, new: str) -> list[Trigger]:
    """The triggers after a column got another name."""
    return [
        trigger
        if trigger.condition is None
        else replace(trigger, condition=_renamed(trigger.condition, old, new))
        for trigger in triggers
    ]


def with_physical(triggers: Sequence[Trigger], old: str, new: str) -> list[Trigger]:
    """The triggers after a column got another physical name."""
    return [
        replace(trigger, columns=tuple(new if c == old else c for c in trigger.columns))
        for trigger in triggers
    ]


def condition_columns(condition: str) -> set[tuple[str, str]]:
    """What a condition names: NEW or OLD, and the folded name of a column, or a star for all."""
    ast = condition_of(condition).statement.ast
    found = set[tuple[str, str]]()
    for used in ast.find_all(exp.Column):
        if not used.table and fold(used.name) in ROWS:
            found.add((fold(used.name), "*"))
        else:
            found.add((fold(used.table), fold(used.name)))
    return found


def _is_asked(trigger: Trigger, name: str) -> bool:
    if trigger.condition is None:
        return False
    return any(asked == fold(name) for _, asked in condition_columns(trigger.condition))


def _renamed(condition: str, old: str, new: str) -> str:
    """A condition with another name behind NEW and OLD, otherwise as it was written."""
    tokens = tokenize(condition, "postgres")
    quoted = exp.to_identifier(new, quoted=True).sql(dialect="postgres")
    made = condition
    for place in range(len(tokens) - 1, 1, -1):
        row, dot, name = tokens[place - 2 : place + 1]
        if dot.text == "." and fold(row.text) in ROWS and fold(name.text) == fold(old):
            made = made[: name.start] + quoted + made[name.end + 1 :]
    return made
