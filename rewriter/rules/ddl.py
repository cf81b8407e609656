"""CREATE and DROP of schemas, DROP of tables and views: they change the catalog, and no row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.named_definitions import Definition, DropDefinition, Routine, UserType, kind_of
from journal.model.plan import (
    Change,
    DropRelation,
    DropSchema,
    PutRelation,
    PutSchema,
    StatementPlan,
    Step,
)
from journal.model.schema import Table, TableName, fold
from journal.model.sequence_changes import DropSequence
from rewriter.context import RewriteContext
from rewriter.definitions.dependent_views import dependent_views
from rewriter.definitions.foreign_keys import check_unreferenced, without_references
from rewriter.definitions.new_relations import check_schema_name, ddl_plan, kind_of_relation
from rewriter.definitions.routines import callers_of
from rewriter.definitions.sequences import owned_by, without_defaults
from rewriter.definitions.skipping import made_before, none_to_drop
from rewriter.definitions.type_changes import without_types
from rewriter.dialect_semantics import semantics_of
from rewriter.name_resolution import (
    check_database,
    is_database,
    position_of,
    table_name,
    unknown_table,
)


def rewrite_create_schema(ast: exp.Create, context: RewriteContext) -> StatementPlan:
    """CREATE SCHEMA."""
    _check_outermost(ast.this, context)
    name = ast.this.db or ast.this.name
    properties = ast.args.get("properties")
    if properties is not None and properties.expressions:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "CREATE SCHEMA takes a name only",
            advice="leave options out",
            position=position_of(ast.this),
        )
    if ast.args.get("replace") and fold(name) in context.catalog.schemas:
        _check_droppable(name, ast.this, False, context)
        return ddl_plan([], "CREATE SCHEMA")
    if fold(name) in context.catalog.schemas:
        if ast.args.get("exists"):
            return ddl_plan([], "CREATE SCHEMA", [made_before("schema", name)])
        raise PalimpsestError(
            Code.DUPLICATE_SCHEMA,
            f"schema {name} exists already",
            advice="use CREATE SCHEMA IF NOT EXISTS",
            position=position_of(ast.this),
        )
    check_schema_name(name, ast.this)
    return ddl_plan([Change(PutSchema(name))], "CREATE SCHEMA")


def _check_outermost(node: exp.Expr, context: RewriteContext) -> None:
    """Raise NOT_SUPPORTED for a schema that would lie in another one."""
    outer, inner = node.text("catalog"), node.text("db")
    is_schema = fold(outer) in context.catalog.schemas
    if inner and is_schema and not is_database(outer, context.catalog):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"a schema inside of a schema is not supported: {outer}.{inner}",
            advice=f"give it a name of its own, such as {outer}_{inner}",
            position=position_of(node),
        )
    check_database(node, context.catalog)


def rewrite_drop_table(ast: exp.Drop, context: RewriteContext) -> StatementPlan:
    """DROP TABLE, VIEW or MATERIALIZED VIEW; journals stay, so UNDROP can bring tables back.

    Views over what is dropped stay too, and work again once their tables are back; in the postgres
    dialect they are in the way, or go as well with CASCADE.
    """
    kind = str(ast.args["kind"]).upper()
    steps: list[Step] = []
    catalog = context.catalog
    gone: list[TableName] = []
    told: list[str] = []
    for node in ast.args.get("tables") or []:
        name = table_name(node, context)
        if ast.args.get("temporary") and catalog.own is not None:
            name = TableName(catalog.own, node.name)
        found = catalog.get(name)
        if found is None:
            if catalog.by_journal(name) is not None:
                raise PalimpsestError(
                    Code.JOURNAL_WRITE,
                    f"{name} is a journal and cannot be dropped",
                    advice="drop its table; the journal stays, so that UNDROP can bring it back",
                    position=position_of(node),
                )
            if ast.args.get("exists"):
                told.append(none_to_drop(kind, node.name))
                continue
            raise unknown_table(name, catalog, node)
        if kind_of_relation(found) != kind:
            raise PalimpsestError(
                Code.WRONG_OBJECT,
                f"{name} is not a {kind.lower()}",
                advice=f"use DROP {kind_of_relation(found)}",
                position=position_of(node),
            )
        catalog = catalog.without_relation(found.name)
        gone.append(found.name)
        steps.append(Change(DropRelation(found.name)))
        if isinstance(found, Table):
            steps += [Change(DropSequence(s.name)) for s in owned_by(context, found.id)]
    steps = [*_let_go(gone, ast, context), *steps]
    views = dependent_views(context, gone, ast, cascade=bool(ast.args.get("cascade")))
    steps += [Change(DropRelation(view.name)) for view in views]
    return ddl_plan(steps, f"DROP {kind}", told)


def rewrite_drop_schema(ast: exp.Drop, context: RewriteContext) -> StatementPlan:
    """DROP SCHEMA of one or several; with CASCADE their tables and views go as well."""
    catalog = context.catalog
    names: list[str] = []
    told: list[str] = []
    for node in ast.args.get("tables") or []:
        check_database(node, catalog)
        name = node.db or node.name
        if fold(name) not in catalog.schemas:
            if ast.args.get("exists"):
                told.append(none_to_drop("schema", name))
                continue
            raise PalimpsestError(
                Code.UNKNOWN_SCHEMA,
                f"schema {name} does not exist",
                advice="check the spelling",
                position=position_of(node),
            )
        _check_droppable(name, node, bool(ast.args.get("cascade")), context)
        names.append(name)
    schemas = {fold(name) for name in names}
    inside = [r.name for r in catalog.relations.values() if r.name.key[0] in schemas]
    sequences = [s for s in catalog.sequences.values() if s.name.key[0] in schemas]
    inner = [d for d in catalog.definitions.values() if d.name.key[0] in schemas]
    types = [found for found in inner if isinstance(found, UserType)]
    _check_no_callers(inner, schemas, ast, context)
    views = dependent_views(context, inside, ast, cascade=True)
    gone = [*inside, *(view.name for view in views)]
    let_go = _let_go(gone, ast, context)
    context = _with_tables(let_go, context)
    plain = without_types(types, context)
    defaults = without_defaults([s.name for s in sequences], _with_tables(plain, context))
    steps: list[Step] = [
        *let_go,
        *plain,
        *defaults,
        *(Change(DropDefinition(found)) for found in inner),
        *(Change(DropRelation(name)) for name in gone),
        *(Change(DropSequence(s.name)) for s in sequences),
        *(Change(DropSchema(name)) for name in names),
    ]
    return ddl_plan(steps, "DROP SCHEMA", told)


def _check_no_callers(
    gone: Iterable[Definition], schemas: set[str], ast: exp.Drop, context: RewriteContext
) -> None:
    """Raise DEPENDENT_OBJECTS for a function that a trigger in another schema calls."""
    for routine in (found for found in gone if isinstance(found, Routine)):
        for table, trigger in callers_of(routine, context.catalog):
            if table.name.key[0] not in schemas:
                raise PalimpsestError(
                    Code.DEPENDENT_OBJECTS,
                    f"trigger {trigger.name} of {table.name} calls {routine.name}",
                    advice="drop the trigger first",
                    position=position_of(ast),
                )


def _with_tables(steps: Iterable[Step], context: RewriteContext) -> RewriteContext:
    """The context with the tables that steps put, as another change of these builds on them."""
    catalog = context.catalog
    for step in steps:
        if isinstance(step, Change) and isinstance(step.change, PutRelation):
            catalog = catalog.with_relation(step.change.relation)
    return replace(context, catalog=catalog)


def _let_go(gone: list[TableName], ast: exp.Drop, context: RewriteContext) -> list[Step]:
    """Take from the tables that stay the foreign keys that refer to those that go.

    Raises DEPENDENT_OBJECTS where that is not asked for: by CASCADE in the postgres dialect.
    """
    if not ast.args.get("cascade") or not semantics_of(context.dialect).views_hold:
        check_unreferenced(context.catalog, gone, ast)
        return []
    return [Change(PutRelation(table)) for table in without_references(context.catalog, gone)]


def _check_droppable(name: str, node: exp.Expr, cascade: bool, context: RewriteContext) -> None:
    """Raise RESERVED_NAME for the default schema, DEPENDENT_OBJECTS for one that holds something.

    With ``cascade`` a schema may hold what it likes.
    """
    catalog = context.catalog
    if fold(name) == catalog.home:
        raise PalimpsestError(
            Code.RESERVED_NAME,
            f"schema {name} is the default one and cannot be dropped",
            advice="drop its tables",
            position=position_of(node),
        )
    held = [str(r.name) for r in catalog.relations.values() if r.name.key[0] == fold(name)]
    held += [
        f"sequence {s.name}" for s in catalog.sequences.values() if s.name.key[0] == fold(name)
    ]
    held += [
        f"{kind_of(d)} {d.name}"
        for d in catalog.definitions.values()
        if d.name.key[0] == fold(name)
    ]
    if held and not cascade:
        raise PalimpsestError(
            Code.DEPENDENT_OBJECTS,
            f"schema {name} is not empty: it holds {held[0]}",
            advice="drop what it holds first, or use CASCADE",
            position=position_of(node),
        )
