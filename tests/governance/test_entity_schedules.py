"""Schedules of entities: what scheduling, suspending, resuming and touching do, and do not do."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.governance.declarations import Declaration
from gateway.governance.entity import Entity, EntityKey, EntityKind
from gateway.governance.entity_operations import delete_entity, submit_entities, update_entities
from gateway.governance.entity_scheduling import (
    entity_status,
    resume_entities,
    schedule_entities,
    suspend_entities,
    touch_entities,
)
from gateway.governance.entity_schema import read_entity
from gateway.session.operations import no_progress
from journal.model.errors import Code
from tests.support.declared import dataset

DAILY: EntityKey = (EntityKind.PROCESS, "daily")
FLIGHTS: EntityKey = (EntityKind.DATASET, "flights")
NOW = datetime(2013, 1, 5, 12, tzinfo=UTC)


def _process(**more: object) -> Entity:
    fields = {"kind": "process", "name": "daily", "every": "1 day", "start": "2013-01-01"}
    return read_entity(Declaration({**fields, "sql": "SELECT 1", **more}))


@pytest.fixture
def con() -> Iterator[Connection]:
    with gateway.connect("palimpsest://", autocommit=True) as con:
        con.execute("CREATE TABLE flights (day DATE, delay INTEGER)")
        yield con


def _submit(con: Connection, *entities: Entity) -> None:
    for result in submit_entities(con.session, no_progress, entities):
        assert result.error is None, result.error


def _next(con: Connection) -> datetime | None:
    (one,) = entity_status(con.session, no_progress, *DAILY)
    return one.next_at


def test_f2_f3_schedule_suspend_resume_each_once(con: Connection) -> None:
    _submit(con, _process(), read_entity(dataset("flights")))
    states = [one.state for one in entity_status(con.session, no_progress)]
    assert states == ["SUBMITTED", "SUBMITTED"]
    for operation, first, state in (
        (suspend_entities, "UNCHANGED", "SUBMITTED"),
        (resume_entities, "UNCHANGED", "SUBMITTED"),
        (schedule_entities, "SCHEDULED", "SCHEDULED"),
        (resume_entities, "UNCHANGED", "SCHEDULED"),
        (suspend_entities, "SUSPENDED", "SUSPENDED"),
        (schedule_entities, "UNCHANGED", "SUSPENDED"),
        (resume_entities, "SCHEDULED", "SCHEDULED"),
    ):
        for outcome in (first, "UNCHANGED"):
            results = operation(con.session, no_progress, [DAILY, FLIGHTS], NOW)
            assert [(r.outcome, r.state) for r in results] == [(outcome, state)] * 2
    shown = con.execute("SELECT kind, state FROM system.entity_schedules ORDER BY kind")
    assert shown.fetchall() == [("dataset", "SCHEDULED"), ("process", "SCHEDULED")]


def test_f12_of_several_each_has_its_result(con: Connection) -> None:
    url = {"kind": "profile", "name": "night", "url": "palimpsest:///srv/w"}
    _submit(con, _process(), read_entity(Declaration(url)))
    keys = [DAILY, (EntityKind.PROFILE, "night"), (EntityKind.PROCESS, "none")]
    results = schedule_entities(con.session, no_progress, keys)
    assert [r.outcome for r in results] == ["SCHEDULED", "FAILED", "FAILED"]
    assert [r.error and r.error.code for r in results] == [None, Code.ENTITY, Code.UNKNOWN_ENTITY]
    again = schedule_entities(con.session, no_progress, keys)
    assert [r.outcome for r in again] == ["UNCHANGED", "FAILED", "FAILED"]


@pytest.mark.parametrize(
    ("catch_up", "scheduled", "resumed"),
    [("all", 1, 1), ("last", 5, 20), ("none", 6, 21)],
)
def test_catching_up_says_what_comes_first(
    con: Connection, catch_up: str, scheduled: int, resumed: int
) -> None:
    _submit(con, _process(catch_up=catch_up))
    schedule_entities(con.session, no_progress, [DAILY], NOW)
    assert _next(con) == datetime(2013, 1, scheduled, tzinfo=UTC)
    suspend_entities(con.session, no_progress, [DAILY], NOW)
    resume_entities(con.session, no_progress, [DAILY], NOW.replace(day=20))
    assert _next(con) == datetime(2013, 1, resumed, tzinfo=UTC)


def test_f7_touching_begins_a_version_with_the_same_definition(con: Connection) -> None:
    _submit(con, _process())
    schedule_entities(con.session, no_progress, [DAILY], NOW)
    (touched,) = touch_entities(con.session, no_progress, [DAILY])
    assert (touched.outcome, touched.version) == ("TOUCHED", 2)
    rows = con.execute("SELECT count(*), count(DISTINCT definition) FROM system.entities")
    assert rows.fetchall() == [(2, 1)]
    (one,) = entity_status(con.session, no_progress, *DAILY)
    assert (one.version, one.state) == (2, "SCHEDULED")


def test_f7_an_update_of_a_scheduled_process_moves_what_comes_next(con: Connection) -> None:
    _submit(con, _process(catch_up="none"))
    schedule_entities(con.session, no_progress, [DAILY], NOW)
    changed = _process(catch_up="none", every="7 days")
    assert update_entities(con.session, no_progress, [changed])[0].outcome == "UPDATED"
    assert _next(con) == datetime(2013, 1, 8, tzinfo=UTC)


def test_f6_deleting_removes_the_schedule(con: Connection) -> None:
    _submit(con, _process())
    schedule_entities(con.session, no_progress, [DAILY], NOW)
    delete_entity(con.session, no_progress, *DAILY)
    assert con.execute("SELECT count(*) FROM system.entity_schedules").fetchall() == [(0,)]
    _submit(con, _process())
    (one,) = entity_status(con.session, no_progress, *DAILY)
    assert one.state == "SUBMITTED"
