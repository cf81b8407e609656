"""kill -9 while a server's store archives, copies or purges: a rerun ends it, losing nothing."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.erasure_program import erasure_of
from journal.erasure.erasure_spec import ErasureSpec
from journal.records import backups
from journal.stores.hive.journal import HiveJournal
from journal.stores.postgres import jobs as postgres_jobs
from journal.stores.postgres.journal import DatabaseJournal
from spark_compaction.backends.hive import cleaning
from spark_compaction.programs.copies import MANIFEST
from tests.elsewhere.copied_texts import texts_in
from tests.elsewhere.killed_copier import ARCHIVE_STEPS, BACKUP_STEPS, DROP_STEPS, PURGE_STEPS
from tests.elsewhere.server_stores import Connect, connect, new_store, url
from tests.support import aged
from tests.support.kept import is_whole, rows

__all__ = ["connect", "new_store", "url"]

pytestmark = [pytest.mark.stores, pytest.mark.timeout(1800)]
REPOSITORY = Path(__file__).parents[2]
WHO = "qz7-unmistakable-xk9"
ALL = "SELECT * FROM t ORDER BY id"
EVERY = "SELECT * FROM t FOR SYSTEM_TIME ALL ORDER BY id, version_number"
Killed = Callable[[str, str], None]


def each(steps: tuple[str, ...], often: str = "") -> pytest.MarkDecorator:
    """Every step on every store; in each run of tests only ``often`` on Spark, which takes long."""
    found = [("postgresql", step) for step in steps]
    hive = [
        pytest.param("hive", step, marks=[] if step == often else pytest.mark.slow)
        for step in steps
    ]
    return pytest.mark.parametrize(("new_store", "step"), [*found, *hive], indirect=["new_store"])


@pytest.fixture
def killed(url: str) -> Killed:
    """A function that has another process run a statement and die at a step."""

    def go(step: str, statement: str) -> None:
        command = [sys.executable, "-m", "tests.elsewhere.killed_copier", url, step, statement]
        done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, timeout=600)
        assert done.returncode == -signal.SIGKILL, done.stderr.decode()

    return go


@pytest.fixture
def table(connect: Connect) -> Connection:
    """Days of people, the older half of them past their time."""
    con = connect()
    con.execute(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, ds DATE, who VARCHAR)"
        " WITH (erasure = 'who AS nick')"
    )
    con.execute(
        f"INSERT INTO t VALUES (1, DATE '2024-01-05', '{WHO}'), (2, DATE '2024-01-06', 'b'),"
        f" (3, DATE '2024-03-30', '{WHO}'), (4, DATE '2024-03-31', 'd')"
    )
    con.execute("UPDATE t SET who = 'c' WHERE id = 3")
    return con


def _erase(con: Connection) -> None:
    erasure_of(con.session).accept(ErasureSpec({"nick": [WHO]}), "tester")


def _runs(con: Connection, statement: str) -> str:
    """Run a job as soon as nobody holds its place any more who was killed; its state."""
    until = time.monotonic() + 120
    while True:
        try:
            return str(rows(con, statement)[0][3])
        except gateway.Error as error:
            if error.code not in {"PAL-703", "PAL-403"} or time.monotonic() > until:
                raise
            time.sleep(0.5)


def _is_clean(con: Connection, place: Path) -> bool:
    """There are the files that lists name, and what is listed in the store; and no more."""
    assert is_whole(con)
    files = {p for p in place.rglob("*") if p.is_file()}
    listed = set()
    for manifest in place.rglob(MANIFEST):
        segments = json.loads(manifest.read_text())["segments"]
        listed |= {manifest, *(manifest.parent / f["path"] for s in segments for f in s["files"])}
    assert files == listed
    _vacuumed(con)
    # Of people there may be rows in what processes had on its way that have ended.
    left = Path(tempfile.gettempdir()).glob("palimpsest-carried-*")
    assert [p for p in left if not Path("/proc", p.name.split("-")[2]).exists()] == []
    return True


def _vacuumed(con: Connection) -> None:
    """Nothing is in the store that no manifest, no backup and no grace lists."""
    journal = con.session.journal
    with journal.reading_session() as session:
        kept = [b for b in backups.load(session) if b.name.startswith(("copying-", "reading-"))]
        assert kept == []
    if isinstance(journal, HiveJournal):
        with journal.store.connection() as connection:
            # A day passes.
            cleaning.remove_forsaken(journal, connection, 0)
            assert cleaning.forsaken(journal, connection, journal.now()) == []
        return
    assert isinstance(journal, DatabaseJournal)
    (state,) = journal.state.tables.values()
    with journal.reading_session() as session:
        known = {r.name for r in postgres_jobs.retired(session)}
        known |= {s.id for s in state.manifest.segments} | set(state.manifest.masks)
        there = postgres_jobs.relations(session, "r")
        assert {n for n in there if n.startswith(("t2_s", "w_", "sought_"))} <= known


@each(ARCHIVE_STEPS, "listed")
def test_an_archive_is_killed(table: Connection, killed: Killed, tmp_path: Path, step: str) -> None:
    place = tmp_path / "vault"
    before = rows(table, ALL)
    aged.set_policy(
        table, f"RETENTION = 30 DAYS ON COLUMN ds ACTION = ARCHIVE, ARCHIVE = '{place}'"
    )
    retain = f"CALL system.retain('t', now => '{aged.NOW}')"
    killed(step, retain)
    found = rows(table, ALL)
    assert found == (before if step == "before swap" else before[2:])
    assert _runs(table, retain) in {"SUCCEEDED", "NOTHING"}
    assert rows(table, ALL) == before[2:]
    known = "SELECT kind, sum(rows) FROM system.backups WHERE kind {} GROUP BY kind"
    assert rows(table, known.format("IN ('copy', 'archive')")) == [("copy", 2)]
    assert _is_clean(table, place)
    _erase(table)
    assert _runs(table, "CALL system.purge('t')") == "SUCCEEDED"
    assert WHO.encode() not in texts_in(place)
    table.execute("ALTER TABLE t UNSET POLICY")
    assert _runs(table, "CALL system.restore('t', backup => 'archive')") == "SUCCEEDED"
    assert rows(table, ALL) == [before[1], before[3]], "nobody is back, and nobody is lost"
    assert is_whole(table)


@each(tuple(s for s in BACKUP_STEPS if s != "in a file"))
def test_a_copy_is_killed(table: Connection, killed: Killed, tmp_path: Path, step: str) -> None:
    place = tmp_path / "vault"
    before, ever = rows(table, ALL), rows(table, EVERY)
    backup = f"CALL system.backup('t', name => 'far', to => '{place}')"
    killed(step, backup)
    assert rows(table, EVERY) == ever
    if step == "listed":
        with pytest.raises(gateway.Error, match="PAL-705"):
            _runs(table, backup)
    else:
        with pytest.raises(gateway.Error, match="PAL-705"):
            _runs(table, "CALL system.restore('t', backup => 'far')")
        assert _runs(table, backup) == "SUCCEEDED"
    table.execute("DELETE FROM t")
    assert _runs(table, "CALL system.restore('t', backup => 'far')") == "SUCCEEDED"
    assert rows(table, ALL) == before
    assert _settles(table)
    assert _is_clean(table, place)


def _settles(con: Connection) -> bool:
    """What was killed is noted once its place is free, which a lease takes some time for."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        con.execute("CALL system.vacuum('t')")
        if rows(con, "SELECT count(*) FROM system.jobs WHERE state = 'RUNNING'") == [(0,)]:
            return True
        time.sleep(0.5)
    return False


@each(("before swap", "swap", *PURGE_STEPS[1:]))
def test_a_purge_of_a_copy_is_killed(
    table: Connection, killed: Killed, tmp_path: Path, step: str
) -> None:
    place = tmp_path / "vault"
    table.execute(f"CALL system.backup('t', name => 'far', to => '{place}')")
    _erase(table)
    killed(step, "CALL system.purge('t')")
    assert rows(table, "SELECT id FROM t ORDER BY id") == [(2,), (4,)]
    assert _runs(table, "CALL system.purge('t')") in {"SUCCEEDED", "NOTHING"}
    assert _settles(table)
    assert _is_clean(table, place)
    assert _runs(table, "CALL system.purge('t')") in {"SUCCEEDED", "NOTHING"}
    assert rows(table, "SELECT count(*) FROM t_journal WHERE id IN (1, 3)") == [(0,)]
    assert WHO.encode() not in texts_in(place)
    table.execute("DELETE FROM t")
    assert _runs(table, "CALL system.restore('t', backup => 'far')") == "SUCCEEDED"
    assert rows(table, "SELECT id FROM t ORDER BY id") == [(2,), (4,)]


@each(DROP_STEPS)
def test_the_removal_of_a_copy_is_killed(
    table: Connection, killed: Killed, tmp_path: Path, step: str
) -> None:
    place = tmp_path / "vault"
    table.execute(f"CALL system.backup('t', name => 'far', to => '{place}')")
    drop = "CALL system.backup('t', name => 'far', drop => true)"
    killed(step, drop)
    with pytest.raises(gateway.Error, match="PAL-705"):
        _runs(table, "CALL system.restore('t', backup => 'far')")
    assert _runs(table, drop) == "SUCCEEDED"
    assert [p for p in place.rglob("*") if p.is_file()] == []
    assert _settles(table)
    assert _is_clean(table, place)
