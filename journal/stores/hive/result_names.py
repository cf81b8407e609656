"""What the columns of a query that Spark ran are called: what the gateway's own engine calls them.

Names that a query gives are in its tree. An expression without one goes by its text as DuckDB
writes it, and DuckDB is asked for that: nothing here knows how it quotes and brackets.
"""

from __future__ import annotations

from sqlglot import exp

from journal.local_engine.session import DuckDBSession
from journal.model.plan import Query
from journal.sql.lowering.select import result_names


def labels_of(query: Query, local: DuckDBSession) -> list[str]:
    """The names of a query's columns; empty where Spark names them."""
    ast = query.ast
    if not isinstance(ast, exp.Query):
        return []
    names = result_names(ast) or []
    first: exp.Expr = ast
    while isinstance(first, exp.SetOperation | exp.Subquery):
        first = first.this
    items = first.selects if isinstance(first, exp.Query) else []
    if len(items) != len(names):
        return names
    return [name or _written(item, local) for name, item in zip(names, items, strict=True)]


def _written(item: exp.Expr, local: DuckDBSession) -> str:
    text = item.sql(dialect="duckdb", normalize_functions=False)
    # A text that does not parse gives a tree that says so; only a tree can be asked for a text.
    ((tree,),) = local.text("SELECT json_serialize_sql(?)", [f"SELECT {text}"])
    if str(tree).startswith('{"error":true'):
        return text
    ((said,),) = local.text("SELECT json_deserialize_sql(?::JSON)", [tree])
    return str(said).removeprefix("SELECT ")
