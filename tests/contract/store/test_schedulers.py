"""Schedulers over one store: what is due runs once, and a killed run is noticed."""

from __future__ import annotations

import subprocess
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest

from gateway.dbapi.connection import Connection
from gateway.jobs.job_locks import job_slot
from gateway.jobs.runs import JobRun, Request, run_all
from gateway.jobs.scheduler import Scheduler
from journal.model.errors import Code
from tests.support.kept import rows
from tests.support.stores.store import Capability, Store
from tests.support.warm_python import warm_python

pytestmark = pytest.mark.timeout(900)

JOBS = (
    "SELECT kind, substr(table_name, length(table_name)), cause, state, attempt FROM system.jobs"
    " ORDER BY started_at"
)


@pytest.fixture
def con(store: Store) -> Connection:
    """Two tables with rows past their date; nothing can be compacted of the second."""
    con = store.connect()
    for name in ("a", "b"):
        con.execute(
            f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, ds DATE, who VARCHAR)"
            " WITH (compact_changes_min = '1', erasure = 'who AS nick')"
        )
        con.execute(
            f"INSERT INTO {name} VALUES (1, DATE '2020-01-01', 'ada'),"
            f" (2, DATE '2999-01-01', 'bob'), (3, NULL, 'eve')"
        )
    return con


def _scheduler(con: Connection) -> Scheduler:
    return Scheduler(lambda: con.session)


def _summary(runs: list[JobRun]) -> list[tuple[str, str, str]]:
    return sorted((r.kind, r.table.rpartition(".")[2], r.state) for r in runs)


@pytest.mark.needs(Capability.BACKUPS, Capability.ERASURE)
def test_what_is_due_runs_and_another_scheduler_finds_all_done(
    store: Store, con: Connection
) -> None:
    """Retention runs at once, then by its time; triggers run."""
    con.execute("ALTER TABLE a SET POLICY (RETENTION = 1 YEAR ON COLUMN ds, BACKUP = 1 MINUTE)")
    other = store.connect()
    mine, others = _scheduler(con), _scheduler(other)
    con.execute("ALTER TABLE b SET POLICY (SCHEDULE_COMPACT = '0 3 1 1 *')")
    done = _summary(mine.once())
    assert ("retain", "a", "SUCCEEDED") in done
    assert all(table == "a" for kind, table, _ in done if kind == "compact")
    assert rows(con, "SELECT id FROM a ORDER BY id") == [(2,), (3,)]
    assert ("retain", "a", "SUCCEEDED") not in _summary(others.once())
    other.execute("UPDATE a SET who = 'new' WHERE id = 3")
    other.execute("CALL system.flush()")
    assert ("compact", "a", "SUCCEEDED") in _summary(others.once())
    other.execute("ERASE FROM a WHERE who = 'bob'")
    _leave_expired_backup(other)
    done = _summary(mine.once())
    assert {(kind, table) for kind, table, _ in done} >= {("vacuum", "b")}
    assert rows(con, "SELECT count(*) FROM system.backups WHERE name = 'short'") == [(0,)]
    assert rows(con, "SELECT id FROM a ORDER BY id") == [(3,)]
    ran = rows(other, JOBS)
    assert ("retain", "a", "schedule", "SUCCEEDED", 1) in ran
    assert ("vacuum", "b", "trigger", "SUCCEEDED", 1) in ran
    ((count, whole),) = rows(other, "SELECT count(log), count(ended_at) FROM system.jobs")
    assert count == whole == len(ran)


def _leave_expired_backup(con: Connection) -> None:
    """A backup of the second table, made an hour ago for a minute."""
    ago = datetime.now(UTC) - timedelta(hours=1)
    found = [t for t in con.session.journal.state.catalog.tables() if t.name.name == "b"]
    options = {"name": "short", "expires": "1 minute"}
    (run,) = run_all(con.session, Request("backup", options, now=ago), found)
    assert run.error is None


@pytest.mark.also_on("hive")
def test_two_that_begin_together_run_everything_once(store: Store, con: Connection) -> None:
    for name in ("a", "b"):
        con.execute(f"ALTER TABLE {name} SET POLICY (RETENTION = 1 YEAR ON COLUMN ds)")
    begin = threading.Barrier(2)
    failed: list[BaseException] = []

    def run(connection: Connection) -> None:
        try:
            found = _scheduler(connection)
            begin.wait()
            found.once()
        except BaseException as error:  # noqa: BLE001 - the test fails with it.
            failed.append(error)

    threads = [threading.Thread(target=run, args=(c,)) for c in (con, store.connect())]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    ran = [(k, t) for k, t, *_ in rows(con, JOBS) if k == "retain"]
    assert sorted(ran) == [("retain", "a"), ("retain", "b")]
    assert rows(con, "SELECT count(*) FROM a") == [(2,)]


@pytest.mark.also_on("hive")
def test_a_table_that_fails_stops_no_other_comes_first_next_time_and_is_given_up(
    store: Store, con: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        con.execute(f"ALTER TABLE {name} SET POLICY (MAX_ATTEMPTS = 2)")
        con.execute(f"UPDATE {name} SET who = 'new'")
    con.execute("CALL system.flush()")
    made = [_scheduler(c) for c in (con, store.connect())]
    catalog = con.session.journal.state.catalog
    (table_id,) = (t.id for t in catalog.tables() if t.name.name == "a")
    with con.session.journal.exclusive(f"slot:{table_id}:0") as is_mine:
        assert is_mine
        con.execute("ALTER TABLE a SET POLICY (MAX_CONCURRENCY = 1)")
        impatient = lambda alone, i, most: job_slot(alone, i, most, 0.01)  # noqa: E731
        monkeypatch.setattr("gateway.jobs.runs.job_slot", impatient)
        first = [r for r in made[0].once() if r.kind == "compact"]
        again = [r for r in made[1].once() if r.kind == "compact"]
        last = [r for r in made[0].once() if r.kind == "compact"]
        monkeypatch.undo()
    assert _summary(first)[0] == ("compact", "a", "FAILED")
    assert ("compact", "b", "SUCCEEDED") in _summary(first)
    assert first[0].error is not None
    assert first[0].error.code is Code.JOB_BUSY
    assert _summary(again) == [("compact", "a", "FAILED")]
    assert [r.attempt for r in again] == [2], "the other scheduler knows of the first attempt"
    assert _summary(last) == [("compact", "a", "GIVEN UP")]
    (row,) = rows(con, "CALL system.compact('a')")
    assert row[3] == "SUCCEEDED"


@pytest.mark.needs(Capability.PROCESSES)
def test_a_run_whose_process_was_killed_is_noted_as_interrupted(
    store: Store, con: Connection
) -> None:
    words = [warm_python(), "-m", "tests.support.endless_job", store.url]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "begun\n"
        assert rows(con, "SELECT state FROM system.jobs") == [("RUNNING",)]
        assert rows(con, "CALL system.verify('a')")
        assert rows(con, "SELECT count(*) FROM system.jobs WHERE state = 'RUNNING'") == [(1,)]
    finally:
        child.kill()
        child.communicate()
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        rows(con, "CALL system.verify('a')")
        states = [s for k, _, _, s, _ in rows(con, JOBS) if k == "compact"]
        if states == ["INTERRUPTED"]:
            break
        time.sleep(0.1)
    assert states == ["INTERRUPTED"]
