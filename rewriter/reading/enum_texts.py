"""Reads enums as their texts wherever DuckDB does, for a store that compares them by their order.

In DuckDB an enum is one beside values of the same enum alone: beside a text, another enum or an
operator of texts it is a text, so that ``mood > 'ok'`` goes by the alphabet. PostgreSQL would take
``'ok'`` for a mood, and refuses the rest. Pure.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.schema import Table
from rewriter.context import RewriteContext
from rewriter.definitions.user_types import labels_of
from rewriter.dialect_semantics import semantics_of
from rewriter.name_resolution import table_name
from rewriter.reading.postgres.rows import is_assignment
from rewriter.reading.value_types import ENUM_TYPE, ValueTypes, alike

_EQUALITIES = (exp.EQ, exp.NEQ, exp.In, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Nullif)
_ALIKE = (
    *(*_EQUALITIES, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between),
    *(exp.Coalesce, exp.Greatest, exp.Least, exp.Case, exp.Array, exp.If),
)
"""Nodes whose values are brought to one type."""
_OF_TEXTS = (
    *(exp.DPipe, exp.Concat, exp.ConcatWs, exp.Like, exp.ILike, exp.SimilarTo, exp.Glob),
    *(exp.Upper, exp.Lower, exp.Initcap, exp.Length, exp.Substring, exp.Left, exp.Right, exp.Trim),
    *(exp.Replace, exp.Reverse, exp.Repeat, exp.Pad, exp.StrPosition, exp.SplitPart, exp.Split),
    *(exp.StartsWith, exp.EndsWith, exp.Contains, exp.Unicode, exp.MD5, exp.GroupConcat),
    *(exp.RegexpLike, exp.RegexpFullMatch, exp.RegexpReplace, exp.RegexpExtract, exp.Collate),
)
"""Operators and functions whose arguments are texts."""


def text_enums(tree: exp.Expr, context: RewriteContext) -> None:
    """Cast enums to texts where the client's dialect has them as texts, in place."""
    able = context.capabilities
    if not able.enums or able.enums_are_texts:
        return
    if semantics_of(context.dialect).texts_become_enums or not _has_enums(tree, context):
        return
    types = ValueTypes(context)
    # Inner ones first: what has become a text is one to those around it.
    for node in reversed(list(tree.find_all(*_ALIKE, *_OF_TEXTS, exp.ArrayAgg, exp.SetOperation))):
        if isinstance(node, exp.SetOperation):
            _text_outputs(node, types)
        elif isinstance(node, exp.ArrayAgg):
            # It gives a list of texts in the order of the enum.
            _text([_element(node)], types)
        elif isinstance(node, _OF_TEXTS):
            _text(list(node.iter_expressions()), types)
        elif not is_assignment(node) and not _is_of_one_type(node, types):
            _text(_values(node), types)


def _has_enums(tree: exp.Expr, context: RewriteContext) -> bool:
    """True where a value of a statement may be an enum."""
    if context.catalog.definitions:
        return True
    if isinstance(tree, exp.Create) and tree.kind == "SCHEMA":
        return False
    if any(kind.this is exp.DType.ENUM for kind in tree.find_all(exp.DataType)):
        return True
    tables = (context.catalog.get(table_name(t, context)) for t in tree.find_all(exp.Table))
    return any(
        not isinstance(found, Table) or any(c.type.startswith(ENUM_TYPE) for c in found.columns)
        for found in tables
        if found is not None
    )


def _values(node: exp.Expr) -> list[exp.Expr]:
    found = alike(node)
    query = node.args.get("query") if isinstance(node, exp.In) else None
    inner = query.this if isinstance(query, exp.Subquery) else query
    if isinstance(inner, exp.Select) and len(inner.expressions) == 1:
        found.append(inner.expressions[0].unalias())
    return found


def _is_of_one_type(node: exp.Expr, types: ValueTypes) -> bool:
    """True for values of one enum or NULL, and texts that it has where order does not matter."""
    kinds: dict[str, exp.Expr] = {}
    texts: list[exp.Expr] = []
    for value in _values(node):
        if isinstance(value.unnest(), exp.Null):
            continue
        if value.is_string:
            texts.append(value)
        else:
            kinds[types.enum_text(value) or ""] = value
    if len(kinds) != 1 or "" in kinds:
        return False
    labels = labels_of(next(iter(kinds)))
    return not texts or (
        isinstance(node, _EQUALITIES) and all(text.name in labels for text in texts)
    )


def _element(call: exp.ArrayAgg) -> exp.Expr:
    found = call.this
    while isinstance(found, exp.Order | exp.Limit):
        found = found.this
    assert isinstance(found, exp.Expr)
    return found


def _text_outputs(operation: exp.SetOperation, types: ValueTypes) -> None:
    """The outputs of two queries at one place are texts unless both are of one enum."""
    sides = [
        side.this if isinstance(side, exp.Subquery) else side
        for side in (operation.left, operation.right)
    ]
    if not all(isinstance(side, exp.Select) for side in sides):
        return
    for pair in zip(sides[0].expressions, sides[1].expressions, strict=False):
        if any(output.is_star for output in pair):
            return
        kinds = [types.enum_text(output) for output in pair]
        if kinds[0] != kinds[1]:
            _text(list(pair), types)


def _text(values: list[exp.Expr], types: ValueTypes) -> None:
    for output in values:
        value = output.unalias()
        if types.enum_text(value) is None:
            continue
        cast = exp.cast(value.copy(), "VARCHAR")
        is_named = isinstance(value, exp.Column) and value is output
        if is_named and value.arg_key == "expressions" and isinstance(value.parent, exp.Select):
            value.replace(exp.alias_(cast, value.this.copy()))
        else:
            value.replace(cast)
