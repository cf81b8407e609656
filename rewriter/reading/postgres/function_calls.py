"""Calls of functions in the language SQL, whose arguments and value have types. Pure.

arr('{1,2}')    arr(CAST('{1,2}' AS INT[])), of which the dialect reads the text
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.named_definitions import MacroBody
from journal.model.schema import fold
from journal.model.trees import copy_tree
from journal.sql.sql import data_type
from rewriter.context import RewriteContext
from rewriter.definitions.macros import called_macro, form_for, has_macros
from rewriter.reading.postgres.operators import is_array_text, read_array
from rewriter.reading.value_types import KIND


def with_typed_arguments(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    """The tree with casts of what functions are called with; the same if there are no such calls.

    Raises BIND for arguments that fit no function of the name.
    """
    if not has_macros(context) or not any(_form_of(c, context) for c in _calls(tree)):
        return tree
    holder = exp.Paren(this=copy_tree(tree))
    for call in _calls(holder):
        form = _form_of(call, context)
        if form is not None:
            _type_arguments(call, form)
            if form.returns is not None:
                call.meta[KIND] = form.returns.upper()
    return holder.this  # type: ignore[no-any-return]


def _calls(tree: exp.Expr) -> list[exp.Anonymous]:
    return list(tree.find_all(exp.Anonymous))


def _form_of(call: exp.Anonymous, context: RewriteContext) -> MacroBody | None:
    """The function that is called; None for anything else."""
    found = called_macro(call, context)
    if found is None or not found.bodies[0].is_function:
        return None
    return form_for(call, found)[0]


def _type_arguments(call: exp.Anonymous, form: MacroBody) -> None:
    names = [fold(name) for name, _ in form.parameters]
    kinds = dict(zip(names, form.types, strict=True))
    for place, argument in enumerate(list(call.expressions)):
        is_named = isinstance(argument, exp.PropertyEQ | exp.Kwarg)
        value = argument.expression if is_named else argument
        kind = kinds[fold(argument.this.name) if is_named else names[place]]
        if kind is None or (isinstance(value, exp.Cast) and value.to == data_type(kind)):
            continue
        if is_array_text(value) and kind.endswith("[]"):
            value.replace(read_array(value, kind))
        else:
            value.replace(exp.Cast(this=value.copy(), to=data_type(kind)))
