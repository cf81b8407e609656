"""Checks references between entities: they exist, and have the instances in question.

Pure. ``known`` are the entities that count, by kind and name.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from gateway.governance.entity import Entity, EntityKey, EntityKind
from gateway.governance.expressions import moment_of, parse_expression
from gateway.governance.process_rules import store_profile
from journal.model.errors import Code, PalimpsestError
from journal.model.policy import read_policy
from journal.model.schema import CatalogSnapshot

KnownEntities = Mapping[EntityKey, Entity]
UNCHANGEABLE = ("start",)
"""Fields that no update changes: instances are counted from them."""


def check_new(entity: Entity, known: KnownEntities) -> None:
    """Raise UNKNOWN_ENTITY or ENTITY for what an entity refers to that is not there, or not then.

    Data that is missing is no reason: a run waits for it. Instances before a dataset's start can
    never come.
    """
    for kind, name in entity.references:
        if (kind, name) not in known:
            raise PalimpsestError(
                Code.UNKNOWN_ENTITY,
                f"{entity} refers to {kind} {name}, which does not exist",
                advice=f"submit {kind} {name} first, or in the same file",
            )
    for kind, name in entity.references:
        if kind is EntityKind.DATASET and "every" not in known[kind, name].fields:
            raise PalimpsestError(
                Code.ENTITY,
                f"{entity} refers to dataset {name}, which has no instances",
                advice="it states policies of several tables; declare a dataset for one of them",
            )
    for use in entity.fields.get("inputs", ()):
        _check_input(entity, use, known[EntityKind.DATASET, use["dataset"]])


def check_change(old: Entity, new: Entity, known: KnownEntities) -> None:
    """Raise ENTITY for an update that changes what never changes, or that others do not bear."""
    before, after = old.fields, new.fields
    for field in UNCHANGEABLE:
        if before.get(field) != after.get(field):
            raise PalimpsestError(
                Code.ENTITY,
                f"{new}: the {field} cannot change from {before.get(field)} to {after.get(field)}",
                advice="instances are counted from it; delete the entity, or choose another name",
            )
    place = store_profile(old) if old.kind is EntityKind.PROCESS else None
    if place is not None and store_profile(new) != place:
        raise PalimpsestError(
            Code.ENTITY,
            f"{new}: the profile cannot change from {place}",
            advice="what its instances have committed is known there; delete the process, or choose"
            " another name",
        )
    changed = {**known, new.key: new}
    check_new(new, changed)
    for other in _direct_dependents(new.key, known):
        check_new(other, changed)


def check_deletable(key: EntityKey, known: KnownEntities, catalog: CatalogSnapshot) -> None:
    """Raise DEPENDENT_OBJECTS, naming them, where entities or policies refer to an entity."""
    found = [str(other) for other in dependents(key, known)]
    if key[0] is EntityKind.PROFILE:
        found += replicating_to(key[1], catalog)
    if found:
        raise PalimpsestError(
            Code.DEPENDENT_OBJECTS,
            f"{key[0]} {key[1]} cannot be deleted: {', '.join(found)} depend on it",
            advice="delete or update these first",
        )


def replicating_to(profile: str, catalog: CatalogSnapshot) -> list[str]:
    """What has a policy that keeps replicas in a profile: tables, schemas, the database."""
    stated = [(f"the policy of {t.name}", t.properties) for t in catalog.tables()]
    stated += [(f"the policy of {p}", p.properties) for p in catalog.policies.values()]
    return [
        what
        for what, properties in stated
        if any(clause.target == profile for clause in read_policy(dict(properties)).replication)
    ]


def dependents(key: EntityKey, known: KnownEntities) -> list[Entity]:
    """The entities that refer to one, and those that refer to them, each once."""
    found: dict[EntityKey, Entity] = {}
    todo = [key]
    while todo:
        for other in _direct_dependents(todo.pop(0), known):
            if other.key not in found:
                found[other.key] = other
                todo.append(other.key)
    return list(found.values())


def references(key: EntityKey, known: KnownEntities) -> list[Entity]:
    """The entities that one refers to, and those that these refer to, each once."""
    found: dict[EntityKey, Entity] = {}
    todo = [key]
    while todo:
        entity = known.get(todo.pop(0))
        for other in () if entity is None else entity.references:
            if other in known and other not in found:
                found[other] = known[other]
                todo.append(other)
    return list(found.values())


def _direct_dependents(key: EntityKey, known: KnownEntities) -> list[Entity]:
    found = (entity for entity in known.values() if key in entity.references)
    return sorted(found, key=lambda entity: entity.key)


def _check_input(entity: Entity, use: Mapping[str, Any], dataset: Entity) -> None:
    nominal, days = entity.nominal_times.start, dataset.nominal_times
    first, last = (_first_moment(use[field], entity, nominal) for field in ("from", "to"))
    if first is not None and last is not None and first > last:
        raise _input_error(entity, use, f"begins at {first:%Y-%m-%dT%H:%MZ}, after its end")
    if first is not None and first < days.start:
        said = f"asks for {first:%Y-%m-%dT%H:%MZ}, before {dataset} starts"
        raise _input_error(entity, use, said)
    over = None if days.end is None else days.at_or_before(days.end)
    if last is not None and days.end is not None and last >= days.end:
        said = f"asks for {last:%Y-%m-%dT%H:%MZ}, behind the last instance of {dataset}"
        raise _input_error(entity, use, f"{said} at {over:%Y-%m-%dT%H:%MZ}" if over else said)


def _first_moment(text: str, entity: Entity, nominal: datetime) -> datetime | None:
    """What an expression means for the first run; None where that depends on the data."""
    expression = parse_expression(text)
    return None if expression.depends_on_data else moment_of(expression, nominal, entity.zone)


def _input_error(entity: Entity, use: Mapping[str, Any], why: str) -> PalimpsestError:
    return PalimpsestError(
        Code.ENTITY,
        f"{entity}: for its first run the input {use['dataset']} {why}",
        advice="move the start of the process, or change from and to of the input",
    )
