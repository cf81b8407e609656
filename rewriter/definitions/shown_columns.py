"""Which columns of a table show what another one holds: those that are computed from it. Pure.

low AS (lower(email))        shows email, and has its tags
hashed AS (md5(email))       does not
"""

from __future__ import annotations

from functools import lru_cache

from sqlglot import exp

from journal.model.schema import Column, Table
from journal.sql.sql import expression
from rewriter.functions import MASKING_FUNCTIONS, function_name


def columns_showing(table: Table, physical: str) -> frozenset[str]:
    """A column and the generated ones that show its values, by physical names."""
    made = [c for c in table.columns if c.generated is not None]
    found = {physical}
    while True:
        more = {c.physical for c in made if found & _shown_by(c)} - found
        if not more:
            return frozenset(found)
        found |= more


def _shown_by(stored: Column) -> frozenset[str]:
    assert stored.generated is not None
    return _shown_in(stored.generated)


@lru_cache(maxsize=1024)
def _shown_in(text: str) -> frozenset[str]:
    return frozenset(c.name for c in columns_shown(expression(text)))


def columns_shown(value: exp.Expr) -> list[exp.Column]:
    """The columns whose values an expression shows: none that a condition or a mask is around."""
    return [c for c in exp.Paren(this=value.copy()).find_all(exp.Column) if not _is_behind(c)]


def _is_behind(node: exp.Expr) -> bool:
    while node.parent is not None:
        around = node.parent
        if isinstance(around, exp.If | exp.Case) and node.arg_key == "this":
            return True
        if isinstance(around, exp.Func) and function_name(around) in MASKING_FUNCTIONS:
            return True
        node = around
    return False
