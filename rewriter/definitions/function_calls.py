"""Calls of functions in the language SQL, which become what the functions mean. Pure.

f(3), f(a + 1)      the body, with the value in the place of the parameter
f(t.id)             (SELECT body FROM (SELECT t.id AS n) AS args): no name in the body hides t
FROM f(3) AS x      (SELECT ..) AS x(x) of a function with one column

Unlike a macro, a function takes each argument as a value, once.
"""

from __future__ import annotations

from collections import Counter

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.named_definitions import Macro, MacroBody
from journal.model.schema import fold
from journal.model.trees import copy_tree
from journal.sql.relations import ident
from rewriter.functions import is_random
from rewriter.name_resolution import position_of

_ARGUMENTS, _ARGUMENT = "_function_arguments", "_argument_"
SOURCES = (exp.Table, exp.Lateral)


def with_arguments(body: exp.Expr, values: dict[str, exp.Expr], found: Macro) -> exp.Expr:
    """What a call means; ``values`` are those of the parameters by their folded names.

    ``body`` is used up.
    """
    holder = exp.Paren(this=body)
    named = Counter(fold(c.name) for c in holder.find_all(exp.Column) if not c.table)
    has_query = holder.find(exp.Query) is not None
    apart = {
        name
        for name, value in values.items()
        if named[name]
        and ((has_query and value.find(exp.Column)) or (named[name] > 1 and is_random(value)))
    }
    for used in list(holder.find_all(exp.Column)):
        name = fold(used.name)
        if used.table or name not in values:
            continue
        if name in apart:
            used.replace(exp.column(ident(_ARGUMENT + name), table=ident(_ARGUMENTS)))
        else:
            _put_value(used, copy_tree(values[name]))
    if not apart:
        return holder.this  # type: ignore[no-any-return]
    # Under names of ours: a store may take an output's name for that of a column in its value.
    outputs = [exp.alias_(copy_tree(values[n]), ident(_ARGUMENT + n)) for n in sorted(apart)]
    given = exp.select(*outputs)
    source = exp.Subquery(this=given, alias=exp.TableAlias(this=ident(_ARGUMENTS)))
    if not found.is_table:
        return exp.Subquery(this=exp.select(holder.this).from_(source, copy=False))
    rows = holder.this
    inner = rows.args["from_"].this
    alias = inner.args["alias"]
    inner.set("alias", None)
    lateral = exp.Lateral(this=inner, alias=alias)
    rows.from_(source, copy=False)
    rows.set("joins", [exp.Join(this=lateral), *(rows.args.get("joins") or [])])
    return rows  # type: ignore[no-any-return]


def _put_value(used: exp.Column, value: exp.Expr) -> None:
    """Put a value in a parameter's place; it is not cast twice to one type."""
    cast = used.parent
    if isinstance(value, exp.Cast) and isinstance(cast, exp.Cast) and cast.to == value.to:
        cast.replace(value)
    else:
        used.replace(exp.paren(value, copy=False))


def _is_alone(source: exp.Expr) -> bool:
    """True for the first source of FROM, which reads no other."""
    return isinstance(source, exp.Table) and isinstance(source.parent, exp.From)


_NUMBER = "ordinality"
"""What the number of a row is called behind WITH ORDINALITY."""


def put_source(source: exp.Expr, made: exp.Expr, form: MacroBody, found: Macro) -> None:
    """Put the rows of a function in the place of its call in FROM, under the call's alias."""
    alias = source.args.get("alias") or exp.TableAlias(this=ident(found.name.name))
    is_numbered = bool(source.args.get("ordinality"))
    if form.returns is not None and not alias.columns:
        number = [ident(_NUMBER)] if is_numbered else []
        alias.set("columns", [ident(alias.name), *number])
    rows = made if found.is_table else exp.select(made)
    if is_numbered:
        if not found.is_table:
            rows = exp.select(exp.alias_(made, ident(alias.name)))
        counted = exp.alias_(exp.Window(this=exp.RowNumber(), over="OVER"), ident(_NUMBER))
        given = exp.Subquery(this=rows, alias=exp.TableAlias(this=ident("rows_of_function")))
        rows = exp.select("*", counted).from_(given, copy=False)
    subquery = exp.Subquery(this=rows)
    looks_beside = isinstance(source, exp.Lateral) or made.find(exp.Lateral) is not None
    is_ordered = any(isinstance(order.parent, exp.Query) for order in made.find_all(exp.Order))
    if is_numbered and is_ordered and not _is_alone(source):
        # Beside others a store keeps no order of the rows.
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"WITH ORDINALITY of {found.name.name}, which orders its rows, is not supported here",
            advice="number the rows in the function, by row_number() OVER (ORDER BY ..)",
            position=position_of(source.this),
        )
    if looks_beside and not isinstance(source.parent, exp.From):
        put: exp.Expr = exp.Lateral(this=subquery, alias=alias)
    else:
        subquery.set("alias", alias)
        put = subquery
    for arg in ("joins", "laterals", "pivots", "sample"):
        if source.args.get(arg):
            put.set(arg, source.args[arg])
    source.replace(put)


def no_rows_here(call: exp.Expr, found: Macro) -> PalimpsestError:
    """The error for a function that returns rows where a value stands."""
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        f"{found.name.name} returns rows, which stand in FROM only",
        advice=f"call {found.name.name}(..) in FROM, also behind LATERAL",
        position=position_of(call),
    )
