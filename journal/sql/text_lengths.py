"""The CHECKs that keep texts as short as VARCHAR(n) and CHAR(n) say, found by what they are. Pure.

A table of the catalog has such a CHECK in place of a type with a length (ADR 0123):

    CONSTRAINT t_a_length CHECK (length(a) <= 5)               VARCHAR(5)
    CONSTRAINT t_a_length CHECK (length(rtrim(a, ' ')) <= 5)   CHAR(5)
    CONSTRAINT t_a_length CHECK (length(a) = 5)                BIT(5)
"""

from __future__ import annotations

import re
from functools import lru_cache

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Check, Table
from journal.sql.sql import expression

_NAME = re.compile(r".*_length\d*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TextLength:
    """How many characters a column takes, by its physical name; blanks at the end of a CHAR(n), for
    which ``is_fixed`` holds, do not count.
    """

    column: str
    most: int
    is_fixed: bool

    def __str__(self) -> str:
        return f"{'character' if self.is_fixed else 'character varying'}({self.most})"


def text_lengths(table: Table) -> dict[str, TextLength]:
    """The lengths that a table keeps, by physical column."""
    found = (text_length(check) for check in table.checks)
    return {length.column: length for length in found if length is not None}


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
            inner = measured.this if is_blank_padded else measured
            while isinstance(inner, exp.Collate | exp.Paren):
                inner = inner.this
            if isinstance(inner, exp.Column) and most.isdigit():
                return TextLength(inner.name, int(most), is_blank_padded)
    return None
