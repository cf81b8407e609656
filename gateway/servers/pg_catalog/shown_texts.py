"""Queries and expressions of the catalog as PostgreSQL spells them. Pure.

The catalog keeps them in DuckDB's SQL. Tools send them to another database, or compare them with
what they would declare: ``'x'::text``, ``true``, ``now()``, ``nextval('s'::regclass)``, and no home
schema before a name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from sqlglot import ErrorLevel, exp

from gateway.servers.pg_catalog.definitions import quote_name
from gateway.servers.pg_catalog.typed_comparisons import spell_comparisons
from journal.model.schema import fold
from journal.sql import dialects

_JSON = frozenset({exp.DType.JSON, exp.DType.JSONB})
_NEXTVAL = "nextval"
_KEPT = 8192
"""How many texts are kept: the catalog is read anew whenever a table has changed."""
_TYPES = {
    "VARCHAR": "character varying", "DECIMAL": "numeric", "INT": "integer",
    "TIMESTAMP": "timestamp without time zone", "TIMESTAMPTZ": "timestamp with time zone",
    "TIME": "time without time zone", "TIMETZ": "time with time zone",
}  # fmt: skip
_TYPE_NAME = re.compile(r"[A-Z]+")
_TESTED = (exp.Null, exp.Boolean)
_OPERANDS = (
    *(exp.Literal, exp.Column, exp.Func, exp.Paren, exp.Var, exp.Boolean),
    *(exp.Dot, exp.Kwarg, exp.PropertyEQ),
)


@lru_cache(_KEPT)
def shown_query(text: str, home: str) -> str:
    """The query of a view, with names of the home schema alone, and without brackets around it."""
    query = dialects.stored(text)
    while isinstance(query, exp.Subquery) and query.is_wrapper:
        query = query.this
    return _spelling_of(query, home)


@lru_cache(_KEPT)
def shown_expression(text: str, home: str, kinds: tuple[tuple[str, str], ...] = ()) -> str:
    """The expression of a check, an index or a generated column, in brackets if it needs them.

    ``kinds`` are the types of columns by their names.
    """
    return _expression_of(dialects.stored(text), home, dict(kinds))


def _expression_of(tree: exp.Expr, home: str, kinds: Mapping[str, str] | None = None) -> str:
    held = exp.Tuple(expressions=[tree])
    spell_comparisons(held, kinds or {})
    for negated in list(held.find_all(exp.Not)):
        test = negated.this
        if isinstance(test, exp.Is) and isinstance(test.expression, _TESTED):
            tested = exp.Var(this=f"NOT {_text_of(test.expression)}")
            negated.replace(exp.Is(this=test.this, expression=tested))
    for node in reversed(list(held.find_all(exp.Binary, exp.Not, exp.Between, exp.In))):
        if not _is_operand(node) and not isinstance(node.parent, exp.Paren | exp.Escape):
            node.replace(exp.Paren(this=node.copy()))
    return _spelling_of(held.expressions[0], home)


@lru_cache(_KEPT)
def shown_default(text: str, home: str, kind: str) -> str | None:
    """The expression of a default of a column of type ``kind``; None for NULL, which is none."""
    tree = dialects.stored(text).unnest()
    if isinstance(tree, exp.Null):
        return None
    base = "bpchar" if kind == "character" else kind
    if isinstance(tree, exp.Array) and not tree.expressions:
        return f"'{{}}'::{base}"
    if isinstance(tree, exp.Cast) and tree.to.this in _JSON:
        # Of jsonb and json the one that the column is of.
        tree = tree.this if tree.this.is_string and base in {"json", "jsonb"} else tree
    if isinstance(tree, exp.Literal) and tree.is_string:
        return f"{_spelling_of(tree, home)}::{base}"
    if isinstance(tree, exp.Neg) and isinstance(tree.this, exp.Literal):
        return f"'{_spelling_of(tree, home)}'::{base}"
    return _expression_of(tree, home)


def _spelling_of(tree: exp.Expr, home: str) -> str:
    whole = exp.Tuple(expressions=[tree])
    for node in reversed(list(tree.walk(bfs=False))):
        _spell_node(node, home)
    return _text_of(whole.expressions[0])


def _text_of(node: exp.Expr) -> str:
    return node.sql(
        dialect="postgres", normalize_functions="lower", unsupported_level=ErrorLevel.IGNORE
    )


def _spell_node(node: exp.Expr, home: str) -> None:
    """Put in a node's place what PostgreSQL writes; the parts of it have been spelled before."""
    if isinstance(node, exp.Identifier):
        node.set("quoted", quote_name(node.name) != node.name)
    elif isinstance(node, exp.Table | exp.Column):
        schema = node.args.get("db")
        if schema is not None and fold(schema.name) == fold(home):
            node.set("db", None)
        if isinstance(node, exp.Table) and node.alias == node.name:
            node.set("alias", None)
    elif isinstance(node, exp.Dot) and isinstance(node.expression, exp.Anonymous):
        if isinstance(node.this, exp.Identifier) and fold(node.this.name) == fold(home):
            node.replace(node.expression.copy())
    elif isinstance(node, exp.Boolean):
        node.replace(exp.Var(this="true" if node.this else "false"))
    elif isinstance(node, exp.IntDiv):
        node.replace(exp.Div(this=node.this, expression=node.expression, typed=True))
    elif isinstance(node, exp.Uuid):
        node.replace(exp.Var(this="gen_random_uuid()"))
    elif isinstance(node, exp.Array) and not node.find(exp.Query):
        inner = ", ".join(map(_text_of, node.expressions))
        node.replace(exp.Var(this=f"ARRAY[{inner}]"))
    elif isinstance(node, exp.Cast) and not isinstance(node, exp.TryCast):
        inner = _text_of(node.this)
        inner = inner if _is_operand(node.this) else f"({inner})"
        node.replace(exp.Var(this=f"{inner}::{_type_name(node.to)}"))
    elif isinstance(node, exp.Anonymous) and fold(node.name) == _NEXTVAL:
        _spell_nextval(node, home)


def _is_operand(node: exp.Expr) -> bool:
    """True for what stands in an expression without brackets; AND and OR are functions, too."""
    if isinstance(node, exp.Connector):
        return False
    return isinstance(node, _OPERANDS)


def _spell_nextval(node: exp.Anonymous, home: str) -> None:
    """A default of a sequence, whose name is the number of an object in PostgreSQL."""
    name = node.expressions[0] if len(node.expressions) == 1 else None
    if isinstance(name, exp.Literal) and name.is_string:
        schema, _, plain = name.name.rpartition(".")
        shown = plain if fold(schema) in {"", fold(home)} else name.name
        node.replace(exp.Var(this=f"nextval('{shown}'::regclass)"))


def _type_name(kind: exp.DataType) -> str:
    text = kind.sql(dialect="postgres")
    return _TYPE_NAME.sub(lambda m: _TYPES.get(m[0], m[0].lower()), text).replace(", ", ",")
