"""Functions and operators that take a path of SQL/JSON, in DuckDB's SQL. Pure.

jsonb_path_query(j, '$.a[*]')          a row of each item
jsonb_path_query_array(j, p, vars)     an array of the items; jsonb_path_query_first the first
jsonb_path_exists(j, p), j @? p        whether there is an item
jsonb_path_match(j, p), j @@ p         what a predicate is

The path is a constant, as a session makes of a parameter. In operators, and where ``silent``, an
error gives NULL, or ends the items.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import sqlglot
from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.sql.builders import call, fill
from rewriter.functions import function_name
from rewriter.name_resolution import position_of
from rewriter.reading.postgres.json.json import native_jsonb
from rewriter.reading.postgres.json.jsonb_forms import canonical, respelled
from rewriter.reading.postgres.json.path.items import (
    EXTRACT,
    EXTRACT_TEXT,
    Items,
    Surroundings,
    before_failure,
    is_failure,
    let,
    let_both,
    mapped,
    raised,
)
from rewriter.reading.postgres.json.path.nodes import (
    PREDICATES,
    Binary,
    JsonPath,
    Levels,
    Members,
    Method,
    Root,
    Subscripts,
    Unary,
    Variable,
)
from rewriter.reading.postgres.json.path.parse import parse_path
from rewriter.reading.postgres.json.path.predicates import Unsaid, condition, exists
from rewriter.reading.postgres.json.path.steps import sequence
from rewriter.reading.postgres.json.path.tokens import PathError
from rewriter.reading.postgres.quoting import not_here
from rewriter.reading.value_types import ValueTypes

_VERBS = ("query", "query_array", "query_first", "exists", "match")
NAMES = {f"jsonb_path_{verb}{zone}": verb for verb in _VERBS for zone in ("", "_tz")}
OPERATORS: dict[type[exp.Expr], str] = {exp.JSONBPathExists: "exists", exp.MatchAgainst: "match"}
_PARAMETERS = ("target", "path", "vars", "silent")
_FUNCTIONS = {EXTRACT: "json_extract", EXTRACT_TEXT: "json_extract_string"}
_DOCUMENT, _VARIABLES = "_palimpsest_document", "_palimpsest_variables"
_TRIMMED = "trim(CAST(CAST(j AS JSON) AS VARCHAR), ' ' || chr(9) || chr(10) || chr(13))"
_FAILING = (Unary, Binary, Method, Subscripts)
"""What may fail in lax mode, where the first of several items or errors decides."""
_NO_OBJECT = '"vars" argument is not an object'
_NOT_SINGLE = "single boolean result is expected"


@dataclass(frozen=True, slots=True)
class _Call:
    """A call of one of the functions; without ``variables`` all of them are null."""

    verb: str
    target: exp.Expr
    path: exp.Expr
    variables: exp.Expr | None
    silent: bool


def takes_path(node: exp.Expr) -> bool:
    """True for a call of one of these functions, and for such an operator."""
    return type(node) in OPERATORS or (
        isinstance(node, exp.Anonymous) and function_name(node) in NAMES
    )


def path_of(node: exp.Expr) -> exp.Expr | None:
    """The path of a call or an operator, without casts; None for all else."""
    called = _call_of(node) if takes_path(node) else None
    return None if called is None else _uncast(called.path)


def native_operator(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """The function behind an operator, for PostgreSQL, in whose journals jsonb is json."""
    called = _call_of(node)
    if called is None or types.of(called.target).kind != "JSON":
        return None
    return call(f"jsonb_path_{called.verb}_opr", native_jsonb(called.target), called.path)


def spell_path_call(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """What stands for a call; raises NOT_SUPPORTED for a path without words, and SYNTAX."""
    called = _call_of(node)
    if called is None:
        return None
    if isinstance(node, exp.MatchAgainst) and not _may_be_json(called.target, types):
        raise not_here(node, "text search", "write LIKE, or a regular expression with ~")
    if not types.context.capabilities.normalizes_json:
        raise not_here(node, "a JSON path on this store", "use ->, #>> and @>")
    given = (called.target, called.path, called.variables)
    if any(isinstance(_uncast(value), exp.Null) for value in given if value is not None):
        return _null_result(called)
    text = _constant(called.path)
    if text is None:
        raise not_here(
            node,
            "a JSON path that is no constant",
            "write it out, or give it as a parameter; $name takes its value of the third argument",
        )
    try:
        path = parse_path(text)
        sql = _sql(path, called.verb, called.silent, _given(called, path))
    except PathError as error:
        code = Code.SYNTAX if text.strip() else Code.CONVERSION
        raise PalimpsestError(
            code,
            f"invalid jsonpath {text[:60]!r}: {error}",
            advice="check the path",
            position=position_of(called.path) or position_of(node),
        ) from error
    except Unsaid as unsaid:
        raise not_here(node, f"{unsaid.what} on this store", unsaid.advice) from unsaid
    is_ordered = _is_ordered(called, path)
    parts = {_DOCUMENT: _document(called.target, types, is_ordered)}
    if called.variables is not None:
        parts[_VARIABLES] = _document(called.variables, types, is_ordered)
    made = _filled(sql, parts)
    return exp.Explode(this=made) if called.verb == "query" else made


def _call_of(node: exp.Expr) -> _Call | None:
    """What a node calls; None for a number of arguments that no function has."""
    if isinstance(node, exp.JSONBPathExists):
        return _Call("exists", node.this, node.expression, None, silent=True)
    if isinstance(node, exp.MatchAgainst):
        return _Call("match", node.expressions[0], node.this, None, silent=True)
    given = dict(zip(_PARAMETERS, node.expressions, strict=False))
    for argument in node.expressions:
        if isinstance(argument, exp.Kwarg):
            given = {name: value for name, value in given.items() if value is not argument}
            given[argument.this.name.lower()] = argument.expression
    if not {"target", "path"} <= set(given) <= set(_PARAMETERS):
        return None
    silent = given.get("silent", exp.false())
    if isinstance(silent, exp.Null):
        given, silent = {**given, "path": silent}, exp.false()
    if not isinstance(silent, exp.Boolean):
        raise not_here(node, "silent of a JSON path that is no constant", "write TRUE or FALSE")
    variables = given.get("vars", exp.Literal.string("{}"))
    verb = NAMES[function_name(node)]
    return _Call(verb, given["target"], given["path"], variables, bool(silent.this))


def _may_be_json(value: exp.Expr, types: ValueTypes) -> bool:
    return not value.is_string and types.of(value).kind in {None, "JSON"}


def _null_result(called: _Call) -> exp.Expr:
    """What a call with a NULL gives: NULL, or no rows."""
    if called.verb == "query":
        return exp.Explode(this=fill("CAST([] AS JSON[])"))
    kind = "BOOLEAN" if called.verb in {"exists", "match"} else "JSON"
    return exp.cast(exp.null(), kind, dialect="duckdb")


def _uncast(value: exp.Expr) -> exp.Expr:
    while isinstance(value, exp.Cast | exp.Paren):
        value = value.this
    return value


def _constant(value: exp.Expr) -> str | None:
    """The text that a constant is, cast to jsonpath or not."""
    value = _uncast(value)
    return value.name if value.is_string else None


def _document(value: exp.Expr, types: ValueTypes, is_ordered: bool) -> exp.Expr:
    """The text of a value of jsonb, with its keys in PostgreSQL's order if wanted."""
    is_spelled = not is_ordered or _constant(value) is not None
    return fill(_TRIMMED, j=respelled(value) if is_spelled else canonical(value, types))


def _is_long(value: exp.Expr, is_ordered: bool) -> bool:
    """True for what takes time to compute, or cannot stand within a lambda."""
    if _constant(value) is not None:
        return False
    return is_ordered or not isinstance(_uncast(value), exp.Column)


def _is_ordered(called: _Call, path: JsonPath) -> bool:
    """True for a path of which a call may show in which order the keys of an object are."""
    shown = repr(path.body)
    is_asked = called.verb == "exists" or (
        called.verb == "match" and isinstance(path.body, PREDICATES)
    )
    if is_asked and not any(f"{step.__name__}(" in shown for step in _FAILING):
        return False
    return any(step in shown for step in (repr(Members()), f"{Levels.__name__}(", "keyvalue"))


@dataclass(frozen=True, slots=True)
class _Given:
    """How a path sees its value and its variables.

    ``is_named``: they get names, to be computed once. ``variables`` is whether there are any: where
    there are none, all are null. ``are_checked``: they may be no object.
    """

    is_named: bool
    variables: bool
    are_checked: bool = False


def _given(called: _Call, path: JsonPath) -> _Given:
    shown = repr(path.body)
    is_ordered = _is_ordered(called, path)
    is_named = _is_long(called.target, is_ordered) or shown.count(repr(Root())) > 1
    if called.variables is None:
        return _Given(is_named, variables=False)
    constant = _constant(called.variables)
    is_object = constant is not None and constant.strip().startswith("{")
    is_used = f"{Variable.__name__}(" in shown
    is_named = is_named or (is_used and _is_long(called.variables, is_ordered))
    return _Given(is_named, is_used or not is_object, not is_object)


@lru_cache(maxsize=256)
def _sql(path: JsonPath, verb: str, silent: bool, given: _Given) -> str:
    """SQL of what a verb makes of a path, with names for the value and its variables."""
    outer = Surroundings(path.is_lax, path.is_lax, silent, _DOCUMENT)

    def result(root: str, variables: str | None) -> str:
        scope = replace(outer, root=root, variables=variables)
        found = f"CASE WHEN {root} IS NOT NULL THEN {_result(path, verb, scope)} END"
        if not given.are_checked:
            return found
        return (
            f"CASE WHEN NOT starts_with({variables}, '{{') THEN {raised(_NO_OBJECT)}"
            f" WHEN {variables} IS NOT NULL THEN {found} END"
        )

    if given.is_named and given.variables:
        return let_both((_DOCUMENT, _VARIABLES), outer, result)
    if given.is_named:
        return let(_DOCUMENT, outer, lambda root: result(root, None))
    return result(_DOCUMENT, _VARIABLES if given.variables else None)


def _result(path: JsonPath, verb: str, scope: Surroundings) -> str:
    if verb == "exists":
        return _exists(sequence(path.body, scope, True), scope)
    if verb == "match" and isinstance(path.body, PREDICATES):
        return condition(path.body, scope, sequence)
    items = _checked(sequence(path.body, scope), scope)
    if verb == "match":
        return let(items, scope, lambda found: _match(found, scope))
    return _RESULTS[verb](items)


def _exists(found: Items, scope: Surroundings) -> str:
    if scope.silent or not found.may_fail:
        return exists(found, scope)
    if scope.is_lax or found.is_single:
        first = found.sql if found.is_single else f"list_extract({found.sql}, 1)"
        return let(
            first, scope, lambda item: f"CASE WHEN {_raise(item)} ELSE {item} IS NOT NULL END"
        )
    return f"len({_checked(found, scope)}) > 0"


def _raise(item: str) -> str:
    return f"{is_failure(item)} THEN error(substr({item}, 2))"


def _checked(found: Items, scope: Surroundings) -> str:
    """The items; where errors are silent, those before one."""
    if not found.may_fail:
        return found.items
    if scope.silent:
        return before_failure(found.items)
    return mapped(found.items, scope, lambda item: f"CASE WHEN {_raise(item)} ELSE {item} END")


def _match(items: str, scope: Surroundings) -> str:
    first = f"list_extract({items}, 1)"
    other = "" if scope.silent else f" ELSE {raised(_NOT_SINGLE)}"
    return (
        f"CASE WHEN len({items}) = 1 AND {first} IN ('true', 'false') THEN {first} = 'true'"
        f" WHEN len({items}) = 1 AND {first} = 'null' THEN NULL{other} END"
    )


_RESULTS: dict[str, Callable[[str], str]] = {
    "query": lambda items: f"CAST({items} AS JSON[])",
    "query_array": lambda items: f"CAST('[' || array_to_string({items}, ', ') || ']' AS JSON)",
    "query_first": lambda items: f"CAST(list_extract({items}, 1) AS JSON)",
}


@lru_cache(maxsize=256)
def _parsed(sql: str) -> exp.Expr:
    found = sqlglot.parse_one(sql, read="duckdb")
    for node in list(found.find_all(exp.Anonymous)):
        if node.name in _FUNCTIONS:
            node.set("this", _FUNCTIONS[node.name])
    return found


def _filled(sql: str, parts: dict[str, exp.Expr]) -> exp.Expr:
    holder = exp.Paren(this=_parsed(sql).copy())
    for place in [c for c in holder.find_all(exp.Column) if c.name in parts]:
        place.replace(parts[place.name].copy())
    found = holder.this
    assert isinstance(found, exp.Expr)
    found.pop()
    return found
