"""The CHECKs that keep texts as short as VARCHAR(n) and CHAR(n) say, found by what they are. Pure.

A table of the catalog has such a CHECK in place of a type with a length (ADR 0123):

    CONSTRAINT t_a_length CHECK (length(a) <= 5)               VARCHAR(5)
    CONSTRAINT t_a_length CHECK (length(rtrim(a, ' ')) <= 5)   CHAR(5)
    CONSTRAINT t_a_length CHECK (length(a) = 5)                BIT(5)
    CONSTRAINT t_a_length CHECK (len(list_filter(a, LAMBDA e: length(e) > 5)) = 0)   VARCHAR(5)[]
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Check, Table
from journal.sql.sql import expression

_FIXED_LIST = "bpchar[]"
"""How the type of a column of lists of CHAR(n) is spelled, whose CHECK is that of VARCHAR(n)[]."""
_NAME = re.compile(r".*_length\d*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TextLength:
    """How many characters a column takes, by its physical name, or each element of a list; blanks
    at the end of a CHAR(n), for which ``is_fixed`` holds, do not count.
    """

    column: str
    most: int
    is_fixed: bool
    is_list: bool = False

    def __str__(self) -> str:
        return f"{'character' if self.is_fixed else 'character varying'}({self.most})"


def text_lengths(table: Table) -> dict[str, TextLength]:
    """The lengths that a table keeps, by physical column."""
    lengths = (text_length(check) for check in table.checks)
    found = {length.column: length for length in lengths if length is not None}
    for column in table.columns:
        if column.spelled == _FIXED_LIST and column.physical in found:
            found[column.physical] = replace(found[column.physical], is_fixed=True)
    return found


def text_length(check: Check) -> TextLength | None:
    """The length that a CHECK keeps; None for any other CHECK.

    >>> str(text_length(Check("t_a_length", "LENGTH(a) <= 5")))
    'character varying(5)'
    >>> text_length(Check("short", "LENGTH(a) <= 5"))
    """
    return _length_kept(check.expression) if _NAME.fullmatch(check.name) else None


def bit_length(check: Check) -> str | None:
    """The column of BIT(n) whose length a CHECK keeps; None for any other CHECK."""
    if _NAME.fullmatch(check.name):
        match expression(check.expression):
            case exp.EQ(this=exp.Length(this=exp.Column() as column), expression=exp.Literal()):
                return column.name
    return None


@lru_cache(maxsize=4096)
def _length_kept(text: str) -> TextLength | None:
    match expression(text):
        case exp.LTE(this=exp.Length(this=measured), expression=exp.Literal(this=most)):
            is_blank_padded = isinstance(measured, exp.Trim)
            inner, is_list = measured.this if is_blank_padded else measured, False
        case exp.EQ(
            this=exp.Length(
                this=exp.ArrayFilter(
                    this=inner,
                    expression=exp.Lambda(this=exp.GT(expression=exp.Literal(this=most))),
                )
            )
        ):
            is_blank_padded, is_list = False, True
        case _:
            return None
    while isinstance(inner, exp.Collate | exp.Paren | exp.Flatten):
        inner = inner.this
    if isinstance(inner, exp.Column) and most.isdigit():
        return TextLength(inner.name, int(most), is_blank_padded, is_list)
    return None
