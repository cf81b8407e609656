"""Catalogs that are only supposed, for previews without a store.

Out of CREATE statements, or out of the names of key columns and what a statement itself says. Types
that cannot be known are UNKNOWN_TYPE. Pure: nothing runs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from journal.model import plan as planned
from journal.model.capabilities import Capabilities
from journal.model.catalog import apply
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import StatementKind
from journal.model.schema import OWN_SCHEMA, CatalogSnapshot, Column, Table, TableName, fold
from journal.model.segment import Tier
from journal.sql.cte_scopes import is_cte
from rewriter.context import RewriteContext, TableScanInfo
from rewriter.name_resolution import position_of
from rewriter.rewriter import rewrite_statement
from rewriter.statement import SessionStatement, SqlStatement
from rewriter.syntax.parsing import Parsed

UNKNOWN_TYPE = "UNKNOWN"
"""Type of columns of which only the name is known; conversions to it are not shown."""


def plain_scan_info(table_id: int) -> TableScanInfo:
    """Scan information of a fully compacted journal."""
    return TableScanInfo(frozenset({Tier.BASE}), pinned=False)


def catalog_of(statements: Sequence[Parsed], dialect: str) -> CatalogSnapshot:
    """The catalog that CREATE statements make; schemas need not be created."""
    catalog = CatalogSnapshot.empty(own=OWN_SCHEMA)
    for number, parsed in enumerate(statements, 1):
        if isinstance(parsed.statement, SqlStatement) and not _makes_schema(parsed.statement.ast):
            for node in parsed.statement.ast.find_all(exp.Table):
                if node.db and fold(node.db) not in catalog.schemas:
                    catalog = catalog.with_schema(node.db)
        context = RewriteContext(
            catalog,
            plain_scan_info,
            dialect=dialect,
            describe=query_columns,
            new_table_id=number,
            capabilities=Capabilities(
                collations=True, equates_texts=True, enums=True, access_control=True
            ),
        )
        if isinstance(parsed.statement, SessionStatement):
            continue
        plan = rewrite_statement(parsed.statement, context)
        if plan.kind is not StatementKind.DDL:
            raise PalimpsestError(
                Code.WRONG_OBJECT,
                f"{plan.tag} does not describe a table",
                advice="a schema file holds CREATE TABLE and CREATE VIEW statements",
            )
        for step in plan.steps:
            if isinstance(step, planned.Change):
                catalog = apply(catalog, step.change)
    return catalog


def _makes_schema(ast: exp.Expr) -> bool:
    return isinstance(ast, exp.Create) and ast.kind == "SCHEMA"


def keyed_catalog(
    keys: Mapping[str, Sequence[str]], parsed: Parsed, catalog: CatalogSnapshot
) -> tuple[CatalogSnapshot, tuple[str, ...]]:
    """The catalog with tables of which only the key is known, and what was supposed of them.

    Their other columns are those the statement itself names.
    """
    notes = []
    ids = itertools.count(max((t.id for t in catalog.tables()), default=0) + 1)
    for written, key in keys.items():
        node = exp.to_table(written, dialect="duckdb")
        name = TableName(node.db or catalog.home, node.name)
        known = dict.fromkeys(key)
        if isinstance(parsed.statement, SqlStatement):
            known |= dict.fromkeys(_columns_named(parsed.statement.ast, node, len(keys)))
        seen = {fold(k): k for k in reversed([*known])}
        columns = tuple(Column(c, c, UNKNOWN_TYPE) for c in known if seen[fold(c)] == c)
        names = tuple(c.name for c in columns)
        if fold(name.schema) not in catalog.schemas:
            catalog = catalog.with_schema(name.schema)
        table = Table(next(ids), name, columns, tuple(key), physical_names=names)
        catalog = catalog.with_relation(table)
        notes.append(
            f"Of {name} only the key is known; its columns are taken to be those the statement "
            f"names: {', '.join(names)}. A star stands for these; types are not shown."
        )
    return catalog, tuple(notes)


def _columns_named(ast: exp.Expr, table: exp.Table, tables: int) -> Iterator[str]:
    """Columns that a statement names for a table: by its alias, or bare where it is alone."""
    aliases = {
        fold(t.alias or t.name)
        for t in ast.find_all(exp.Table)
        if fold(t.name) == fold(table.name) and not is_cte(t)
    }
    for found in ast.find_all(exp.Column):
        if isinstance(found.this, exp.Star):
            continue
        if fold(found.table) in aliases or (not found.table and tables == 1):
            yield found.name
        elif not found.table and aliases:
            raise PalimpsestError(
                Code.AMBIGUOUS_COLUMN,
                f'the keys do not tell which table has column "{found.name}"',
                advice=f"write alias.{found.name}, or describe the tables with --schema",
                position=position_of(found),
            )
    if isinstance(ast, exp.Insert) and isinstance(ast.this, exp.Schema):
        if fold(ast.this.this.name) == fold(table.name):
            yield from (e.name for e in ast.this.expressions)


def query_columns(query: exp.Query, tables: frozenset[int]) -> tuple[tuple[str, str], ...]:
    """The columns of a rewritten query by name; types are not worked out without a store."""
    return tuple((name, UNKNOWN_TYPE) for name in _output_names(query))


def _output_names(query: exp.Expr) -> Iterator[str]:
    if isinstance(query, exp.Subquery):
        yield from _output_names(query.this)
        return
    if isinstance(query, exp.SetOperation):
        yield from _output_names(query.left)
        return
    sources = [query.args["from_"].this] if query.args.get("from_") is not None else []
    sources += [join.this for join in query.args.get("joins") or []]
    for projection in query.selects if isinstance(query, exp.Select) else []:
        if not projection.is_star:
            yield projection.alias_or_name
            continue
        of = fold(projection.table) if isinstance(projection, exp.Column) else ""
        for source in sources:
            if not isinstance(source, exp.Subquery):
                raise PalimpsestError(
                    Code.NOT_SUPPORTED,
                    "without a store the preview cannot expand * here",
                    advice="name the columns, or connect to a warehouse",
                )
            if of in {"", fold(source.alias)}:
                yield from _output_names(source)
