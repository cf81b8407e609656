"""SHOW, DESCRIBE and SUMMARIZE: lists and describes tables.

Answers come from the catalog as constant rows, in the shape clients of the input dialect expect;
queries are described by the store.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model import policy
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Fetch, Query, StatementKind, StatementPlan
from journal.model.schema import OWN_SCHEMA, Relation, Table, TableName, View, fold
from journal.sql.relations import column
from rewriter.context import RewriteContext
from rewriter.definitions.descriptions import (
    create_index,
    create_materialized,
    create_table,
    create_view,
    describe_rows,
)
from rewriter.definitions.new_relations import wrong_kind
from rewriter.definitions.shown_properties import shown_properties
from rewriter.name_resolution import (
    OWN_SCHEMAS,
    SYSTEM_SCHEMAS,
    find_relation,
    means_home,
    position_of,
    schema_of,
    table_name,
)
from rewriter.reading.described import DESCRIBED, constant_rows
from rewriter.reading.policies.effective import effective_rows, scoped_rows
from rewriter.reading.read_rewriter import Reads
from rewriter.reading.sources import file_function
from rewriter.reading.system import STORED, system_names
from rewriter.statement import Show

_MYSQL = ("Field", "Type", "Null", "Key", "Default", "Extra")
_SPARK = frozenset({"spark", "hive"})
_STYLES = frozenset({"", "EXTENDED", "FORMATTED", "HISTORY"})
_NOT_READ = ("partition", "expressions", "properties", "format", "as_json")


def rewrite_show(statement: Show, context: RewriteContext) -> StatementPlan:
    """The plan of SHOW TABLES, COLUMNS, CREATE TABLE, SCHEMAS and their like."""
    reads = Reads(context)
    catalog = reads.seen_catalog()
    match statement.what:
        case "TABLES" | "VIEWS" | "ALL TABLES":
            query = _tables(statement, reads)
        case "COLUMNS":
            return _columns(statement, reads)
        case "CREATE":
            query = _create_rows(statement, reads)
        case "POLICIES":
            tables = sorted(catalog.tables(), key=lambda t: t.name.key)
            stated = [(str(t.name), *row) for t in tables for row in policy.policy_rows(t)]
            scopes = sorted(catalog.policies.values(), key=lambda scope: scope.nearness)
            stated += [(str(s), *row) for s in scopes for row in policy.stated_rules(s.properties)]
            query = constant_rows(("table", "policy", "value"), stated)
        case "SCOPED POLICY":
            query = constant_rows(("policy", "value"), scoped_rows(statement, catalog))
        case "EFFECTIVE POLICY":
            query = effective_rows(_table(statement, reads), statement, catalog, context)
        case "INDEXES":
            tables = sorted(catalog.tables(), key=lambda t: t.name.key)
            tables = tables if statement.table is None else [_table(statement, reads)]
            both = [(t, index) for t in tables for index in t.indexes]
            defined = [(str(t.name), i.name, i.unique, create_index(t, i)) for t, i in both]
            query = constant_rows(("table", "name", "is_unique", "definition"), defined)
        case "POLICY":
            query = constant_rows(("policy", "value"), policy.policy_rows(_table(statement, reads)))
        case "TBLPROPERTIES":
            query = constant_rows(("key", "value"), shown_properties(_table(statement, reads)))
        case "SCHEMAS":
            names = sorted(catalog.schemas.values())
            title = "Database" if context.dialect == "mysql" else "namespace"
            if context.dialect in _SPARK or context.dialect == "mysql":
                query = constant_rows((title,), [(n,) for n in names])
            else:
                here = fold(context.default_schema)
                rows = [(catalog.database, n, fold(n) == here) for n in names]
                query = constant_rows(("database_name", "schema_name", "current"), rows)
        case _:
            query = constant_rows(("database_name",), [(catalog.database,)])
    return reads.plan(StatementKind.READ, [Fetch(Query.of(query))], None, "SHOW")


def rewrite_describe(ast: exp.Describe, context: RewriteContext) -> StatementPlan:
    """The plan of DESCRIBE of a table or a query, or of DESCRIBE HISTORY of a table."""
    reads = Reads(context)
    style = str(ast.args.get("style") or "").upper()
    extra = next((part for part in _NOT_READ if ast.args.get(part)), None)
    if (
        extra
        or style not in _STYLES
        or (style == "HISTORY" and not isinstance(ast.this, exp.Table))
    ):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"DESCRIBE .. {(extra or style).upper()} is not supported",
            advice="write DESCRIBE t, DESCRIBE (query) or DESCRIBE HISTORY t",
            position=position_of(ast),
        )
    if style == "HISTORY":
        return _history(Show("HISTORY", ast.this), reads)
    if isinstance(ast.this, exp.Table):
        return _columns(Show("COLUMNS", ast.this), reads)
    if not isinstance(ast.this, exp.Query | exp.Values):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "DESCRIBE takes a table or a query",
            advice="see docs/sql.md",
            position=position_of(ast),
        )
    return _describe_query(ast.this, reads, exp.Describe)


def rewrite_summarize(ast: exp.Summarize, context: RewriteContext) -> StatementPlan:
    """The plan of SUMMARIZE of a table or a query."""
    query = ast.this
    if isinstance(query, exp.Table):
        query = exp.select("*").from_(query)
    return _describe_query(query, Reads(context), exp.Summarize)


def _describe_query(
    query: exp.Expr, reads: Reads, question: type[exp.Describe | exp.Summarize]
) -> StatementPlan:
    root = exp.Subquery(this=query)
    if reads.context.capabilities.postgres_functions:
        # PostgreSQL has no such statement: as a relation it is answered before.
        described = exp.Subquery(this=question(this=query))
        root = exp.Subquery(this=exp.select("*").from_(described))
        reads.rewrite(root)
        tag = question.__name__.upper()
        return reads.plan(StatementKind.READ, [Fetch(Query.of(root.this))], None, tag)
    reads.rewrite(root)
    asked = question(this=root.this)
    return reads.plan(StatementKind.READ, [Fetch(Query.of(asked))], None, question.__name__.upper())


def _tables(statement: Show, reads: Reads) -> exp.Query:
    context = reads.context
    found = sorted(reads.seen_catalog().relations.values(), key=lambda r: r.name.key)
    if statement.what == "ALL TABLES":
        return _all_tables(reads)
    schema = _shown_schema(statement.schema, context)
    system = [TableName(fold(schema), name) for name in system_names(schema)]
    inside = [r for r in found if r.name.key[0] == fold(schema)]
    if statement.schema is None and context.dialect != "mysql":
        inside += [r for r in found if context.catalog.is_own(r.name)]
        inside.sort(key=lambda r: r.name.key[1])
    if statement.what == "VIEWS":
        inside = [r for r in inside if isinstance(r, View)]
    names = [*(r.name for r in inside), *(system if statement.what == "TABLES" else ())]
    if context.dialect in _SPARK:
        spark = [(n.schema, n.name, context.catalog.is_own(n)) for n in names]
        return constant_rows(("namespace", "tableName", "isTemporary"), spark)
    title = f"Tables_in_{schema}" if context.dialect == "mysql" else "name"
    return constant_rows((title,), [(n.name,) for n in names])


def _shown_schema(schema: str | None, context: RewriteContext) -> str:
    """The schema whose tables are listed, that of temporary ones too; raises UNKNOWN_SCHEMA."""
    if schema is None:
        return context.default_schema
    if fold(schema) in OWN_SCHEMAS:
        return context.catalog.own or schema
    if means_home(schema, context.dialect, context.catalog):
        return context.catalog.home
    meant = schema_of(exp.table_("t", db=schema), context)
    if fold(meant) not in {*context.catalog.schemas, *SYSTEM_SCHEMAS}:
        raise PalimpsestError(
            Code.UNKNOWN_SCHEMA,
            f"schema {schema} does not exist",
            advice="SHOW SCHEMAS lists those there are",
        )
    return meant


def _all_tables(reads: Reads) -> exp.Query:
    """DuckDB's list of all tables, with the columns of each."""
    catalog = reads.context.catalog

    def listed(name: str) -> exp.Expr:
        values = exp.Order(
            this=column(name, "c"), expressions=[exp.Ordered(this=column("position", "c"))]
        )
        return exp.ArrayAgg(this=values)

    place = [column("schema", "c"), column("table", "c")]
    temporary = exp.EQ(this=column("schema", "c"), expression=exp.Literal.string(OWN_SCHEMA))
    query = exp.select(
        exp.alias_(exp.Literal.string(catalog.database), "database"),
        exp.alias_(place[0].copy(), "schema"),
        exp.alias_(place[1].copy(), "name"),
        exp.alias_(listed("name"), "column_names"),
        exp.alias_(listed("type"), "column_types"),
        exp.alias_(temporary, "temporary"),
    )
    source = exp.alias_(exp.table_("columns", db="system"), "c", table=True)
    query = query.from_(source).group_by(*place).order_by(*[p.copy() for p in place])
    root = exp.Subquery(this=query)
    reads.rewrite(root)
    found = root.this
    assert isinstance(found, exp.Query)
    return found


def _columns(statement: Show, reads: Reads) -> StatementPlan:
    context = reads.context
    assert statement.table is not None
    name = table_name(statement.table, context)
    is_file = file_function(statement.table) is not None and context.catalog.get(name) is None
    is_query = is_file or fold(name.schema) in SYSTEM_SCHEMAS
    found = None if is_query else _relation(statement, reads)
    if not isinstance(found, Table):
        return _describe_query(exp.select("*").from_(statement.table), reads, exp.Describe)
    rows = describe_rows(found)
    if context.dialect in _SPARK:
        comments = [c.comment for c in found.columns]
        shown = [(r[0], r[1], c) for r, c in zip(rows, comments, strict=True)]
        query = constant_rows(("col_name", "data_type", "comment"), shown)
    else:
        query = constant_rows(_MYSQL if context.dialect == "mysql" else DESCRIBED, rows)
    return reads.plan(StatementKind.READ, [Fetch(Query.of(query))], None, "DESCRIBE")


def _history(statement: Show, reads: Reads) -> StatementPlan:
    """Who committed changes of a table, the latest first."""
    name = exp.Literal.string(str(_table(statement, reads).name))
    query = exp.select(*(column(c) for c in STORED["transactions"].values() if c != "tables"))
    query = query.from_(exp.table_("transactions", db="system"))
    query = query.where(exp.ArrayContains(this=column("tables"), expression=name))
    root = exp.Subquery(this=query.order_by(exp.Ordered(this=column("version"), desc=True)))
    reads.rewrite(root)
    return reads.plan(StatementKind.READ, [Fetch(Query.of(root.this))], None, "DESCRIBE")


def _create_rows(statement: Show, reads: Reads) -> exp.Query:
    found = _relation(statement, reads)
    temporary = reads.context.catalog.is_own(found.name)
    if isinstance(found, Table) and found.materialized is not None:
        text = create_materialized(found)
    elif isinstance(found, Table):
        text = create_table(found, reads.seen_catalog(), temporary=temporary)
    else:
        text = create_view(found, temporary=temporary)
    if reads.context.dialect == "mysql":
        kind = "Table" if isinstance(found, Table) else "View"
        return constant_rows((kind, f"Create {kind}"), [(found.name.name, text)])
    title = "createtab_stmt" if reads.context.dialect in _SPARK else "sql"
    return constant_rows((title,), [(text,)])


def _relation(statement: Show, reads: Reads) -> Relation:
    assert statement.table is not None
    with reads.at_session():
        return find_relation(statement.table, reads.context)


def _table(statement: Show, reads: Reads) -> Table:
    found = _relation(statement, reads)
    if not isinstance(found, Table):
        raise wrong_kind(found.name, found, statement.table)
    return found
