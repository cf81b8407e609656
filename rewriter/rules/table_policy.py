"""Policies on the rows and columns of a table: they change the catalog alone."""

from __future__ import annotations

from dataclasses import replace

from journal.model.access import PutAccess
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Change, StatementPlan
from journal.model.row_policy import TablePolicy
from journal.model.schema import Column, Table, relation_key
from rewriter.context import RewriteContext
from rewriter.definitions.new_relations import ddl_plan
from rewriter.name_resolution import unknown_column
from rewriter.reading.policies.named import secured_table
from rewriter.reading.policies.texts import checked_text, invalid
from rewriter.statements.access import SetTablePolicy

TAG = "ALTER TABLE"


def rewrite_table_policy(ast: SetTablePolicy, context: RewriteContext) -> StatementPlan:
    """SET and DROP of a row policy or a masking policy."""
    try:
        table = secured_table(ast.table, context)
    except PalimpsestError as error:
        if ast.exists and error.code is Code.UNKNOWN_TABLE:
            return ddl_plan([], TAG)
        raise
    stored = None if ast.column is None else _column(table, ast.column, ast)
    place = "" if stored is None else stored.physical
    access = context.rights.access_of(relation_key(table))
    if stored is None and (access.named_policies or access.secures_rows):
        raise invalid(
            f"the row policies of {table.name} have names",
            "CREATE, ALTER or DROP POLICY; ALTER TABLE .. DISABLE ROW LEVEL SECURITY",
        )
    kept = tuple(p for p in access.policies if p.column != place)
    if ast.expression is not None:
        text = checked_text(ast.expression, table, stored, context)
        kept = (*kept, TablePolicy(place, text))
    elif len(kept) == len(access.policies):
        what = "row policy" if stored is None else f'masking policy on "{stored.name}"'
        raise invalid(f"{table.name} has no {what}", "SELECT * FROM system.access_policies")
    return ddl_plan([Change(PutAccess(replace(access, policies=kept)))], TAG)


def _column(table: Table, name: str, ast: SetTablePolicy) -> Column:
    found = table.find(name)
    if found is None:
        raise unknown_column(name, table, ast.table)
    return found
