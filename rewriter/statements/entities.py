"""Statements about declared entities, as recognised from their tokens. Values.

Fields stay texts, lists and records, as a declaration in YAML has them: what they mean is for the
schema of entities to say. ``positions`` tells where each field stands in the statement.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from journal.model.errors import Position
from journal.model.lazy_dataclass import dataclass

FieldPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class CreateEntity:
    """CREATE [OR REPLACE] PROFILE | DATASET | PROCESS [IF NOT EXISTS] name clauses [AS ..]."""

    kind: str
    name: str
    fields: dict[str, Any]
    positions: dict[FieldPath, Position] = field(default_factory=dict)
    replace: bool = False
    exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterEntity:
    """ALTER of an entity: fields to ``change`` and to ``remove``, or what to do with it."""

    kind: str
    name: str
    action: str
    change: dict[str, Any] = field(default_factory=dict)
    remove: tuple[str, ...] = ()
    positions: dict[FieldPath, Position] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DropEntity:
    """DROP PROFILE | DATASET | PROCESS [IF EXISTS] name."""

    kind: str
    name: str
    exists: bool = False


@dataclass(frozen=True, slots=True)
class ShowEntities:
    """SHOW PROFILES | DATASETS | PROCESSES, or DESCRIBE of the one of a ``name``."""

    kind: str
    name: str | None = None


EntityStatement = CreateEntity | AlterEntity | DropEntity | ShowEntities
