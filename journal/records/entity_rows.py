"""Rows of declared entities: all versions, of which at most one is in force."""

from __future__ import annotations

from dataclasses import astuple, replace
from datetime import datetime
from functools import lru_cache

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.store_session import RecordSession
from journal.records.record_types import RecordType
from journal.records.schema import ENTITIES
from journal.records.statements import RecordStatement, by, execute, insert, select, update

_ADD = insert(ENTITIES)
_ALL = replace(select(ENTITIES, order=["kind", "name", "version"]), has_many=True)
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


def entities_stamp(session: RecordSession) -> tuple[object, ...]:
    """What is another after each change of the entities."""
    return execute(session, _stamp())[0]


@lru_cache(maxsize=1)
def _stamp() -> RecordStatement:
    query = select(ENTITIES).ast
    assert isinstance(query, exp.Select)
    outputs: list[exp.Expr] = [exp.Count(this=exp.Star()), exp.Count(this=exp.column("ended_at"))]
    outputs += [exp.Max(this=exp.column(name)) for name in ("began_at", "ended_at")]
    number, moment = RecordType.BIGINT, RecordType.MOMENT
    return RecordStatement(query.select(*outputs, append=False), (number, number, moment, moment))


def entity_versions(session: RecordSession, kind: str, name: str) -> list[EntityRow]:
    """The versions of one entity, the oldest first."""
    return [EntityRow(*row) for row in execute(session, _OF_ONE, [kind, name])]
