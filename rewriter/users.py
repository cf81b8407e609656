"""CURRENT_USER, SESSION_USER, CURRENT_SCHEMA, current_setting: of the session, not of the store.

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import P_USER
from journal.model.schema import DEFAULT_SCHEMA, fold
from journal.model.trees import Nodes
from journal.sql.clock import name_moments
from journal.sql.sql import cast, expression
from rewriter.context import RewriteContext
from rewriter.dialect_semantics import DIALECTS, VARIABLE
from rewriter.name_resolution import OWN_SCHEMAS, SYSTEM_SCHEMAS, position_of, shown_schema

_CURRENT_SETTING = "current_setting"
_GET_VARIABLE = "getvariable"
USERS = (exp.CurrentUser, exp.SessionUser)
OF_SESSION = (*USERS, exp.CurrentSchema)
"""Calls that the gateway answers itself."""


def name_users(nodes: Nodes) -> None:
    """Put the parameter with the user's name in the place of each call among a query's nodes."""
    for kind in USERS:
        for call in nodes.all(kind):
            call.replace(_name())


def name_schema(nodes: Nodes, context: RewriteContext) -> None:
    """Put the schema of names without one in the place of each call among a query's nodes.

    It is NULL where there is no schema of the name that was set.
    """
    for call in nodes.all(exp.CurrentSchema):
        name = context.session_schema or context.default_schema
        is_there = fold(name) in {*context.catalog.schemas, *SYSTEM_SCHEMAS, *OWN_SCHEMAS}
        shown = shown_schema(name, context.dialect, context.catalog)
        call.replace(exp.Literal.string(shown) if is_there else cast(exp.Null(), "VARCHAR"))
    path_of = _PATHS.get(DIALECTS.get(context.dialect, ""))
    for listed in nodes.all(exp.CurrentSchemas):
        if path_of is not None and isinstance(listed.this, exp.Boolean):
            names = path_of(context, whole=bool(listed.this.this))
            values = [exp.Literal.string(name) for name in names]
            listed.replace(cast(exp.Array(expressions=values), "VARCHAR[]"))


def _path_of_duckdb(context: RewriteContext, *, whole: bool) -> Sequence[str]:
    """DuckDB's list of the schemas that names are looked up in; those of the engine with ``whole``.

    One that was not set is no part of it.
    """
    path = context.path or (context.session_schema or context.default_schema,)
    is_said = context.query_settings.sets_path or path != (context.catalog.home,)
    said = path if is_said else ()
    return (DEFAULT_SCHEMA, *said, DEFAULT_SCHEMA, DEFAULT_SCHEMA, "pg_catalog") if whole else said


def _path_of_postgres(context: RewriteContext, *, whole: bool) -> Sequence[str]:
    """PostgreSQL's list: the schemas of the path that are there; ``pg_catalog`` with ``whole``."""
    path = context.path or (context.session_schema or context.default_schema,)
    there = {*context.catalog.schemas, *SYSTEM_SCHEMAS, *OWN_SCHEMAS}
    said = [shown_schema(n, context.dialect, context.catalog) for n in path if fold(n) in there]
    return ["pg_catalog", *said] if whole and "pg_catalog" not in said else said


_PATHS = {"duckdb": _path_of_duckdb, "postgres": _path_of_postgres}


def name_settings(nodes: Nodes, context: RewriteContext) -> bool:
    """Put the value in the place of each ``current_setting('name')`` and ``getvariable('name')``.

    True if there was one. Raises UNKNOWN_SETTING, unless ``current_setting`` has a second argument
    that is true: the value is NULL then.
    """
    found = False
    for call in nodes.all(exp.Anonymous):
        is_variable = call.name.lower() == _GET_VARIABLE
        if not is_variable and call.name.lower() != _CURRENT_SETTING:
            continue
        found = True
        if is_variable:
            _name_variable(call, context)
            continue
        try:
            value = context.settings(_constant_name(call, "TimeZone"))
        except PalimpsestError as error:
            if error.code is not Code.UNKNOWN_SETTING or call.expressions[1:] != [exp.true()]:
                error.position = position_of(call)
                raise
            value = None
        shown = exp.Null() if value is None else exp.Literal.string(value)
        _call_of(call).replace(cast(shown, "VARCHAR"))
    return found


def _name_variable(call: exp.Anonymous, context: RewriteContext) -> None:
    """Put the value in the place of a ``getvariable('name')``; NULL for one that was not set."""
    value = context.settings(VARIABLE + _constant_name(call, "name"))
    call.replace(exp.null() if value is None else expression(value))


def _constant_name(call: exp.Anonymous, example: str) -> str:
    """The first argument of a call, which is a text; raises NOT_SUPPORTED for another one."""
    name = next(iter(call.expressions), None)
    if not (isinstance(name, exp.Literal) and name.is_string):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"{call.name.lower()} takes a name as a constant",
            advice=f"write {call.name.lower()}('{example}'), for example",
            position=position_of(call),
        )
    return str(name.name)


def _call_of(call: exp.Anonymous) -> exp.Expr:
    """The call with the schema before it, ``pg_catalog.current_setting(..)``."""
    return call.parent if isinstance(call.parent, exp.Dot) else call


def stored_expression(text: str) -> exp.Expr:
    """A default or check from its text, for who runs the statement, and when."""
    found = exp.Paren(this=expression(text))
    nodes = Nodes.of(found)
    name_users(nodes)
    name_moments(nodes)
    named: exp.Expr = found.this
    return named


def _name() -> exp.Expr:
    return cast(exp.Placeholder(this=P_USER), "VARCHAR")
