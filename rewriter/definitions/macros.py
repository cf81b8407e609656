"""Replaces calls of macros by their bodies. Pure."""

from __future__ import annotations

from itertools import islice, zip_longest

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.named_definitions import DefinitionKey, Macro, MacroBody, definition_key
from journal.model.schema import fold
from journal.model.trees import copy_tree
from journal.sql import dialects
from journal.sql.relations import ident
from journal.sql.sql import cast
from rewriter.context import RewriteContext
from rewriter.definitions.function_calls import (
    SOURCES,
    no_rows_here,
    put_source,
    with_arguments,
)
from rewriter.functions import function_name
from rewriter.name_resolution import position_of
from rewriter.syntax.query_table import name_tables

_DEPTH_MAX = 32
_CALLS_MAX, _NODES_MAX = 1_000, 20_000
_PLACES = ("line", "col", "start", "end")


def expand_macros(tree: exp.Expr, context: RewriteContext) -> set[DefinitionKey]:
    """Put the bodies of macros in the place of their calls, in place; gives which these were.

    Raises BIND for arguments that fit no form of a macro, NESTING_TOO_DEEP for macros that call
    themselves.
    """
    met: set[DefinitionKey] = set()
    if not has_macros(context):
        return met
    written = 0
    for _ in range(_DEPTH_MAX):
        calls = [
            (call, found)
            for call in tree.find_all(exp.Anonymous)
            if (found := called_macro(call, context)) is not None
        ]
        if not calls:
            return met
        met |= {definition_key(found) for _, found in calls}
        written = written or len(calls)
        if len(calls) > max(_CALLS_MAX, 4 * written):
            break
        _keep_names([call for call, _ in calls])
        # Inner calls first: they are arguments of the outer ones.
        for call, found in reversed(calls):
            _replace(call, found, context)
    raise PalimpsestError(
        Code.NESTING_TOO_DEEP,
        f"macros call each other more than {_DEPTH_MAX} deep: {calls[0][1].name}",
        advice="a macro cannot call itself",
        position=position_of(calls[0][0]),
    )


def has_macros(context: RewriteContext) -> bool:
    """Whether there is any macro that could be called."""
    return any(isinstance(d, Macro) for d in context.catalog.definitions.values())


def named_macro(node: exp.Table, context: RewriteContext, *, is_table: bool) -> Macro | None:
    """The macro that a name means."""
    return _look_up([part.name for part in node.parts], context, is_table=is_table)


def called_macro(call: exp.Anonymous, context: RewriteContext) -> Macro | None:
    """The macro that a call means; raises NOT_SUPPORTED for rows where a value stands."""
    parts, is_source = [*_schema_before(call), str(call.name)], _is_source(call)
    found = _look_up(parts, context, is_table=is_source)
    if found is not None:
        return found
    # A function of a value may stand in FROM; one that returns rows stands nowhere else.
    other = _look_up(parts, context, is_table=not is_source)
    if other is None or not other.bodies[0].is_function:
        return None
    if other.is_table:
        raise no_rows_here(call, other)
    return other


def _look_up(parts: list[str], context: RewriteContext, *, is_table: bool) -> Macro | None:
    kind, own = "table macro" if is_table else "macro", context.catalog.own
    if len(parts) > 1:
        schemas = [own if own is not None and fold(parts[-2]) == "temp" else parts[-2]]
    else:
        schemas = [*([own] if own is not None else []), *context.path, context.default_schema]
        schemas.append(context.catalog.home)
    for schema in schemas:
        found = context.catalog.definitions.get((kind, fold(schema), fold(parts[-1])))
        if isinstance(found, Macro):
            return found
    return None


def _is_source(call: exp.Anonymous) -> bool:
    """True for a call in FROM."""
    return isinstance(call.parent, SOURCES) and call.parent.this is call


def _schema_before(call: exp.Anonymous) -> list[str]:
    parent = call.parent
    if isinstance(parent, exp.Table):
        return [parent.db] if parent.db else []
    if isinstance(parent, exp.Dot) and parent.expression is call:
        return (
            [parent.this.parts[-1].name] if isinstance(parent.this, exp.Dot) else [parent.this.name]
        )
    return []


def _keep_names(calls: list[exp.Anonymous]) -> None:
    """Give results of queries the names that they have with the calls in them."""
    for call in calls:
        whole: exp.Expr = call
        while whole.parent is not None and not isinstance(whole.parent, exp.Select | exp.Table):
            whole = whole.parent
        if isinstance(whole.parent, exp.Select) and whole.arg_key == "expressions":
            if not isinstance(whole, exp.Alias | exp.Aliases):
                name = whole.sql(dialect="duckdb", normalize_functions=False)
                whole.replace(exp.alias_(copy_tree(whole), ident(name)))


def _replace(call: exp.Anonymous, found: Macro, context: RewriteContext) -> None:
    form, values = form_for(call, found)
    holder = exp.Paren(this=dialects.stored(form.body))
    for part in holder.find_all(exp.Identifier):
        for place in _PLACES:
            part.meta.pop(place, None)
    if form.is_function:
        holder.set("this", with_arguments(holder.this, values, found))
        values = {}
    sources = _source_names(holder)
    for used in list(holder.find_all(exp.Column)):
        name, *path = used.parts
        value = values.get(fold(name.name))
        if value is not None and not (path and fold(name.name) in sources):
            made: exp.Expr = exp.paren(copy_tree(value), copy=False)
            used.replace(exp.Dot.build([made, *(part.copy() for part in path)]) if path else made)
    name_tables(holder)
    _check_size(holder, found, call)
    if _is_source(call):
        table = call.parent
        assert table is not None
        if form.is_function:
            put_source(table, holder.this, form, found)
            return
        alias = table.args.get("alias") or exp.TableAlias(this=ident(found.name.name))
        subquery = exp.Subquery(this=holder.this, alias=alias)
        for arg in ("joins", "laterals", "pivots", "sample"):
            if table.args.get(arg):
                subquery.set(arg, table.args[arg])
        table.replace(subquery)
        return
    whole = call.parent if isinstance(call.parent, exp.Dot) else call
    body = holder.this
    whole.replace(body if isinstance(body, exp.Subquery) else exp.paren(body, copy=False))


def _source_names(body: exp.Expr) -> frozenset[str]:
    """The folded names of what a macro's body reads; before a dot they mean no parameter."""
    return frozenset(fold(source.name) for source in body.find_all(exp.Table, exp.TableAlias))


def _check_size(body: exp.Expr, found: Macro, call: exp.Anonymous) -> None:
    """Raise NESTING_TOO_DEEP for a body that has grown with its arguments beyond measure."""
    if sum(1 for _ in islice(body.walk(), _NODES_MAX)) == _NODES_MAX:
        raise PalimpsestError(
            Code.NESTING_TOO_DEEP,
            f"what the macro {found.name} stands for here is too long",
            advice="macros that name a parameter twice double what they are given; use a subquery",
            position=position_of(call),
        )


def form_for(call: exp.Anonymous, found: Macro) -> tuple[MacroBody, dict[str, exp.Expr]]:
    """The form that a call's arguments fit, and the values of its parameters."""
    given: list[exp.Expr] = []
    named: dict[str, exp.Expr] = {}
    for argument in call.expressions:
        if isinstance(argument, exp.PropertyEQ | exp.Kwarg):
            name = fold(argument.this.name)
            if name in named:
                raise _no_fit(found, call, f"{argument.this.name} is given twice")
            named[name] = argument.expression
        elif named:
            raise _no_fit(found, call, "a positional argument follows a named one")
        else:
            given.append(argument)
    for form in found.bodies:
        names = [fold(name) for name, _ in form.parameters]
        values = dict(zip(names, given, strict=False))
        if len(given) > len(names) or values.keys() & named.keys() or named.keys() - set(names):
            continue
        values |= named
        for name, default in form.parameters:
            if default is not None and fold(name) not in values:
                values[fold(name)] = dialects.stored(default)
        if len(values) == len(names):
            for name, kind in zip(names, form.types, strict=False):
                # The body of a function casts its parameters itself.
                if kind is not None and not form.is_function:
                    values[name] = cast(values[name].copy(), kind)
            return form, values
    raise _no_fit(found, call, "the arguments fit none of its forms")


def _no_fit(found: Macro, call: exp.Anonymous, why: str) -> PalimpsestError:
    forms = "; ".join(shown_form(found, form) for form in found.bodies)
    is_function = found.bodies[0].is_function
    what = "function" if is_function else "macro"
    return PalimpsestError(
        Code.UNKNOWN_FUNCTION if is_function else Code.BIND,
        f"the call does not fit {what} {function_name(call)}: {why}",
        advice=f"call {forms}",
        position=position_of(call),
    )


def shown_form(found: Macro, form: MacroBody) -> str:
    """How a form is called: ``f(a, b := 1)``."""
    shown = [
        " ".join(part for part in (name, kind, default and f":= {default}") if part)
        for (name, default), kind in zip_longest(form.parameters, form.types)
    ]
    return f"{found.name.name}({', '.join(shown)})"
