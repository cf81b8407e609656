"""Backups in a database: tables that purges follow, that others change, and adopted journals."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
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
from spark_compaction.backends.postgres import segment_swap
from spark_compaction.erasure.acceptance import accept
from spark_compaction.erasure.purging import purge
from tests.database.test_adopt import CLASSIC, journal
from tests.support import kept
from tests.support.erasures import backend_of
from tests.support.kept import ALL, call, is_whole, rows, spoil
from tests.support.postgres import Cluster
from tests.support.traces import everything

pytestmark = pytest.mark.stores

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


def _tables(outside: psycopg.Connection[Any]) -> list[str]:
    found = outside.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = '_palimpsest'::regnamespace"
        " AND relkind = 'r' AND relname ~ '^t[0-9]+_' ORDER BY 1"
    )
    return [name for (name,) in found.fetchall()]


def _erase(con: Connection) -> Any:
    request = accept(backend_of(con), ErasureSpec({"b": [TOKEN]}), "tester")
    done = purge(backend_of(con), "tester", only=[request.id])
    assert done.failures == {}
    return done.requests[0]


@pytest.mark.parametrize("step", ["before conclude", "conclude", "before follow", "follow"])
def test_a_purge_that_was_killed_leaves_backups_whole(
    table: Connection, url: str, cluster: Cluster, database: str, step: str
) -> None:
    table.execute(f"UPDATE t SET b = '{TOKEN}' WHERE a = 7")
    call(table, "backup('t', name => 'good')")
    table.execute("OPTIMIZE t")
    accept(backend_of(table), ErasureSpec({"b": [TOKEN]}), "tester")
    _killed(url, "purge", step)
    assert is_whole(table)
    done = purge(backend_of(table), "tester")
    assert done.failures == {}
    purge(backend_of(table), "tester")
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
