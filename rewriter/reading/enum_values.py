"""Gives constants the enum type of the values that they are compared with.

In PostgreSQL the ``'ok'`` of ``mood > 'ok'`` is a mood, and compares by its place among the moods;
in DuckDB it is a text. The cast names the type, so that views and checks that are kept follow the
type when it changes. Pure.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.named_definitions import ENUM, UserType
from rewriter.context import RewriteContext
from rewriter.definitions.user_types import declared_type, labels_of, quoted_name
from rewriter.dialect_semantics import semantics_of
from rewriter.name_resolution import position_of
from rewriter.reading.inserted_columns import inserted_columns
from rewriter.reading.spelling import result_spelling
from rewriter.reading.value_types import ValueTypes, alike

_COMPARISONS = (
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ),
    *(exp.In, exp.Between, exp.Nullif),
)
_CHOICES = (exp.Coalesce, exp.Greatest, exp.Least)


def type_enum_values(tree: exp.Expr, context: RewriteContext) -> None:
    """Cast constants and parameters to the enum that they stand beside, in place.

    Raises CONVERSION for a constant that the enum lacks, as no row need ever be compared with it.
    """
    if not semantics_of(context.dialect).texts_become_enums:
        return
    known = context.catalog.definitions.values()
    if not any(isinstance(d, UserType) and d.kind == ENUM for d in known):
        return
    types = ValueTypes(context)
    for node in list(tree.find_all(*_COMPARISONS, *_CHOICES, exp.Case)):
        values = alike(node)
        found = next((t for t in map(types.enum_of, values) if t is not None), None)
        if found is not None:
            _keep_name(node)
            for value in values:
                _settle(value, found)
    for insert in list(tree.find_all(exp.Insert)):
        _check_inserted(insert, types)


def _keep_name(node: exp.Expr) -> None:
    """Give a result without a name the one that it has with its constants as they are."""
    whole = node
    while whole.parent is not None and not isinstance(whole.parent, exp.Query):
        whole = whole.parent
    if whole.arg_key == "expressions" and isinstance(whole.parent, exp.Select):
        if not isinstance(whole, exp.Alias):
            name = exp.to_identifier(result_spelling(whole), quoted=True)
            alias = exp.Alias(alias=name)
            whole.replace(alias)
            alias.set("this", whole)


def _settle(value: exp.Expr, found: UserType) -> None:
    """Cast what has no type of its own."""
    value = value.unnest()
    if isinstance(value, exp.Array):
        for element in value.expressions:
            _settle(element, found)
    elif isinstance(value, exp.Literal) and value.is_string:
        _check(value, found)
        value.replace(_cast(value, found))
    elif isinstance(value, exp.Placeholder):
        value.replace(_cast(value, found))


def _cast(value: exp.Expr, found: UserType) -> exp.Cast:
    return exp.Cast(this=value.copy(), to=declared_type(quoted_name(found.name)))


def _check(value: exp.Expr, found: UserType) -> None:
    if value.name not in labels_of(found.type):
        raise PalimpsestError(
            Code.CONVERSION,
            f'invalid input value for enum {found.name}: "{value.name}"',
            advice=f"its values are {', '.join(labels_of(found.type)) or 'none'}",
            position=position_of(value) or position_of(value.parent),
        )


def _check_inserted(insert: exp.Insert, types: ValueTypes) -> None:
    """Check the constants that VALUES puts into columns of enums."""
    rows = insert.expression
    if not isinstance(rows, exp.Values):
        return
    columns = inserted_columns(insert, types.context)
    enums = [None if column is None else types.of_stored_column(column).enum for column in columns]
    for row in rows.expressions:
        for value, found in zip(row.expressions, enums, strict=False):
            if found is not None and isinstance(value, exp.Literal) and value.is_string:
                _check(value, found)
