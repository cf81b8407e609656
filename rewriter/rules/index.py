"""CREATE INDEX, DROP INDEX and ALTER INDEX: they change the definition of a table, and no row.

An index stands in the schema of its table. A unique one is a constraint from then on, so the rows
that are there must keep it.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Change, PutRelation, StatementKind, StatementPlan, Step
from journal.model.schema import Table, TableName, View
from journal.sql.relations import column
from journal.sql.sql import relation
from journal.sql.unique_keys import index_key
from rewriter.context import RewriteContext
from rewriter.definitions.altered_index import altered_index
from rewriter.definitions.foreign_keys import check_still_fits
from rewriter.definitions.index_names import (
    check_index_name,
    find_index,
    index_names,
    is_index_name,
    unknown_index,
)
from rewriter.definitions.index_terms import default_name, read_index
from rewriter.definitions.new_relations import ddl_plan, validation_guard
from rewriter.definitions.skipping import made_before, none_to_drop
from rewriter.name_resolution import find_relation, position_of
from rewriter.reading.policies.security import hides_journal, refuse_restricted
from rewriter.reading.read_rewriter import Reads
from rewriter.writing.guards import no_doubles
from rewriter.writing.target import physical_rows


def rewrite_create_index(ast: exp.Create, context: RewriteContext) -> StatementPlan:
    """The plan of a CREATE INDEX."""
    node = ast.this
    _check_clauses(ast, {"this", "kind", "unique", "exists", "concurrently"})
    params = node.args.get("params")
    if params is not None and params.args.get("on"):
        raise PalimpsestError(
            Code.SYNTAX,
            "an index is in the schema of its table, so its name has none",
            advice="write CREATE INDEX name ON schema.table (column)",
            position=position_of(node),
        )
    table = _indexed_table(node, context)
    given = node.this.name if node.this is not None else ""
    if hides_journal(table, context):
        advice = "a role that no policy applies to may"
        raise refuse_restricted("index", table, advice)
    if given:
        name = TableName(table.name.schema, given)
        if ast.args.get("exists") and is_index_name(name, context):
            return ddl_plan([], "CREATE INDEX", [made_before("relation", given)])
        check_index_name(name, node.this, context)
    index = read_index(table, given, node, unique=bool(ast.args.get("unique")))
    if not given:
        taken = index_names(table.name.schema, context)
        index = replace(index, name=default_name(table, index, taken))
    changed = replace(table, indexes=(*table.indexes, index))
    reads = Reads(context)
    steps: list[Step] = [validation_guard(changed)]
    if index.unique:
        key = index_key(index)
        rows = relation(physical_rows(reads, table), "c")
        steps.append(no_doubles(table, key, rows, key.values(lambda n: column(n, "c"))))
    steps.append(Change(PutRelation(changed)))
    return reads.plan(StatementKind.DDL, steps, changed, "CREATE INDEX")


def _indexed_table(node: exp.Index, context: RewriteContext) -> Table:
    found = find_relation(node.args["table"], context)
    if isinstance(found, View):
        raise PalimpsestError(
            Code.WRONG_OBJECT,
            f"{found.name} is a view, which has no rows of its own",
            advice="index the tables that it reads",
            position=position_of(node.args["table"]),
        )
    return found


def rewrite_drop_index(ast: exp.Drop, context: RewriteContext) -> StatementPlan:
    """The plan of a DROP INDEX; only a foreign key can depend on one, and holds it."""
    _check_clauses(
        ast, {"tables", "kind", "exists", "cascade", "restrict", "concurrently", "cluster"}
    )
    changed: dict[int, Table] = {}
    told: list[str] = []
    for node in ast.args.get("tables") or []:
        found = find_index(node, context)
        if found is None or found[1] not in changed.get(found[0].id, found[0]).indexes:
            if ast.args.get("exists"):
                told.append(none_to_drop("index", node.name))
                continue
            raise unknown_index(node, context)
        table, index = found
        now = changed.get(table.id, table)
        left = tuple(other for other in now.indexes if other is not index)
        changed[table.id] = replace(now, indexes=left)
        check_still_fits(table, changed[table.id], context.catalog)
    return ddl_plan([Change(PutRelation(t)) for t in changed.values()], "DROP INDEX", told)


def rewrite_alter_index(ast: exp.Alter, context: RewriteContext) -> StatementPlan:
    """The plan of an ALTER INDEX."""
    return altered_index(ast, context)


def _check_clauses(ast: exp.Expr, known: set[str]) -> None:
    for name, value in ast.args.items():
        if value and name not in known:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"{name.upper()} in {ast.key.upper()} INDEX is not supported",
                advice="leave the clause out; see docs/sql.md for what the statement takes",
                position=position_of(ast),
            )
