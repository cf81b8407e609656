"""Names of result columns without an alias, as PostgreSQL gives them: ``count``, ``?column?``.

Source: ``FigureColname`` of PostgreSQL's parser.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from journal.model.result_column import ResultColumn
from rewriter.statement import SqlStatement
from rewriter.syntax.parsing import Parsed

_UNNAMED = "?column?"
_TYPES = {
    "INT": "int4", "BIGINT": "int8", "SMALLINT": "int2", "DOUBLE": "float8", "FLOAT": "float4",
    "BOOLEAN": "bool", "DECIMAL": "numeric", "TEXT": "text", "VARCHAR": "varchar",
    "TIMESTAMPTZ": "timestamptz",
}  # fmt: skip


def postgres_names(parsed: Parsed | None, columns: Sequence[ResultColumn]) -> list[ResultColumn]:
    """The columns of a statement under the names that PostgreSQL would give them."""
    found = list(columns)
    nodes = _output(parsed)
    if len(nodes) != len(found) or any(_is_star(node) for node in nodes):
        return found
    return [
        column if isinstance(node, exp.Alias) else replace(column, name=_name(node) or _UNNAMED)
        for node, column in zip(nodes, found, strict=True)
    ]


def _output(parsed: Parsed | None) -> list[exp.Expr]:
    """The expressions whose values a statement gives."""
    if parsed is None or not isinstance(parsed.statement, SqlStatement):
        return []
    ast = parsed.statement.ast
    while isinstance(ast, exp.SetOperation | exp.Subquery):
        ast = ast.this
    if isinstance(ast, exp.Select):
        return list(ast.expressions)
    returning = ast.args.get("returning")
    return [] if returning is None else list(returning.expressions)


def _is_star(node: exp.Expr) -> bool:
    return isinstance(node, exp.Star) or (
        isinstance(node, exp.Column) and isinstance(node.this, exp.Star)
    )


def _name(node: exp.Expr) -> str | None:
    match node:
        case exp.Column() | exp.Dot():
            return node.name
        case exp.Paren() | exp.Window() | exp.Filter() | exp.Bracket():
            return _name(node.this)
        case exp.Cast():
            return _name(node.this) or _TYPES.get(node.to.this.name, node.to.sql().lower())
        case exp.Case():
            default = node.args.get("default")
            return (default is not None and _name(default)) or "case"
        case exp.Exists():
            return "exists"
        case exp.Array():
            return "array"
        case exp.Subquery():
            inner = node.this
            first = inner.expressions[0] if isinstance(inner, exp.Select) else None
            return None if first is None else first.alias or _name(first)
        case exp.Anonymous():
            return node.name.lower()
        case exp.Binary() | exp.Unary():
            return None
        case exp.Func():
            return node.sql_name().lower()
        case _:
            return None
