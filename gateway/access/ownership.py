"""Gives a new object to the role that makes it: access changes of a statement. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from journal.model.access import ObjectKey, ObjectKind, PutAccess
from journal.model.catalog import apply
from journal.model.plan import CatalogChange, PutRelation, PutSchema
from journal.model.schema import CatalogSnapshot, fold, relation_key
from journal.model.sequence_changes import PutSequence


def with_owners(
    changes: Iterable[CatalogChange], catalog: CatalogSnapshot, role: int | None
) -> tuple[CatalogChange, ...]:
    """Changes with those that make ``role`` the owner of what is new; None owns nothing.

    What is new has the privileges that were granted on it before it was made.
    """
    found: list[CatalogChange] = []
    for change in changes:
        found.append(change)
        new = _new(change, catalog)
        catalog = apply(catalog, change)
        if new is not None:
            access = catalog.access.of_new(new[0], role, new[1])
            if role is not None or access.grants:
                found.append(PutAccess(access))
                catalog = apply(catalog, found[-1])
    return tuple(found)


def _new(change: CatalogChange, catalog: CatalogSnapshot) -> tuple[ObjectKey, str] | None:
    """The key and the schema of the lasting object that a change makes, None if it makes none."""
    match change:
        case PutRelation(relation, instead_of):
            key = relation_key(relation)
            is_known = instead_of is not None or catalog.get(relation.name) is not None
            if key.kind is ObjectKind.TABLE:
                is_known = catalog.by_id(key.id) is not None or key in catalog.access.objects
            is_new = not is_known and not catalog.is_own(relation.name)
            return (key, relation.name.key[0]) if is_new else None
        case PutSequence(sequence, None) if not catalog.is_own(sequence.name):
            key = ObjectKey(ObjectKind.SEQUENCE, sequence.id)
            is_known = any(s.id == sequence.id for s in catalog.sequences.values())
            return None if is_known else (key, sequence.name.key[0])
        case PutSchema(schema) if fold(schema) not in catalog.schemas:
            return ObjectKey(ObjectKind.SCHEMA, 0, fold(schema)), ""
        case _:
            return None
