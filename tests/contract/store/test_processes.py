"""Declared processes run on every store: they wait, have their effects once, and are fenced."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.dbapi.connection import Connection
from gateway.governance import process_statements
from gateway.governance.instance_operations import change_instances, instance_attempts
from gateway.governance.instance_states import InstanceEvent
from gateway.session.operations import no_progress
from tests.support.processes import (
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
