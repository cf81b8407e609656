"""Keeps the name that a store gives a result column, where a rewrite would change it.

Only expressions whose name is known are named; for the rest the rewrite is not used. The forms are
DuckDB's: function names in lower case, operators in parentheses, ``count_star()``.
"""

from __future__ import annotations

import re

from sqlglot import exp

from journal.model.trees import Nodes
from journal.sql.clock import CLOCK_KINDS, reads_clock
from rewriter.reading.spelling import result_spelling
from rewriter.users import OF_SESSION

_DECIMAL = re.compile(r"DECIMAL\(\d+, \d+\)")
_CALL = re.compile(r'"?[A-Za-z_0-9]+"?\((?!.*\b(FROM|USING|FOR|BOTH|LEADING|TRAILING|AS) ).*\)')
_CHANGED: tuple[type[exp.Expr], ...] = (exp.Table, *OF_SESSION, *CLOCK_KINDS)
_FUNCTIONS: dict[type[exp.Expr], str] = {
    exp.Sum: "sum", exp.Count: "count", exp.Avg: "avg", exp.Min: "min", exp.Max: "max",
    exp.Abs: "abs", exp.Round: "round", exp.Floor: "floor", exp.Ceil: "ceil",
    exp.Upper: "upper", exp.Lower: "lower", exp.Length: "length", exp.Coalesce: "coalesce",
}  # fmt: skip
_KNOWN = (
    *(exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Star, exp.Paren, exp.Neg),
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.DPipe),
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.And, exp.Or),
    *(
        exp.Not,
        exp.Is,
        exp.Between,
        exp.In,
        exp.Like,
        exp.Case,
        exp.If,
        exp.Filter,
        exp.Where,
        exp.Distinct,
    ),
    exp.Var,
)
_CALLS = (
    *(exp.Year, exp.Quarter, exp.Month, exp.Week, exp.Day, exp.DayOfWeek, exp.DayOfYear),
    *(exp.Hour, exp.Minute, exp.Monthname, exp.Dayname, exp.LastDay, exp.TimestampTrunc),
    *(exp.DateTrunc, exp.DateDiff, exp.TimeToStr, exp.TimeToUnix, exp.Substring, exp.Left),
    *(exp.Right, exp.Replace, exp.SplitPart, exp.StartsWith, exp.Contains, exp.Sign),
    *(
        exp.Greatest,
        exp.Least,
        exp.Nullif,
        exp.Concat,
        exp.Trim,
        exp.CountIf,
        exp.Extract,
        exp.Grouping,
    ),
)
"""Functions that are written as a name and arguments in parentheses, whatever they are called."""
_CAST_TYPES = frozenset("BIGINT INTEGER INT SMALLINT TINYINT DATE DOUBLE VARCHAR TIMESTAMP".split())


def result_name(node: exp.Expr) -> str | None:
    """The name of an unaliased result column, or None when it is not known."""
    column = node.unnest()
    if isinstance(column, exp.Column):
        return column.name
    return result_spelling(node) if all(map(_is_known, node.walk())) else None


def name_changed(nodes: Nodes) -> None:
    """Name unaliased result columns whose text a rewrite would change: subqueries, users, moments.

    Takes the nodes of a query.
    """
    calls = nodes.all(exp.Anonymous)
    if not any(nodes.all(kind) for kind in _CHANGED) and not any(map(reads_clock, calls)):
        return
    for select in nodes.all(exp.Select):
        named = list(select.expressions)
        for index, node in enumerate(named):
            if isinstance(node, exp.Alias | exp.Column | exp.Star) or not _is_changed(node):
                continue
            if isinstance(node, exp.Subquery) and node.alias:
                continue
            name = exp.to_identifier(result_spelling(node), quoted=True)
            named[index] = exp.alias_(node, name, copy=False)
        if named != select.expressions:
            select.set("expressions", named)


def _is_changed(node: exp.Expr) -> bool:
    found = node.find_all(*_CHANGED, exp.Anonymous)
    return any(not isinstance(part, exp.Anonymous) or reads_clock(part) for part in found)


def _is_known(node: exp.Expr) -> bool:
    """True for what is spelled as DuckDB does, as far as the node itself goes."""
    if isinstance(node, tuple(_FUNCTIONS)):
        # Under another name, as len for length, the place of the name is not as long.
        return _width(node) == len(_FUNCTIONS[type(node)])
    if isinstance(node, exp.Case):
        return node.this is None
    if isinstance(node, exp.If):
        return True
    if isinstance(node, exp.Cast):
        return type(node) is exp.Cast and _is_known_type(node.to)
    if isinstance(node, exp.DataType | exp.DataTypeParam):
        return isinstance(node.parent, exp.Cast | exp.DataType)
    if isinstance(node, exp.Anonymous):
        return isinstance(node.this, str) and node.name.replace("_", "").isalnum()
    if isinstance(node, _CALLS):
        return _CALL.fullmatch(result_spelling(node)) is not None
    if isinstance(node, exp.In):
        return not node.args.get("query")
    # A function that stands for an operator, as mod does, has a place.
    return isinstance(node, _KNOWN) and _width(node) is None


def _is_known_type(kind: exp.DataType) -> bool:
    text = kind.sql(dialect="duckdb")
    return text in _CAST_TYPES or _DECIMAL.fullmatch(text) is not None


def _width(node: exp.Expr) -> int | None:
    """How long the name of a function is in the text; None for other nodes."""
    if not isinstance(node, exp.Func | exp.Binary) or "start" not in node.meta:
        return None
    return int(node.meta["end"] - node.meta["start"] + 1)
