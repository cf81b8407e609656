"""Finds conditions that may run before a row policy without leaking rows.

A condition that cannot fail and has no effect tells nothing of hidden rows: of a plain column, and
of constants whose type fits it, so that neither side needs a cast that could fail on a row. The
conditions stay where they were as well. PostgreSQL calls such comparisons leakproof. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from sqlglot import exp

from journal.model.schema import Column, Table, fold
from journal.model.trees import copy_tree
from journal.sql.relations import column
from rewriter.reading.key_lookup import conjuncts, where_around

_COMPARISONS = (exp.EQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_INTEGERS = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT"})
_LARGEST = 2**63
_DATE = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])")
"""Days that every month has, so that no store refuses one."""


def narrowed_rows(
    rows: exp.Query, node: exp.Table, table: Table, masked: Collection[str]
) -> exp.Query:
    """Rows of a table, less those that leakproof conditions of the SELECT around it leave out.

    Columns that are ``masked``, by their physical names, are compared by other values, so nothing
    is asked of them.
    """
    conditions = list(_conditions(node, table, masked))
    if not conditions:
        return rows
    inner = exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier("narrowed")))
    return exp.select("*").from_(inner, copy=False).where(*conditions, copy=False)


def _conditions(node: exp.Table, table: Table, masked: Collection[str]) -> Iterator[exp.Expr]:
    found = where_around(node)
    if found is None:
        return
    where, is_alone = found
    by_name = {fold(c.name): c for c in table.columns if c.physical not in masked}
    for part in conjuncts(where):
        stored = _compared(part, node.alias_or_name, by_name, is_alone)
        if stored is not None:
            asked = copy_tree(part)
            for used in list(asked.find_all(exp.Column)):
                used.replace(column(stored.name))
            yield asked


def _compared(
    part: exp.Expr, alias: str, by_name: dict[str, Column], is_alone: bool
) -> Column | None:
    """The column that a leakproof condition compares with constants; None for any other one."""
    match part:
        case exp.Between() if not part.args.get("symmetric"):
            sides = [part.this, part.args["low"], part.args["high"]]
        case exp.In() if part.expressions and not part.args.get("query"):
            sides = [part.this, *part.expressions]
        case _ if isinstance(part, _COMPARISONS):
            sides = [part.this, part.expression]
        case _:
            return None
    if not isinstance(sides[0], exp.Column) and len(sides) == 2:
        sides.reverse()
    named, *values = sides
    if not isinstance(named, exp.Column) or named.args.get("db"):
        return None
    is_meant = fold(named.table) == fold(alias) if named.table else is_alone
    found = by_name.get(fold(named.name)) if is_meant else None
    return found if found is not None and all(_fits(v, found) for v in values) else None


def _fits(value: exp.Expr, stored: Column) -> bool:
    """True for a constant that is compared with a column without a cast that may fail."""
    if stored.collation is not None or stored.declared is not None:
        return False
    if stored.type in _INTEGERS:
        number = value.this if isinstance(value, exp.Neg) else value
        is_whole = isinstance(number, exp.Literal) and not number.is_string
        return is_whole and number.name.isdigit() and int(number.name) < _LARGEST
    if stored.type == "DATE":
        is_cast = isinstance(value, exp.Cast) and value.to.this is exp.DataType.Type.DATE
        text = value.this if is_cast else value
        is_text = isinstance(text, exp.Literal) and bool(text.is_string)
        return is_text and _DATE.fullmatch(text.name) is not None
    is_text = isinstance(value, exp.Literal) and bool(value.is_string)
    return stored.type == "VARCHAR" and is_text
