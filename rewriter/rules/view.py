"""CREATE VIEW: a query kept as canonical text, with schemas on its names so that they stay put."""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Change, PutRelation, StatementPlan
from journal.model.schema import View
from journal.model.trees import copy_tree
from rewriter.context import RewriteContext
from rewriter.definitions.canonical_texts import canonical_text
from rewriter.definitions.kept_calls import named_query
from rewriter.definitions.new_relations import check_reads_others, ddl_plan, is_kept, new_name
from rewriter.definitions.query_columns import told_apart
from rewriter.definitions.sequences import sequence_calls, without_calls
from rewriter.definitions.skipping import made_before
from rewriter.definitions.temporary import (
    check_lasting,
    is_temporary,
    new_temporary_name,
    reads_temporary,
)
from rewriter.dialect_semantics import semantics_of
from rewriter.name_resolution import position_of
from rewriter.reading.fences import fenced
from rewriter.reading.read_rewriter import Reads
from rewriter.reading.replaced_view import check_replaced_columns
from rewriter.writing.views_of_macros import keep_names

_BARRIER = "security_barrier"
_FALSE, _TRUE = frozenset({"false", "off", "0"}), frozenset({"true", "on", "1"})


def rewrite_create_view(ast: exp.Create, context: RewriteContext) -> StatementPlan:
    """The plan of a CREATE VIEW."""
    schema = ast.this if isinstance(ast.this, exp.Schema) else None
    node = schema.this if schema is not None else ast.this
    temporary = is_temporary(ast, node, context)
    _check_options(ast)
    query = ast.expression
    if isinstance(query, exp.Values):
        query = exp.select("*").from_(query)
    if isinstance(query, exp.Query):
        query = _query_of_view(query, ast, context)
        # As in PostgreSQL: what it reads is gone with the session, and so is the view.
        temporary = temporary or (not node.db and reads_temporary(query, context))
    name = new_temporary_name(node, context) if temporary else new_name(node, context)
    found = context.catalog.get(name)
    if is_kept(ast, name, found, "VIEW", node):
        return ddl_plan([], "CREATE VIEW", [made_before("relation", name.name)])
    if not isinstance(query, exp.Query):
        raise PalimpsestError(
            Code.SYNTAX,
            "a view needs a query",
            advice="write AS SELECT ..",
            position=position_of(node),
        )
    for call in sequence_calls(query):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"a view cannot call {call.name}, which differs at every look",
            advice="call it in the queries on the view",
            position=position_of(call),
        )
    if not temporary:
        check_lasting(name, query, context)
    text, named = canonical_text(query), named_query(ast)
    defined = None if named is None else canonical_text(_query_of_view(named, ast, context))
    reads = Reads(context)
    holder = exp.Subquery(this=query)
    reads.rewrite(holder)
    check_reads_others(name, reads.names, "VIEW", node)
    shape = without_calls(copy_tree(holder.this))
    assert isinstance(shape, exp.Query)
    columns = context.describe(shape, frozenset(reads.tables))
    given = [e.name for e in schema.expressions] if schema is not None else []
    if len(given) > len(columns):
        raise PalimpsestError(
            Code.COLUMN_COUNT,
            f"{len(given)} names are given for {len(columns)} columns",
            advice="name as many columns as the query has, or fewer",
            position=position_of(node),
        )
    numbers = semantics_of(context.dialect).numbers_columns
    called = (*given, *(name for name, _ in columns[len(given) :]))
    names = told_apart(called, node, numbers=numbers)
    if isinstance(found, View):
        kinds = [(n, kind) for n, (_, kind) in zip(names, columns, strict=True)]
        check_replaced_columns(found, kinds, node, context)
    view = View(name, text, names, defined=defined)
    return ddl_plan([Change(PutRelation(view))], "CREATE VIEW")


def _query_of_view(query: exp.Query, ast: exp.Create, context: RewriteContext) -> exp.Query:
    """The query as the view keeps it; the one given is changed."""
    if _is_barrier(ast):
        query = fenced(exp.select("*").from_(query.subquery(_BARRIER)), context.capabilities)
    keep_names(query, context)
    return query


def _is_off(option: exp.Expr) -> bool:
    """True for ``security_barrier = false`` and the like."""
    return type(option) is exp.Property and _value_of(option) in _FALSE


def _value_of(option: exp.Expr) -> str:
    value = option.args.get("value")
    return "" if value is None else value.sql().strip("'").lower()


def _is_barrier(ast: exp.Create) -> bool:
    """True for a view whose conditions come before those of the queries on it."""
    properties = ast.args.get("properties")
    options = properties.expressions if properties is not None else []
    return any(_names_barrier(option) and not _is_off(option) for option in options)


def _names_barrier(option: exp.Expr) -> bool:
    return type(option) is exp.Property and option.name.lower() == _BARRIER


def _check_options(ast: exp.Create) -> None:
    properties = ast.args.get("properties")
    options = properties.expressions if properties is not None else []
    for option in options:
        if _names_barrier(option) and _value_of(option) not in _FALSE | _TRUE:
            raise PalimpsestError(
                Code.SETTING_VALUE,
                f"security_barrier is true or false, not {_value_of(option)}",
                advice="write WITH (security_barrier)",
                position=position_of(ast.this),
            )
        if isinstance(option, exp.TemporaryProperty) or _is_off(option) or _names_barrier(option):
            continue
        kind = option.name if type(option) is exp.Property else option.key.removesuffix("property")
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"a {kind.upper()} view is not supported",
            advice="create an ordinary view",
            position=position_of(ast.this),
        )
    for placeholder in ast.expression.find_all(exp.Placeholder) if ast.expression else []:
        raise PalimpsestError(
            Code.INVALID_DEFINITION,
            "a view cannot have parameters",
            advice="write the values, or give them in the queries on the view",
            position=position_of(placeholder),
        )
