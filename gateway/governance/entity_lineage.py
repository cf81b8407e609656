"""Lineage of entities: owners, places, the data that processes read and write, and runs.

Read from the records when somebody asks, so there is nothing to switch on or to keep. Falcon's
relations between entities and instances, and those of jobs besides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from gateway.governance.entity import Entity, EntityKind
from gateway.governance.entity_operations import entity_dependencies, live_entities
from gateway.governance.planned_instances import INSTANCES_MAX, too_many_instances
from gateway.procedures.procedures import find_tables
from gateway.session.operations import Advance, operation
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.model.store_session import RecordSession
from journal.records.instance_data import uses_of
from journal.records.instance_rows import InstanceFilter, list_instances
from journal.records.maintenance import jobs_of_table
from journal.records.replicas import ReplicaRole, load_replicas

if TYPE_CHECKING:
    from gateway.session.session import Session


class EntityRelation(StrEnum):
    """What an edge says of its source and its target, read in this order."""

    OWNED_BY = "owned by"
    IN_GROUP = "in group"
    TAGGED = "tagged"
    STORED_IN = "stored in"
    HELD_IN = "held in"
    INPUT_OF = "input of"
    FILLS = "fills"
    INSTANCE_OF = "instance of"
    REPLICATED_TO = "replicated to"
    REPLICATED_FROM = "replicated from"
    EVICTED_FROM = "evicted rows from"
    PURGED = "purged"
    COMPACTED = "compacted"
    RESTORED = "restored"


_OF_JOBS = {
    "retain": EntityRelation.EVICTED_FROM,
    "purge": EntityRelation.PURGED,
    "compact": EntityRelation.COMPACTED,
    "restore": EntityRelation.RESTORED,
}


class EntityEdge(NamedTuple):
    """One edge; ends are named ``process daily``, ``owner ann``, ``table main.t``, ``job 17``.

    ``at`` is the nominal time of an instance, or when a job began. ``detail`` says which instances
    of a dataset were used, in which state an instance is, or how many rows a job removed.
    """

    source: str
    relation: EntityRelation
    target: str
    at: datetime | None = None
    detail: str | None = None


@operation
def entity_lineage(
    session: Session,
    _advance: Advance,
    kind: EntityKind,
    name: str,
    start: datetime | None = None,
    end: datetime | None = None,
) -> list[EntityEdge]:
    """The edges around an entity: of what it refers to and what refers to it, however far.

    With ``start`` also those of instances with nominal times from then up to ``end``, and of jobs
    that began in this time on the tables of datasets. Raises UNKNOWN_ENTITY, and PRIVILEGE for one
    that the session may not read; of others it leaves those out. Raises SETTING_VALUE for a time
    that has more instances than are shown at once.
    """
    on, by = entity_dependencies(session, _advance, kind, name)
    with session.journal.reading_session() as records:
        itself = live_entities(records)[kind, name]
        entities = sorted({e.key: e for e in (*on, itself, *by)}.values(), key=lambda e: e.key)
        found = [edge for entity in entities for edge in _of_entity(entity)]
        tables = _tables(session, entities)
        for table in tables:
            found += _of_replicas(records, table)
        if start is not None:
            for entity in entities:
                if entity.kind is EntityKind.PROCESS:
                    found += _of_instances(records, entity, start, end)
            for table in tables:
                found += _of_jobs(records, table, start, end)
    return found


def _of_entity(entity: Entity) -> Iterator[EntityEdge]:
    fields, own = entity.fields, str(entity)
    if "owner" in fields:
        yield EntityEdge(own, EntityRelation.OWNED_BY, f"owner {fields['owner']}")
    if "group" in fields:
        yield EntityEdge(own, EntityRelation.IN_GROUP, f"group {fields['group']}")
    for tag in fields.get("tags", ()):
        yield EntityEdge(own, EntityRelation.TAGGED, f"tag {tag}")
    if "profile" in fields:
        yield EntityEdge(own, EntityRelation.STORED_IN, f"{EntityKind.PROFILE} {fields['profile']}")
    for table in (fields["table"],) if "table" in fields else fields.get("tables", ()):
        yield EntityEdge(own, EntityRelation.HELD_IN, f"table {table}")
    for use in fields.get("inputs", ()):
        detail = f"{use['from']} to {use['to']}"
        yield EntityEdge(_dataset(use["dataset"]), EntityRelation.INPUT_OF, own, detail=detail)
    for use in fields.get("outputs", ()):
        dataset = _dataset(use["dataset"])
        yield EntityEdge(own, EntityRelation.FILLS, dataset, detail=use["instance"])


def _tables(session: Session, entities: Iterable[Entity]) -> list[Table]:
    """The tables of datasets that lie in this store, as far as there are any."""
    found: dict[int, Table] = {}
    for entity in entities:
        if "table" not in entity.fields or "profile" in entity.fields:
            continue
        try:
            (table,) = find_tables(session, entity.fields["table"])
        except PalimpsestError as error:
            if error.code is not Code.UNKNOWN_TABLE:
                raise
            continue
        found[table.id] = table
    return list(found.values())


def _of_replicas(records: RecordSession, table: Table) -> Iterator[EntityEdge]:
    for row in load_replicas(records, table.id):
        is_source = row.role != ReplicaRole.REPLICA
        relation = EntityRelation.REPLICATED_TO if is_source else EntityRelation.REPLICATED_FROM
        place = row.place if row.profile is None else f"{EntityKind.PROFILE} {row.profile}"
        yield EntityEdge(f"table {table.name}", relation, place, row.read_at, row.state)


def _of_instances(
    records: RecordSession, process: Entity, start: datetime, end: datetime | None
) -> Iterator[EntityEdge]:
    wanted = InstanceFilter(
        entity=process.name, kind=process.kind, since=start, until=end, limit=INSTANCES_MAX + 1
    )
    rows = list_instances(records, wanted)
    if len(rows) > INSTANCES_MAX:
        raise too_many_instances(f"{process} has more than {INSTANCES_MAX:,} instances then")
    uses = uses_of(records, [row.id for row in rows])
    for row in rows:
        own = f"instance {row.id}"
        yield EntityEdge(own, EntityRelation.INSTANCE_OF, str(process), row.nominal, row.state)
        for use in uses.get(row.id, ()):
            dataset, span = _dataset(use.dataset), _span(use.first_at, use.last_at)
            if use.use == "input":
                yield EntityEdge(dataset, EntityRelation.INPUT_OF, own, row.nominal, span)
            else:
                yield EntityEdge(own, EntityRelation.FILLS, dataset, row.nominal, span)


def _of_jobs(
    records: RecordSession, table: Table, start: datetime, end: datetime | None
) -> Iterator[EntityEdge]:
    for job_id, kind, began, removed in jobs_of_table(records, table.id):
        if kind in _OF_JOBS and start <= began and (end is None or began <= end):
            detail = None if not removed else f"{removed} rows removed"
            yield EntityEdge(f"job {job_id}", _OF_JOBS[kind], f"table {table.name}", began, detail)


def _dataset(name: str) -> str:
    return f"{EntityKind.DATASET} {name}"


def _span(first: datetime, last: datetime) -> str:
    shown = f"{first:%Y-%m-%dT%H:%MZ}"
    return shown if first == last else f"{shown} to {last:%Y-%m-%dT%H:%MZ}"
