"""Makers of SQL nodes that neither copy nor parse their arguments.

sqlglot's builders copy what they are given, whole trees again and again, and parse every string;
that costs more than the rest of a rewrite. A node given here must not be used a second time: who
needs it twice copies it. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from sqlglot import exp

from journal.model.trees import copy_tree
from journal.sql import dialects

_DIALECT = "duckdb"
_ANY_NUMBER = "DECIMAL"
"""Without digits: what a client has said whose dialect means numbers of any length by it. A store
that has no such numbers takes it for its own default. The canonical dialect names 18 digits, 3 of
them behind the point.
"""


def named(value: exp.Expr, name: str) -> exp.Alias:
    """A value under a name that is ours."""
    return exp.Alias(this=value, alias=exp.Identifier(this=name))


def named_table(name: str, alias: str | None = None) -> exp.Table:
    """A relation that a statement stages or binds itself."""
    found = exp.Table(this=exp.to_identifier(name))
    if alias is not None:
        found.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    return found


def select(outputs: Iterable[exp.Expr], source: exp.Expr, *conditions: exp.Expr) -> exp.Select:
    """``SELECT outputs FROM source WHERE`` all conditions."""
    query = exp.Select(expressions=list(outputs), from_=exp.From(this=source))
    return where(query, *conditions) if conditions else query


def where(query: exp.Select, *conditions: exp.Expr) -> exp.Select:
    """``query`` with conditions besides those it has."""
    before = query.args.get("where")
    known = () if before is None else (before.this,)
    query.set("where", exp.Where(this=all_of(*known, *conditions)))
    return query


def select_star(source: exp.Expr) -> exp.Select:
    """``SELECT * FROM source``."""
    return select([exp.Star()], source)


def relation(query: exp.Query, alias: str | None = None) -> exp.Subquery:
    """A query as a source of rows."""
    return query.subquery(alias, copy=False)


def limited(query: exp.Select) -> exp.Select:
    """At most one of a query's rows."""
    query.set("limit", exp.Limit(expression=exp.Literal.number(1)))
    return query


def all_of(*conditions: exp.Expr) -> exp.Expr:
    """The conjunction."""
    return _connect(exp.And, conditions)


def any_of(*conditions: exp.Expr) -> exp.Expr:
    """The disjunction."""
    return _connect(exp.Or, conditions)


def _connect(connector: type[exp.Connector], conditions: Sequence[exp.Expr]) -> exp.Expr:
    found, *rest = conditions
    if not rest:
        return found
    found = _parenthesized(found)
    for condition in rest:
        found = connector(this=found, expression=_parenthesized(condition))
    return found


def _parenthesized(condition: exp.Expr) -> exp.Expr:
    return exp.Paren(this=condition) if isinstance(condition, exp.Connector) else condition


def cast(value: exp.Expr, kind: str) -> exp.Expr:
    """A value as a type, given as SQL text in the canonical dialect."""
    to = data_type(kind)
    if type(value) is exp.Cast and value.to == to:
        return value
    return exp.Cast(this=value, to=to)


def data_type(kind: str) -> exp.DataType:
    """A type from its SQL text."""
    found, is_simple = _data_type(kind)
    return exp.DataType(**found.args) if is_simple else copy_tree(found)


@lru_cache(maxsize=4096)
def _data_type(kind: str) -> tuple[exp.DataType, bool]:
    """The type, and whether it holds no nodes of its own."""
    if kind == _ANY_NUMBER:
        return exp.DataType(this=exp.DType.DECIMAL), True
    found = exp.DataType.build(kind, dialect=_DIALECT)
    return found, not any(isinstance(v, (exp.Expr, list)) for v in found.args.values())


def expression(text: str) -> exp.Expr:
    """A stored expression from its text: a default, a check."""
    return copy_tree(_expression(text))


@lru_cache(maxsize=4096)
def _expression(text: str) -> exp.Expr:
    return dialects.stored(text)
