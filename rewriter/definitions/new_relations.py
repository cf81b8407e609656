"""Checks new relations: the name is free, and the store supports the definition.

Shared by the rules for CREATE, ALTER and UNDROP. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Guard, Query, StatementKind, StatementPlan, Step
from journal.model.schema import Table, TableName, View, fold
from journal.sql import dialects
from journal.sql.relations import collated, ident
from journal.sql.sql import cast, expression
from rewriter.context import RewriteContext
from rewriter.definitions.sequences import without_calls
from rewriter.definitions.temporary import check_has_temporary, new_temporary_name
from rewriter.dialect_semantics import semantics_of
from rewriter.name_resolution import (
    OWN_SCHEMAS,
    SYSTEM_SCHEMAS,
    check_database,
    position_of,
    schema_of,
)

_RESERVED_SCHEMAS = SYSTEM_SCHEMAS | OWN_SCHEMAS | {"_palimpsest", "pg_catalog"}


def check_schema_name(name: str, node: exp.Expr) -> None:
    """Raise for schemas that belong to the gateway."""
    if fold(name) in _RESERVED_SCHEMAS:
        raise PalimpsestError(
            Code.RESERVED_NAME,
            f"schema {name} belongs to the gateway",
            advice="use another schema",
            position=position_of(node),
        )


def new_name(node: exp.Table, context: RewriteContext) -> TableName:
    """The name of a table or view to be; its schema must exist."""
    check_database(node, context.catalog)
    name = TableName(schema_of(node, context), node.name)
    return resolve_schema(name, node, context)


def new_definition_name(node: exp.Table, context: RewriteContext, *, temporary: bool) -> TableName:
    """The name of a sequence, type or macro to be; ``temporary``: the connection's own.

    Raises NOT_SUPPORTED on stores without temporary relations.
    """
    if not temporary:
        return new_name(node, context)
    check_has_temporary(node, context)
    return new_temporary_name(node, context)


def moved_name(
    name: TableName,
    node: exp.Table,
    new: exp.Table | None,
    schema: str | None,
    context: RewriteContext,
) -> TableName:
    """The name that RENAME TO, or SET SCHEMA, gives to what has ``name``; ``node`` names it."""
    if new is not None:
        name = TableName(name.schema, new.name)
    if schema is None:
        return name
    check_schema_name(schema, node)
    return resolve_schema(TableName(schema, name.name), node, context)


def resolve_schema(name: TableName, node: exp.Expr, context: RewriteContext) -> TableName:
    """``name`` with its schema spelled as in the catalog; raises if it cannot be given."""
    check_schema_name(name.schema, node)
    if not name.schema:
        raise PalimpsestError(
            Code.UNKNOWN_SCHEMA,
            "no schema has been selected to create in",
            advice="name one before the name, or SET search_path",
            position=position_of(node),
        )
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
    shared = semantics_of(context.dialect).indexes_are_relations
    if shared and context.catalog.index(name) is not None:
        raise PalimpsestError(
            Code.DUPLICATE_TABLE,
            f"{name} exists already: it is an index",
            advice="use another name, or ALTER INDEX .. RENAME TO",
            position=position_of(node),
        )
    return TableName(context.catalog.schemas[fold(name.schema)], name.name)


def check_journal_name(table: Table, node: exp.Expr | None, context: RewriteContext) -> None:
    """Raise if the table's journal could not be read under its name."""
    taken = context.catalog.get(table.journal_name) or context.catalog.by_journal(
        table.journal_name
    )
    if taken is not None and not (isinstance(taken, Table) and taken.id == table.id):
        raise PalimpsestError(
            Code.DUPLICATE_TABLE,
            f"the journal of {table.name} would be {table.journal_name}, which exists already",
            advice="use another name, or another suffix: WITH (journal_suffix = '_history')",
            position=position_of(node),
        )


def already_exists(name: TableName, node: exp.Expr | None) -> PalimpsestError:
    """The error for a name that is taken."""
    return PalimpsestError(
        Code.DUPLICATE_TABLE,
        f"table {name} exists already",
        advice="use IF NOT EXISTS, or another name",
        position=position_of(node),
    )


def kind_of_relation(found: Table | View) -> str:
    """What statements call it: TABLE, VIEW or MATERIALIZED VIEW."""
    if isinstance(found, View):
        return "VIEW"
    return "TABLE" if found.materialized is None else "MATERIALIZED VIEW"


def is_kept(
    ast: exp.Create, name: TableName, found: Table | View | None, kind: str, node: exp.Expr
) -> bool:
    """True where IF NOT EXISTS keeps the relation that has the name of a new one of a kind.

    Raises DUPLICATE_TABLE, and WRONG_OBJECT where OR REPLACE would replace one of another kind.
    """
    if found is None:
        return False
    if ast.args.get("exists"):
        return True
    if not ast.args.get("replace"):
        raise already_exists(name, node)
    if kind_of_relation(found) != kind:
        raise wrong_kind(name, found, node)
    return False


def check_reads_others(
    name: TableName, names: Iterable[TableName], kind: str, node: exp.Expr
) -> None:
    """Raise INVALID_DEFINITION where a view is among the relations that its query reads."""
    if any(read.key == name.key for read in names):
        raise PalimpsestError(
            Code.INVALID_DEFINITION,
            f"the {kind.lower()} {name} would read itself",
            advice="give the new view another name",
            position=position_of(node),
        )


def wrong_kind(name: TableName, found: Table | View, node: exp.Expr | None) -> PalimpsestError:
    """The error for a view where a table is needed, or the other way round."""
    kind = kind_of_relation(found)
    return PalimpsestError(
        Code.WRONG_OBJECT,
        f"{name} is a {kind.lower()}",
        advice=f"use the statement for a {kind}",
        position=position_of(node),
    )


def validation_guard(table: Table) -> Guard:
    """A guard that lets the store look at types, defaults and checks, and returns no row.

    Defaults are computed once, so that one that does not fit its column is found now.
    """
    empty = exp.select(
        *[
            exp.alias_(collated(cast(exp.Null(), c.type), c), ident(c.physical))
            for c in table.columns
        ]
    ).where(exp.false())
    conditions = [exp.paren(dialects.stored(c.expression)) for c in table.checks]
    for c in table.columns:
        if c.generated is not None:
            value = cast(expression(c.generated), c.type)
            conditions.append(exp.paren(exp.Is(this=value, expression=exp.Null())))
    for index in table.indexes:
        texts = [term.text for term in index.terms if not term.is_column]
        conditions += [
            exp.paren(exp.Is(this=exp.paren(expression(text)), expression=exp.Null()))
            for text in texts
        ]
        if index.predicate is not None:
            conditions.append(exp.paren(expression(index.predicate)))
    rows = exp.select(exp.alias_(exp.Literal.number(1), "found"))
    rows = rows.from_(empty.subquery("t")).where(*conditions)
    query: exp.Query = rows
    for stored in table.columns:
        if stored.default is not None:
            default = without_calls(dialects.stored(stored.default))
            value = cast(default, stored.type)
            found = exp.Anonymous(this="any_value", expressions=[value])
            one = exp.select(exp.alias_(found, "found"))
            one = one.from_(exp.select(exp.alias_(exp.Literal.number(1), "one")).subquery("d"))
            never = exp.LT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(0))
            # The aggregate is computed before HAVING drops its row.
            kept = one.having(exp.and_(never, _not_null(found))).subquery("v")
            counted = exp.select(exp.alias_(exp.Literal.number(1), "found")).from_(kept)
            query = exp.union(query, counted, distinct=False)
    return Guard(Query.of(query), Code.INVALID_DEFINITION, "")


def _not_null(value: exp.Expr) -> exp.Expr:
    return exp.Not(this=exp.Is(this=value.copy(), expression=exp.Null()))


def ddl_plan(steps: list[Step], tag: str, notices: Iterable[str] = ()) -> StatementPlan:
    """A plan that changes the catalog and reads no table; ``notices`` are told beside."""
    return StatementPlan(StatementKind.DDL, tuple(steps), tag=tag, notices=tuple(notices))
