"""SELECT .. INTO of PostgreSQL: a CREATE TABLE .. AS. Pure."""

from __future__ import annotations

from sqlglot import exp


def into_as_table(ast: exp.Expr) -> exp.Expr:
    """The CREATE TABLE that a SELECT .. INTO means; any other statement as it is."""
    into = ast.args.get("into") if isinstance(ast, exp.Select) else None
    if not isinstance(into, exp.Into) or into.args.get("bulk_collect"):
        return ast
    query = ast.copy()
    query.set("into", None)
    properties = [exp.TemporaryProperty()] if into.args.get("temporary") else []
    return exp.Create(
        this=into.this.copy(),
        kind="TABLE",
        expression=query,
        properties=exp.Properties(expressions=properties) if properties else None,
    )
