"""Prepares queries for Spark, or for the gateway's own DuckDB: AST in, AST out.

The relations of a tree are the store's tiers and catalog, what a statement staged, or names that a
WITH of the client's gives.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.local_engine.session import DuckDBSession
from journal.model.plan import STORE_SCHEMA, Query
from journal.model.schema import fold
from journal.records.schema import OF_HIVE_CATALOG
from journal.sql.builders import fill
from journal.sql.lowering.select import result_names
from journal.sql.relations import column
from journal.stores.hive.dialect.types import HiveType

CATALOG = frozenset(table.name for table in OF_HIVE_CATALOG)
HELD = "held_"
"""What relations of rows held here are called, before the name of the tier they stand for."""


def renamed(query: Query, prefix: str = HELD) -> tuple[Query, frozenset[str]]:
    """A query over relations held here instead of tiers, and the names of those tiers."""
    holder = exp.Paren(this=query.ast.copy())
    names: set[str] = set()
    for table in list(holder.find_all(exp.Table)):
        if fold(table.db) == STORE_SCHEMA and table.name not in CATALOG:
            names.add(table.name)
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
            table.set("this", exp.to_identifier(f"{prefix}{table.name}"))
            table.set("db", None)
    return Query(holder.this, query.parameters), frozenset(names)


_DIVIDED = "CASE WHEN y = 0 THEN error('division by zero') ELSE x / y END"


def failing_for_zero(query: Query) -> Query:
    """A query for DuckDB in which PostgreSQL's divisions fail for zero; often the same object."""
    if not any(map(_is_postgres, query.ast.find_all(exp.Div))):
        return query
    holder = exp.Paren(this=query.ast.copy())
    for division in reversed([d for d in holder.find_all(exp.Div) if _is_postgres(d)]):
        sides = {"x": division.this, "y": division.expression}
        parts = {name: exp.paren(side.copy()) for name, side in sides.items()}
        division.replace(exp.paren(fill(_DIVIDED, **parts)))
    return Query(holder.this, query.parameters)


def _is_postgres(division: exp.Expr) -> bool:
    """True for a division that goes by the types of its sides, and by another number than 0."""
    divisor = division.expression.unnest()
    is_never_zero = divisor.is_number and float(divisor.name) != 0
    return bool(division.args.get("typed")) and not division.args.get("safe") and not is_never_zero


def is_cte(table: exp.Table) -> bool:
    """True for a name that a WITH around the table gives to a query."""
    node: exp.Expr | None = table
    while node is not None:
        clause = node.args.get("with_")
        if clause is not None and any(
            fold(cte.alias) == fold(table.name) for cte in clause.expressions
        ):
            return True
        node = node.parent
    return False


_JSON = {
    "ignoreNullFields": "false",
    # By itself Spark leaves out what is shorter than a millisecond.
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSxxx",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def as_json(query: Query, kinds: Sequence[HiveType]) -> Query:
    """A query whose nested columns are JSON text; the same one if it has none."""
    if not any(kind.is_nested for kind in kinds):
        return query
    return query.once("json", lambda: Query(_as_json(query.ast, kinds), query.parameters))


def _as_json(ast: exp.Expr, kinds: Sequence[HiveType]) -> exp.Query:
    assert isinstance(ast, exp.Query)
    outputs: list[exp.Expr] = []
    for index, kind in enumerate(kinds):
        value: exp.Expr = column(f"c{index}", "q")
        if kind.is_nested:
            told = [exp.Literal.string(word) for option in _JSON.items() for word in option]
            options = exp.Anonymous(this="map", expressions=told)
            value = exp.Anonymous(this="to_json", expressions=[value, options])
        outputs.append(value)
    names = [exp.to_identifier(f"c{index}") for index in range(len(kinds))]
    alias = exp.TableAlias(this=exp.to_identifier("q"), columns=names)
    return exp.select(*outputs).from_(exp.Subquery(this=ast.copy(), alias=alias))


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
    return [name or _output_name(item, local) for name, item in zip(names, items, strict=True)]


def _output_name(item: exp.Expr, local: DuckDBSession) -> str:
    text = item.sql(dialect="duckdb", normalize_functions=False)
    # A text that does not parse gives a tree that says so; only a tree can be asked for a text.
    ((tree,),) = local.text("SELECT json_serialize_sql(?)", [f"SELECT {text}"])
    if str(tree).startswith('{"error":true'):
        return text
    ((said,),) = local.text("SELECT json_deserialize_sql(?::JSON)", [tree])
    return str(said).removeprefix("SELECT ")
