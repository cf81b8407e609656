"""Builders of SQL trees, and templates that are parsed once and filled with trees.

    call("size", l)                                  size(l)
    fill("CASE WHEN x = '' THEN -1 END", x=tree)     the piece with the tree in the place of x

Parts that are given are copied; texts, numbers and None become literals. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import sqlglot
from sqlglot import exp

from journal.sql.relations import column

Part = exp.Expr | str | int | None


def call(name: str, *arguments: Part) -> exp.Anonymous:
    """A call of a function by the name that a store has for it."""
    return exp.Anonymous(this=name, expressions=[exp.convert(a, copy=True) for a in arguments])


def fill(sql: str, dialect: str = "duckdb", /, **parts: Part) -> exp.Expr:
    """A piece of constant SQL with ``parts`` where it names a column so.

    No part is put into brackets: where it may bind less, the piece has them.
    """
    holder = exp.Paren(this=_parsed(sql, dialect).copy())
    for place in [c for c in holder.find_all(exp.Column) if c.name in parts]:
        place.replace(exp.convert(parts[place.name], copy=True))
    found = holder.this
    assert isinstance(found, exp.Expr)
    found.pop()
    return found


@lru_cache(maxsize=1024)
def _parsed(sql: str, dialect: str) -> exp.Expr:
    """A piece whose lambdas name their variables as no column of a client's is named."""
    found = sqlglot.parse_one(sql, read=dialect)
    for node in found.find_all(exp.Lambda):
        names = {part.name for part in node.expressions if not part.name.startswith(_VARIABLE)}
        for part in list(node.find_all(exp.Identifier)):
            is_field = isinstance(part.parent, exp.Dot) and part.arg_key == "expression"
            if part.name in names and not is_field:
                part.set("this", variable_name(part.name))
    return found


_VARIABLE = "_palimpsest_"


def variable_name(name: str) -> str:
    """What a lambda of ``fill`` calls a variable, for parts that mean it."""
    return f"{_VARIABLE}{name}"


def is_variable(node: exp.Column) -> bool:
    """True for a variable of a lambda of ``fill``, which is no column of a relation."""
    return not node.table and node.name.startswith(_VARIABLE)


def variable(name: str) -> exp.Column:
    """A variable of the lambda into which ``fill`` puts this part."""
    return column(variable_name(name))


def is_null(value: exp.Expr) -> exp.Is:
    """``value IS NULL``."""
    return exp.Is(this=value.copy(), expression=exp.Null())


def is_given(value: exp.Expr) -> exp.Not:
    """``NOT value IS NULL``."""
    return exp.Not(this=is_null(value))


def or_false(condition: exp.Expr) -> exp.Coalesce:
    """A condition that is false where it is not known."""
    return exp.Coalesce(this=condition.copy(), expressions=[exp.false()])


def equal_columns(names: Sequence[str], left: str, right: str) -> list[exp.Expr]:
    """The conditions that two relations agree in columns of these names."""
    return [exp.EQ(this=column(n, left), expression=column(n, right)) for n in names]


def joined_sources(select: exp.Expr) -> Iterator[exp.Expr]:
    """The relations that a SELECT's FROM clause joins: tables and subqueries."""
    source = select.args.get("from_")
    if source is not None:
        yield source.this
    for join in select.args.get("joins") or ():
        yield join.this


def sources_of(select: exp.Expr) -> Iterator[exp.Expr]:
    """The relations of a SELECT's FROM clause: tables, subqueries, laterals."""
    yield from joined_sources(select)
    yield from select.args.get("laterals") or ()
