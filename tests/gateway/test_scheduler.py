"""The schedule with a given clock, and a scheduler that runs what is due."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.cli import main
from gateway.jobs.runs import JobRun
from gateway.jobs.schedule import JobSchedule, scheduled_jobs, triggered_jobs
from gateway.jobs.scheduler import Scheduler
from journal.model.policy import PREFIX
from journal.model.schema import CatalogSnapshot, Column, Table, TableName
from tests.support.client import Client

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)


def _table(number: int, **policy: str) -> Table:
    properties = tuple((f"{PREFIX}{name}", value) for name, value in policy.items())
    columns = (Column("id", "id", "INT"), Column("ds", "ds", "DATE"))
    return Table(number, TableName("main", f"t{number}"), columns, ("id",), properties=properties)


def _catalog(*tables: Table) -> CatalogSnapshot:
    catalog = CatalogSnapshot.empty()
    for table in tables:
        catalog = catalog.with_relation(table)
    return catalog


def test_cron_lines_and_retention() -> None:
    tables = [
        _table(1, schedule_compact="0 3 * * *", schedule_purge="*/5 * * * *"),
        _table(2, retention="90 days", retention_column="ds"),
        _table(3, retention="3 hours", retention_column="ds"),
        _table(4, versions="3", schedule_retain="0 4 * * *"),
        _table(5),
    ]
    found = scheduled_jobs(_catalog(*tables), {}, NOW)
    assert found == [
        JobSchedule("compact", 1, "main.t1", cron="0 3 * * *"),
        JobSchedule("purge", 1, "main.t1", cron="*/5 * * * *"),
        JobSchedule("retain", 2, "main.t2", every=timedelta(hours=24), first=NOW),
        JobSchedule("retain", 3, "main.t3", every=timedelta(hours=6), first=NOW),
        JobSchedule("retain", 4, "main.t4", cron="0 4 * * *"),
    ]
    assert len({e.key for e in found}) == len(found)


def test_after_a_restart_retention_goes_on_where_it_was() -> None:
    table = _table(3, retention="3 hours", retention_column="ds")
    ran = {("retain", 3): NOW - timedelta(hours=2)}
    assert scheduled_jobs(_catalog(table), ran, NOW)[0].first == NOW + timedelta(hours=4)
    ran = {("retain", 3): NOW - timedelta(days=9)}
    assert scheduled_jobs(_catalog(table), ran, NOW)[0].first == NOW


def test_what_another_scheduler_has_run_is_not_due_any_more() -> None:
    hourly = JobSchedule("compact", 1, "t", cron="0 * * * *")
    daily = JobSchedule("retain", 1, "t", every=timedelta(hours=24), first=NOW)
    for planned_, kind in ((hourly, "compact"), (daily, "retain")):
        assert planned_.is_due({}, NOW)
        assert planned_.is_due({(kind, 1): NOW - timedelta(days=1)}, NOW)
        assert not planned_.is_due({(kind, 1): NOW + timedelta(seconds=1)}, NOW)
    assert hourly.is_due({("compact", 1): NOW - timedelta(seconds=1)}, NOW)
    # A run begins a moment after it is due, and the next must not be left out for that.
    assert daily.is_due({("retain", 1): NOW - timedelta(hours=24) + timedelta(seconds=9)}, NOW)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Client]:
    client = Client(tmp_path / "warehouse")
    client("CREATE TABLE t (id INT PRIMARY KEY, ds DATE, n INT) WITH (compact_changes_min = '1')")
    client("INSERT INTO t SELECT i, DATE '2020-01-01' + i::INT, 0 FROM range(100) r(i)")
    client("CALL system.flush()")
    yield client
    if not client.connection.closed:
        client.close()


def test_triggers(run: Client) -> None:
    session = run.connection.session
    assert triggered_jobs(session, {}) == []
    run("UPDATE t SET n = 1")
    run("CALL system.flush()")
    (due,) = triggered_jobs(session, {})
    assert (due.kind, due.table.name.name, due.options) == ("compact", "t", {"mode": "auto"})
    scheduler = Scheduler(lambda: run.connection.session)
    assert [(r.kind, r.state) for r in scheduler.once()] == [("compact", "SUCCEEDED")]
    assert scheduler.once() == []
    assert run("SELECT kind, cause, state FROM system.jobs") == [
        ("compact", "trigger", "SUCCEEDED")
    ]


def test_a_running_scheduler_follows_the_policies(run: Client) -> None:
    runs: list[JobRun] = []
    scheduler = Scheduler(lambda: run.connection.session, check_s=1, on_run=runs.append)
    scheduler.start()
    try:
        assert scheduler.entries() == []
        run("ALTER TABLE t SET POLICY (RETENTION = 1 YEAR ON COLUMN ds)")
        deadline = time.monotonic() + 30
        while not runs and time.monotonic() < deadline:
            time.sleep(0.05)
        assert [e.kind for e in scheduler.entries()] == ["retain"]
        run("ALTER TABLE t SET POLICY (SCHEDULE_RETAIN = '0 3 29 2 *')")
        while not any(e.cron for e in scheduler.entries()) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert [e.cron for e in scheduler.entries()] == ["0 3 29 2 *"]
    finally:
        scheduler.stop()
    assert [(r.kind, r.state) for r in runs] == [("retain", "SUCCEEDED")]
    assert run("SELECT count(*) FROM t") == [(0,)]
    assert run("SELECT cause FROM system.jobs") == [("schedule",)]


def test_once_at_the_prompt(run: Client) -> None:
    run("ALTER TABLE t SET POLICY (RETENTION = 1 YEAR ON COLUMN ds)")
    run.close()
    found = CliRunner().invoke(main, ["scheduler", "--once", "--json", "-w", str(run.root)])
    assert found.exit_code == 0, found.output
    (line,) = found.output.splitlines()
    assert json.loads(line)["report"]["removed"]["rows"] == 100
    words = ["scheduler", "--once", "-w", str(run.root)]
    assert CliRunner().invoke(main, words).output == "Nothing is due.\n"
    assert json.loads(CliRunner().invoke(main, [*words, "--json"]).output) == {"due": 0}


@pytest.mark.long
def test_it_ends_when_it_is_told_to(run: Client) -> None:
    run.close()
    words = [sys.executable, "-m", "gateway.cli", "scheduler", "-w", str(run.root)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        assert "Running" in child.stderr.readline()
        child.send_signal(signal.SIGTERM)
        assert child.wait(60) == 0
