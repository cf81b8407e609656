"""The rows of SHOW EFFECTIVE POLICY: for each rule which scope decides it, why, and who holds rows.

Rules come from the catalog as constants. Legal holds are known to the store alone, so its records
are read where the client may see them. Pure.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.access import DATABASE_KEY, Privilege
from journal.model.effective_policy import effective_policy, effective_rules
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import STORE_SCHEMA
from journal.model.policy import stated_rules
from journal.model.policy_scope import ScopeKind
from journal.model.schema import CatalogSnapshot, Column, Table, fold, relation_key
from journal.sql.relations import column, ident
from rewriter.context import RewriteContext
from rewriter.name_resolution import unknown_column
from rewriter.reading.described import constant_rows
from rewriter.statement import Show

COLUMNS = ("policy", "value", "scope", "source", "why")
Row = tuple[str, str | None, str | None, str | None, str]


def scoped_rows(statement: Show, catalog: CatalogSnapshot) -> list[tuple[str, str]]:
    """What a schema, or the database, states itself; raises UNKNOWN_SCHEMA."""
    name = statement.schema
    if name is not None and fold(name) not in catalog.schemas:
        raise PalimpsestError(
            Code.UNKNOWN_SCHEMA, f"schema {name} does not exist", advice="check the spelling"
        )
    key = (ScopeKind.DATABASE, "") if name is None else (ScopeKind.SCHEMA, fold(name))
    found = catalog.policies.get(key)
    return [] if found is None else stated_rules(found.properties)


def effective_rows(
    table: Table, statement: Show, catalog: CatalogSnapshot, context: RewriteContext
) -> exp.Query:
    """The query of SHOW EFFECTIVE POLICY; raises UNKNOWN_COLUMN for a column that is not there."""
    node = statement.table
    assert node is not None
    rows: list[Row] = []
    if statement.column is not None:
        found = table.find(statement.column)
        if found is None:
            raise unknown_column(statement.column, table, node)
        rows += _column_rows(table, found, catalog)
    for rule in effective_rules(catalog, table):
        scope = None if rule.scope is None else rule.scope.value
        rows.append((rule.name, rule.value, scope, rule.source, rule.why))
    query = constant_rows(COLUMNS, rows)
    if not context.rights.may(DATABASE_KEY, Privilege.HOLD):
        return query
    return exp.union(_hold_rows(table), query, distinct=False)


def _column_rows(table: Table, found: Column, catalog: CatalogSnapshot) -> list[Row]:
    """What is stated of a column itself, and by its tags; the rest is its table's."""
    access, name = catalog.access.of(relation_key(table)), f"{table.name}.{found.name}"
    rows: list[Row] = []
    own = next((p for p in access.policies if p.column == found.physical), None)
    if own is not None:
        why = "stated by the column; roles that bypass policies see the value"
        rows.append(("MASKING", "own mask", "column", name, why))
    for tag in access.tags:
        if tag.column in {"", found.physical}:
            where = "the column" if tag.column else f"table {table.name}"
            why = f"{where} has the tag; its mask hides the value from roles without SELECT on it"
            rows.append(("TAG", tag.tag, "column" if tag.column else "table", name, why))
    if effective_policy(catalog, table).column == found.physical:
        rows.append(("DATES ROWS", "RETENTION", "table", str(table.name), "RETENTION goes by it"))
    return rows


def _hold_rows(table: Table) -> exp.Query:
    """A row for each legal hold that may cover rows of a table; holds beat every rule."""
    here = exp.or_(
        exp.EQ(this=column("table_id"), expression=exp.Literal.number(table.id)),
        exp.Is(this=column("table_id"), expression=exp.Null()),
    )
    in_force = exp.Is(this=column("released_at"), expression=exp.Null())
    why = exp.Literal.string("a hold beats every rule: what it covers stays")
    outputs = (
        exp.alias_(exp.Literal.string("HOLD"), ident("policy")),
        exp.alias_(column("scope"), ident("value")),
        exp.alias_(exp.Literal.string("hold"), ident("scope")),
        exp.alias_(column("id"), ident("source")),
        exp.alias_(exp.DPipe(this=exp.DPipe(this=why, expression=exp.Literal.string("; ")),
                             expression=column("reason")), ident("why")),
    )  # fmt: skip
    return exp.select(*outputs).from_(exp.table_("holds", db=STORE_SCHEMA)).where(here, in_force)
