"""Rows of declared entities: their versions, of which at most one counts."""

from __future__ import annotations

from dataclasses import astuple
from datetime import datetime

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.store_session import RecordSession
from journal.records.schema import ENTITIES
from journal.records.statements import by, execute, insert, select, update

_ADD = insert(ENTITIES)
_ALL = select(ENTITIES, order=["kind", "name", "version"])
_OF_ONE = select(ENTITIES, (), by("kind", "name"), ["version"])
_END = update(ENTITIES, ["ended_at"], {"kind": exp.EQ, "name": exp.EQ, "version": exp.EQ})


@dataclass(frozen=True, slots=True)
class EntityRow:
    """One version of an entity; ``definition`` is JSON, ``ended_at`` None while it counts."""

    kind: str
    name: str
    version: int
    definition: str
    user_name: str
    began_at: datetime
    ended_at: datetime | None = None


def add_entity(session: RecordSession, row: EntityRow) -> None:
    """Add a version, in the session's transaction."""
    execute(session, _ADD, list(astuple(row)))


def end_entity(session: RecordSession, row: EntityRow, at: datetime) -> None:
    """Let a version count no more."""
    execute(session, _END, [at, row.kind, row.name, row.version])


def load_entities(session: RecordSession) -> list[EntityRow]:
    """Every version of every entity."""
    return [EntityRow(*row) for row in execute(session, _ALL)]


def entity_versions(session: RecordSession, kind: str, name: str) -> list[EntityRow]:
    """The versions of one entity, the oldest first."""
    return [EntityRow(*row) for row in execute(session, _OF_ONE, [kind, name])]
