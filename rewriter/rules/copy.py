"""COPY: an INSERT of the rows that a file function reads, or a query whose rows go to a file.

Every field of a CSV file arrives as text and is converted to its column's type, so that nothing is
guessed; what is quoted is never NULL. CSV files have a header only where HEADER is given, in both
directions, so that one COPY reads what the other has written.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Export, Query, Stage, StatementKind, StatementPlan
from journal.model.schema import Table
from journal.sql.relations import ident
from rewriter.context import RewriteContext
from rewriter.definitions.generated_values import copied_columns
from rewriter.dialect_semantics import DIALECTS
from rewriter.name_resolution import position_of, table_name
from rewriter.reading.read_rewriter import Reads
from rewriter.writing.copy_files import file_of, file_rows, skips_suppressed, target_columns
from rewriter.writing.copy_options import (
    WRITTEN,
    Options,
    compression_of,
    format_of,
    given_options,
    known_options,
    makes_folder,
)
from rewriter.writing.copy_texts import rows_with_texts, take_postgres_texts
from rewriter.writing_statements import WRITERS, rewrite_parts


def rewrite_copy(ast: exp.Copy, context: RewriteContext) -> StatementPlan:
    """The plan of a COPY .. FROM or COPY .. TO."""
    credentials = ast.args.get("credentials")
    if credentials is not None and any(credentials.args.values()):
        raise _refusal("COPY with credentials is not supported", "name a file of this machine", ast)
    options = given_options(ast)
    if not ast.args.get("kind"):
        return _copy_to(ast, options, context)
    if not isinstance(ast.this, exp.Table | exp.Schema):
        raise _refusal("COPY .. FROM fills a table", "write COPY t FROM 'file'", ast)
    skips = skips_suppressed(options, ast)
    node = ast.this.this if isinstance(ast.this, exp.Schema) else ast.this
    table = context.catalog.get(table_name(node, context))
    columns = target_columns(ast, table) if isinstance(table, Table) else []
    texts = take_postgres_texts(options, columns)
    rows = rows_with_texts(file_rows(ast, options, columns), columns, texts)
    insert = exp.Insert(this=ast.this, expression=rows)
    insert.set("overriding", "SYSTEM")  # A COPY brings numbers for GENERATED ALWAYS as well.
    plan = rewrite_parts(insert, context)
    if skips is None:
        return plan
    steps = [replace(s, skips=skips) if isinstance(s, Stage) else s for s in plan.steps]
    return replace(plan, steps=tuple(steps))


def _copy_to(ast: exp.Copy, options: Options, context: RewriteContext) -> StatementPlan:
    path = file_of(ast).name
    form = format_of(path, options, ast)
    given = known_options(options, WRITTEN[form], form, ast)
    if form == "csv":
        given.setdefault("header", exp.false())
    compression = compression_of(path)
    if compression is not None and form != "parquet":
        given.setdefault("compression", exp.Literal.string(compression))
    root = exp.Subquery(this=_query(ast, context))
    reads = Reads(context)
    reads.rewrite(root)
    named = tuple((name.upper(), value) for name, value in given.items())
    export = Export(Query.of(root.this), path, form, named, makes_folder(given))
    return reads.plan(StatementKind.READ, [export], None, "COPY")


def _query(ast: exp.Copy, context: RewriteContext) -> exp.Query:
    """The query that a COPY .. TO writes: its own, or one over a table or some of its columns."""
    source = ast.this
    if isinstance(source, exp.Subquery):
        inner = source.this
        for node in inner.find_all(*WRITERS):
            raise _refusal(
                "COPY of a statement that writes is not supported",
                "write first, then COPY what is there",
                node,
            )
        if isinstance(inner, exp.Values):
            return exp.select("*").from_(exp.Subquery(this=inner, alias=exp.TableAlias(this="v")))
        if isinstance(inner, exp.Query):
            return inner
    names = None
    if isinstance(source, exp.Table | exp.Schema) and DIALECTS.get(context.dialect) == "postgres":
        node = source.this if isinstance(source, exp.Schema) else source
        found = context.catalog.get(table_name(node, context))
        names = copied_columns(source, found if isinstance(found, Table) else None)
    if isinstance(source, exp.Table):
        shown = [ident(name) for name in names or ()]
        return exp.select(*shown or "*").from_(source)
    if isinstance(source, exp.Schema):
        chosen = [exp.column(c.copy()) for c in source.expressions]
        return exp.select(*chosen).from_(source.this)
    raise _refusal("COPY .. TO writes a table or a query", "write COPY (SELECT ..) TO 'file'", ast)


def _refusal(message: str, advice: str, node: exp.Expr) -> PalimpsestError:
    return PalimpsestError(Code.NOT_SUPPORTED, message, advice=advice, position=position_of(node))
