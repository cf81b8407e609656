"""COMMENT ON what a catalog holds: changes the definition, and no row."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from journal.model.access import PutAccess, PutRole
from journal.model.errors import Code, PalimpsestError
from journal.model.named_definitions import PutDefinition
from journal.model.plan import (
    CatalogChange,
    Change,
    PutDatabaseComment,
    PutRelation,
    PutSchema,
    StatementPlan,
)
from journal.model.schema import Relation, View, fold
from journal.model.sequence_changes import PutSequence
from journal.sql import dialects
from rewriter.context import RewriteContext
from rewriter.definitions.access import find_role
from rewriter.definitions.index_names import find_index, unknown_index
from rewriter.definitions.macros import named_macro
from rewriter.definitions.new_relations import ddl_plan
from rewriter.definitions.routines import named_routine
from rewriter.definitions.sequences import find_sequence, unknown_sequence
from rewriter.definitions.triggers import trigger_named, unknown_trigger
from rewriter.definitions.user_types import named_type, unknown_type
from rewriter.name_resolution import (
    check_database,
    find_relation,
    find_table,
    is_database,
    position_of,
    table_name,
    unknown_column,
)
from rewriter.reading.output_names import output_names
from rewriter.reading.policies.named import with_comment
from rewriter.writing.target import find_column


def rewrite_comment(ast: exp.Comment, context: RewriteContext) -> StatementPlan:
    """The plan of a COMMENT ON; an empty text takes a comment away."""
    change = _change(ast, str(ast.args["kind"]).upper(), ast.expression.name or None, context)
    return ddl_plan([] if change is None else [Change(change)], "COMMENT")


def _change(
    ast: exp.Comment, kind: str, text: str | None, context: RewriteContext
) -> CatalogChange | None:
    """What it changes; None where there is nothing to comment on, and that is allowed."""
    node = ast.this
    match kind:
        case "TABLE" | "VIEW":
            if ast.args.get("exists") and context.catalog.get(table_name(node, context)) is None:
                return None
            return PutRelation(replace(find_relation(node, context), comment=text))
        case "COLUMN":
            return PutRelation(_with_column(node, text, context))
        case "CONSTRAINT":
            return PutRelation(_with_constraint(node, ast.args["constraint"], text, context))
        case "POLICY":
            return PutAccess(with_comment(node, ast.args["constraint"], text, context))
        case "TRIGGER":
            return PutRelation(_with_trigger(node, ast.args["constraint"], text, context))
        case "INDEX":
            named = find_index(node, context)
            if named is None:
                raise unknown_index(node, context)
            table, index = named
            commented = replace(index, comment=text)
            kept = tuple(commented if i is index else i for i in table.indexes)
            return PutRelation(replace(table, indexes=kept))
        case "SCHEMA":
            return _of_schema(node, text, context)
        case "DATABASE":
            return _of_database(node, text, context)
        case "ROLE":
            return PutRole(replace(find_role(fold(node.name), context), comment=text))
        case "SEQUENCE":
            sequence = find_sequence(node, context)
            if sequence is None:
                raise unknown_sequence(node, context)
            return PutSequence(replace(sequence, comment=text))
        case "TYPE":
            found = named_type(node, context)
            if found is None:
                raise unknown_type(node, context)
            return PutDefinition(replace(found, comment=text), found)
        case "MACRO":
            every = (named_macro(node, context, is_table=kind) for kind in (False, True))
            macro = next((m for m in every if m is not None), None)
            routine = named_routine(node, context) if macro is None else None
            if routine is not None:
                return PutDefinition(replace(routine, comment=text), routine)
            if macro is None:
                raise PalimpsestError(
                    Code.UNKNOWN_FUNCTION,
                    f"macro {node.name} does not exist",
                    advice="check the spelling; system.macros lists macros",
                    position=position_of(node),
                )
            return PutDefinition(replace(macro, comment=text), macro)
    raise PalimpsestError(
        Code.NOT_SUPPORTED,
        f"COMMENT ON {kind} is not supported",
        advice="comment on tables, views, columns, constraints, triggers, indexes, sequences,"
        " types, macros, schemas, roles and the database",
        position=position_of(node),
    )


def _with_trigger(
    node: exp.Table, name: str, text: str | None, context: RewriteContext
) -> Relation:
    """A table with another comment on a trigger; raises UNKNOWN_TRIGGER."""
    table = find_table(node, context)
    found = trigger_named(table, name)
    if found is None:
        raise unknown_trigger(table, name, node)
    made = (replace(t, comment=text) if t is found else t for t in table.triggers)
    return replace(table, triggers=tuple(made))


def _with_column(node: exp.Column, text: str | None, context: RewriteContext) -> Relation:
    """A table or view with another comment on a column."""
    holder = exp.Table(this=node.args.get("table"), db=node.args.get("db"))
    if node.args.get("table") is None:
        raise PalimpsestError(
            Code.SYNTAX,
            "COMMENT ON COLUMN needs table.column",
            advice="write the table before the column",
            position=position_of(node),
        )
    found = find_relation(holder, context)
    if isinstance(found, View):
        return _with_view_column(found, node, text, context)
    table = find_table(holder, context)
    column = find_column(table, node)
    columns = [
        replace(c, comment=text) if fold(c.name) == fold(column.name) else c for c in table.columns
    ]
    return replace(table, columns=tuple(columns))


def _with_view_column(
    view: View, node: exp.Column, text: str | None, context: RewriteContext
) -> View:
    names = view.columns or output_names(dialects.stored(view.query), context)
    if names and fold(node.name) not in map(fold, names):
        raise unknown_column(node.name, view, node)
    kept = tuple(pair for pair in view.column_comments if pair[0] != fold(node.name))
    said = () if text is None else ((fold(node.name), text),)
    return replace(view, column_comments=(*kept, *said))


def _with_constraint(
    node: exp.Table, name: str, text: str | None, context: RewriteContext
) -> Relation:
    """A table with another comment on a constraint; raises INVALID_DEFINITION where it has none."""
    table = find_table(node, context)
    names = [c.name for c in table.constraints]
    if not table.hidden_key:
        names.append(table.key_name or f"{table.name.name}_pkey")
    if fold(name) not in map(fold, names):
        raise PalimpsestError(
            Code.INVALID_DEFINITION,
            f'{table.name} has no constraint "{name}"',
            advice=f"its constraints are {', '.join(names)}" if names else "the table has none",
            position=position_of(node),
        )
    said = dict(table.constraint_comments)
    said.pop(fold(name), None)
    if text is not None:
        said[fold(name)] = text
    return replace(table, constraint_comments=tuple(said.items()))


def _of_schema(node: exp.Table, text: str | None, context: RewriteContext) -> PutSchema:
    check_database(node, context.catalog)
    known = context.catalog.schemas.get(fold(node.name))
    if known is None:
        raise PalimpsestError(
            Code.UNKNOWN_SCHEMA,
            f"schema {node.name} does not exist",
            advice="check the spelling",
            position=position_of(node),
        )
    return PutSchema(known, text)


def _of_database(node: exp.Table, text: str | None, context: RewriteContext) -> PutDatabaseComment:
    if not is_database(node.name, context.catalog):
        raise PalimpsestError(
            Code.UNKNOWN_SCHEMA,
            f"there is no database {node.name}",
            advice=f"this one is called {context.catalog.database}",
            position=position_of(node),
        )
    return PutDatabaseComment(text)
