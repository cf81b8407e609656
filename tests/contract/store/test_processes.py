"""Declared processes run on every store: they wait, have their effects once, and are fenced."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.governance import process_statements, runs_elsewhere, settling
from gateway.governance.declarations import Declaration
from gateway.governance.entity import Entity
from gateway.governance.entity_schema import read_entity
from gateway.governance.instance_fences import list_fences
from gateway.governance.instance_operations import change_instances, instance_attempts
from gateway.governance.instance_states import InstanceEvent
from gateway.governance.process_stores import ProcessStores
from gateway.session.operations import no_progress
from journal.model.errors import Code, PalimpsestError
from tests.support.processes import (
    YESTERDAY,
    dataset,
    day,
    flights,
    make_tables,
    process,
    run,
    schedule,
    states,
)
from tests.support.stores.store import Capability, Store

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def con(store: Store) -> Connection:
    con = store.connect()
    make_tables(con)
    return con


@pytest.mark.also_on("hive")
def test_f19_processes_wait_and_run_once(con: Connection) -> None:
    schedule(con, day(1), flights(), process())
    assert run(con, day(2)) == []
    assert states(con) == [(2, "WAITING")]
    con.execute("INSERT INTO flights VALUES (DATE '2013-01-01', 7)")
    (ran,) = run(con, day(2, 1))
    assert (ran.state, ran.error) == ("SUCCEEDED", None)
    assert run(con, day(2, 2)) == []
    found = con.execute("SELECT total, made_by FROM delays").fetchall()
    assert found == [(7, "daily@2013-01-02T00:00Z")]


def test_a_condition_that_fails_stops_no_other_process(con: Connection) -> None:
    con.execute("CREATE TABLE gone (day DATE)")
    lost = dataset("gone", where="day = CAST($instance AS DATE)")
    reads = [{"dataset": "gone", "from": YESTERDAY, "to": YESTERDAY}]
    waits = process("waits", sql="INSERT INTO delays VALUES (NULL, 1, 'waits')", inputs=reads)
    other = process("other", sql="INSERT INTO delays VALUES (NULL, 2, 'other')", inputs=None)
    schedule(con, day(1), lost, waits, other)
    con.execute("INSERT INTO gone VALUES (DATE '2013-01-01')")
    con.execute("ALTER TABLE gone RENAME COLUMN day TO date")
    assert [(one.id, one.state) for one in run(con, day(2))] == [
        ("other@2013-01-02T00:00Z", "SUCCEEDED")
    ]
    ((missing,),) = con.execute("SELECT missing FROM system.instances WHERE state = 'WAITING'")
    assert "gone@2013-01-01T00:00Z, which cannot be looked at (PAL-202" in str(missing)


@pytest.mark.needs(Capability.ACCESS_CONTROL)
@pytest.mark.also_on("hive")
def test_f46_late_data_runs_an_instance_again(con: Connection) -> None:
    late = {"policy": "PERIODIC", "delay": "1 hour"}
    text = "INSERT INTO delays VALUES (NULL, 1, $instance)"
    schedule(con, day(1), flights(late_arrival="2 days"), process(sql=text, late_data=late))
    con.execute("INSERT INTO flights VALUES (DATE '2013-01-01', 7)")
    (ran,) = run(con, day(2, 1))
    assert (ran.state, ran.error) == ("SUCCEEDED", None)
    con.execute("INSERT INTO flights VALUES (DATE '2013-01-01', 1)")
    (ran,) = run(con, day(2, 3))
    assert (ran.state, ran.error) == ("SUCCEEDED", None)
    assert con.execute("SELECT count(*) FROM delays").fetchall() == [(2,)]


def _daily_elsewhere(url: str) -> tuple[Entity, Entity]:
    """A profile of a store, and a process that writes a row there each day."""
    there = Declaration({"kind": "profile", "name": "there", "url": url})
    text = "INSERT INTO delays VALUES (NULL, 1, $instance)"
    return read_entity(there), process(sql=text, inputs=None, profile="there", end="2013-01-04")


@pytest.mark.also_on("hive")
def test_another_control_store_runs_processes_here_once(
    store: Store, con: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_given: object) -> None:
        raise PalimpsestError(Code.STORE_LOST, "no answer", advice="")

    with gateway.connect(f"palimpsest:///{tmp_path}/control", autocommit=True) as control:
        schedule(control, day(1), *_daily_elsewhere(store.url))
        with monkeypatch.context() as patch:
            patch.setattr(runs_elsewhere, "record_mark", lost)
            patch.setattr(settling, "close_fence", lost)
            assert [one.state for one in run(control, day(2))] == ["READY"]
        assert con.execute("SELECT count(*) FROM delays").fetchall() == [(1,)]
        assert [one.state for one in run(control, day(2, 1))] == ["SUCCEEDED"]

        real = process_statements._run_once

        def killed_first(own: Any, *given: Any) -> int:
            commit = own.commit

            def killed() -> None:
                event = InstanceEvent.KILL
                change_instances(control.session, no_progress, event, "daily", day(3))
                commit()

            own.commit = killed
            return real(own, *given)

        with monkeypatch.context() as patch:
            patch.setattr(process_statements, "_run_once", killed_first)
            assert [one.state for one in run(control, day(3))] == ["KILLED"]
        assert con.execute("SELECT count(*) FROM delays").fetchall() == [(1,)]
        change_instances(control.session, no_progress, InstanceEvent.RERUN, "daily", day(3))
        assert [one.state for one in run(control, day(3, 1))] == ["SUCCEEDED"]
        found = con.execute("SELECT made_by FROM delays ORDER BY made_by").fetchall()
        assert found == [("daily@2013-01-02T00:00Z",), ("daily@2013-01-03T00:00Z",)]
        with ProcessStores(control.session) as stores, stores.session("there") as there:
            assert there.perform(list_fences, stores.control) == []


@pytest.mark.needs(Capability.ACCESS_CONTROL)
def test_it_is_the_control_store_of_another(con: Connection, tmp_path: Path) -> None:
    with gateway.connect(f"palimpsest:///{tmp_path}/data", autocommit=True) as data:
        make_tables(data)
        schedule(con, day(1), *_daily_elsewhere(f"palimpsest:///{tmp_path}/data"))
        assert [one.state for one in run(con, day(2))] == ["SUCCEEDED"]
        assert data.execute("SELECT made_by FROM delays").fetchall() == [
            ("daily@2013-01-02T00:00Z",)
        ]
    assert con.execute("SELECT profile, state FROM system.instances").fetchall() == [
        ("there", "SUCCEEDED")
    ]


@pytest.mark.also_on("hive")
def test_an_attempt_that_lost_its_instance_commits_nothing(
    con: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule(
        con, day(1), process(sql="INSERT INTO delays VALUES (NULL, 1, $instance)", inputs=None)
    )
    real = process_statements._run_once

    def killed_first(own: Any, *given: Any) -> int:
        begin = own.commit

        def commit() -> None:
            change_instances(con.session, no_progress, InstanceEvent.KILL, "daily", day(2))
            begin()

        own.commit = commit
        return real(own, *given)

    monkeypatch.setattr(process_statements, "_run_once", killed_first)
    (ran,) = run(con, day(2))
    assert (ran.state, ran.error) == ("KILLED", None)
    assert con.execute("SELECT count(*) FROM delays").fetchall() == [(0,)]
    (attempt,) = instance_attempts(con.session, no_progress, "daily", day(2))
    assert attempt.state == "KILLED"
    assert any("commits nothing" in line or "cancelled" in line for line in attempt.log)
