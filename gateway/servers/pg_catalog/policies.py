"""Row policies in ``pg_catalog``, shown to every role that sees the table. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gateway.servers.pg_catalog import numbering
from gateway.servers.pg_catalog.access import role_oid
from journal.model.access import PUBLIC, ObjectAccess, Rights
from journal.model.row_policy import NamedPolicy, TablePolicy
from journal.model.schema import CatalogSnapshot, Table, relation_key
from rewriter.definitions.table_policies import shown_policy

Row = dict[str, Any]
_NAME = "row_policy"
_COMMANDS = {"ALL": "*", "SELECT": "r", "INSERT": "a", "UPDATE": "w", "DELETE": "d"}


def add_policies(rows: dict[str, list[Row]], catalog: CatalogSnapshot, rights: Rights) -> None:
    """Put the row policies of tables that a role sees into the rows by relation.

    The condition may name tables and roles that its reader does not see, so it is there for the
    table's owner alone, as in ``system.access_policies``. ``secured_rows`` are the tables whose
    rows the role reads under a condition.
    """
    rows["pg_policy"] = []
    secured: dict[int, ObjectAccess] = {}
    for table in catalog.relations.values():
        key = relation_key(table)
        if isinstance(table, Table) and (rights.is_admin or rights.sees(key)):
            access = rights.access.of(key)
            rows["pg_policy"] += _policies(table, access, catalog, rights)
            rows.setdefault("pg_description", []).extend(_comments(table, access))
            secured[numbering.relation_oid(table)] = access
    for row in rows.get("pg_class", ()):
        found = secured.get(row["oid"])
        if found is not None:
            row["relrowsecurity"] = any(not policy.column for policy in found.policies)
            row["relforcerowsecurity"] = found.forces_rows
    rows["secured_rows"] = [
        {"oid": numbering.relation_oid(table)}
        for table in catalog.relations.values()
        if any(not policy.column for policy in rights.policies_on(relation_key(table)))
    ]


def _comments(table: Table, access: ObjectAccess) -> Iterator[Row]:
    for place, policy in enumerate(access.named_policies):
        if policy.comment is not None:
            yield {
                "objoid": numbering.relation_oid(table) + place, "objsubid": 0,
                "classoid": numbering.CATALOGS["pg_policy"], "description": policy.comment,
            }  # fmt: skip


def _policies(
    table: Table, access: ObjectAccess, catalog: CatalogSnapshot, rights: Rights
) -> Iterator[Row]:
    policies = access.named_policies
    of_rows = next((policy for policy in access.policies if not policy.column), None)
    if of_rows is not None and not access.secures_rows:
        policies = (
            NamedPolicy(_NAME, "ALL", restrictive=False, roles=(PUBLIC,), using=of_rows.expression),
        )
    owns = rights.owns(relation_key(table))
    oid = numbering.relation_oid(table)
    for place, policy in enumerate(policies):
        shown = [
            shown_policy(table, TablePolicy("", text), catalog)
            if owns and text is not None else None
            for text in (policy.using, policy.check)
        ]  # fmt: skip
        yield {
            # Relations of policies are their own: numbers may be those of other things.
            "oid": oid + place, "polname": policy.name, "polrelid": oid,
            "polcmd": _COMMANDS[policy.command], "polpermissive": not policy.restrictive,
            "polroles": [0 if role == PUBLIC else role_oid(role) for role in policy.roles],
            "polqual": shown[0], "polwithcheck": shown[1],
        }  # fmt: skip
