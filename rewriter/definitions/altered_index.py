"""ALTER INDEX, and ALTER TABLE on an index or on a constraint in its place. Pure."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Change, PutRelation, StatementPlan
from journal.model.schema import Index, Table, TableName, fold
from rewriter.context import RewriteContext
from rewriter.definitions.alteration import Alteration
from rewriter.definitions.index_names import (
    check_index_name,
    find_index,
    find_key,
    unknown_index,
)
from rewriter.definitions.new_relations import ddl_plan
from rewriter.definitions.renamed_constraints import rename_constraint
from rewriter.definitions.skipping import none_to_drop
from rewriter.name_resolution import position_of
from rewriter.syntax.statements.alter_storage import STORAGE


def altered_index(ast: exp.Alter, context: RewriteContext) -> StatementPlan:
    """The plan of the statement: it renames; what says how the index is stored does nothing.

    Raises UNKNOWN_INDEX, and NOT_SUPPORTED for other actions.
    """
    found = find_index(ast.this, context)
    of_key = None if found is not None else find_key(ast.this, context)
    if found is None and of_key is None:
        if ast.args.get("exists"):
            return ddl_plan([], "ALTER INDEX", [none_to_drop("relation", ast.this.name)])
        raise unknown_index(ast.this, context)
    names = [_new_name(action, ast) for action in ast.args["actions"]]
    wanted = [node for node in names if node is not None]
    if not wanted:
        return ddl_plan([], "ALTER INDEX")
    table = _renamed_index(*found, wanted[-1], context) if found is not None else None
    if table is None:
        assert of_key is not None
        table = _renamed_key(of_key, ast.this.name, wanted[-1], context)
    return ddl_plan([Change(PutRelation(table))], "ALTER INDEX")


def _new_name(action: exp.Expr, ast: exp.Alter) -> exp.Table | None:
    """What an action calls the index from now on; None where it does nothing."""
    if action.args.get(STORAGE):
        return None
    if not isinstance(action, exp.AlterRename) or action.this.db:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"{action.sql(dialect='duckdb')} is not supported in ALTER INDEX",
            advice="ALTER INDEX takes RENAME TO and a name without a schema",
            position=position_of(ast.this),
        )
    node: exp.Table = action.this
    return node


def _renamed_index(table: Table, index: Index, node: exp.Table, context: RewriteContext) -> Table:
    if fold(node.name) != fold(index.name):
        check_index_name(TableName(table.name.schema, node.name), node, context)
    renamed = replace(index, name=node.name)
    return replace(table, indexes=tuple(renamed if i is index else i for i in table.indexes))


def _renamed_key(table: Table, old: str, node: exp.Table, context: RewriteContext) -> Table:
    """A key's index has the name of its constraint, so the two are renamed as one."""
    change = Alteration.of(table, context.capabilities.column_name)
    rename_constraint(change, old, node.name, node)
    draft = change.draft
    return replace(
        table,
        key_name=draft.key_name,
        uniques=tuple(draft.uniques),
        constraint_comments=tuple(draft.comments.items()),
    )
