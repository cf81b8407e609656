"""Columns that a writing statement gives with the schema of the table it writes to: ``s.t.x``.

The rows that change are known by the table's alias alone, so such columns become that alias's.
Works on the statement before its tables are replaced; queries inside it that read the table of
that name themselves are left alone. Pure.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.schema import fold
from rewriter.context import RewriteContext
from rewriter.name_resolution import is_database, table_name


def without_schema(ast: exp.Expr, target: exp.Table, context: RewriteContext) -> None:
    """Name the columns of the table ``ast`` writes to by its own name; not if it has an alias."""
    given = ast.args.get("alias")
    if target.alias or isinstance(given, exp.Expr):
        return
    wanted = table_name(target, context).key
    for column in list(ast.find_all(exp.Column)):
        parts = [p for p in ("catalog", "db", "table") if column.args.get(p) is not None]
        if len(parts) == 3 and is_database(column.args["catalog"].name, context.catalog):
            parts = parts[1:]
        if len(parts) < 2 or _key(column, parts) != wanted:
            continue
        if _is_shadowed(column, target, context):
            continue
        rest = [exp.to_identifier(target.name, quoted=True), *[column.args[p] for p in parts[2:]]]
        for part in ("catalog", "db", "table"):
            column.set(part, None)
        for part, value in zip(("table", "db"), reversed(rest), strict=False):
            column.set(part, value)


def _key(column: exp.Column, parts: list[str]) -> tuple[str, str]:
    schema, name = (fold(column.args[p].name) for p in parts[:2])
    return schema, name


def _is_shadowed(column: exp.Column, target: exp.Table, context: RewriteContext) -> bool:
    """True inside a query that reads the table of that name itself."""
    select = column.find_ancestor(exp.Select)
    while select is not None:
        from_ = select.args.get("from_")
        sources = [from_.this] if from_ is not None else []
        sources += [join.this for join in select.args.get("joins") or ()]
        for source in sources:
            if isinstance(source, exp.Table) and not source.alias and source is not target:
                if table_name(source, context).key == table_name(target, context).key:
                    return True
        select = select.find_ancestor(exp.Select)
    return False
