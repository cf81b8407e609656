"""Entities over HTTP: declare, change, delete and read them."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, HTTPException, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from gateway.governance import entity_operations
from gateway.governance.entity import EntityKind
from gateway.governance.entity_lineage import entity_lineage
from gateway.governance.entity_operations import EntityResult
from gateway.governance.planned_instances import DatasetUse, PlannedInstance
from gateway.governance.scheduled_submissions import submit_and_schedule
from gateway.governance.table_datasets import datasets_of_table
from gateway.servers.control.declared_bodies import DESCRIBED, DeclaredEntities
from gateway.servers.control.door import refused
from gateway.servers.control.entity_views import (
    ResultsView,
    ResultView,
    result_view,
    results_answer,
)
from gateway.servers.control.governed_route import GovernedRoute, SessionOf
from gateway.servers.control.paging import Limit, Offset, Page, page_of
from gateway.servers.control.request_bodies import UtcMoment
from journal.records.entity_rows import EntityRow

ROUTER = APIRouter(prefix="/entities", tags=["entities"], route_class=GovernedRoute)
_TABLE_ABOUT = "Only the datasets that declare this table."
_MATCH_ABOUT = 'The ETag of the definition that is to change: "3", or * for any.'
EntityOrder = Literal["name", "-name", "began_at", "-began_at", "version", "-version"]
IfMatch = Annotated[str | None, Header(description=_MATCH_ABOUT)]


class EntityView(BaseModel):
    """One version of an entity."""

    kind: EntityKind
    name: str
    version: int
    definition: dict[str, Any]
    user: str
    began_at: datetime
    ended_at: datetime | None


class DependenciesView(BaseModel):
    """What an entity refers to, and what refers to it, both also through others."""

    depends_on: list[str]
    dependents: list[str]


class EdgeView(BaseModel):
    """What two entities, instances or jobs have to do with one another, the source first."""

    source: str
    relation: str
    target: str
    at: datetime | None
    detail: str | None


class UseView(BaseModel):
    """The instances of a dataset that an instance reads or fills."""

    dataset: str
    expressions: list[str]
    instances: list[datetime] | None


class PlannedView(BaseModel):
    """One instance of a process, whether or not it has run."""

    nominal_time: datetime
    inputs: list[UseView]
    outputs: list[UseView]


@ROUTER.get("")
def list_entities(
    request: Request,
    session: SessionOf,
    kind: EntityKind | None = None,
    name: Annotated[str | None, Query(description="Only names with this in them.")] = None,
    owner: str | None = None,
    tag: str | None = None,
    table: Annotated[str | None, Query(description=_TABLE_ABOUT)] = None,
    order: EntityOrder = "name",
    offset: Offset = 0,
    limit: Limit = 100,
) -> Page[EntityView]:
    """The definitions that count."""
    if table is None:
        rows = session.perform(entity_operations.list_entities, kind)
    else:
        rows = session.perform(datasets_of_table, table)
    found = [_view(row) for row in rows]
    found = [view for view in found if kind in (None, view.kind) and _fits(view, name, owner, tag)]
    if order != "name":
        column = order.removeprefix("-")
        found.sort(key=lambda view: getattr(view, column), reverse=order.startswith("-"))
    return Page[EntityView](**page_of(request, found, offset, limit))


@ROUTER.post("", openapi_extra=DESCRIBED, response_model=ResultsView)
def submit_entities(
    session: SessionOf, entities: DeclaredEntities, schedule: bool = False
) -> Response:
    """Put new entities on record; submitting one again changes nothing.

    With ``schedule`` they are scheduled as well: all of them, or none.

    200 where all succeeded, 207 where some did, else the status of the first error.
    """
    if schedule:
        return results_answer(session.perform(submit_and_schedule, entities))
    return results_answer(session.perform(entity_operations.submit_entities, entities))


@ROUTER.post("/validate", openapi_extra=DESCRIBED, response_model=ResultsView)
def validate_entities(session: SessionOf, entities: DeclaredEntities) -> Response:
    """Check declarations as submitting and updating do, and change nothing."""
    return results_answer(session.perform(entity_operations.validate_entities, entities))


@ROUTER.get("/{kind}/{name}")
def get_entity(session: SessionOf, answer: Response, kind: EntityKind, name: str) -> EntityView:
    """The definition that counts; its ETag is its version."""
    row = session.perform(entity_operations.entity_history, kind, name)[-1]
    if row.ended_at is not None:
        raise entity_operations.unknown_entity(kind, name)
    answer.headers["ETag"] = f'"{row.version}"'
    return _view(row)


@ROUTER.put("/{kind}/{name}", openapi_extra=DESCRIBED, response_model=ResultView)
def update_entity(
    session: SessionOf,
    kind: EntityKind,
    name: str,
    entities: DeclaredEntities,
    if_match: IfMatch = None,
) -> Response:
    """End the definition that counts, and let this one count. It takes If-Match."""
    if if_match is None:
        raise HTTPException(428, "an update takes If-Match, with the ETag of what is to change")
    if [entity.key for entity in entities] != [(kind, name)]:
        raise refused(f"the body does not declare {kind} {name}", "send that one alone")
    expected = _expected(if_match)
    (result,) = session.perform(entity_operations.update_entities, entities, expected)
    return _one_result(result)


@ROUTER.delete("/{kind}/{name}", response_model=ResultView)
def delete_entity(
    session: SessionOf, kind: EntityKind, name: str, if_match: IfMatch = None
) -> Response:
    """Let an entity count no more, unless others refer to it; its definitions stay readable."""
    expected = None if if_match is None else _expected(if_match)
    return _one_result(session.perform(entity_operations.delete_entity, kind, name, expected))


@ROUTER.get("/{kind}/{name}/versions")
def list_versions(session: SessionOf, kind: EntityKind, name: str) -> list[EntityView]:
    """Every version of an entity, also of a deleted one, the oldest first."""
    return [_view(row) for row in session.perform(entity_operations.entity_history, kind, name)]


@ROUTER.get("/{kind}/{name}/dependencies")
def get_dependencies(session: SessionOf, kind: EntityKind, name: str) -> DependenciesView:
    """What an entity depends on, and what depends on it, also through others."""
    on, by = session.perform(entity_operations.entity_dependencies, kind, name)
    return DependenciesView(depends_on=list(map(str, on)), dependents=list(map(str, by)))


@ROUTER.get("/{kind}/{name}/lineage")
def get_lineage(
    session: SessionOf,
    kind: EntityKind,
    name: str,
    start: UtcMoment | None = None,
    end: UtcMoment | None = None,
) -> list[EdgeView]:
    """Whose an entity is, where its data lies, where it comes from and goes to.

    With ``start`` also instances from that nominal time up to ``end``, and jobs of that time.
    """
    found = session.perform(entity_lineage, kind, name, start, end)
    return [EdgeView(**{**e._asdict(), "relation": e.relation.name}) for e in found]


@ROUTER.get("/process/{name}/planned")
def list_planned(
    session: SessionOf, name: str, start: UtcMoment, end: UtcMoment | None = None
) -> list[PlannedView]:
    """Which data the instances of a process read and fill, at a nominal time or in a span."""
    found = session.perform(entity_operations.process_instances, name, start, end)
    return [_planned(one) for one in found]


def _expected(text: str) -> int | None:
    """The version that If-Match names; None for any. Raises HTTP_REQUEST for what is no ETag."""
    tag = text.strip()
    if tag == "*":
        return None
    number = tag.removeprefix("W/").strip('"')
    if not number.isdigit() or len(number) > 9:
        raise refused(f"{text!r} is no ETag of an entity", 'send it as GET gave it: "3"')
    return int(number)


def _fits(view: EntityView, name: str | None, owner: str | None, tag: str | None) -> bool:
    fields = view.definition
    return (
        (name is None or name in view.name)
        and (owner is None or fields.get("owner") == owner)
        and (tag is None or tag in fields.get("tags", ()))
    )


def _view(row: EntityRow) -> EntityView:
    return EntityView(
        kind=EntityKind(row.kind),
        name=row.name,
        version=row.version,
        definition=json.loads(row.definition),
        user=row.user_name,
        began_at=row.began_at,
        ended_at=row.ended_at,
    )


def _one_result(result: EntityResult) -> Response:
    if result.error is not None:
        raise result.error
    headers = {} if result.version is None else {"ETag": f'"{result.version}"'}
    return JSONResponse(result_view(result).model_dump(mode="json"), headers=headers)


def _planned(one: PlannedInstance) -> PlannedView:
    return PlannedView(
        nominal_time=one.nominal,
        inputs=[_use(use) for use in one.inputs],
        outputs=[_use(use) for use in one.outputs],
    )


def _use(use: DatasetUse) -> UseView:
    moments = None if use.instances is None else list(use.instances)
    return UseView(dataset=use.dataset, expressions=list(use.expressions), instances=moments)
