"""Materialised views: CREATE, REFRESH and ALTER .. RENAME.

A materialised view is a table without a key whose rows only REFRESH writes: every present row
ends and the rows of the query begin, in one version. Its definition says as of which version they
are, and from which tables. Pure.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from journal.model.copied_rows import held_sources
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import (
    Append,
    Change,
    DropRelation,
    PutRelation,
    StatementKind,
    StatementPlan,
    Step,
)
from journal.model.policy import PREFIX, SCHEDULE
from journal.model.schema import (
    JournalFormat,
    Materialized,
    Table,
    TableName,
    View,
    fold,
)
from journal.model.table_index import Index
from journal.model.trees import copy_tree
from journal.sql import dialects
from journal.sql.relations import ident
from rewriter.context import RewriteContext
from rewriter.definitions.canonical_texts import canonical_text
from rewriter.definitions.definition import TableDraft
from rewriter.definitions.kept_calls import named_query
from rewriter.definitions.new_relations import (
    already_exists,
    check_journal_name,
    check_reads_others,
    ddl_plan,
    is_kept,
    new_name,
    resolve_schema,
)
from rewriter.definitions.policies import changed_properties, check_properties
from rewriter.definitions.query_columns import add_query_columns
from rewriter.definitions.sequences import sequence_calls
from rewriter.definitions.skipping import made_before, none_to_drop
from rewriter.definitions.temporary import check_lasting
from rewriter.dialect_semantics import semantics_of
from rewriter.name_resolution import position_of, table_name, unknown_table
from rewriter.reading.network.types import keep_addresses
from rewriter.reading.policies.security import is_restricted
from rewriter.reading.read_rewriter import Reads
from rewriter.statement import RefreshView
from rewriter.writing.replaced_rows import replaced_rows
from rewriter.writing.views_of_macros import keep_names
from rewriter.writing.views_of_renamed import views_of_renamed

_POLICIES = frozenset({"*", "history", "versions", "backup", "max_attempts", "max_concurrency"})
CREATED, REFRESHED, ALTERED = (
    f"{word} MATERIALIZED VIEW" for word in ("CREATE", "REFRESH", "ALTER")
)


def rewrite_create_materialized(ast: exp.Create, context: RewriteContext) -> StatementPlan:
    """The plan of a CREATE MATERIALIZED VIEW."""
    asked, context = context, _without_policies(context)
    schema = ast.this if isinstance(ast.this, exp.Schema) else None
    node = schema.this if schema is not None else ast.this
    with_data = _with_data(ast)
    name = new_name(node, context)
    found = context.catalog.get(name)
    if is_kept(ast, name, found, "MATERIALIZED VIEW", node):
        return ddl_plan([], CREATED, [made_before("relation", name.name)])
    query = _checked_query(ast, name, node, context)
    text, named = canonical_text(query), named_query(ast)
    if named is not None:
        keep_names(named, context)
    defined = None if named is None else canonical_text(named)
    reads = Reads(context)
    written = copy_tree(query)
    holder = exp.Subquery(this=query)
    reads.rewrite(holder)
    check_reads_others(name, reads.names, "MATERIALIZED VIEW", node)
    draft = TableDraft(name, JournalFormat(), column_name=context.capabilities.column_name)
    described = context.describe(holder.this, frozenset(reads.tables))
    numbers = semantics_of(context.dialect).numbers_columns
    add_query_columns(ast, draft, described, numbers=numbers)
    keep_addresses(draft.columns, [fold(name) for name, _ in described], written, reads.context)
    made = Materialized(text, tuple(name for name, _ in described), defined=defined)
    table = replace(draft.table(context.new_table_id), materialized=made)
    catalog = context.catalog if found is None else context.catalog.without_relation(name)
    check_journal_name(table, node, replace(context, catalog=catalog))
    gone: list[Step] = [] if found is None else [Change(DropRelation(found.name))]
    if not with_data:
        return ddl_plan([*gone, Change(PutRelation(table))], CREATED)
    plan = _filled(table, replace(context, catalog=catalog), asked, is_new=True)
    return replace(plan, steps=(*gone, *plan.steps), tag=CREATED)


def rewrite_refresh(statement: RefreshView, context: RewriteContext) -> StatementPlan:
    """The plan of a REFRESH MATERIALIZED VIEW; without data it forgets that it has rows."""
    table = find_materialized(statement.table, context)
    made = table.materialized
    assert made is not None
    if statement.concurrently and not any(_tells_rows_apart(i) for i in table.unique_indexes):
        raise PalimpsestError(
            Code.NOT_POPULATED,
            f"cannot refresh materialized view {table.name} concurrently without a unique index",
            advice="CREATE UNIQUE INDEX over its columns without WHERE, or leave CONCURRENTLY out:"
            " readers go on reading here either way",
            position=position_of(statement.table),
        )
    asked, context = context, _without_policies(context)
    if statement.with_data:
        return replace(_filled(table, context, asked), tag=REFRESHED)
    nulls = [exp.Null() for _ in table.columns]
    none = exp.select(*nulls).where(exp.false())
    plan = _rows_replaced(table, none, context)
    return _plan(plan, replace(table, materialized=replace(made, refreshed=None)), REFRESHED)


def _tells_rows_apart(index: Index) -> bool:
    return index.predicate is None and all(term.is_column for term in index.terms)


def rewrite_alter_materialized(ast: exp.Alter, context: RewriteContext) -> StatementPlan:
    """The plan of an ALTER MATERIALIZED VIEW, which can rename it, and set its policy."""
    if ast.args.get("exists") and context.catalog.get(table_name(ast.this, context)) is None:
        return ddl_plan([], ALTERED, [none_to_drop("relation", ast.this.name)])
    table = find_materialized(ast.this, context)
    name = table.name
    properties = dict(table.properties)
    for action in ast.args["actions"]:
        if isinstance(action, exp.AlterSet):
            properties = _changed(properties, action, table)
            continue
        node = action.this if isinstance(action, exp.AlterRename) else None
        if not isinstance(node, exp.Table):
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"{action.sql(dialect='duckdb')} is not supported for a materialized view",
                advice="RENAME TO, SET SCHEMA and SET POLICY are; or create another one",
                position=position_of(action),
            )
        wanted = TableName(node.db or name.schema, node.name)
        name = resolve_schema(wanted, node, context)
        if name.key != table.name.key and context.catalog.get(name) is not None:
            raise already_exists(name, node)
    altered = replace(table, name=name, properties=tuple(properties.items()))
    check_journal_name(altered, ast.this, context)
    check_properties(altered, table, context)
    moved = None if name == table.name else table.name
    steps = views_of_renamed(table, name, {}, context)
    return ddl_plan([*steps, Change(PutRelation(altered, instead_of=moved))], ALTERED)


def _changed(properties: dict[str, str], action: exp.AlterSet, table: Table) -> dict[str, str]:
    """Properties with those of a policy set or taken away that has a meaning for the view."""
    for node in action.expressions:
        name = fold(node.name).removeprefix(PREFIX)
        if not (name.startswith(SCHEDULE) or name in _POLICIES):
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"{name} cannot be set for a materialized view",
                advice="set " + ", ".join(sorted(_POLICIES)) + " or SCHEDULE_kind; other rules"
                " are about rows, and these come from its query",
                position=position_of(node),
            )
        value = node.args.get("value")
        given = None if value is None else value.name
        properties = changed_properties(properties, node.name, given, table.columns)
    return properties


def find_materialized(node: exp.Table, context: RewriteContext) -> Table:
    """The materialised view of a name; raises UNKNOWN_TABLE, or WRONG_OBJECT for others."""
    name = table_name(node, context)
    found = context.catalog.get(name)
    if found is None:
        raise unknown_table(name, context.catalog, node)
    if isinstance(found, View) or found.materialized is None:
        raise PalimpsestError(
            Code.WRONG_OBJECT,
            f"{name} is not a materialized view",
            advice="create one: CREATE MATERIALIZED VIEW v AS SELECT ..",
            position=position_of(node),
        )
    return found


def _with_data(ast: exp.Create) -> bool:
    """False for WITH NO DATA; raises NOT_SUPPORTED for other options, and for parameters."""
    properties = ast.args.get("properties")
    with_data = True
    for option in properties.expressions if properties is not None else []:
        if isinstance(option, exp.WithDataProperty):
            with_data = not option.args.get("no")
            continue
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"{option.key.removesuffix('property').upper()} is not supported for a"
            " materialized view",
            advice="leave it out",
            position=position_of(ast.this),
        )
    return with_data


def _checked_query(
    ast: exp.Create, name: TableName, node: exp.Expr, context: RewriteContext
) -> exp.Query:
    """The query with schemas on its names; raises where it cannot be kept."""
    query = ast.expression
    if isinstance(query, exp.Values):
        query = exp.select("*").from_(query)
    if not isinstance(query, exp.Query):
        raise PalimpsestError(
            Code.SYNTAX,
            "a materialized view needs a query",
            advice="write AS SELECT ..",
            position=position_of(node),
        )
    keep_names(query, context)
    check_lasting(name, query, context)
    for part in (*sequence_calls(query), *query.find_all(exp.Placeholder)):
        called = isinstance(part, exp.Placeholder)
        raise PalimpsestError(
            Code.INVALID_DEFINITION if called else Code.NOT_SUPPORTED,
            "a materialized view cannot have parameters"
            if called
            else f"a materialized view cannot call {part.name}, which differs at every look",
            advice="write the values out",
            position=position_of(part),
        )
    return query


def _filled(
    table: Table, context: RewriteContext, asked: RewriteContext, *, is_new: bool = False
) -> StatementPlan:
    """What replaces the rows by those of the query now; ``asked`` has the role that wants it."""
    made = table.materialized
    assert made is not None
    query = dialects.stored(made.query)
    assert isinstance(query, exp.Query)
    given = [ident(f"c{place}") for place in range(_width(table, made, query, context))]
    alias = exp.TableAlias(this=ident("q"), columns=given)
    names = given[: len(table.columns)]
    rows = exp.select(*[exp.column(n.copy(), table="q") for n in names]).from_(
        exp.Subquery(this=query, alias=alias)
    )
    plan = _rows_replaced(table, rows, context, is_new=is_new)
    sources = held_sources(plan.tables - {table.id}, context.catalog)
    _check_unrestricted(table, sources, asked)
    _check_spared(table, sources, context)
    refreshed = replace(
        made,
        refreshed=context.snapshot,
        sources=tuple(sorted({*made.sources, *sources})),
        masks=() if is_new else context.scan_info(table.id).masks,
    )
    return _plan(plan, replace(table, materialized=refreshed), REFRESHED)


def _width(table: Table, made: Materialized, query: exp.Query, context: RewriteContext) -> int:
    """How many columns the query has: those it was made with, and what a star has behind them.

    Raises INVALID_DEFINITION if a star stands for others than it did.
    """
    if query.find(exp.Star) is None:
        return len(table.columns)
    reads = Reads(replace(context, as_of=None).in_schema(table.name.schema))
    holder = exp.Subquery(this=query.copy())
    reads.rewrite(holder)
    found = context.describe(holder.this, frozenset(reads.tables))
    now = tuple(name for name, _ in found[: len(made.outputs)])
    if now != made.outputs:
        raise PalimpsestError(
            Code.INVALID_DEFINITION,
            f"the query of {table.name} gives the columns {', '.join(now)} now; it was made with"
            f" {', '.join(made.outputs)}",
            advice=f"CREATE OR REPLACE MATERIALIZED VIEW {table.name}, with columns by their names",
        )
    return len(found)


def _rows_replaced(
    table: Table, rows: exp.Query, context: RewriteContext, *, is_new: bool = False
) -> StatementPlan:
    plain = replace(table, materialized=None)
    catalog = context.catalog.with_relation(plain)
    within = replace(context, catalog=catalog, dialect="duckdb", as_of=None, batch=False)
    return replaced_rows(plain, rows, within.in_schema(table.name.schema), is_new=is_new)


def _without_policies(context: RewriteContext) -> RewriteContext:
    """For rows that a view holds: whom policies apply to reads it through its query instead."""
    return replace(context, role=None)


def _check_unrestricted(table: Table, sources: set[int], asked: RewriteContext) -> None:
    """Raise PRIVILEGE for a role that does not see all rows and columns which the view would hold.

    Their number, and errors of the query, would tell the role of what policies hide.
    """
    if is_restricted(tuple(sorted(sources)), asked):
        raise PalimpsestError(
            Code.PRIVILEGE,
            f"permission denied to store the rows of {table.name}: policies of what it reads apply"
            " to the role",
            advice="create it WITH NO DATA, and have a role without these policies, or the refresh"
            " job, fill it; or create an ordinary view",
        )


def _check_spared(table: Table, sources: set[int], context: RewriteContext) -> None:
    """Raise HELD where a source has rows that are to be erased and that a legal hold still shows.

    They would be stored once more, where the end of the hold does not reach them.
    """
    for table_id in sorted(sources):
        source = context.catalog.by_id(table_id)
        if source is not None and context.scan_info(table_id).spares:
            raise PalimpsestError(
                Code.HELD,
                f"{table.name} cannot store rows of {source.name}: some of them are to be erased,"
                " and a legal hold keeps them until it ends",
                advice="read the view, which goes through its query meanwhile; or create it WITH"
                " NO DATA",
            )


def _plan(rows: StatementPlan, table: Table, tag: str) -> StatementPlan:
    """A plan that replaces rows and the definition; the definition comes before they are added."""
    place = next(i for i, step in enumerate(rows.steps) if isinstance(step, Append))
    steps = (*rows.steps[:place], Change(PutRelation(table)), *rows.steps[place:])
    return replace(rows, kind=StatementKind.DDL, steps=steps, tag=tag, bounded=False)
