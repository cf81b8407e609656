"""Refuses to drop or change columns that a row policy or a mask uses. Pure."""

from __future__ import annotations

from sqlglot import exp

from journal.model.access import AccessControl
from journal.model.errors import Code, PalimpsestError
from journal.model.row_policy import TablePolicy
from journal.model.schema import CatalogSnapshot, Table, relation_key
from journal.sql.sql import expression
from journal.sql.unique_keys import logical_text
from rewriter.context import RewriteContext
from rewriter.definitions.policy_sources import columns_of_row, outer_queries, shown_tables

IS_ROLE = "is_role"
"""A test of policies; what is kept has the role's number in the place of its name."""


def check_policies_fit(old: Table, new: Table, context: RewriteContext) -> None:
    """Raise DEPENDENT_OBJECTS for a change of columns that policies on the table need as they are.

    A masked column may be dropped: earlier versions of it stay masked.
    """
    access = context.catalog.access.of(relation_key(old))
    for policy in access.conditions:
        used = {c.name for c in columns_of_row(exp.Paren(this=expression(policy.expression)))}
        kinds = {c.physical: c.type for c in new.columns}
        for stored in old.columns:
            kind = kinds.get(stored.physical)
            is_needed = stored.physical in used or (kind and stored.physical == policy.column)
            if is_needed and kind != stored.type:
                raise PalimpsestError(
                    Code.DEPENDENT_OBJECTS,
                    f'column "{stored.name}" of {old.name} is used by a policy on the table',
                    advice="drop the policy first, and set it again afterwards",
                )


def shown_policy(table: Table, policy: TablePolicy, catalog: CatalogSnapshot) -> str:
    """The expression of a policy as its owner may have written it, with names of today."""
    text = _with_roles(policy.expression, catalog.access)
    held = exp.Paren(this=expression(text))
    queries = outer_queries(held)
    if not queries:
        return logical_text(table, text).replace(*_CALL)
    names = {c.physical: c.name for c in table.columns}
    for used in list(columns_of_row(held)):
        of = exp.to_identifier(table.name.name) if used.table else None
        name = names.get(used.name, used.name)
        used.replace(exp.Column(this=exp.to_identifier(name), table=of))
    shown_tables(held, catalog)
    found: str = held.this.sql(dialect="duckdb", normalize_functions="lower")
    return found.replace(*_CALL)


def shown_text(text: str, access: AccessControl) -> str:
    """The mask of a tag as somebody may have written it, with the roles' names of today."""
    return _with_roles(text, access).replace(*_CALL)


_CALL = ("IS_ROLE(", "is_role(")


def _with_roles(text: str, access: AccessControl) -> str:
    held = exp.Paren(this=expression(text))
    for call in list(held.find_all(exp.Anonymous)):
        if call.name.lower() == IS_ROLE:
            known = access.roles.get(int(call.expressions[0].name))
            name = exp.null() if known is None else exp.Literal.string(known.name)
            call.set("expressions", [name])
    return str(held.this.sql(dialect="duckdb"))
