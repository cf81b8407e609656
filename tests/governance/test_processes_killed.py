"""A scheduler that is killed at any step loses no instance, and runs none twice (P21)."""

from __future__ import annotations

from pathlib import Path

import pytest

import gateway
from gateway.governance.process_scheduler import run_processes
from gateway.session.operations import no_progress
from tests.support.killed_step import run_killed
from tests.support.processes import day
from tests.support.tiers import in_tiers

MAKING = "gateway.governance.instance_making"
LOOK = "gateway.governance.looked_instances"
COMMIT = "gateway.governance.instance_commits"
STEPS = {
    "before instances are made": (f"{MAKING}.instance_rows", "add_instances", 0),
    "after instances are made": (f"{MAKING}.instance_rows", "add_instances", 1),
    "after the schedule has moved": (f"{MAKING}.schedule_rows", "move_schedules", 1),
    "before instances are moved": (f"{LOOK}.instance_rows", "put_instances", 0),
    "before an attempt is noted": (f"{LOOK}.instance_rows", "add_attempts", 0),
    "after an attempt is noted": (f"{LOOK}.instance_rows", "add_attempts", 1),
    "before it runs": ("gateway.governance.process_runner", "run_statements", 0),
    "in the commit, before it ends": (f"{COMMIT}.instance_rows", "end_attempt", 0),
    "in the commit, after it ended": (COMMIT, "changed_instance", 1),
    "in the commit, after the event": (COMMIT, "record_event", 1),
    "after the commit": ("gateway.governance.process_runner", "run_statements", 1),
}
QUICK = {
    "before instances are made",
    "after the schedule has moved",
    "in the commit, before it ends",
    "after the commit",
}
PROGRAM = """
import sys
import gateway
from gateway.governance.process_scheduler import run_processes
from gateway.session.operations import no_progress
from tests.support.killed_step import die_at
from tests.support.processes import day, make_tables, process, schedule

url, place, name, after = sys.argv[1:]

with gateway.connect(url, autocommit=True) as con:
    make_tables(con)
    con.execute("INSERT INTO flights VALUES (DATE '2013-01-01', 7)")
    text = "INSERT INTO delays SELECT day, delay, $instance FROM flights"
    schedule(con, day(1), process(sql=text, inputs=None))
    die_at(place, name, after)
    run_processes(con.session, no_progress, 1, day(3))
"""


@pytest.mark.parametrize("step", in_tiers(STEPS, QUICK))
def test_p21_what_a_killed_scheduler_began_happens_once(tmp_path: Path, step: str) -> None:
    kill_a_scheduler(f"palimpsest:///{tmp_path}/warehouse", step)


def kill_a_scheduler(url: str, step: str) -> None:
    """Kill a scheduler of a store at a step, and let another one go on."""
    place, name, after = STEPS[step]
    run_killed(PROGRAM, url, place, name, str(after))
    with gateway.connect(url, autocommit=True) as con:
        run_processes(con.session, no_progress, 1, day(3))
        rows = con.execute("SELECT made_by, count(*) FROM delays GROUP BY made_by ORDER BY made_by")
        assert rows.fetchall() == [("daily@2013-01-02T00:00Z", 1), ("daily@2013-01-03T00:00Z", 1)]
        found = con.execute("SELECT id, state FROM system.instances ORDER BY id").fetchall()
        assert found == [
            ("daily@2013-01-02T00:00Z", "SUCCEEDED"),
            ("daily@2013-01-03T00:00Z", "SUCCEEDED"),
        ]
        states = con.execute("SELECT DISTINCT state FROM system.attempts ORDER BY state").fetchall()
        assert states in ([("SUCCEEDED",)], [("LOST",), ("SUCCEEDED",)])
