"""CREATE and DROP of schemas and tables: changes of the catalog, no rows."""

from __future__ import annotations

from sqlglot import exp

from journal.errors import Code, PalimpsestError
from journal.plan import (
    Change,
    DropRelation,
    DropSchema,
    Guard,
    Kind,
    PutRelation,
    PutSchema,
    Query,
    StatementPlan,
    Step,
)
from journal.relations import ident
from journal.schema import JournalFormat, Table, TableName, View, fold
from rewriter.context import RewriteContext
from rewriter.definition import Draft
from rewriter.names import SYSTEM_SCHEMAS, position_of, table_name, unknown_table

_RESERVED_SCHEMAS = SYSTEM_SCHEMAS | {"_palimpsest", "pg_catalog", "temp"}


def rewrite_create_schema(ast: exp.Create, context: RewriteContext) -> StatementPlan:
    """CREATE SCHEMA."""
    name = ast.this.db or ast.this.name
    if fold(name) in context.catalog.schemas:
        if ast.args.get("exists"):
            return _plan([], "CREATE SCHEMA")
        raise PalimpsestError(
            Code.DUPLICATE_SCHEMA,
            f"schema {name} exists already",
            advice="use CREATE SCHEMA IF NOT EXISTS",
            position=position_of(ast.this),
        )
    _check_schema(name, ast.this)
    return _plan([Change(PutSchema(name))], "CREATE SCHEMA")


def rewrite_create_table(ast: exp.Create, context: RewriteContext) -> StatementPlan:
    """CREATE TABLE with a column list."""
    schema = ast.this
    assert isinstance(schema, exp.Schema)
    name = new_name(schema.this, context)
    if context.catalog.get(name) is not None:
        if ast.args.get("exists"):
            return _plan([], "CREATE TABLE")
        raise exists_already(name, schema.this)
    draft = Draft(name, JournalFormat())
    draft.read(schema.expressions)
    table = draft.table(context.new_table_id)
    return _plan([validated(table), Change(PutRelation(table))], "CREATE TABLE")


def rewrite_drop_table(ast: exp.Drop, context: RewriteContext) -> StatementPlan:
    """DROP TABLE or DROP VIEW; the journals stay, so UNDROP can bring tables back."""
    kind = str(ast.args["kind"]).upper()
    steps: list[Step] = []
    for node in ast.args.get("tables") or []:
        name = table_name(node, context)
        found = context.catalog.get(name)
        if found is None:
            if ast.args.get("exists"):
                continue
            raise unknown_table(name, context.catalog, node)
        if isinstance(found, View) != (kind == "VIEW"):
            raise PalimpsestError(
                Code.WRONG_OBJECT,
                f"{name} is not a {kind.lower()}",
                advice=f"use DROP {'VIEW' if isinstance(found, View) else 'TABLE'}",
                position=position_of(node),
            )
        steps.append(Change(DropRelation(found.name)))
    return _plan(steps, f"DROP {kind}")


def rewrite_drop_schema(ast: exp.Drop, context: RewriteContext) -> StatementPlan:
    """DROP SCHEMA; with CASCADE its tables and views go as well."""
    steps: list[Step] = []
    for node in ast.args.get("tables") or []:
        name = node.db or node.name
        if fold(name) not in context.catalog.schemas:
            if ast.args.get("exists"):
                continue
            raise PalimpsestError(
                Code.UNKNOWN_SCHEMA,
                f"schema {name} does not exist",
                advice="check the spelling",
                position=position_of(node),
            )
        inside = [r for r in context.catalog.relations.values() if r.name.key[0] == fold(name)]
        if inside and not ast.args.get("cascade"):
            raise PalimpsestError(
                Code.DEPENDENT_OBJECTS,
                f"schema {name} is not empty: it holds {inside[0].name}",
                advice="drop what it holds first, or use CASCADE",
                position=position_of(node),
            )
        steps += [Change(DropRelation(r.name)) for r in inside]
        steps.append(Change(DropSchema(name)))
    return _plan(steps, "DROP SCHEMA")


def new_name(node: exp.Table, context: RewriteContext) -> TableName:
    """The name of a table or view to be; its schema must exist."""
    name = table_name(node, context)
    _check_schema(name.schema, node)
    if fold(name.schema) not in context.catalog.schemas:
        raise PalimpsestError(
            Code.UNKNOWN_SCHEMA,
            f"schema {name.schema} does not exist",
            advice=f"CREATE SCHEMA {name.schema}",
            position=position_of(node),
        )
    if context.catalog.by_journal(name) is not None:
        raise PalimpsestError(
            Code.RESERVED_NAME,
            f"{name} is the name of a journal",
            advice="use another name",
            position=position_of(node),
        )
    return TableName(context.catalog.schemas[fold(name.schema)], name.name)


def exists_already(name: TableName, node: exp.Expr) -> PalimpsestError:
    """The error for a name that is taken."""
    return PalimpsestError(
        Code.DUPLICATE_TABLE,
        f"table {name} exists already",
        advice="use IF NOT EXISTS, or another name",
        position=position_of(node),
    )


def validated(table: Table) -> Guard:
    """A guard that lets the store look at types, defaults and checks, and returns no row."""
    empty = exp.select(
        *[
            exp.alias_(exp.cast(exp.Null(), c.type, dialect="duckdb"), ident(c.physical))
            for c in table.columns
        ]
    ).where(exp.false())
    outputs: list[exp.Expr] = [exp.Literal.number(1)]
    for stored in table.columns:
        if stored.default is not None:
            default: exp.Expr = exp.maybe_parse(stored.default, dialect="duckdb")
            outputs.append(exp.cast(default, stored.type, dialect="duckdb"))
    outputs += [exp.maybe_parse(c.expression, dialect="duckdb") for c in table.checks]
    query = exp.select(*outputs).from_(empty.subquery("t"))
    return Guard(Query.of(query), Code.INVALID_DEFINITION, "")


def _check_schema(name: str, node: exp.Expr) -> None:
    if fold(name) in _RESERVED_SCHEMAS:
        raise PalimpsestError(
            Code.RESERVED_NAME,
            f"schema {name} belongs to the gateway",
            advice="use another schema",
            position=position_of(node),
        )


def _plan(steps: list[Step], tag: str) -> StatementPlan:
    return StatementPlan(Kind.DDL, tuple(steps), tag=tag)
