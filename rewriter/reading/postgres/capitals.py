"""Aliases that differ in capitals alone, which PostgreSQL tells apart and stores do not. Pure.

SELECT (SELECT max(t.a) FROM u t WHERE t.b = "T".b) FROM u "T"      two aliases: refused
SELECT x."A", x.a FROM (VALUES (1, 2)) x("A", a)                    two columns: refused
SELECT "T".a FROM "T" AS t                                          no such alias: refused

A store would take the one for the other. Names of tables are found in any case.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import fold
from rewriter.name_resolution import position_of


def check_capitals(tree: exp.Expr) -> None:
    """Raise DUPLICATE_ALIAS, or AMBIGUOUS_COLUMN, for two spellings of one name."""
    aliases = list(tree.find_all(exp.TableAlias))
    if not aliases:
        return
    for alias in aliases:
        _check_columns(alias)
    given = {fold(alias.name): alias.name for alias in aliases if alias.this is not None}
    for node in _names(tree):
        name = node.name
        known = given.get(fold(name))
        if known is not None and known != name:
            raise PalimpsestError(
                Code.DUPLICATE_ALIAS,
                f'"{known}" and "{name}" would be one name: they differ in capitals alone',
                advice="give one of them another alias",
                position=position_of(node),
            )


def _names(tree: exp.Expr) -> Iterator[exp.Expr]:
    """The aliases of a statement, and what names sources by them."""
    for node in tree.find_all(exp.TableAlias, exp.Column, exp.Table):
        named = None
        if isinstance(node, exp.TableAlias):
            named = node.this
        elif isinstance(node, exp.Column):
            named = None if node.args.get("db") else node.args.get("table")
        elif isinstance(node, exp.Table):
            named = None if node.args.get("db") or node.alias or _is_hidden(node) else node.this
        if isinstance(named, exp.Identifier):
            yield named


def _is_hidden(table: exp.Expr) -> bool:
    """True for a table inside of the CTE that has its name."""
    cte = table.find_ancestor(exp.CTE)
    return cte is not None and fold(cte.alias) == fold(table.name)


def _check_columns(alias: exp.TableAlias) -> None:
    seen: dict[str, str] = {}
    for column in alias.columns:
        first = seen.setdefault(fold(column.name), column.name)
        if first != column.name:
            raise PalimpsestError(
                Code.AMBIGUOUS_COLUMN,
                f'"{first}" and "{column.name}" would be one column: they differ in capitals alone',
                advice="give one of them another name",
                position=position_of(column),
            )
