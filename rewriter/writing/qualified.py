"""Columns that a writing statement gives with the schema of the table it writes to: ``s.t.x``.

The rows that change are known by the table's alias alone, so such columns become that alias's.
Tables of other schemas that have the name of that table get an alias first, since otherwise they
would take its columns for theirs. Works on the statement before its tables are replaced; queries
inside it that read the table of that name themselves are left alone. Pure.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import fold
from journal.sql.cte_scopes import CteScopes, is_cte
from rewriter.context import RewriteContext
from rewriter.name_resolution import is_database, position_of, table_name
from rewriter.reading.scopes import ambiguous_table, give_alias, is_named, selects_around
from rewriter.reading.visible_columns import relations_of


def without_schema(ast: exp.Expr, target: exp.Table, context: RewriteContext) -> None:
    """Name the columns of the table ``ast`` writes to by its own name; not if it has an alias.

    Raises AMBIGUOUS_COLUMN where another relation has its name and the statement takes no alias.
    """
    given = ast.args.get("alias")
    if target.alias or isinstance(given, exp.Expr):
        return
    wanted = table_name(target, context).key
    tell_apart(ast, target, context)
    for column in list(ast.find_all(exp.Column)):
        parts = [p for p in ("catalog", "db", "table") if column.args.get(p) is not None]
        if len(parts) == 3 and is_database(column.args["catalog"].name, context.catalog):
            parts = parts[1:]
        if len(parts) < 2 or _key(column, parts) != wanted:
            continue
        if _is_shadowed(column, target, context):
            continue
        if _is_hidden(column, target) and not target.alias:
            _rename(ast, target, column, wanted[0])
        known_as = exp.to_identifier(target.alias_or_name, quoted=True)
        rest = [known_as, *[column.args[p] for p in parts[2:]]]
        for part in ("catalog", "db", "table"):
            column.set(part, None)
        for part, value in zip(("table", "db"), reversed(rest), strict=False):
            column.set(part, value)


def tell_apart(ast: exp.Expr, target: exp.Table, context: RewriteContext) -> None:
    """Give tables of other schemas with the target's name aliases, by which columns name them."""
    wanted = table_name(target, context)
    scopes: dict[int, dict[tuple[str, str], exp.Table]] = {}
    ctes = CteScopes()
    for table in ast.find_all(exp.Table):
        if table is target or table.alias or not is_named(table) or ctes.holds(table):
            continue
        key = table_name(table, context).key
        if key[1] == wanted.key[1] and key != wanted.key:
            scopes.setdefault(id(table.find_ancestor(exp.Select)), {})[key] = table
    if not scopes:
        return
    for (schema, _), table in [each for found in scopes.values() for each in found.items()]:
        give_alias(table, schema)
    for column in list(ast.find_all(exp.Column)):
        if fold(column.table) == wanted.key[1]:
            _point(column, scopes)


def _point(
    column: exp.Column,
    scopes: dict[int, dict[tuple[str, str], exp.Table]],
) -> None:
    """Name the alias of the nearest table that a column means; raises AMBIGUOUS_COLUMN."""
    schema = fold(column.db)
    for select in (*selects_around(column), None):
        found = scopes.get(id(select), {})
        meant = [t for key, t in found.items() if not schema or key[0] == schema]
        if len(meant) > 1 or (meant and select is None and not schema):
            raise ambiguous_table(column)
        if meant:
            column.set("db", None)
            column.set("table", exp.to_identifier(meant[0].alias, quoted=True))
            return


def _rename(ast: exp.Expr, target: exp.Table, hidden: exp.Column, schema: str) -> None:
    """Give the target an alias, as a relation inside has its name; columns name it by that."""
    if not isinstance(ast, exp.Delete | exp.Update):
        raise PalimpsestError(
            Code.AMBIGUOUS_COLUMN,
            f'"{hidden.sql()}" stands where another relation is called {target.name}',
            advice="give the table that is written to an alias, and name its columns by it",
            position=position_of(hidden),
        )
    plain = [c for c in ast.find_all(exp.Column) if fold(c.table) == fold(target.name)]
    own = [c for c in plain if not c.args.get("db") and not _is_hidden(c, target)]
    give_alias(target, schema)
    for column in own:
        column.set("table", exp.to_identifier(target.alias, quoted=True))


def _is_hidden(column: exp.Column, target: exp.Table) -> bool:
    """True inside of a query that calls another relation by the target's name."""
    return any(
        fold(source.alias_or_name) == fold(target.name)
        for select in selects_around(column)
        for source in relations_of(select)
    )


def _key(column: exp.Column, parts: list[str]) -> tuple[str, str]:
    schema, name = (fold(column.args[p].name) for p in parts[:2])
    return schema, name


def _is_shadowed(column: exp.Column, target: exp.Table, context: RewriteContext) -> bool:
    """True inside a query that reads the table of that name itself."""
    for select in selects_around(column):
        from_ = select.args.get("from_")
        sources = [from_.this] if from_ is not None else []
        sources += [join.this for join in select.args.get("joins") or ()]
        for source in sources:
            is_named_table = isinstance(source, exp.Table) and not source.alias
            if is_named_table and source is not target and not is_cte(source):
                if table_name(source, context).key == table_name(target, context).key:
                    return True
    return False
