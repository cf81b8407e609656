"""kill -9 at each step of governance on a PostgreSQL store: as before or after, and it goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

import gateway
from gateway.governance.instance_operations import change_instances
from gateway.governance.instance_states import InstanceEvent
from gateway.governance.process_scheduler import run_processes
from gateway.privacy_desk.desk_policy import PrivacyAction
from gateway.session.operations import no_progress
from spark_compaction.programs import copies
from tests.governance import (
    test_entities_killed,
    test_privacy_killed,
    test_privacy_several_stores_killed,
    test_processes_killed,
    test_undoable_operations,
)
from tests.support.killed_step import Step, run_killed
from tests.support.postgres import Cluster
from tests.support.processes import day
from tests.support.traces import everything

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
OPERATIONS = "gateway.governance.instance_operations"
RERUN = {
    "before the state": (f"{OPERATIONS}", "changed_instance", 0),
    "after the state": (f"{OPERATIONS}", "changed_instance", 1),
    "after the audit log": (f"{OPERATIONS}", "enter_audit", 1),
    "after the event": (f"{OPERATIONS}", "record_event", 1),
    "after the commit": (f"{OPERATIONS}", "change_instances", 1),
}
COPIES = "spark_compaction.programs.copies"
REPLICATE = {
    "after what is there is finished": (COPIES, "tidy", 1),
    "before the first file": (COPIES, "Folder.put", 0),
    "after the first file": (COPIES, "Folder.put", 1),
    "before the list": (COPIES, "write_manifest", 0),
    "after the list": (COPIES, "write_manifest", 1),
    "before it is recorded": ("spark_compaction.programs.bucket_replicas.backups", "drop", 0),
    "before the end is recorded": ("gateway.jobs.replicate", "_finished_row", 0),
}
OVER_STORES = ["before the first part", "after the first part", "after a part is purged"]
LISTED = {"after the list", "before it is recorded", "before the end is recorded"}
KILLED = """
import sys
import gateway
from gateway.session.operations import no_progress
from tests.support.killed_step import die_at

url, place, name, after, *more = sys.argv[1:]
"""
RERUNNING = f"""{KILLED}
from gateway.governance import instance_operations
from gateway.governance.instance_states import InstanceEvent
from gateway.governance.process_scheduler import run_processes
from tests.support.processes import day, make_tables, process, schedule

with gateway.connect(url, autocommit=True) as con:
    make_tables(con)
    con.execute("INSERT INTO flights VALUES (DATE '2013-01-01', 7)")
    text = "INSERT INTO delays SELECT day, delay, $instance FROM flights"
    schedule(con, day(1), process(sql=text, inputs=None))
    run_processes(con.session, no_progress, 1, day(2))
    die_at(place, name, after)
    event = InstanceEvent.RERUN
    instance_operations.change_instances(con.session, no_progress, event, "daily", day(2))
"""
REPLICATING = f"""{KILLED}
from gateway.jobs.runs import run_named

with gateway.connect(url, autocommit=True) as con:
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    for begin in (0, 100):
        con.execute(f"INSERT INTO t SELECT i FROM range({{begin}}, {{begin + 50}}) r(i)")
        con.execute("CALL system.flush()")
        if begin:
            die_at(place, name, after)
        run_named(con.session, no_progress, "replicate", {{"to": more[0]}}, ["t"])
"""


@pytest.mark.parametrize("step", test_entities_killed.STEPS)
def test_f10_a_killed_update_has_happened_or_not(url: str, step: str) -> None:
    test_entities_killed.kill_an_update(url, step)


@pytest.mark.parametrize("step", test_undoable_operations.STEPS)
def test_f10_a_killed_submission_has_happened_or_not(url: str, step: str) -> None:
    test_undoable_operations.kill_a_submission(url, step)


@pytest.mark.parametrize("step", test_processes_killed.STEPS)
def test_p21_what_a_killed_scheduler_began_happens_once(url: str, step: str) -> None:
    test_processes_killed.kill_a_scheduler(url, step)


@pytest.mark.parametrize("step", test_privacy_killed.STEPS)
def test_p14_a_killed_request_goes_on_and_leaves_nothing(
    url: str, cluster: Cluster, database: str, step: str
) -> None:
    test_privacy_killed.kill_a_request(url, step)
    assert test_privacy_killed.ADA not in everything(cluster, database).lower()


@pytest.mark.parametrize("step", OVER_STORES)
def test_p14_a_killed_request_over_stores_goes_on(
    url: str, cluster: Cluster, database: str, tmp_path: Path, step: str
) -> None:
    killed = test_privacy_several_stores_killed
    control, west = killed.prepare(tmp_path, url)
    killed.kill_and_go_on(control, PrivacyAction.ERASURE, killed.STEPS[step])
    killed.check_parts(west)
    assert killed.ADA not in everything(cluster, database).lower()
    assert test_privacy_killed.places_of(killed.ADA, tmp_path) == []


def _kill(program: str, url: str, step: Step, *more: str) -> None:
    run_killed(program, url, *map(str, step), *more)


@pytest.mark.parametrize("step", RERUN)
def test_f22_a_killed_rerun_is_asked_or_not(url: str, step: str) -> None:
    _kill(RERUNNING, url, RERUN[step])
    with gateway.connect(url, autocommit=True) as con:
        found = con.execute("SELECT state FROM system.instances").fetchall()
        assert found == [("WAITING" if step == "after the commit" else "SUCCEEDED",)]
        change_instances(con.session, no_progress, InstanceEvent.RERUN, "daily", day(2))
        run_processes(con.session, no_progress, 1, day(2))
        assert con.execute("SELECT count(*) FROM delays").fetchall() == [(2,)]
        asked = "SELECT count(*) FROM system.events WHERE name = 'instance.rerun'"
        assert con.execute(asked).fetchall() == [(1,)]


@pytest.mark.parametrize("step", REPLICATE)
def test_f42_a_killed_replication_is_as_before_or_after(
    url: str, tmp_path: Path, step: str
) -> None:
    place = f"file://{tmp_path}/vault"
    _kill(REPLICATING, url, REPLICATE[step], place)
    (listed,) = (tmp_path / "vault").rglob("backup.json")
    rows = copies.read(f"file://{listed.parent}")[0].rows
    assert rows == (100 if step in LISTED else 50)
    with gateway.connect(url, autocommit=True) as con:
        con.execute(f"CALL system.replicate('t', \"to\" => '{place}')")
        found, _ = copies.read(f"file://{listed.parent}")
        assert found.rows == 100
        there = {p.relative_to(listed.parent).as_posix() for p in listed.parent.rglob("*.parquet")}
        assert there == found.paths
        con.execute("CALL system.verify('t', copies => true)")
