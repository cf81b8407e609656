"""A guard's refusal: the text that makes a store fail, and the error that it stands for.

Of several reasons the first is told, as by guards that stand in this order. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

_BEGIN, _END = "_palimpsest refuses a row", "] _palimpsest"
_SAID = re.compile(rf"{_BEGIN} \((\d+)\) \[(.*){_END}\Z", re.DOTALL)
"""Whole to its end: a store may cut off what it takes for something else."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a row is refused; ``{0}`` in ``message`` is for the value that is to blame."""

    code: Code
    message: str
    advice: str


@dataclass(frozen=True, slots=True)
class RefusedRows:
    """Rows that are refused: those of which ``condition`` holds.

    ``value`` is what is to blame: a text, or texts that the store puts together.
    """

    condition: exp.Expr
    refusal: Refusal
    value: str | Sequence[exp.Expr] = ""


def refusal_check(refused: Sequence[RefusedRows], start: int = 0) -> exp.Expr:
    """A condition that holds of rows that are not refused, and makes the store fail on others.

    ``start`` is the place of the first among the refusals of the plan.
    """
    branches: list[exp.Expr] = []
    for place, rows in enumerate(refused, start):
        begin = f"{_BEGIN} ({place}) ["
        if isinstance(rows.value, str):
            text: exp.Expr = exp.Literal.string(f"{begin}{rows.value}{_END}")
        else:
            ends = exp.Literal.string(begin), exp.Literal.string(_END)
            text = exp.Anonymous(this="concat", expressions=[ends[0], *rows.value, ends[1]])
        error = exp.Anonymous(this="error", expressions=[text])
        branches.append(exp.If(this=rows.condition, true=error))
    return exp.Case(ifs=branches, default=exp.true())


def refused_row_error(
    error: PalimpsestError, refusals: Sequence[Refusal]
) -> PalimpsestError | None:
    """The error for a row that a plan with these refusals refused; None if the store failed."""
    said = _SAID.search(error.message)
    if said is None or int(said[1]) >= len(refusals):
        return None
    refusal = refusals[int(said[1])]
    return filled_error(refusal, [said[2]])


class Filled(Protocol):
    """An error whose message rows fill: of a refusal, or of a guard."""

    @property
    def code(self) -> Code:
        """Which one."""

    @property
    def message(self) -> str:
        """With ``{0}`` and its like for values."""

    @property
    def advice(self) -> str:
        """What to do."""


def filled_error(of: Filled, values: Sequence[object]) -> PalimpsestError:
    """The error of rows that were found; ``values`` of theirs fill the message."""
    error = PalimpsestError(of.code, of.message.format(*values), advice=of.advice)
    error.quotes = "{" in of.message
    return error
