"""Instances over HTTP: where they stand, why they failed, and what stops or reruns them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query

from gateway.governance.instance_operations import (
    change_instances,
    find_instances,
    instance_attempts,
    instance_dependencies,
    instance_objects,
    instance_status,
    summarize_instances,
    triage_instance,
)
from gateway.governance.instance_states import InstanceEvent, InstanceState
from gateway.governance.run_previews import preview_object, preview_runs
from gateway.servers.control.governed_route import GovernedRoute, SessionOf
from gateway.servers.control.request_bodies import RequestBody, UtcMoment
from journal.records.instance_rows import InstanceFilter

ROUTER = APIRouter(prefix="/instances", tags=["instances"], route_class=GovernedRoute)
Found = list[dict[str, Any]]


class InstanceSpan(RequestBody):
    """The instance of a nominal time, or with ``end`` those from ``start`` up to it."""

    start: UtcMoment
    end: UtcMoment | None = None
    force: bool = False
    """Of a rerun: do all of it again."""


@ROUTER.get("")
def list_instances(
    session: SessionOf,
    process: str | None = None,
    state: Annotated[list[InstanceState] | None, Query()] = None,
    since: UtcMoment | None = None,
    until: UtcMoment | None = None,
    text: str | None = None,
    order: str = "nominal",
    descending: bool = False,
    offset: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> Found:
    """Instances, by process (with % for any text), states, nominal time, and text of errors."""
    wanted = InstanceFilter(
        entity=process,
        states=tuple(one.value for one in state or ()),
        since=since,
        until=until,
        text=text,
        order=order,
        descending=descending,
        offset=offset,
        limit=limit,
    )
    return instance_objects(session.perform(find_instances, wanted))


@ROUTER.get("/summary")
def get_summary(
    session: SessionOf,
    process: str | None = None,
    since: UtcMoment | None = None,
    until: UtcMoment | None = None,
) -> dict[str, dict[str, int]]:
    """How many instances there are in each state, by process."""
    wanted = InstanceFilter(entity=process, since=since, until=until)
    return session.perform(summarize_instances, wanted)


@ROUTER.get("/{process}/status")
def get_status(
    session: SessionOf, process: str, start: UtcMoment, end: UtcMoment | None = None
) -> Found:
    """Where the instances of a process stand, also those that are not made yet."""
    found = session.perform(instance_status, process, start, end)
    return [asdict(one) for one in found]


@ROUTER.get("/{process}/preview")
def get_preview(
    session: SessionOf, process: str, start: UtcMoment, end: UtcMoment | None = None
) -> Found:
    """What the instances of a process would run: statements, a job or a command. Nothing runs."""
    found = session.perform(preview_runs, process, start, end)
    return [preview_object(one) for one in found]


@ROUTER.get("/{process}/attempts")
def list_attempts(session: SessionOf, process: str, nominal: UtcMoment) -> Found:
    """The attempts of an instance with their logs, the oldest first."""
    found = session.perform(instance_attempts, process, nominal)
    return [asdict(one) for one in found]


@ROUTER.get("/{process}/triage")
def get_triage(session: SessionOf, process: str, nominal: UtcMoment) -> Found:
    """Why an instance did not succeed: it, and the instances that should have filled its inputs."""
    found = session.perform(triage_instance, process, nominal)
    return [asdict(one) for one in found]


@ROUTER.get("/{process}/dependencies")
def get_dependencies(session: SessionOf, process: str, nominal: UtcMoment) -> dict[str, Found]:
    """The instances from which one has its data, and those that read what it fills."""
    found = session.perform(instance_dependencies, process, nominal)
    return {
        "producers": instance_objects(found.producers),
        "consumers": instance_objects(found.consumers),
    }


@ROUTER.post("/{process}/{event}")
def change(
    session: SessionOf,
    process: str,
    event: Literal["rerun", "suspend", "resume", "kill"],
    span: InstanceSpan,
) -> Found:
    """Rerun, suspend, resume or kill instances; what makes no sense in a state changes nothing."""
    found = session.perform(
        change_instances,
        InstanceEvent[event.upper()],
        process,
        span.start,
        span.end,
        force=span.force,
    )
    return [asdict(one) for one in found]
