"""COMMENT ON a table, view, column or index: changes the definition, and no row."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Change, PutRelation, StatementPlan
from journal.model.schema import Relation, fold
from rewriter.context import RewriteContext
from rewriter.definitions.index_names import find_index, unknown_index
from rewriter.definitions.new_relations import ddl_plan
from rewriter.name_resolution import find_relation, find_table, position_of, table_name
from rewriter.writing.target import find_column


def rewrite_comment(ast: exp.Comment, context: RewriteContext) -> StatementPlan:
    """The plan of a COMMENT ON."""
    text = ast.expression.name or None
    kind = str(ast.args["kind"]).upper()
    changed: Relation
    match kind:
        case "TABLE" | "VIEW":
            if (
                ast.args.get("exists")
                and context.catalog.get(table_name(ast.this, context)) is None
            ):
                return ddl_plan([], "COMMENT")
            changed = replace(find_relation(ast.this, context), comment=text)
        case "COLUMN":
            node = ast.this
            holder = exp.Table(this=node.args.get("table"), db=node.args.get("db"))
            if node.args.get("table") is None:
                raise PalimpsestError(
                    Code.SYNTAX,
                    "COMMENT ON COLUMN needs table.column",
                    advice="write the table before the column",
                    position=position_of(node),
                )
            table = find_table(holder, context)
            found = find_column(table, node)
            columns = [
                replace(c, comment=text) if fold(c.name) == fold(found.name) else c
                for c in table.columns
            ]
            changed = replace(table, columns=tuple(columns))
        case "INDEX":
            named = find_index(ast.this, context)
            if named is None:
                raise unknown_index(ast.this, context)
            table, index = named
            commented = replace(index, comment=text)
            kept = tuple(commented if i is index else i for i in table.indexes)
            changed = replace(table, indexes=kept)
        case _:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"COMMENT ON {kind} is not supported",
                advice="comment on tables, views, columns and indexes",
                position=position_of(ast.this),
            )
    return ddl_plan([Change(PutRelation(changed))], "COMMENT")
