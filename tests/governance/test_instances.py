"""Instances by operation and by command: listings, pages, and what people may ask of them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import gateway
from gateway.cli import main
from gateway.dbapi.connection import Connection
from gateway.governance.entity import EntityKind
from gateway.governance.entity_scheduling import resume_entities, suspend_entities
from gateway.governance.instance_operations import (
    change_instances,
    find_instances,
    instance_dependencies,
    instance_status,
    summarize_instances,
    triage_instance,
)
from gateway.governance.instance_states import InstanceEvent
from gateway.governance.process_scheduler import ProcessScheduler
from gateway.session.operations import no_progress
from journal.model.errors import Code, PalimpsestError
from journal.records.instance_rows import InstanceFilter
from tests.support.processes import (
    dataset,
    day,
    flights,
    make_tables,
    process,
    run,
    schedule,
    seen,
    states,
)

E = InstanceEvent


@pytest.fixture
def con() -> Iterator[Connection]:
    with gateway.connect("palimpsest://", autocommit=True) as con:
        make_tables(con)
        yield con


def _change(
    con: Connection, event: InstanceEvent, start: datetime, end: datetime | None = None, **more: Any
) -> list[tuple[int, str, str]]:
    found = change_instances(con.session, no_progress, event, "daily", start, end, **more)
    return [(one.nominal.day, one.before, one.after) for one in found]


def test_f22_f23_f25_what_makes_no_sense_changes_nothing(con: Connection) -> None:
    schedule(con, day(1), flights(), process())
    run(con, day(4))
    assert _change(con, E.SUSPEND, day(2), day(3)) == [
        (2, "WAITING", "SUSPENDED"),
        (3, "WAITING", "SUSPENDED"),
    ]
    assert _change(con, E.SUSPEND, day(2)) == [(2, "SUSPENDED", "SUSPENDED")]
    assert _change(con, E.RERUN, day(2)) == [(2, "SUSPENDED", "SUSPENDED")]
    assert _change(con, E.KILL, day(2)) == [(2, "SUSPENDED", "KILLED")]
    assert _change(con, E.RESUME, day(2)) == [(2, "KILLED", "KILLED")]
    assert _change(con, E.RESUME, day(3)) == [(3, "SUSPENDED", "WAITING")]
    assert _change(con, E.RERUN, day(2)) == [(2, "KILLED", "WAITING")]
    with pytest.raises(PalimpsestError) as refused:
        _change(con, E.KILL, day(9))
    assert refused.value.code is Code.UNKNOWN_INSTANCE
    assert _change(con, E.KILL, day(9), day(20)) == []
    names = con.execute(
        "SELECT name, count(*) FROM system.events WHERE name LIKE 'instance.%'"
        " AND name NOT LIKE '%generate' GROUP BY name ORDER BY name"
    ).fetchall()
    assert names == [
        ("instance.kill", 1),
        ("instance.rerun", 1),
        ("instance.resume", 1),
        ("instance.suspend", 2),
    ]


def test_f22_a_rerun_runs_again(con: Connection) -> None:
    schedule(con, day(1), process(sql="INSERT INTO delays SELECT NULL, 1, $instance", inputs=None))
    assert seen(run(con, day(2))) == [(2, "SUCCEEDED")]
    assert _change(con, E.RERUN, day(2)) == [(2, "SUCCEEDED", "WAITING")]
    assert seen(run(con, day(2, 1))) == [(2, "SUCCEEDED")]
    assert con.execute("SELECT count(*) FROM delays").fetchall() == [(2,)]
    assert con.execute('SELECT runs, fence, "user" IS NULL FROM system.instances').fetchall() == [
        (1, 2, False)
    ]


def test_f3_suspending_a_process_suspends_its_instances(con: Connection) -> None:
    schedule(con, day(1), flights(), process())
    run(con, day(2))
    keys = [(EntityKind.PROCESS, "daily")]
    suspend_entities(con.session, no_progress, keys, day(2))
    assert states(con) == [(2, "SUSPENDED")]
    con.execute("INSERT INTO flights VALUES (DATE '2013-01-01', 7)")
    assert run(con, day(4)) == []
    resume_entities(con.session, no_progress, keys, day(4))
    assert seen(run(con, day(4))) == [(2, "SUCCEEDED")]
    assert states(con) == [(2, "SUCCEEDED"), (3, "WAITING"), (4, "WAITING")]


@pytest.mark.first(1)
@pytest.mark.parametrize("event", [E.KILL, E.SUSPEND])
def test_what_loses_its_instance_commits_nothing(con: Connection, event: InstanceEvent) -> None:
    slow = (
        "INSERT INTO delays SELECT NULL, count(*), $instance"
        " FROM range(4000000000) AS r(i) WHERE sqrt(i) > 0"
    )
    schedule(con, day(1), process(sql=slow, inputs=None))
    with ProcessScheduler(lambda: con.session, now=lambda: day(2)) as scheduler:
        thread = threading.Thread(target=scheduler.once)
        thread.start()
        for _ in range(200):
            if states(con) == [(2, "RUNNING")]:
                break
            threading.Event().wait(0.05)
        assert _change(con, event, day(2))[0][1] == "RUNNING"
        thread.join(60)
        assert not thread.is_alive()
    state = "KILLED" if event is E.KILL else "SUSPENDED"
    assert states(con) == [(2, state)]
    assert con.execute("SELECT count(*) FROM delays").fetchall() == [(0,)]
    assert con.execute("SELECT state FROM system.attempts").fetchall() == [(state,)]


def test_of_two_schedulers_each_instance_is_had_by_one(con: Connection) -> None:
    text = "INSERT INTO delays SELECT NULL, 1, $instance"
    schedule(con, day(1), process(sql=text, inputs=None, parallel="4"))
    schedulers = [
        ProcessScheduler(lambda: con.session, parallel=2, now=lambda: day(12)) for _ in range(3)
    ]
    threads = [threading.Thread(target=one.once) for one in schedulers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    for one in schedulers:
        one.close()
    run(con, day(12), 2)
    assert states(con) == [(number, "SUCCEEDED") for number in range(2, 13)]
    found = con.execute("SELECT count(*), count(DISTINCT made_by) FROM delays").fetchall()
    assert found == [(11, 11)]


@pytest.mark.long
def test_f21_f26_filters_order_and_pages(con: Connection) -> None:
    schedule(con, day(1), flights(), process(), process("other", inputs=None, sql="SELECT 1"))
    run(con, day(5))

    def ids(**wanted: Any) -> list[str]:
        rows = find_instances(con.session, no_progress, InstanceFilter(**wanted))
        return [f"{row.entity}{row.nominal.day}" for row in rows]

    assert ids(entity="other") == ["other2", "other3", "other4", "other5"]
    assert ids(entity="oth%", descending=True, limit=2) == ["other5", "other4"]
    assert ids(states=("WAITING",), limit=2, offset=1) == ["daily3", "daily4"]
    assert ids(since=day(5), order="entity") == ["daily5", "other5"]
    assert ids(text="@2013-01-03") == ["daily3", "other3"]
    with pytest.raises(PalimpsestError):
        ids(order="fence")
    counts = summarize_instances(con.session, no_progress, InstanceFilter())
    assert counts == {"daily": {"WAITING": 4}, "other": {"SUCCEEDED": 4}}


def test_f26_words_that_no_list_knows_are_refused(con: Connection) -> None:
    schedule(con, day(1), flights(), process())
    for wanted, near in (
        (InstanceFilter("daly"), "daily"),
        (InstanceFilter(states=("FALED",)), "FAILED"),
        (InstanceFilter(order="end_at"), "ended_at"),
        (InstanceFilter(life_cycle="REPLICATION"), "EXECUTION"),
    ):
        for listing in (find_instances, summarize_instances):
            with pytest.raises(PalimpsestError) as refused:
                listing(con.session, no_progress, wanted)
            assert near in str(refused.value)
    found = find_instances(con.session, no_progress, InstanceFilter("d%", states=("waiting",)))
    assert found == []


def test_f20_f24_status_and_summary_of_what_is_not_made(con: Connection) -> None:
    alone = process(catch_up="last", inputs=None, sql="SELECT 1")
    schedule(con, day(5), alone)
    run(con, day(5))
    found = instance_status(con.session, no_progress, "daily", day(4), day(6))
    assert [one.state for one in found] == ["UNSCHEDULED", "SUCCEEDED", "WAITING"]
    span = InstanceFilter(entity="daily", since=day(2), until=day(5))
    counts = summarize_instances(con.session, no_progress, span)
    assert counts == {"daily": {"SUCCEEDED": 1, "UNSCHEDULED": 3}}


def test_f27_triage_and_dependency(con: Connection) -> None:
    outputs = [{"dataset": "delays", "instance": "yesterday(0, 0)"}]
    reads = [{"dataset": "delays", "from": "yesterday(0, 0)", "to": "yesterday(0, 0)"}]
    schedule(
        *(con, day(1), flights(), dataset("delays")),
        process(
            outputs=outputs, sql="INSERT INTO delays SELECT CAST(delay AS DATE), 1 FROM flights"
        ),
        process("next", inputs=reads, sql="SELECT 1"),
    )
    con.execute("INSERT INTO flights VALUES (DATE '2013-01-01', 7)")
    run(con, day(2))
    steps = triage_instance(con.session, no_progress, "next", day(2))
    assert [(step.depth, step.id.partition("@")[0], step.state) for step in steps] == [
        (0, "next", "WAITING"),
        (1, "daily", "FAILED"),
    ]
    assert steps[0].reason == "waits for delays@2013-01-01T00:00Z"
    found = instance_dependencies(con.session, no_progress, "daily", day(2))
    assert ([r.entity for r in found.producers], [r.entity for r in found.consumers]) == (
        [],
        ["next"],
    )


@pytest.mark.long
def test_commands_show_and_change_instances(tmp_path: Path) -> None:
    root = tmp_path / "warehouse"
    with gateway.connect(f"palimpsest:///{root}", autocommit=True) as con:
        make_tables(con)
        con.execute("INSERT INTO flights VALUES (DATE '2013-01-01', 7)")
        schedule(con, day(1), flights(), process())

    def call(*words: str) -> Any:
        environment = {"PALIMPSEST_WAREHOUSE": str(root)}
        done = CliRunner().invoke(main, [*words, "--json"], env=environment)
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout.splitlines()[0])

    ran = call("scheduler", "--once", "--at", "2013-01-03")
    assert (ran["instance"], ran["state"]) == ("daily@2013-01-02T00:00Z", "SUCCEEDED")
    second = ("--start", "2013-01-02")
    assert call("instance", "status", "daily", *second)[0]["state"] == "SUCCEEDED"
    assert [row["state"] for row in call("instance", "list", "daily", "--descending")] == [
        "WAITING",
        "SUCCEEDED",
    ]
    assert call("instance", "running") == []
    assert call("instance", "search", "@2013-01-03")[0]["missing"] == ["flights@2013-01-02T00:00Z"]
    assert call("instance", "summary") == {"daily": {"SUCCEEDED": 1, "WAITING": 1}}
    assert call("instance", "logs", "daily", *second)[0]["state"] == "SUCCEEDED"
    assert call("instance", "triage", "daily", "--start", "2013-01-03")[0]["state"] == "WAITING"
    assert call("instance", "dependency", "daily", *second) == {"producers": [], "consumers": []}
    assert call("instance", "kill", "daily", *second)[0]["after"] == "SUCCEEDED"
    assert call("instance", "rerun", "daily", *second, "--force")[0]["after"] == "WAITING"
    assert call("instance", "suspend", "daily", *second)[0]["after"] == "SUSPENDED"
    assert call("instance", "resume", "daily", *second)[0]["after"] == "WAITING"
    assert call("instance", "params", "daily", *second)[0]["inputs"][0]["dataset"] == "flights"
