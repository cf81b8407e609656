"""Writes settings that change a query's meaning into the query. Pure.

They are DuckDB's, and so are their meanings: an ORDER BY that says less than it could, one that
names nothing, a subquery that returns more rows than fit, and a division of whole numbers.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from rewriter.dialect_semantics import (
    DEFAULT_QUERY_SETTINGS,
    NULLS_FIRST,
    NULLS_LARGE,
    NULLS_LAST,
    QuerySettings,
)

_MEANS_NOTHING_ELSE = (DEFAULT_QUERY_SETTINGS, replace(DEFAULT_QUERY_SETTINGS, sets_path=True))
_SAYS_LAST = "nulls_last"
"""Marks, in a node's ``meta``, an ORDER BY that says NULLS LAST."""
_NO_SCALAR = (
    *(exp.From, exp.Join, exp.Lateral, exp.CTE, exp.Exists, exp.Any, exp.All, exp.SetOperation),
    *(exp.Subquery, exp.Insert, exp.Create, exp.Copy, exp.Merge, exp.Pivot, exp.Table),
)


def apply_settings(ast: exp.Expr, settings: QuerySettings) -> None:
    """Change a statement, which the session wrote, to say what it means under its settings."""
    if settings in _MEANS_NOTHING_ELSE:
        return
    for order in list(ast.find_all(exp.Order)):
        if settings.allows_text:
            _leave_out_constants(order)
    for item in ast.find_all(exp.Ordered):
        if settings.descends and item.args.get("desc") is None:
            item.set("desc", True)
        if not item.args.get("nulls_first") and _SAYS_LAST not in item.meta:
            item.set("nulls_first", _begins_with_nulls(item, settings.null_order))
    if settings.divides_whole:
        for division in list(ast.find_all(exp.Div)):
            division.replace(exp.IntDiv(this=division.this, expression=division.expression))
    if settings.takes_first:
        for subquery in list(ast.find_all(exp.Subquery)):
            _take_first(subquery)


def _begins_with_nulls(item: exp.Ordered, order: str) -> bool:
    if order in {NULLS_FIRST, NULLS_LAST}:
        return order == NULLS_FIRST
    return bool(item.args.get("desc")) == (order == NULLS_LARGE)


def _leave_out_constants(order: exp.Order) -> None:
    kept = [
        item
        for item in order.expressions
        if not (
            isinstance(item.this, exp.Boolean)
            or (isinstance(item.this, exp.Literal) and not item.this.is_int)
        )
    ]
    if kept:
        order.set("expressions", kept)
    else:
        order.pop()


def _take_first(subquery: exp.Subquery) -> None:
    query, parent = subquery.this, subquery.parent
    if parent is None or isinstance(parent, _NO_SCALAR) or subquery.arg_key == "query":
        return
    limit = query.args.get("limit")
    if limit is None or (isinstance(limit, exp.Limit) and limit.expression.name != "0"):
        query.set("limit", exp.Limit(expression=exp.Literal.number(1)))


def mark_last(tokens: list[Token]) -> tuple[list[Token], bool]:
    """The tokens with a mark where NULLS LAST stands, which a parser forgets, and if it does."""
    places = [
        place
        for place, token in enumerate(tokens)
        if place and token.text.upper() == "LAST" and tokens[place - 1].text.upper() == "NULLS"
    ]
    if not places:
        return tokens, False
    found = list(tokens)
    for place in places:
        token = found[place]
        found[place] = Token(
            token.token_type,
            token.text,
            token.line,
            token.col,
            token.start,
            token.end,
            [_SAYS_LAST],
        )
    return found, True


def keep_marks(ast: exp.Expr) -> exp.Expr:
    """What was parsed of marked tokens, the marks where ``apply_settings`` looks for them."""
    for node in ast.walk():
        if node.comments and _SAYS_LAST in node.comments:
            node.comments = [c for c in node.comments if c != _SAYS_LAST] or None
            if isinstance(node, exp.Ordered):
                node.meta[_SAYS_LAST] = True
    return ast
