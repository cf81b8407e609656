"""Who makes an object owns it: what the changes of a statement mean for access. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from journal.model.access import ObjectAccess, ObjectKey, ObjectKind, PutAccess
from journal.model.catalog import apply
from journal.model.plan import CatalogChange, PutRelation, PutSchema
from journal.model.schema import CatalogSnapshot, fold, relation_key
from journal.model.sequence_changes import PutSequence


def with_owners(
    changes: Iterable[CatalogChange], catalog: CatalogSnapshot, role: int | None
) -> tuple[CatalogChange, ...]:
    """Changes with those that make ``role`` the owner of what is new; None owns nothing."""
    found: list[CatalogChange] = []
    for change in changes:
        found.append(change)
        key = None if role is None else _new(change, catalog)
        catalog = apply(catalog, change)
        if key is not None:
            owned = PutAccess(ObjectAccess(key, role))
            found.append(owned)
            catalog = apply(catalog, owned)
    return tuple(found)


def _new(change: CatalogChange, catalog: CatalogSnapshot) -> ObjectKey | None:
    """The key of the lasting object that a change makes, None if it makes none."""
    match change:
        case PutRelation(relation, instead_of):
            key = relation_key(relation)
            is_known = instead_of is not None or catalog.get(relation.name) is not None
            if key.kind is ObjectKind.TABLE:
                is_known = catalog.by_id(key.id) is not None or key in catalog.access.objects
            return None if is_known or catalog.is_own(relation.name) else key
        case PutSequence(sequence, None) if not catalog.is_own(sequence.name):
            key = ObjectKey(ObjectKind.SEQUENCE, sequence.id)
            is_known = any(s.id == sequence.id for s in catalog.sequences.values())
            return None if is_known else key
        case PutSchema(schema):
            return ObjectKey(ObjectKind.SCHEMA, 0, fold(schema))
        case _:
            return None
