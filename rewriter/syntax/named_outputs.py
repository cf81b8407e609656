"""Outputs without an alias under PostgreSQL's names, where the query around sees them. Pure.

    SELECT q.max FROM (SELECT max(a) FROM t) q      .. (SELECT max(a) AS max FROM t) q
    CREATE TABLE u AS SELECT a::text FROM t         .. SELECT CAST(a AS TEXT) AS a FROM t
    SELECT column1 FROM (VALUES (1)) q              .. (VALUES (1)) AS q(column1)

Stores would call them by their own spelling. Results get their names from the gateway.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.syntax.postgres_names import postgres_name

_UNNAMED = "?column?"
_OF_VALUES = "*VALUES*"
"""What PostgreSQL calls a list of values without a name."""
_OWN_NAMES = (exp.CurrentDate, exp.CurrentTime, exp.CurrentTimestamp, exp.CurrentUser)
"""Words that are called as they are written; DuckDB would take them for an alias of that name."""


def name_inner_outputs(ast: exp.Expr) -> None:
    """Give such outputs of derived tables, CTEs, views and new tables an alias, in place."""
    for holder in list(ast.find_all(exp.Subquery, exp.CTE, exp.Create)):
        if isinstance(holder, exp.Subquery) and not isinstance(
            holder.parent, exp.From | exp.Join | exp.Lateral
        ):
            continue
        query = holder.expression if isinstance(holder, exp.Create) else holder.this
        if isinstance(query, exp.Values) and isinstance(holder, exp.CTE):
            _name_columns(holder, query)
        while isinstance(query, exp.SetOperation | exp.Subquery):
            query = query.this
        if isinstance(query, exp.Select):
            query.set("expressions", [_named(output) for output in query.expressions])
    for values in list(ast.find_all(exp.Values)):
        if isinstance(values.parent, exp.Create):
            values.replace(exp.select("*").from_(values.copy()))
    for values in list(ast.find_all(exp.Values)):
        if isinstance(values.parent, exp.From | exp.Join):
            _name_columns(values, values)


def _name_columns(holder: exp.Expr, values: exp.Values) -> None:
    """Name the columns of a list of values which its alias leaves without a name."""
    alias = holder.args.get("alias") or exp.TableAlias(this=exp.to_identifier(_OF_VALUES))
    first = values.expressions[0]
    width = len(first.expressions) if isinstance(first, exp.Tuple) else 1
    names = [exp.to_identifier(f"column{place}") for place in range(1, width + 1)]
    alias.set("columns", [*alias.columns, *names[len(alias.columns) :]])
    holder.set("alias", alias)


def _named(output: exp.Expr) -> exp.Expr:
    named = (exp.Alias, exp.Aliases, exp.Column, exp.Columns, *_OWN_NAMES)
    if (
        isinstance(output, named)
        or output.is_star
        or (isinstance(output, exp.Subquery) and output.alias)
    ):
        return output
    name = exp.to_identifier(postgres_name(output) or _UNNAMED, quoted=True)
    return exp.Alias(this=output, alias=name)
