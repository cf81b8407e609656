"""Named backups: what they bring back, how long they stay, what they forget, and kill -9."""

from __future__ import annotations

import signal
import subprocess

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.erasure_program import erasure_of
from journal.erasure.erasure_spec import ErasureSpec
from tests.support import kept, under_hold
from tests.support.kept import ALL, call, is_whole, rows, spoil
from tests.support.stores.store import Capability, Store
from tests.support.warm_python import warm_python

pytestmark = [pytest.mark.timeout(1800), pytest.mark.needs(Capability.BACKUPS)]
TOKEN = "qz7-unmistakable-xk9"


@pytest.fixture
def table(store: Store) -> Connection:
    """A table in a base, in history, in two layouts and in what came last."""
    con = store.connect()
    kept.make(con)
    return con


def test_a_backup_brings_back_what_was_there_and_can_be_undone(
    store: Store, table: Connection
) -> None:
    sealed = {piece for piece in store.pieces(table) if "head" not in piece}
    before = rows(table, ALL)
    kept.check_brings_back(table, store.drop_retired, lambda c: c.session.journal.state.version)
    assert sealed <= store.pieces(table), "nothing was copied, and nothing was dropped"
    states = rows(table, "SELECT state FROM system.jobs WHERE kind = 'backup' ORDER BY started_at")
    assert states[0] == ("PLANNED",)
    with pytest.raises(gateway.Error, match=r'no backup "god" .*did you mean good\?'):
        call(table, "restore('t', backup => 'god')")
    call(table, "restore('t', backup => 'good')")
    assert rows(table, ALL) == before
    (again,) = rows(table, "CALL system.restore('t', backup => 'good')")
    assert again[3] == "NOTHING"


@pytest.mark.needs(Capability.OTHER_READERS)
@pytest.mark.also_on("hive")
def test_other_tools_read_what_was_restored(store: Store, table: Connection) -> None:
    before = rows(table, ALL)
    call(table, "backup('t', name => 'good')")
    spoil(table, store.drop_retired)
    call(table, "restore('t', backup => 'good')")
    assert store.read_outside("SELECT * FROM {t} ORDER BY a") == before


@pytest.mark.also_on("hive")
def test_rows_by_condition_and_by_key(store: Store, table: Connection) -> None:
    kept.check_condition_and_key(table, store.drop_retired)


@pytest.mark.also_on("hive")
def test_a_backup_outlasts_a_column(table: Connection) -> None:
    kept.check_outlasts_a_column(table)


@pytest.mark.also_on("hive")
def test_retention_leaves_a_backup(store: Store) -> None:
    kept.check_retention_leaves_a_backup(store.connect())


@pytest.mark.also_on("hive")
def test_a_backup_of_a_retention_goes_when_its_time_is_up(store: Store) -> None:
    con = store.connect()
    kept.check_retention_leaves_a_backup(con)
    kept.check_backup_goes_with_its_pieces(con, store.drop_retired)
    assert rows(con, "SELECT kind FROM system.backups") == [("trash",)]
    with pytest.raises(gateway.Error, match="nothing to restore") as raised:
        con.execute("CALL system.restore('t')")
    assert raised.value.code == "PAL-705"


@pytest.mark.also_on("hive")
def test_backups_go_by_age_by_count_and_by_name(store: Store) -> None:
    con = store.connect()
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, 'b')")
    call(con, "backup('t', name => 'short', expires => '1 hour')")
    for number in range(3):
        call(con, f"backup('t', name => 'n{number}')")
        con.execute(f"UPDATE t SET b = 'b{number}'")
        con.execute("OPTIMIZE t")
    held = store.pieces(con)
    assert held - store.listed(con)
    with pytest.raises(gateway.Error, match="already") as raised:
        con.execute("CALL system.backup('t', name => 'n1')")
    assert raised.value.code == "PAL-705"
    planned = call(con, "vacuum('t', backups => 2, versions => 1, dry_run => true)")
    assert planned["details"]["backups_forgotten"] == ["short", "n0"]
    assert store.pieces(con) == held
    done = call(con, "vacuum('t', backups => 2, versions => 1)")
    assert done["details"]["backups_forgotten"] == ["short", "n0"]
    assert done["removed"] == planned["removed"]
    assert done["removed"]["files"] > 0
    assert held - store.pieces(con)
    for name in ("n1", "n2"):
        call(con, f"backup('t', name => '{name}', drop => true)")
    store.drop_retired(con)
    assert store.pieces(con) == store.listed(con)
    with pytest.raises(gateway.Error) as raised:
        con.execute("CALL system.restore('t', backup => 'n1')")
    assert (raised.value.code, raised.value.sqlstate) == ("PAL-705", "55000")


def test_the_erased_are_in_no_backup_and_come_back_from_none(
    store: Store, table: Connection
) -> None:
    table.execute(f"UPDATE t SET b = '{TOKEN}' WHERE a = 7")
    call(table, "backup('t', name => 'open')")
    table.execute("UPDATE t SET b = 'other' WHERE a = 7")
    table.execute("OPTIMIZE t")
    call(table, "backup('t', name => 'compacted')")
    table.execute("DELETE FROM t WHERE a < 20")
    table.execute("OPTIMIZE t")
    store.drop_retired(table)
    assert store.holders(TOKEN)
    _submit(table)
    call(table, "restore('t', backup => 'open', where => 'a < 9')")
    assert rows(table, "SELECT a FROM t WHERE a < 20 ORDER BY a") == [
        (a,) for a in range(9) if a not in {5, 7}
    ]
    assert {r.state.value for r in under_hold.run(table)} == {"COMPLETED"}
    assert store.holders(TOKEN) == []
    assert is_whole(table)
    for name in ("open", "compacted"):
        call(table, f"restore('t', backup => '{name}')")
        assert rows(table, "SELECT count(*) FROM t WHERE a < 20") == [(18,)]
        assert rows(table, "SELECT count(*) FROM t WHERE a = 7") == [(0,)]
        table.execute("DELETE FROM t WHERE a < 20")
    assert store.holders(TOKEN) == []


def _submit(con: Connection) -> None:
    erasure_of(con.session).accept(ErasureSpec({"b": [TOKEN]}), "tester")


@pytest.mark.long
@pytest.mark.also_on("hive")
def test_who_is_in_a_backup_only_is_found_there(
    store: Store, table: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.execute(f"UPDATE t SET b = '{TOKEN}' WHERE a = 7")
    call(table, "backup('t', name => 'good')")
    table.execute("UPDATE t SET b = 'other' WHERE a = 7")
    table.execute("ALTER TABLE t SET POLICY (VERSIONS = 1)")
    store.forget_readers(monkeypatch)
    table.execute("CALL system.retain('t')")
    store.drop_retired(table)
    assert rows(table, f"SELECT count(*) FROM t_journal WHERE b = '{TOKEN}'") == [(0,)]
    assert store.holders(TOKEN)
    _submit(table)
    assert {r.state.value for r in under_hold.run(table)} == {"COMPLETED"}
    assert store.holders(TOKEN) == []
    table.execute("DELETE FROM t WHERE a < 9")
    call(table, "restore('t', backup => 'good', where => 'a < 9')")
    assert rows(table, "SELECT a FROM t WHERE a BETWEEN 6 AND 8 ORDER BY a") == [(6,), (8,)]


def _killed(store: Store, con: Connection, kind: str, step: str) -> Connection:
    """Have another process run a job and die at a step of it; a connection after that."""
    if Capability.PROCESSES not in store.capabilities:
        con.close()
    words = [warm_python(), "-m", "tests.support.killed_job", store.url, kind, step]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == -signal.SIGKILL, done.stderr
    return store.connect()


RESTORE_STEPS = [
    "commit",
    pytest.param("before commit", marks=pytest.mark.also_on("hive", "postgres")),
]


@pytest.mark.first(1)
@pytest.mark.parametrize("step", RESTORE_STEPS)
def test_a_restore_that_was_killed_happened_or_not(
    store: Store, table: Connection, step: str
) -> None:
    before = rows(table, ALL)
    call(table, "backup('t', name => 'good')")
    spoil(table, store.drop_retired)
    spoilt = rows(table, ALL)
    con = _killed(store, table, "restore", step)
    assert rows(con, ALL) == (before if step == "commit" else spoilt)
    (row,) = rows(con, "CALL system.restore('t', backup => 'good')")
    assert row[3] == ("NOTHING" if step == "commit" else "SUCCEEDED")
    assert rows(con, ALL) == before
    assert is_whole(con)


def test_a_backup_beside_writers(store: Store, table: Connection) -> None:
    other = store.connect()
    other.execute("BEGIN")
    other.execute("UPDATE t SET d = 1 WHERE a = 1")
    call(table, "backup('t', name => 'good')")
    other.execute("COMMIT")
    assert rows(table, "SELECT d FROM t WHERE a = 1") == [(1,)]
    call(table, "restore('t')")
    assert rows(table, "SELECT d FROM t WHERE a = 1") == [(7,)]
    store.drop_retired(table)
    assert is_whole(table)


@pytest.mark.also_on("hive")
def test_a_restore_of_more_rows_than_a_transaction_keeps_in_memory(store: Store) -> None:
    con = store.connect()
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
    con.execute("INSERT INTO t SELECT i, 'b' || i FROM range(3000) r(i)")
    con.execute("SET memory_rows = 100")
    call(con, "backup('t', name => 'good')")
    con.execute("DELETE FROM t")
    call(con, "restore('t')")
    assert rows(con, "SELECT count(*), max(a) FROM t") == [(3000, 2999)]
    store.drop_retired(con)
    assert is_whole(con)


@pytest.fixture
def damaged(store: Store) -> Connection:
    """A table of one row, with a backup of two whose sealed piece somebody has removed."""
    con = store.connect()
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, 'b'), (2, 'c')")
    con.execute("OPTIMIZE t")
    call(con, "backup('t', name => 'good')")
    before = {piece for piece in store.listed(con) if "head" not in piece}
    con.execute("DELETE FROM t WHERE a = 1")
    con.execute("OPTIMIZE t")
    (lost,) = before - store.listed(con)
    store.lose(con, lost)
    return con


def test_verify_finds_a_backup_that_somebody_damaged(damaged: Connection) -> None:
    with pytest.raises(gateway.Error) as raised:
        damaged.execute("CALL system.verify('t')")
    assert raised.value.code == "PAL-702"


def test_a_backup_that_somebody_damaged_is_not_restored(damaged: Connection) -> None:
    with pytest.raises(gateway.Error):
        damaged.execute("CALL system.restore('t', backup => 'good')")
    assert rows(damaged, "SELECT * FROM t") == [(2, "c")]
    assert rows(damaged, "SELECT name FROM system.backups WHERE kind = 'named'") == [("good",)]
