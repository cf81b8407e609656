"""What a scheduler must do on any store that several gateways may be connected to at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from gateway.dbapi.connection import Connection
from gateway.jobs.job_locks import alone_on, one_of
from gateway.jobs.runs import JobRun, Request, run_all
from gateway.jobs.scheduler import Scheduler
from journal.model.errors import Code, PalimpsestError
from tests.support.kept import rows

Connect = Callable[..., Connection]
Check = Callable[[Connection, Connect], None]
JOBS = (
    "SELECT kind, substr(table_name, length(table_name)), cause, state, attempt FROM system.jobs"
    " ORDER BY started_at"
)


def scheduler_of(con: Connection, **options: object) -> Scheduler:
    """A scheduler on the session of a connection."""
    return Scheduler(lambda: con.session, **options)  # type: ignore[arg-type]


def make(con: Connection) -> None:
    """Two tables with rows past their date; nothing can be compacted of the second."""
    for name in ("a", "b"):
        con.execute(
            f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, ds DATE, who VARCHAR)"
            " WITH (compact_changes_min = '1', erasure = 'who AS nick')"
        )
        con.execute(
            f"INSERT INTO {name} VALUES (1, DATE '2020-01-01', 'ada'),"
            f" (2, DATE '2999-01-01', 'bob'), (3, NULL, 'eve')"
        )


def _told(runs: list[JobRun]) -> list[tuple[str, str, str]]:
    return sorted((r.kind, r.table.rpartition(".")[2], r.state) for r in runs)


def check_due_runs(con: Connection, connect: Connect) -> None:
    """Retention runs at once, then by its time; triggers run; another scheduler finds all done."""
    make(con)
    con.execute("ALTER TABLE a SET POLICY (RETENTION = 1 YEAR ON COLUMN ds, BACKUP = 1 MINUTE)")
    other = connect()
    mine, others = scheduler_of(con), scheduler_of(other)
    con.execute("ALTER TABLE b SET POLICY (SCHEDULE_COMPACT = '0 3 1 1 *')")
    done = _told(mine.once())
    assert ("retain", "a", "SUCCEEDED") in done
    assert all(table == "a" for kind, table, _ in done if kind == "compact")
    assert rows(con, "SELECT id FROM a ORDER BY id") == [(2,), (3,)]
    assert ("retain", "a", "SUCCEEDED") not in _told(others.once())
    other.execute("UPDATE a SET who = 'new' WHERE id = 3")
    assert ("compact", "a", "SUCCEEDED") in _told(others.once())
    other.execute("ERASE FROM a WHERE who = 'bob'")
    _leave_expired_backup(other)
    done = _told(mine.once())
    assert {(kind, table) for kind, table, _ in done} >= {("vacuum", "b")}
    assert rows(con, "SELECT count(*) FROM system.backups WHERE name = 'short'") == [(0,)]
    assert rows(con, "SELECT id FROM a ORDER BY id") == [(3,)]
    told = rows(other, JOBS)
    assert ("retain", "a", "schedule", "SUCCEEDED", 1) in told
    assert ("vacuum", "b", "trigger", "SUCCEEDED", 1) in told
    ((count, whole),) = rows(other, "SELECT count(log), count(ended_at) FROM system.jobs")
    assert count == whole == len(told)


def _leave_expired_backup(con: Connection) -> None:
    """A backup of the second table, made an hour ago for a minute."""
    ago = datetime.now(UTC) - timedelta(hours=1)
    found = [t for t in con.session.journal.state.catalog.tables() if t.name.name == "b"]
    options = {"name": "short", "expires": "1 minute"}
    (run,) = run_all(con.session, Request("backup", options, now=ago), found)
    assert run.error is None


def check_two_at_once(con: Connection, connect: Connect) -> None:
    """Two schedulers that begin together run everything once."""
    make(con)
    for name in ("a", "b"):
        con.execute(f"ALTER TABLE {name} SET POLICY (RETENTION = 1 YEAR ON COLUMN ds)")
    begin = threading.Barrier(2)
    failed: list[BaseException] = []

    def run(connection: Connection) -> None:
        try:
            found = scheduler_of(connection)
            begin.wait()
            found.once()
        except BaseException as error:  # noqa: BLE001 - told by the test.
            failed.append(error)

    threads = [threading.Thread(target=run, args=(c,)) for c in (con, connect())]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    ran = [(k, t) for k, t, *_ in rows(con, JOBS) if k == "retain"]
    assert sorted(ran) == [("retain", "a"), ("retain", "b")]
    assert rows(con, "SELECT count(*) FROM a") == [(2,)]


def check_failing(con: Connection, connect: Connect) -> None:
    """A table that fails stops no other, comes first next time, and is given up in the end."""
    make(con)
    for name in ("a", "b"):
        con.execute(f"ALTER TABLE {name} SET POLICY (MAX_ATTEMPTS = 2)")
        con.execute(f"UPDATE {name} SET who = 'new'")
    made = [scheduler_of(c) for c in (con, connect())]
    catalog = con.session.journal.state.catalog
    (table_id,) = (t.id for t in catalog.tables() if t.name.name == "a")
    with alone_on(con.session.journal)(f"slot:{table_id}:0") as is_mine:
        assert is_mine
        con.execute("ALTER TABLE a SET POLICY (MAX_CONCURRENCY = 1)")
        with _impatient():
            first = [r for r in made[0].once() if r.kind == "compact"]
            again = [r for r in made[1].once() if r.kind == "compact"]
            last = [r for r in made[0].once() if r.kind == "compact"]
    assert _told(first)[0] == ("compact", "a", "FAILED")
    assert ("compact", "b", "SUCCEEDED") in _told(first)
    assert first[0].error is not None
    assert first[0].error.code is Code.JOB_BUSY
    assert _told(again) == [("compact", "a", "FAILED")]
    assert [r.attempt for r in again] == [2], "the other process knows of the first attempt"
    assert _told(last) == [("compact", "a", "GIVEN UP")]
    (row,) = rows(con, "CALL system.compact('a')")
    assert row[3] == "SUCCEEDED"


class _impatient:  # noqa: N801 - used as a statement.
    """Jobs that find no place give up at once."""

    def __enter__(self) -> None:
        import pytest

        self._patch = pytest.MonkeyPatch()
        self._patch.setattr(
            "gateway.jobs.runs.one_of", lambda alone, i, most: one_of(alone, i, most, 0.01)
        )

    def __exit__(self, *_given: object) -> None:
        self._patch.undo()


def check_killed(con: Connection, url: str) -> None:
    """A run whose process was killed is noted as interrupted, and tried again first."""
    make(con)
    words = [sys.executable, "-m", "tests.support.scheduling", url]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "at it\n"
        (row,) = rows(con, "SELECT state FROM system.jobs")
        assert row == ("RUNNING",)
        (row,) = rows(con, "CALL system.verify('a')")
        assert rows(con, "SELECT count(*) FROM system.jobs WHERE state = 'RUNNING'") == [(1,)]
    finally:
        child.send_signal(signal.SIGKILL)
        child.communicate()
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        rows(con, "CALL system.verify('a')")
        states = [s for k, _, _, s, _ in rows(con, JOBS) if k == "compact"]
        if states == ["INTERRUPTED"]:
            break
        time.sleep(0.5)
    assert states == ["INTERRUPTED"]


CHECKS = (check_due_runs, check_two_at_once, check_failing)
"""What is checked with one connection and what opens others."""


def main() -> None:
    """Begin a job and never end it."""
    import gateway
    from gateway.jobs import compact
    from gateway.jobs.context import JobContext
    from journal.records.report import JobReport

    def never(_context: JobContext) -> JobReport:
        sys.stdout.write("at it\n")
        sys.stdout.flush()
        time.sleep(600)
        raise PalimpsestError(Code.JOB_FAILED, f"nobody killed {os.getpid()}")

    kind = compact.KIND
    never_kind = type(kind)(kind.name, "", never, kind.options, never, never)
    compact.KIND = never_kind
    connection = gateway.connect(sys.argv[1], autocommit=True)
    connection.execute("CALL system.compact('a')")


if __name__ == "__main__":
    main()
