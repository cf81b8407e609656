"""kill -9 between a control store and the store of a process: effects once, no instance lost."""

from __future__ import annotations

from pathlib import Path

import pytest

import gateway
from gateway.governance.process_scheduler import run_processes
from gateway.session.operations import no_progress
from tests.support.killed_step import run_killed
from tests.support.processes import day
from tests.support.tiers import in_tiers

RUN = "gateway.governance.runs_elsewhere"
THERE = "gateway.governance.instance_fences"
SETTLE = "gateway.governance.settling"
STEPS = {
    "before its fence": (RUN, "open_fence", 0),
    "after its fence": (RUN, "open_fence", 1),
    "before its statements": (RUN, "run_fenced", 0),
    "in the commit, before the mark": (f"{THERE}", "enter_audit", 0),
    "in the commit, after the mark": (f"{THERE}", "enter_audit", 1),
    "after the commit": (RUN, "run_fenced", 1),
    "before its end is recorded": (RUN, "record_mark", 0),
    "after its end is recorded": (RUN, "record_mark", 1),
    "before the mark goes": (RUN, "clear_fences", 0),
    "after the mark has gone": (RUN, "clear_fences", 1),
}
QUICK = {"after the commit"}
KILL_STEPS = {
    "before the fence is closed": (SETTLE, "close_fence", 0),
    "after the fence is closed": (SETTLE, "close_fence", 1),
    "after the instance is killed": ("gateway.governance.instance_operations", "record_event", 1),
}
PROGRAM = """
import sys
import gateway
from gateway.governance import process_statements, runs_elsewhere
from gateway.governance.declarations import Declaration
from gateway.governance.entity_schema import read_entity
from gateway.governance.instance_operations import change_instances
from gateway.governance.instance_states import InstanceEvent
from gateway.governance.process_scheduler import run_processes
from gateway.session.operations import no_progress
from tests.support.killed_step import die_at
from tests.support.processes import day, make_tables, process, schedule

control, west, place, name, after, when = sys.argv[1:]

opened = [gateway.connect(url, autocommit=True) for url in (west, control)]
with opened[0] as data, opened[1] as con:
    make_tables(data)
    data.execute("INSERT INTO flights VALUES (DATE '2013-01-01', 7)")
    text = "INSERT INTO delays SELECT day, delay, $instance FROM flights"
    there = read_entity(Declaration({"kind": "profile", "name": "west", "url": west}))
    daily = process(sql=text, inputs=None, profile="west", start="2013-01-02", end="2013-01-04")
    schedule(con, day(1), there, daily)
    if when == "runs":
        die_at(place, name, after)
    else:
        real = process_statements._run_once

        def stopped(*given):
            die_at(place, name, after)
            change_instances(con.session, no_progress, InstanceEvent.KILL, "daily", day(2))
            return real(*given)

        process_statements._run_once = stopped
    run_processes(con.session, no_progress, 1, day(3))
"""


def _kill(tmp_path: Path, step: tuple[str, str, int], when: str) -> tuple[str, str]:
    """Kill a scheduler at a step; the URLs of the control store and of the data's."""
    control, west = (f"palimpsest:///{tmp_path}/{name}" for name in ("control", "west"))
    run_killed(PROGRAM, control, west, step[0], step[1], str(step[2]), when)
    return control, west


def _after(control: str, west: str) -> tuple[dict[str, str], dict[str, int]]:
    """What the next scheduler makes of it: states and rows by instance; no fence is left."""
    with gateway.connect(control, autocommit=True) as con:
        for hour in (0, 1):
            run_processes(con.session, no_progress, 1, day(3, hour))
        found = con.execute("SELECT id, state FROM system.instances").fetchall()
    with gateway.connect(west, autocommit=True) as con:
        rows = con.execute("SELECT made_by, count(*) FROM delays GROUP BY made_by").fetchall()
        with con.session.journal.reading_session() as records:
            assert records.text("SELECT * FROM _palimpsest.instance_fences") == []
    return dict(found), dict(rows)


@pytest.mark.parametrize("step", in_tiers(STEPS, QUICK))
def test_p21_what_a_killed_scheduler_began_elsewhere_happens_once(
    tmp_path: Path, step: str
) -> None:
    states, rows = _after(*_kill(tmp_path, STEPS[step], "runs"))
    days = ["daily@2013-01-02T00:00Z", "daily@2013-01-03T00:00Z"]
    assert states == dict.fromkeys(days, "SUCCEEDED")
    assert rows == dict.fromkeys(days, 1)


@pytest.mark.slow
@pytest.mark.parametrize("step", KILL_STEPS)
def test_a_killed_kill_has_happened_or_not(tmp_path: Path, step: str) -> None:
    states, rows = _after(*_kill(tmp_path, KILL_STEPS[step], "kills"))
    assert set(states.values()) <= {"SUCCEEDED", "KILLED"}
    assert rows == {name: 1 for name, state in states.items() if state == "SUCCEEDED"}
