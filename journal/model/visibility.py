"""The part of a catalog that a role sees: what it has any privilege on. Pure."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from journal.model.access import ObjectKey, ObjectKind, Rights
from journal.model.schema import CatalogSnapshot, relation_key


def visible_to(catalog: CatalogSnapshot, rights: Rights) -> CatalogSnapshot:
    """A copy with only those objects on which a role has a privilege, and its temporary ones."""
    if rights.is_admin:
        return catalog
    relations = {
        k: r
        for k, r in catalog.relations.items()
        if k[0] == catalog.own or rights.sees(relation_key(r))
    }
    sequences = {
        k: s
        for k, s in catalog.sequences.items()
        if k[0] == catalog.own or rights.sees(ObjectKey(ObjectKind.SEQUENCE, s.id))
    }
    used = {k[0] for k in (*relations, *sequences)}
    schemas = {
        k: name
        for k, name in catalog.schemas.items()
        if k in used or rights.sees(ObjectKey(ObjectKind.SCHEMA, 0, k))
    }
    return replace(
        catalog,
        relations=MappingProxyType(relations),
        sequences=MappingProxyType(sequences),
        schemas=MappingProxyType(schemas),
    )
