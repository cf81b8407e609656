"""Gives parameters that are arrays of several dimensions a type that says so.

PostgreSQL's types of arrays do not tell their dimensions; those of stores do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from gateway.servers.pgwire.given_types import kind_of
from journal.model.plan import USER_PARAMETER
from journal.sql.array_text import dimensions
from rewriter.statement import SqlStatement
from rewriter.syntax.parsing import Parsed


def with_dimensions(
    parsed: Parsed | None, values: Sequence[Any], oids: Sequence[int]
) -> Parsed | None:
    """The statement with casts of such parameters; itself where there are none."""
    depths = {f"{USER_PARAMETER}{n}": d for n, v in enumerate(values) if (d := dimensions(v)) > 1}
    if not depths or parsed is None or not isinstance(parsed.statement, SqlStatement):
        return parsed
    kinds = {f"{USER_PARAMETER}{n}": kind_of(oid) for n, oid in enumerate(oids)}
    ast = parsed.statement.ast.copy()
    for node in [n for n in ast.find_all(exp.Placeholder) if n.name in depths]:
        parent, kind = node.parent, kinds.get(node.name)
        if isinstance(parent, exp.Cast) and parent.is_type(exp.DType.ARRAY):
            parent.set("to", _deep(parent.to, depths[node.name]))
        elif kind is not None:
            of = exp.DataType.build(kind, dialect="duckdb")
            node.replace(exp.cast(node.copy(), _deep(of, depths[node.name])))
    said = ", ".join(f"{name} of {depth}" for name, depth in depths.items())
    statement = replace(parsed.statement, ast=ast)
    return replace(parsed, statement=statement, text=f"{parsed.text} -- {said}")


def _deep(kind: exp.DataType, depth: int) -> exp.DataType:
    """The type of arrays of so many dimensions with the elements of another."""
    while kind.is_type(exp.DType.ARRAY) and kind.expressions:
        kind = kind.expressions[0]
    for _ in range(depth):
        kind = exp.DataType(this=exp.DType.ARRAY, expressions=[kind.copy()], nested=True)
    return kind
