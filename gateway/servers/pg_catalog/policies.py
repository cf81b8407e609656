"""Row policies in ``pg_catalog``: everybody who sees a table sees that it has one. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gateway.servers.pg_catalog import numbering
from journal.model.access import Rights
from journal.model.schema import CatalogSnapshot, Table, relation_key
from rewriter.definitions.table_policies import shown_policy

Row = dict[str, Any]
_NAME = "row_policy"


def add_policies(rows: dict[str, list[Row]], catalog: CatalogSnapshot, rights: Rights) -> None:
    """Put the row policies of tables that a role sees into the rows by relation.

    The condition may name tables and roles that its reader does not see, so it is there for the
    table's owner alone, as in ``system.access_policies``.
    """
    found = list(_policies(catalog, rights))
    rows["pg_policy"] = found
    guarded = {row["polrelid"] for row in found}
    for row in rows.get("pg_class", ()):
        if row["oid"] in guarded:
            row["relrowsecurity"] = True


def _policies(catalog: CatalogSnapshot, rights: Rights) -> Iterator[Row]:
    for table in catalog.relations.values():
        key = relation_key(table)
        if not isinstance(table, Table) or not (rights.is_admin or rights.sees(key)):
            continue
        policies = rights.access.of(key).policies
        of_rows = next((policy for policy in policies if not policy.column), None)
        if of_rows is not None:
            shown = shown_policy(table, of_rows, catalog) if rights.owns(key) else None
            oid = numbering.relation_oid(table)
            yield {
                # One policy a table, and relations of policies are their own: numbers may be alike.
                "oid": oid, "polname": _NAME, "polrelid": oid, "polcmd": "*",
                "polpermissive": True, "polroles": [0], "polqual": shown,
            }  # fmt: skip
