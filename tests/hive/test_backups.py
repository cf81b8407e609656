"""Named backups in a Hive store: what they bring back, how long they stay, and what they forget."""

from __future__ import annotations

import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.erasers import eraser_of
from journal.erasure.erasure_spec import ErasureSpec
from journal.erasure.requests import State
from journal.stores.hive import backup_segments
from journal.stores.hive.journal import HiveJournal
from spark_compaction.backends.hive import cleaning, partition_backups
from spark_compaction.contract import silent
from spark_compaction.programs import retention_sql
from tests.hive.conftest import ThriftServer
from tests.hive.test_erasure import WHO, traces
from tests.support import kept
from tests.support.kept import ALL, call, is_whole, rows, spoil

pytestmark = pytest.mark.timeout(1800)


@pytest.fixture
def url(server: ThriftServer, tmp_path: Path) -> str:
    return server.url(f"p{uuid.uuid4().hex[:8]}_", tmp_path / "catalog.db", views="off")


@pytest.fixture
def table(con: Connection) -> Connection:
    """The table that is spoilt."""
    kept.make(con)
    return con


def _journal(con: Connection) -> HiveJournal:
    found = con.session.journal
    assert isinstance(found, HiveJournal)
    return found


def _drop_retired(con: Connection) -> None:
    """Drop what jobs have replaced, as if its grace were over; what backups list stays."""
    with _journal(con).store.connection() as connection:
        cleaning.reap(_journal(con), connection, 1, list)


def _partitions(con: Connection) -> set[str]:
    """The partitions there are."""
    own = _journal(con).names.own
    with _journal(con).store.connection() as connection:
        names = connection.tables_of(own, f"{_journal(con).names.journals}*")
        return {f"{n}/{s}" for n in names for s in connection.partitions_of(own, n)}


def _listed(con: Connection) -> set[str]:
    manifest = _journal(con).state.tables[1].manifest
    return set(backup_segments.live_paths(manifest))


def test_a_backup_brings_back_what_was_there_and_can_be_undone(table: Connection) -> None:
    there = _partitions(table)
    kept.check_brings_back(table, _drop_retired, lambda con: _journal(con).state.version)
    assert there <= _partitions(table), "nothing was copied, and nothing was dropped"


def test_rows_by_condition_and_by_key(table: Connection) -> None:
    kept.check_condition_and_key(table, _drop_retired)


def test_a_backup_outlasts_a_column(table: Connection) -> None:
    kept.check_outlasts_a_column(table)


@pytest.mark.slow
def test_retention_leaves_a_backup(con: Connection) -> None:
    kept.check_retention_leaves_a_backup(con, _drop_retired)
    assert rows(con, "SELECT kind FROM system.backups") == [("trash",)]
    with pytest.raises(gateway.Error, match="nothing to restore"):
        con.execute("CALL system.restore('t')")


@pytest.mark.slow
def test_backups_go_by_age_by_count_and_by_name(con: Connection) -> None:
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, 'b')")
    call(con, "backup('t', name => 'short', expires => '1 hour')")
    for number in range(3):
        call(con, f"backup('t', name => 'n{number}')")
        con.execute(f"UPDATE t SET b = 'b{number}'")
        con.execute("OPTIMIZE t")
    held = _partitions(con)
    assert held - _listed(con)
    with pytest.raises(gateway.Error, match="already"):
        con.execute("CALL system.backup('t', name => 'n1')")
    planned = call(con, "vacuum('t', backups => 2, versions => 1, dry_run => true)")
    assert planned["details"]["backups_forgotten"] == ["short", "n0"]
    assert _partitions(con) == held
    done = call(con, "vacuum('t', backups => 2, versions => 1)")
    assert done["details"] == planned["details"]
    assert set(done["details"]["dropped"]) == held - _partitions(con) != set()
    for name in ("n1", "n2"):
        call(con, f"backup('t', name => '{name}', drop => true)")
    _drop_retired(con)
    assert _partitions(con) == _listed(con)
    with pytest.raises(gateway.Error) as raised:
        con.execute("CALL system.restore('t', backup => 'n1')")
    assert raised.value.code == "PAL-705"


def test_the_erased_are_in_no_backup_and_come_back_from_none(
    table: Connection, tmp_path: Path
) -> None:
    table.execute(f"UPDATE t SET b = '{WHO}' WHERE a = 7")
    call(table, "backup('t', name => 'open')")
    table.execute("UPDATE t SET b = 'other' WHERE a = 7")
    table.execute("OPTIMIZE t")
    call(table, "backup('t', name => 'compacted')")
    table.execute("DELETE FROM t WHERE a < 20")
    table.execute("OPTIMIZE t")
    _drop_retired(table)
    assert _traces(table, tmp_path)
    assert _erase(table) is State.COMPLETED
    assert not _traces(table, tmp_path)
    assert is_whole(table)
    for name in ("open", "compacted"):
        call(table, f"restore('t', backup => '{name}')")
        assert rows(table, "SELECT count(*) FROM t WHERE a < 20") == [(18,)]
        assert rows(table, "SELECT count(*) FROM t WHERE a = 7") == [(0,)]
        table.execute("DELETE FROM t WHERE a < 20")
    assert not _traces(table, tmp_path)


def _traces(con: Connection, folder: Path) -> list[str]:
    """Where the name can be read; the store has no views, and no database for them."""
    journal = _journal(con)
    with journal.store.connection() as connection:
        connection.execute(f"CREATE DATABASE IF NOT EXISTS `{journal.names.schema('main')}`")
    return traces(con, folder / "catalog.db")


def _erase(con: Connection) -> State:
    eraser = eraser_of(con.session)
    request = eraser.accept(ErasureSpec({"b": [WHO]}), "tester")
    done = eraser.purge(None, "tester", [request.id], silent)
    assert done.failures == {}
    return done.requests[0].state


@pytest.mark.slow
def test_who_is_in_a_backup_only_is_found_there(table: Connection, tmp_path: Path) -> None:
    table.execute(f"UPDATE t SET b = '{WHO}' WHERE a = 7")
    call(table, "backup('t', name => 'good')")
    table.execute("UPDATE t SET b = 'other' WHERE a = 7")
    table.execute("ALTER TABLE t SET POLICY (VERSIONS = 1)")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(retention_sql, "READ_US", 0)
        table.execute("CALL system.retain('t')")
    _drop_retired(table)
    assert rows(table, f"SELECT count(*) FROM t_journal WHERE b = '{WHO}'") == [(0,)]
    assert _traces(table, tmp_path)
    assert _erase(table) is State.COMPLETED
    assert not _traces(table, tmp_path)
    table.execute("DELETE FROM t WHERE a < 9")
    call(table, "restore('t', backup => 'good', where => 'a < 9')")
    found = rows(table, "SELECT a FROM t WHERE a BETWEEN 6 AND 8 ORDER BY a")
    assert found == [(6,), (8,)]


@pytest.mark.parametrize("step", [pytest.param("before commit", marks=pytest.mark.slow), "commit"])
def test_a_restore_that_was_killed_happened_or_not(table: Connection, url: str, step: str) -> None:
    before = rows(table, ALL)
    call(table, "backup('t', name => 'good')")
    spoil(table, _drop_retired)
    spoilt = rows(table, ALL)
    words = [sys.executable, "-m", "tests.support.killed_job", url, "restore", step]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert rows(table, ALL) == (before if step == "commit" else spoilt)
    (row,) = rows(table, "CALL system.restore('t', backup => 'good')")
    assert row[3] == ("NOTHING" if step == "commit" else "SUCCEEDED")
    assert rows(table, ALL) == before
    assert is_whole(table)
    pins = [n for (n,) in rows(table, "SELECT name FROM system.backups") if "reading" in n]
    assert len(pins) == 1, "what the killed one read is kept for a day"


def test_a_backup_that_somebody_damaged_is_found_and_not_restored(con: Connection) -> None:
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, 'b'), (2, 'c')")
    call(con, "backup('t', name => 'good')")
    con.execute("DELETE FROM t WHERE a = 1")
    con.execute("OPTIMIZE t")
    (lost,) = [p for p in _partitions(con) - _listed(con) if _is_first(con, p)]
    with _journal(con).store.connection() as connection:
        _journal(con).drop_segment(connection, lost)
    with pytest.raises(gateway.Error, match="backups list"):
        con.execute("CALL system.verify('t')")
    with pytest.raises(gateway.Error, match="not whole"):
        con.execute("CALL system.restore('t', backup => 'good')")
    assert rows(con, "SELECT * FROM t") == [(2, "c")]
    assert rows(con, "SELECT name FROM system.backups") == [("good",)]


def _is_first(con: Connection, path: str) -> bool:
    with _journal(con).reading_session() as session:
        found = partition_backups.backups.load(session)
    return path in partition_backups.names_in(found)
