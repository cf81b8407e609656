"""Named backups in a database: what they bring back, how long they stay, and what they forget."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.adopting import adopt
from journal.erasure.erasure_spec import ErasureSpec
from journal.erasure.requests import State
from journal.records import backups
from journal.stores.postgres.journal import DatabaseJournal
from spark_compaction.backends.postgres import erasing, segment_swap
from spark_compaction.backends.postgres.acceptance import accept
from spark_compaction.programs import retention_sql
from tests.database.test_adopt import CLASSIC, journal
from tests.support import kept
from tests.support.kept import ALL, call, is_whole, rows, spoil
from tests.support.postgres import Cluster
from tests.support.traces import everything

__all__ = ["journal"]
TOKEN = "qz7-unmistakable-xk9"


@pytest.fixture
def outside(cluster: Cluster, database: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection of another tool."""
    with psycopg.connect(cluster.conninfo(database), autocommit=True) as found:
        yield found


@pytest.fixture
def table(con: Connection) -> Connection:
    """A table in a base, in history, in two layouts and in its head."""
    kept.make(con)
    return con


def _journal(con: Connection) -> DatabaseJournal:
    found = con.session.journal
    assert isinstance(found, DatabaseJournal)
    return found


def _drop_retired(con: Connection) -> None:
    """Drop what jobs have replaced, as if its grace were over; what backups list stays."""
    segment_swap.reap(_journal(con), 1, list)


def test_a_backup_brings_back_what_was_there_and_can_be_undone(
    table: Connection, outside: psycopg.Connection[Any]
) -> None:
    before = rows(table, ALL)
    kept.check_brings_back(table, _drop_retired, lambda con: _journal(con).state.version)
    ((state, *_),) = rows(table, "SELECT state FROM system.jobs WHERE kind = 'backup' LIMIT 1")
    assert state == "PLANNED"
    call(table, "restore('t', backup => 'good')")
    assert outside.execute(ALL).fetchall() == before


def test_nothing_is_restored_from_a_table_that_lost_rows(
    table: Connection, outside: psycopg.Connection[Any]
) -> None:
    made = call(table, "backup('t', name => 'good')")
    table.execute("DELETE FROM t")
    with _journal(table).reading_session() as session:
        found = next(b for b in backups.load(session, 1) if b.name == made["details"]["backup"])
    place = max(found.segments, key=lambda s: s.counts.total).files[0].path
    outside.execute("SET session_replication_role = replica")
    outside.execute(f"DELETE FROM _palimpsest.{place} WHERE ctid = '(0,1)'")
    with pytest.raises(gateway.Error, match="is not whole") as raised:
        table.execute("CALL system.restore('t', backup => 'good')")
    assert raised.value.code == "PAL-503"
    kinds = rows(table, "SELECT name FROM system.backups")
    assert kinds == [("good",)], "neither trash nor a backup that was read stays"


def test_rows_by_condition_and_by_key(table: Connection) -> None:
    kept.check_condition_and_key(table, _drop_retired)


def test_a_backup_outlasts_a_column(table: Connection) -> None:
    kept.check_outlasts_a_column(table)


def test_a_restore_of_many_rows(con: Connection, outside: psycopg.Connection[Any]) -> None:
    """More than a transaction keeps in memory, so that they wait on the server for the commit."""
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
    con.execute("INSERT INTO t SELECT i, 'b' || i FROM range(3000) r(i)")
    con.execute("SET memory_rows = 100")
    call(con, "backup('t', name => 'good')")
    con.execute("DELETE FROM t")
    call(con, "restore('t')")
    assert rows(con, "SELECT count(*), max(a) FROM t") == [(3000, 2999)]
    left = outside.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = '_palimpsest'::regnamespace"
        " AND (relname ~ '^w_' OR relkind = 'v') ORDER BY 1"
    ).fetchall()
    assert [name for (name,) in left] == ["t1_head"] or all(n.startswith("t1") for (n,) in left)


def test_retention_leaves_a_backup(con: Connection) -> None:
    kept.check_retention_leaves_a_backup(con, _drop_retired)


def test_backups_go_by_age_by_count_and_by_name(
    table: Connection, outside: psycopg.Connection[Any]
) -> None:
    before = _tables(outside)
    call(table, "backup('t', name => 'short', expires => '1 hour')")
    for number in range(3):
        call(table, f"backup('t', name => 'n{number}')")
        spoil(table, _drop_retired)
        table.execute("DELETE FROM t WHERE a IN (5, 200)")
    held = set(_tables(outside))
    assert held - set(before)
    with pytest.raises(gateway.Error, match="already"):
        table.execute("CALL system.backup('t', name => 'n1')")
    planned = call(table, "vacuum('t', backups => 2, versions => 1, dry_run => true)")
    assert planned["details"]["backups_forgotten"] == ["short", "n0"]
    assert set(_tables(outside)) == held
    done = call(table, "vacuum('t', backups => 2, versions => 1)")
    assert (done["removed"]["files"], done["details"]["in_use"]) == (
        planned["removed"]["files"],
        [],
    )
    assert done["removed"]["files"] > 0
    for name in ("n1", "n2"):
        call(table, f"backup('t', name => '{name}', drop => true)")
    _drop_retired(table)
    state = _journal(table).state.tables[1]
    assert len(_tables(outside)) == len(state.manifest.heads) + len(state.manifest.segments)
    with pytest.raises(gateway.Error) as raised:
        table.execute("CALL system.restore('t', backup => 'n1')")
    assert raised.value.code == "PAL-705"


def _tables(outside: psycopg.Connection[Any]) -> list[str]:
    found = outside.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = '_palimpsest'::regnamespace"
        " AND relkind = 'r' AND relname ~ '^t[0-9]+_' ORDER BY 1"
    )
    return [name for (name,) in found.fetchall()]


def _erase(con: Connection) -> Any:
    request = accept(_journal(con), ErasureSpec({"b": [TOKEN]}), "tester")
    done = erasing.erase(_journal(con), "tester", only=[request.id])
    assert done.failures == {}
    return done.requests[0]


def test_the_erased_are_in_no_backup_and_come_back_from_none(
    table: Connection, cluster: Cluster, database: str
) -> None:
    table.execute(f"UPDATE t SET b = '{TOKEN}' WHERE a = 7")
    call(table, "backup('t', name => 'open')")
    table.execute("UPDATE t SET b = 'other' WHERE a = 7")
    table.execute("OPTIMIZE t")
    call(table, "backup('t', name => 'compacted')")
    table.execute("DELETE FROM t WHERE a < 20")
    table.execute("OPTIMIZE t")
    _drop_retired(table)
    assert TOKEN in everything(cluster, database)
    request = accept(_journal(table), ErasureSpec({"b": [TOKEN]}), "tester")
    call(table, "restore('t', backup => 'open', where => 'a < 9')")
    assert rows(table, "SELECT a FROM t WHERE a < 20 ORDER BY a") == [
        (a,) for a in range(9) if a not in {5, 7}
    ]
    done = erasing.erase(_journal(table), "tester", only=[request.id])
    assert (done.failures, [r.state for r in done.requests]) == ({}, [State.COMPLETED])
    assert TOKEN not in everything(cluster, database)
    assert is_whole(table)
    for name in ("open", "compacted"):
        call(table, f"restore('t', backup => '{name}')")
        assert rows(table, "SELECT count(*) FROM t WHERE a < 20") == [(18,)]
        assert rows(table, "SELECT count(*) FROM t WHERE a = 7") == [(0,)]
        table.execute("DELETE FROM t WHERE a < 20")
    assert TOKEN not in everything(cluster, database)


def test_who_is_in_a_backup_only_is_found_there(
    table: Connection, cluster: Cluster, database: str
) -> None:
    table.execute(f"UPDATE t SET b = '{TOKEN}' WHERE a = 7")
    call(table, "backup('t', name => 'good')")
    table.execute("UPDATE t SET b = 'other' WHERE a = 7")
    table.execute("ALTER TABLE t SET POLICY (VERSIONS = 1)")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(retention_sql, "READ_US", 0)
        table.execute("CALL system.retain('t')")
    _drop_retired(table)
    assert rows(table, f"SELECT count(*) FROM t_journal WHERE b = '{TOKEN}'") == [(0,)]
    assert TOKEN in everything(cluster, database)
    assert _erase(table).state is State.COMPLETED
    assert TOKEN not in everything(cluster, database)
    table.execute("DELETE FROM t WHERE a < 9")
    call(table, "restore('t', backup => 'good', where => 'a < 9')")
    assert rows(table, "SELECT a FROM t WHERE a BETWEEN 6 AND 8 ORDER BY a") == [(6,), (8,)]


@pytest.mark.parametrize("step", ["before conclude", "conclude", "before follow", "follow"])
def test_a_purge_that_was_killed_leaves_backups_whole(
    table: Connection, url: str, cluster: Cluster, database: str, step: str
) -> None:
    table.execute(f"UPDATE t SET b = '{TOKEN}' WHERE a = 7")
    call(table, "backup('t', name => 'good')")
    table.execute("OPTIMIZE t")
    accept(_journal(table), ErasureSpec({"b": [TOKEN]}), "tester")
    _killed(url, "purge", step)
    assert is_whole(table)
    done = erasing.erase(_journal(table), "tester")
    assert done.failures == {}
    erasing.erase(_journal(table), "tester")
    assert TOKEN not in everything(cluster, database)
    table.execute("DELETE FROM t")
    call(table, "restore('t', backup => 'good')")
    assert rows(table, "SELECT count(*) FROM t") == [(59,)]


@pytest.mark.parametrize("step", ["conclude", "before conclude"])
def test_a_backup_that_was_killed_is_simply_made_again(
    table: Connection, url: str, step: str
) -> None:
    before = rows(table, ALL)
    _killed(url, "backup", step)
    assert rows(table, "SELECT count(*) FROM system.backups") == [(0,)]
    call(table, "backup('t', name => 'good')")
    spoil(table, _drop_retired)
    call(table, "restore('t')")
    assert rows(table, ALL) == before
    assert is_whole(table)


@pytest.mark.parametrize("step", ["before commit", "commit"])
def test_a_restore_that_was_killed_happened_or_not(table: Connection, url: str, step: str) -> None:
    before = rows(table, ALL)
    call(table, "backup('t', name => 'good')")
    spoil(table, _drop_retired)
    spoilt = rows(table, ALL)
    _killed(url, "restore", step)
    assert rows(table, ALL) == (before if step == "commit" else spoilt)
    (row,) = rows(table, "CALL system.restore('t', backup => 'good')")
    assert row[3] == ("NOTHING" if step == "commit" else "SUCCEEDED")
    assert rows(table, ALL) == before
    assert is_whole(table)


def _killed(url: str, kind: str, step: str) -> None:
    words = [sys.executable, "-m", "tests.support.killed_job", url, kind, step]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == -signal.SIGKILL, done.stderr


def test_an_adopted_journal_has_its_rows_copied(
    con: Connection, admin: Any, journal: str, cluster: Cluster, database: str
) -> None:
    adopt(con.session, "hr.depts", (), CLASSIC, run=True)
    con.execute("ALTER TABLE hr.depts SET TBLPROPERTIES ('erasure' = 'department_name AS b')")
    con.execute(f"INSERT INTO hr.depts VALUES (4, 'New'), (5, '{TOKEN}')")
    before = rows(con, "SELECT * FROM hr.depts ORDER BY 1")
    call(con, "backup('hr.depts', name => 'good')")
    con.execute("DELETE FROM hr.depts WHERE deptno > 1")
    con.execute("OPTIMIZE hr.depts")
    _drop_retired(con)
    done = call(con, "restore('hr.depts', backup => 'good')")
    assert rows(con, "SELECT * FROM hr.depts ORDER BY 1") == before
    assert _erase(con).state is State.COMPLETED
    assert TOKEN not in everything(cluster, database)
    call(con, f"restore('hr.depts', backup => '{done['details']['trash']}')")
    call(con, "restore('hr.depts', backup => 'good')")
    assert rows(con, "SELECT * FROM hr.depts ORDER BY 1") == [r for r in before if r[0] != 5]
    assert is_whole(con)


def test_somebody_elses_change_of_a_backup_is_found(
    table: Connection, outside: psycopg.Connection[Any]
) -> None:
    call(table, "backup('t', name => 'good')")
    spoil(table, _drop_retired)
    ((listed,),) = rows(outside, "SELECT segments FROM _palimpsest.backups")
    name = next(n for n in _tables(outside) if f'"{n}"' in listed)
    outside.execute("SET session_replication_role = replica")
    outside.execute(f"DELETE FROM _palimpsest.{name}")
    with pytest.raises(gateway.Error, match="backups list"):
        table.execute("CALL system.verify('t')")


def test_a_backup_beside_writers(table: Connection, connect: Callable[..., Connection]) -> None:
    other = connect()
    other.execute("BEGIN")
    other.execute("UPDATE t SET d = 1 WHERE a = 1")
    call(table, "backup('t', name => 'good')")
    other.execute("COMMIT")
    assert rows(table, "SELECT d FROM t WHERE a = 1") == [(1,)]
    call(table, "restore('t')")
    assert rows(table, "SELECT d FROM t WHERE a = 1") == [(7,)]
    segment_swap.reap(_journal(table), 1)
    assert is_whole(table)
