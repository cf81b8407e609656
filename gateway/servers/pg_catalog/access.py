"""Roles, owners and access lists in ``pg_catalog``, and what its functions look up. Pure.

Privileges of our own have letters that PostgreSQL does not use: H for HISTORY, P for POLICY;
MAINTAIN has its m of PostgreSQL 17.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from gateway.servers.pg_catalog import numbering
from journal.model.access import (
    DATABASE_KEY,
    PUBLIC,
    STANDARD,
    ObjectAccess,
    ObjectKey,
    ObjectKind,
    Privilege,
    PrivilegeGrant,
    Role,
)
from journal.model.schema import CatalogSnapshot, Table, fold, relation_key

Row = dict[str, Any]
EXTRA = {
    "granted": {
        "grantee": "UINTEGER", "object": "UINTEGER", "place": "INTEGER", "privilege": "VARCHAR",
    },
    "admins": {"oid": "UINTEGER"},
    "member_of": {"member": "UINTEGER", "roleid": "UINTEGER"},
    "secured_rows": {"oid": "UINTEGER"},
}  # fmt: skip
"""Relations behind ``has_table_privilege`` and its kin: who may what; place 0 is all columns."""
_LETTERS = {
    Privilege.SELECT: "r", Privilege.INSERT: "a", Privilege.UPDATE: "w", Privilege.DELETE: "d",
    Privilege.TRUNCATE: "D", Privilege.REFERENCES: "x", Privilege.USAGE: "U",
    Privilege.CREATE: "C", Privilege.HISTORY: "H", Privilege.MAINTAIN: "m", Privilege.POLICY: "P",
    Privilege.ERASE: "E", Privilege.APPROVE: "A", Privilege.ACCESS: "G", Privilege.HOLD: "L",
    Privilege.ADMIN: "S",
}  # fmt: skip
_ORDER = "arwdDxUCHmPEAGLS"


class AccessContents:
    """What a catalog says of access; ``user`` is what everybody without a role is called."""

    def __init__(self, catalog: CatalogSnapshot, user: str) -> None:
        self._catalog = catalog
        self._access = catalog.access
        taken = self._access.by_name(user) is not None
        self._owner = "palimpsest" if taken else user

    def add(self, rows: dict[str, list[Row]]) -> None:
        """Put roles into the rows by relation, and owners and lists into what is there."""
        names = [_role_row(numbering.OWNER, None, self._owner)]
        names += [_role_row(role_oid(r.id), r, r.name) for r in self._access.roles.values()]
        rows["pg_roles"] = rows["pg_authid"] = names
        rows["pg_user"] = rows["pg_shadow"] = [
            {"usename": r["rolname"], "usesysid": r["oid"], "usesuper": r["rolsuper"]}
            for r in names
            if r["rolcanlogin"]
        ]
        rows["pg_auth_members"] = [
            {"roleid": role_oid(m.role), "member": role_oid(r.id), "grantor": numbering.OWNER,
             "admin_option": m.admin}
            for r in self._access.roles.values()
            for m in r.memberships
        ]  # fmt: skip
        rows.setdefault("pg_shdescription", []).extend(
            {
                "objoid": role_oid(r.id),
                "classoid": numbering.CATALOGS["pg_authid"],
                "description": r.comment,
            }
            for r in self._access.roles.values()
            if r.comment is not None
        )
        rows["admins"] = [{"oid": numbering.OWNER}]
        rows["admins"] += [
            {"oid": role_oid(i)} for i in self._access.roles if self._catalog.rights_of(i).is_admin
        ]
        rows["member_of"] = [
            {"member": role_oid(i), "roleid": role_oid(other)}
            for i in self._access.roles
            for other in self._access.member_of(i, inherited=False) - {PUBLIC}
        ]
        rows["granted"] = list(self._granted())
        rows["pg_default_acl"] = list(self._defaults())
        self._add_lists(rows)

    def _objects(self) -> Iterator[tuple[ObjectKey, int, dict[str, int]]]:
        """Each object with its number and the places of its columns."""
        catalog = self._catalog
        for relation in catalog.relations.values():
            places = {}
            if isinstance(relation, Table):
                places = {c.physical: n for n, c in enumerate(relation.columns, 1)}
            else:
                places = {fold(c): n for n, c in enumerate(relation.columns, 1)}
            yield relation_key(relation), numbering.relation_oid(relation), places
        for sequence in catalog.sequences.values():
            oid = numbering.sequence_oid(sequence.name.schema, sequence.name.name)
            yield ObjectKey(ObjectKind.SEQUENCE, sequence.id), oid, {}
        for key, name in catalog.schemas.items():
            oid = numbering.schema_oid(name, catalog)
            yield ObjectKey(ObjectKind.SCHEMA, 0, key), oid, {}
        yield DATABASE_KEY, numbering.DATABASE, {}

    def _access_of(self, key: ObjectKey) -> ObjectAccess:
        return self._catalog.rights_of(None).access_of(key)

    def _granted(self) -> Iterator[Row]:
        """Who may what, memberships followed."""
        members = {i: self._access.member_of(i, inherited=True) for i in self._access.roles}
        for key, oid, places in self._objects():
            known = self._access_of(key)
            for role, names in members.items():
                if known.owner in names:
                    every = ((p, "") for p in _LETTERS)
                else:
                    found = (g for g in known.grants if g.role in names)
                    every = ((g.privilege, g.column) for g in found)
                for privilege, column in every:
                    if not column or column in places:
                        yield {
                            "grantee": role_oid(role), "object": oid,
                            "place": places[column] if column else 0, "privilege": privilege.value,
                        }  # fmt: skip

    def _add_lists(self, rows: dict[str, list[Row]]) -> None:
        lists: dict[int, tuple[int, list[str] | None]] = {}
        columns: dict[tuple[int, int], list[str]] = {}
        for key, oid, places in self._objects():
            known = self._access_of(key)
            owner = numbering.OWNER if known.owner is None else role_oid(known.owner)
            lists[oid] = owner, self._list(known)
            for name, place in places.items():
                found = [replace(g, column="") for g in known.grants if g.column == name]
                if found:
                    columns[oid, place] = self._items(found, known.owner)
        for relation, number, holder in (
            ("pg_class", "relowner", "relacl"),
            ("pg_namespace", "nspowner", "nspacl"),
            ("pg_database", "datdba", "datacl"),
        ):
            for row in rows.get(relation, ()):
                if row["oid"] in lists:
                    row[number], row[holder] = lists[row["oid"]]
        for row in rows.get("pg_attribute", ()):
            row["attacl"] = columns.get((row["attrelid"], row["attnum"]))

    def _defaults(self) -> Iterator[Row]:
        """What is granted on objects that will be made; as in PostgreSQL, with what owners have."""
        found = (a for a in self._access.objects.values() if a.key.kind is ObjectKind.DEFAULT)
        for place, known in enumerate(found):
            key, owner = known.key, known.key.id or None
            if not known.grants:
                continue
            items = self._items(list(known.grants), owner)
            if not key.schema:
                items.insert(0, self._of_owner(ObjectKind(key.name), owner))
            schema = self._catalog.schemas.get(key.schema)
            yield {
                "oid": _FIRST_DEFAULT + place,
                "defaclrole": numbering.OWNER if owner is None else role_oid(owner),
                "defaclnamespace": numbering.schema_oid(schema, self._catalog) if schema else 0,
                "defaclobjtype": _MADE_LETTERS[key.name],
                "defaclacl": items,
            }

    def _of_owner(self, kind: ObjectKind, owner: int | None) -> str:
        name = self._name(owner)
        own = "".join(sorted((_LETTERS[p] for p in STANDARD[kind]), key=_ORDER.index))
        return f"{name}={own}/{name}"

    def _list(self, known: ObjectAccess) -> list[str] | None:
        """The access list of an object; None where nothing was ever granted."""
        grants = [g for g in known.grants if not g.column]
        if not grants:
            return None
        own = self._of_owner(known.key.kind, known.owner)
        return [own, *self._items(grants, known.owner)]

    def _items(self, grants: list[PrivilegeGrant], owner: int | None) -> list[str]:
        found: dict[tuple[int, int], list[PrivilegeGrant]] = {}
        for grant in grants:
            found.setdefault((grant.role, grant.grantor), []).append(grant)
        items = []
        for (role, grantor), mine in found.items():
            mine.sort(key=lambda g: _ORDER.index(_LETTERS[g.privilege]))
            letters = "".join(_LETTERS[g.privilege] + "*" * g.grantable for g in mine)
            by = self._name(owner if grantor == PUBLIC else grantor)
            items.append(f"{'' if role == PUBLIC else self._name(role)}={letters}/{by}")
        return items

    def _name(self, role: int | None) -> str:
        known = None if role is None else self._access.roles.get(role)
        return self._owner if known is None else known.name


def role_oid(role: int) -> int:
    """The number of a role."""
    return _FIRST_ROLE + role


_FIRST_ROLE = 2_000_000_000
_FIRST_DEFAULT = 1_900_000_000
_MADE_LETTERS = {"table": "r", "sequence": "S", "schema": "n"}


def _role_row(oid: int, role: Role | None, name: str) -> Row:
    until = None if role is None else role.valid_until
    return {
        "oid": oid, "rolname": name,
        "rolsuper": role is None or role.is_superuser,
        "rolinherit": role is None or role.inherits,
        "rolcreaterole": role is None or role.creates_roles,
        "rolcreatedb": role is None, "rolcanlogin": role is None or role.can_login,
        "rolreplication": False, "rolbypassrls": role is None or role.bypasses_policies,
        "rolconnlimit": -1 if role is None else role.connection_limit,
        "rolpassword": "********" if role is not None and role.verifier else None,
        "rolvaliduntil": None if until is None else datetime.fromisoformat(until),
    }  # fmt: skip
