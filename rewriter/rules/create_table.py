"""CREATE TABLE: from a column list, like another table, or with the rows of a query.

The plan changes the catalog and appends the query's rows; the store's own tables are made at
COMMIT. Pure.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from sqlglot import exp

from journal.identity.descriptor import with_descriptors
from journal.model.copied_rows import with_sources
from journal.model.distribution import with_distribution
from journal.model.effective_policy import unreached
from journal.model.errors import Code, PalimpsestError
from journal.model.partitioning import with_partitioning
from journal.model.plan import (
    AllocateIdentity,
    Change,
    Count,
    DropRelation,
    PutRelation,
    Query,
    Stage,
    StatementKind,
    StatementPlan,
    Step,
)
from journal.model.policy import with_physical_column
from journal.model.schema import ROW_ID, Relation, Table, fold
from journal.model.trees import copy_tree
from journal.sql.relations import column, ident
from rewriter.context import RewriteContext
from rewriter.definitions.collations import TEXTS, check_collations
from rewriter.definitions.definition import LIKE_PARTS, TableDraft
from rewriter.definitions.foreign_keys import check_unreferenced, with_foreign_keys
from rewriter.definitions.generated_checks import check_plain_sources, settle_generated
from rewriter.definitions.index_names import with_index_names
from rewriter.definitions.new_relations import (
    already_exists,
    check_journal_name,
    ddl_plan,
    validation_guard,
    wrong_kind,
)
from rewriter.definitions.new_relations import new_name as new_relation
from rewriter.definitions.policies import check_properties
from rewriter.definitions.query_columns import add_query_columns
from rewriter.definitions.sequences import with_named_defaults, without_calls
from rewriter.definitions.skipping import made_before
from rewriter.definitions.table_options import TableOptions, read_options
from rewriter.definitions.temporary import is_temporary, new_temporary_name
from rewriter.dialect_semantics import semantics_of
from rewriter.name_resolution import find_table, position_of
from rewriter.reading.network.types import NetworkTypes, is_stored_address
from rewriter.reading.pivots import check_values_listed
from rewriter.reading.read_rewriter import Reads
from rewriter.reading.value_types import UNKNOWN
from rewriter.writing.changes import ChangeSet, append_step, new_name
from rewriter.writing.target import convert_value

STAGE = "changed"
_ROW_IDS = 1 << 32
"""Row ids set aside, because the number of rows is not known beforehand."""


def rewrite_create_table(ast: exp.Create, context: RewriteContext) -> StatementPlan:
    """The plan of a CREATE TABLE."""
    node = ast.this.this if isinstance(ast.this, exp.Schema) else ast.this
    temporary = is_temporary(ast, node, context)
    options = read_options(ast, temporary=temporary)
    name = new_temporary_name(node, context) if temporary else new_relation(node, context)
    found = context.catalog.get(name)
    steps: list[Step] = []
    if found is not None:
        if ast.args.get("exists"):
            return ddl_plan([], "CREATE TABLE", [made_before("relation", name.name)])
        if not ast.args.get("replace"):
            raise already_exists(name, node)
        if not isinstance(found, Table):
            raise wrong_kind(name, found, node)
        check_unreferenced(context.catalog, [found.name], node)
        steps.append(Change(DropRelation(found.name)))
    draft = TableDraft(name, options.format, column_name=context.capabilities.column_name)
    if ast.expression is not None:
        return _as_query(ast, draft, options, steps, context, found)
    _read_elements(ast, draft, options, context)
    table = _finish_table(draft, options, context)
    check_journal_name(table, node, _context_without(found, context))
    steps += [validation_guard(table), Change(PutRelation(table))]
    notices = tuple(unreached(context.catalog, table))
    return replace(ddl_plan(steps, "CREATE TABLE"), notices=notices)


def _read_elements(
    ast: exp.Create, draft: TableDraft, options: TableOptions, context: RewriteContext
) -> None:
    if options.like is not None:
        draft.add_like(find_table(options.like, context), LIKE_PARTS)
    if not isinstance(ast.this, exp.Schema):
        return
    nodes: list[exp.Expr] = []
    order = [fold(column.name) for column in draft.columns]
    for node in ast.this.expressions:
        if isinstance(node, exp.LikeProperty):
            source = find_table(node.this, context)
            draft.add_like(source, _like_parts(node))
            order += [fold(column.name) for column in source.columns]
        elif isinstance(node, exp.Identifier):
            raise PalimpsestError(
                Code.SYNTAX,
                f'column "{node.name}" has no type',
                advice="write a type behind the name",
                position=position_of(node),
            )
        else:
            nodes.append(node)
            order.append(fold(node.name))
    draft.read_elements([*nodes, *options.columns])
    order += [fold(column.name) for column in options.columns]
    # A constraint may have the name of a column that stands before it.
    places = {name: place for place, name in reversed([*enumerate(order)])}
    draft.columns.sort(key=lambda column: places[fold(column.name)])
    if not semantics_of(context.dialect).generates_from_generated:
        check_plain_sources(draft)
    settle_generated(draft, context.describe)


def _like_parts(node: exp.LikeProperty) -> Collection[str]:
    parts: set[str] = set()
    for option in node.expressions:
        value = fold(option.args["value"].name)
        named = set(LIKE_PARTS) if value == "all" else {value}
        if option.name.upper() == "INCLUDING":
            parts |= named
        else:
            parts -= named
    return parts


def _finish_table(draft: TableDraft, options: TableOptions, context: RewriteContext) -> Table:
    table = with_named_defaults(draft.table(context.new_table_id), context)
    check_collations(table, context, ident(table.name.name))
    table = with_foreign_keys(draft, table, context)
    table = with_index_names(table, context)
    _check_shape(table, options)
    properties = tuple(with_physical_column(dict(options.properties), table.columns).items())
    table = replace(table, comment=options.comment or None, properties=properties)
    check_properties(table, None, context)
    return with_distribution(with_partitioning(with_descriptors(table)))


def _check_shape(table: Table, options: TableOptions) -> None:
    """Raise INVALID_DEFINITION for partitions or buckets by anything but a plain column."""
    for name in options.shaped_by:
        found = table.find(name)
        kind = None if found is None else exp.DataType.build(found.type, dialect="duckdb")
        if kind is None or kind.is_type(*exp.DataType.NESTED_TYPES):
            raise PalimpsestError(
                Code.INVALID_DEFINITION,
                f'there is no plain column "{name}" to partition {table.name} by',
                advice="name columns of numbers, text, dates or timestamps",
            )


def _as_query(
    ast: exp.Create,
    draft: TableDraft,
    options: TableOptions,
    before: list[Step],
    context: RewriteContext,
    replaced: Relation | None,
) -> StatementPlan:
    check_values_listed(ast.expression)
    reads = Reads(context)
    written = copy_tree(ast.expression)
    holder = exp.Subquery(this=ast.expression)
    reads.rewrite(holder)
    query = holder.this
    shape = without_calls(copy_tree(query))
    if not isinstance(shape, exp.Query):
        raise PalimpsestError(
            Code.SYNTAX,
            "a query was expected behind CREATE TABLE",
            advice="write CREATE TABLE t AS SELECT .., or columns in parentheses",
            position=position_of(ast.this),
        )
    described = context.describe(shape, frozenset(reads.tables))
    numbers = semantics_of(context.dialect).numbers_columns
    add_query_columns(ast, draft, described, numbers=numbers)
    with reads.at_session():
        _keep_types(draft, [fold(name) for name, _ in described], written, reads.context)
    table = _finish_table(draft, options, context)
    if options.with_data:
        table = with_sources(table, reads.tables, context.catalog)
    check_journal_name(table, ast.find(exp.Table), _context_without(replaced, context))
    steps: list[Step] = [*before, validation_guard(table)]
    if options.with_data:
        steps += _row_steps(table, query)
    steps.append(Change(PutRelation(table)))
    if options.with_data:
        changes = ChangeSet(table, STAGE, False, True, frozenset(c.physical for c in table.stored))
        steps.append(append_step(changes))
    else:
        steps.append(Count(Query.of(exp.select(exp.Literal.number(0)))))
    plan = reads.plan(StatementKind.DDL, steps, None, "CREATE TABLE AS")
    notices = (*plan.notices, *unreached(context.catalog, table))
    return replace(plan, writes=frozenset({table.name}), notices=notices)


def _context_without(replaced: Relation | None, context: RewriteContext) -> RewriteContext:
    if replaced is None:
        return context
    return replace(context, catalog=context.catalog.without_relation(replaced.name))


def _keep_types(
    draft: TableDraft, names: list[str], query: exp.Expr, context: RewriteContext
) -> None:
    """Give the columns the enums and collations of those that they were read from."""
    types = NetworkTypes(context)
    for place, (name, stored) in enumerate(zip(names, draft.columns, strict=True)):
        found = types.of_output(query, name) if names.count(name) == 1 else UNKNOWN
        if is_stored_address(found.kind, stored.type):
            draft.columns[place] = replace(stored, type=found.kind)
            continue
        if found.enum is not None and (stored.type == found.enum.type or _is_text(stored.type)):
            # Some stores call what they give of an enum a text.
            enum = found.enum.type
            draft.columns[place] = replace(stored, type=enum, declared=found.declared)
        elif found.collation is not None and _is_text(stored.type):
            draft.columns[place] = replace(stored, collation=found.collation)


def _is_text(kind: str) -> bool:
    return exp.DataType.build(kind, dialect="duckdb").is_type(*TEXTS)


def _row_steps(table: Table, query: exp.Query) -> list[Step]:
    names = [f"c{i}" for i in range(len(table.columns))]
    alias = exp.TableAlias(this=exp.to_identifier("r"), columns=[ident(n) for n in names])
    outputs: list[exp.Expr] = [
        exp.alias_(convert_value(column(name, "r"), stored), new_name(index))
        for index, (name, stored) in enumerate(zip(names, table.columns, strict=True))
    ]
    steps: list[Step] = []
    if table.hidden_key:
        first = f"p_first_{ROW_ID}"
        steps.append(AllocateIdentity(table.id, ROW_ID, first, count=_ROW_IDS))
        place = exp.Sub(this=exp.Window(this=exp.RowNumber()), expression=exp.Literal.number(1))
        number = exp.Add(this=exp.Placeholder(this=first), expression=exp.paren(place))
        outputs.append(exp.alias_(number, new_name(len(names))))
    rows = exp.select(*outputs).from_(exp.Subquery(this=query, alias=alias))
    return [*steps, Stage(STAGE, Query.of(rows), rows_of=table)]
