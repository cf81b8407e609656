"""An entity: a profile, dataset or process as it was declared, in one canonical form. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from gateway.governance.nominal_times import NominalTimes
from journal.model.duration import Duration
from journal.model.lazy_dataclass import dataclass


class EntityKind(StrEnum):
    """What can be declared, in the order in which entities refer to those before."""

    PROFILE = "profile"
    DATASET = "dataset"
    PROCESS = "process"


EntityKey = tuple[EntityKind, str]


@dataclass(frozen=True, slots=True)
class Entity:
    """A declaration that its schema has checked; ``definition`` is JSON with sorted fields.

    Two that say the same in other words (``90 minutes`` and ``90 MINUTES``) are equal.
    """

    kind: EntityKind
    name: str
    definition: str

    @staticmethod
    def of(kind: EntityKind, name: str, fields: Mapping[str, Any]) -> Entity:
        """The entity of some checked fields."""
        return Entity(kind, name, json.dumps(fields, sort_keys=True, ensure_ascii=False))

    @property
    def key(self) -> EntityKey:
        """What no other entity has."""
        return self.kind, self.name

    @property
    def fields(self) -> dict[str, Any]:
        """What was declared, besides kind and name."""
        return dict(_parsed_fields(self.definition))

    @property
    def references(self) -> list[EntityKey]:
        """The entities that it names, each once, in order."""
        fields = self.fields
        found = [(EntityKind.PROFILE, fields["profile"])] if "profile" in fields else []
        for use in (*fields.get("inputs", ()), *fields.get("outputs", ())):
            found.append((EntityKind.DATASET, use["dataset"]))
        return list(dict.fromkeys(found))

    @property
    def zone(self) -> tzinfo:
        """Where its days begin."""
        name = self.fields.get("timezone")
        return UTC if name is None else ZoneInfo(name)

    @property
    def nominal_times(self) -> NominalTimes:
        """The moments it has instances for; of a dataset or a process."""
        return _nominal_times(self.definition)

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@lru_cache(maxsize=4096)
def _parsed_fields(definition: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(definition)
    return found


@lru_cache(maxsize=4096)
def _nominal_times(definition: str) -> NominalTimes:
    fields = _parsed_fields(definition)
    end, zone = fields.get("end"), fields.get("timezone")
    return NominalTimes(
        datetime.fromisoformat(fields["start"]),
        Duration.parse(fields["every"]),
        UTC if zone is None else ZoneInfo(zone),
        None if end is None else datetime.fromisoformat(end),
    )
