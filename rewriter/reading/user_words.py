"""USER, CURRENT_ROLE, CURRENT_SCHEMA as bare words, which the parser takes for columns.

They tell of the session where no table of the statement has a column of that name, as in DuckDB; in
the postgres dialect they always do, as they are reserved there. Pure.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.schema import Table, fold
from journal.model.trees import Nodes
from journal.sql.cte_scopes import CteScopes
from rewriter.context import RewriteContext
from rewriter.name_resolution import table_name

_WORDS = {
    "user": exp.CurrentUser,
    "current_role": exp.CurrentUser,
    "session_user": exp.SessionUser,
    "current_schema": exp.CurrentSchema,
}


def read_user_words(nodes: Nodes, context: RewriteContext) -> None:
    """Put the call that names the user in the place of each such word of a statement."""
    for role in nodes.all(exp.CurrentRole):
        _replace(role, exp.CurrentUser(), "current_role")
    for call in nodes.all(exp.Anonymous):
        if fold(call.name) == "user" and not call.expressions:
            _replace(call, exp.CurrentUser(), "user")
    words = [column for column in nodes.all(exp.Column) if _is_word(column)]
    if not words:
        return
    is_reserved = context.dialect in {"postgres", "postgresql"} and not nodes.all(exp.Index)
    columns = _own_columns(nodes) if is_reserved else _possible_columns(nodes, context)
    for word in words:
        if columns is not None and fold(word.name) not in columns:
            _replace(word, _WORDS[fold(word.name)](), fold(word.name))


def _is_word(column: exp.Column) -> bool:
    name = column.this
    if not isinstance(name, exp.Identifier) or name.args.get("quoted") or column.table:
        return False
    return fold(name.name) in _WORDS and not _is_assigned(column)


def _is_assigned(column: exp.Column) -> bool:
    pair = column.parent
    if not isinstance(pair, exp.EQ) or not isinstance(pair.parent, exp.Update | exp.OnConflict):
        return False
    return pair.arg_key == "expressions" and column.arg_key == "this"


def _own_columns(nodes: Nodes) -> set[str]:
    """Names of columns that the statement makes."""
    return {fold(made.name) for made in nodes.all(exp.ColumnDef)}


def _replace(node: exp.Expr, call: exp.Expr, shown: str) -> None:
    """A call that a query lists is named by the word."""
    listed = isinstance(node.parent, exp.Select) and node.arg_key == "expressions"
    node.replace(exp.alias_(call, exp.to_identifier(shown, quoted=True)) if listed else call)


def _possible_columns(nodes: Nodes, context: RewriteContext) -> set[str] | None:
    """Names of columns in a statement, its own and those of its tables; None if any may be."""
    names = _own_columns(nodes) | {fold(alias.alias) for alias in nodes.all(exp.Alias)}
    for alias in nodes.all(exp.TableAlias):
        names |= {fold(column.name) for column in alias.columns}
    scopes = CteScopes()
    for table in nodes.all(exp.Table):
        if not isinstance(table.this, exp.Identifier):
            return None
        found = context.catalog.get(table_name(table, context))
        if isinstance(found, Table):
            names |= {fold(column.name) for column in found.columns}
        elif not scopes.holds(table) and not isinstance(
            table.find_ancestor(exp.Create), exp.Create
        ):
            return None
    return names
