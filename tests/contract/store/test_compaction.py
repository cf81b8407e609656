"""Compaction changes no answer, whoever reads and writes, and whenever it is killed."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support import aged
from tests.support.kept import rows
from tests.support.stores.store import Capability, Store

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def con(store: Store) -> Connection:
    """A table that was filled, changed under two layouts, and partly deleted."""
    con = store.connect()
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR, UNIQUE (b))")
    con.execute("INSERT INTO t SELECT i, 'b' || i FROM range(200) r(i)")
    con.execute("UPDATE t SET b = 'c' || a WHERE a < 50")
    con.execute("DELETE FROM t WHERE a BETWEEN 40 AND 60")
    con.execute("ALTER TABLE t ADD COLUMN d INTEGER DEFAULT 7")
    con.execute("UPDATE t SET d = 8 WHERE a = 1")
    con.execute("INSERT INTO t VALUES (41, 'again', 9)")
    return con


def _answers(con: Connection) -> list[list[tuple[Any, ...]]]:
    """The present, each version there was, and all of them."""
    versions = [v for (v,) in rows(con, "SELECT version FROM system.transactions ORDER BY 1")]
    asked = ["SELECT * FROM t ORDER BY a", "SELECT * FROM t WHERE a = 41"]
    asked += [f"SELECT count(*), max(b) FROM t FOR SYSTEM_VERSION AS OF {v}" for v in versions[1:]]
    asked.append("SELECT * FROM t FOR SYSTEM_TIME ALL ORDER BY a, version_number")
    return [rows(con, sql) for sql in asked]


def _is_clean(con: Connection) -> bool:
    return bool(con.session.executor.upkeep.verify().is_clean)


@pytest.mark.also_on("toy")
def test_a_compaction_changes_no_answer_and_does_what_it_planned(
    store: Store, con: Connection
) -> None:
    con.execute("CALL system.flush('t')")
    before = _answers(con)
    (planned,) = rows(con, "CALL system.compact('t', dry_run => true)")
    (done,) = rows(con, "OPTIMIZE t")
    assert (planned[3], done[3]) == ("PLANNED", "SUCCEEDED")
    assert planned[4:7] == done[4:7]
    assert _answers(con) == before
    report = json.loads(done[-1])
    for part in ("read", "written"):
        is_unknown = report["inexact"].get(f"{part}.bytes") == "unknown"
        assert report[part]["bytes"] is None if is_unknown else report[part]["bytes"] > 0
    tiers = rows(con, 'SELECT tier, sum("rows") FROM system.segments GROUP BY tier ORDER BY tier')
    assert [tier for tier, _ in tiers] == ["base", "history"]
    assert int(tiers[0][1]) == 180
    states = rows(con, "SELECT state FROM system.jobs WHERE kind = 'compact' ORDER BY started_at")
    assert states == [("PLANNED",), ("SUCCEEDED",)]
    assert _is_clean(con)
    assert rows(con, "CALL system.verify('t')")[0][3] == "SUCCEEDED"
    store.drop_retired(con)
    assert store.pieces(con) == store.listed(con)
    assert _answers(con) == before


@pytest.mark.also_on("hive")
def test_a_second_compaction_finds_nothing_to_do(con: Connection) -> None:
    con.execute("OPTIMIZE t")
    assert rows(con, "CALL system.compact('t')")[0][3] == "NOTHING"


@pytest.mark.needs(Capability.OTHER_READERS)
@pytest.mark.also_on("hive")
def test_other_tools_read_the_same_rows_before_and_after(store: Store, con: Connection) -> None:
    present = rows(con, "SELECT * FROM t ORDER BY a")
    for _ in range(2):
        assert store.read_outside("SELECT * FROM {t} ORDER BY a") == present
        con.execute("OPTIMIZE t")


@pytest.mark.also_on("hive", "toy")
def test_writes_go_on_after_a_compaction(store: Store, con: Connection) -> None:
    for number in range(3):
        con.execute("OPTIMIZE t")
        store.drop_retired(con)
        con.execute(f"UPDATE t SET d = {number} WHERE a < 5")
        con.execute("DELETE FROM t WHERE a = 41")
        con.execute(f"INSERT INTO t VALUES (41, 'round {number}', 0)")
        with pytest.raises(gateway.IntegrityError):
            con.execute("INSERT INTO t VALUES (300, 'b100', 0)")
        found = rows(con, "SELECT count(*), max(b), min(d) FROM t")
        assert found == [(180, f"round {number}", 0)]
    assert _is_clean(con)


@pytest.mark.also_on("hive")
def test_a_run_that_was_killed_is_simply_run_again(
    store: Store, con: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _answers(con)

    def die() -> None:
        raise KeyboardInterrupt

    store.during(monkeypatch, "compact", die)
    with pytest.raises(KeyboardInterrupt):
        con.execute("OPTIMIZE t")
    assert _answers(con) == before
    assert rows(con, "OPTIMIZE t")[0][3] == "SUCCEEDED"
    assert _answers(con) == before
    store.drop_retired(con)
    store.sweep(con)
    assert _answers(con) == before
    assert store.pieces(con) == store.listed(con)
    assert _is_clean(con)


@pytest.mark.also_on("hive")
def test_a_transaction_from_before_a_compaction_reads_on_and_conflicts_as_ever(
    store: Store, con: Connection
) -> None:
    other = store.connect()
    other.execute("BEGIN")
    assert rows(other, "SELECT b FROM t WHERE a = 2") == [("c2",)]
    con.execute("DELETE FROM t WHERE a = 2")
    con.execute("OPTIMIZE t")
    assert rows(other, "SELECT b FROM t WHERE a = 2") == [("c2",)]
    other.execute("UPDATE t SET b = 'lost' WHERE a = 2")
    with pytest.raises(gateway.Error) as raised:
        other.execute("COMMIT")
    assert raised.value.sqlstate == "40001"


@pytest.mark.also_on("hive")
def test_every_layout_is_read_as_before(store: Store) -> None:
    con = store.connect()
    aged.make(con)
    ((then,),) = rows(con, "SELECT max(version) FROM system.transactions")
    con.execute("ALTER TABLE t DROP COLUMN n")
    con.execute("ALTER TABLE t ALTER COLUMN x TYPE BIGINT")
    con.execute("INSERT INTO t VALUES (2000, NULL, 5000000000)")
    con.execute("DELETE FROM t WHERE id = 6")
    con.execute("UPDATE t SET x = 2 WHERE id = 9")
    con.execute("CALL system.flush('t')")
    past = f"SELECT * FROM t FOR SYSTEM_VERSION AS OF {then} ORDER BY id"
    asked = (past, "SELECT * FROM t ORDER BY id", "SELECT count(*) FROM t FOR SYSTEM_TIME ALL")
    before = [rows(con, sql) for sql in asked]
    modes = ["major"]
    if Capability.MINOR_COMPACTION in store.capabilities:
        modes.insert(0, "minor")
    for mode in modes:
        (done,) = rows(con, f"CALL system.compact('t', mode => '{mode}')")
        assert done[3] == "SUCCEEDED" or mode == "minor"
        assert [rows(con, sql) for sql in asked] == before
    tiers = rows(con, "SELECT DISTINCT tier FROM system.segments ORDER BY tier")
    assert tiers == [("base",), ("history",)]
    assert _is_clean(con)


@pytest.mark.needs(Capability.BACKUPS, Capability.MINOR_COMPACTION)
@pytest.mark.also_on("hive")
def test_a_minor_compaction_merges_what_came_in_pieces(store: Store) -> None:
    con = store.connect()
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
    for number in range(4):
        con.execute(f"INSERT INTO t VALUES ({number}, 'x')")
        con.execute(f"CALL system.backup('t', name => 'after {number}')")
    (done,) = rows(con, "CALL system.compact('t', mode => 'minor')")
    assert (done[3], len(json.loads(done[-1])["taken"])) == ("SUCCEEDED", 4)
    assert rows(con, "SELECT count(*) FROM system.segments") == [(1,)]
    assert rows(con, "CALL system.compact('t', mode => 'minor')")[0][3] == "NOTHING"
    assert rows(con, "SELECT count(*), min(b) FROM t") == [(4, "x")]


@pytest.mark.long
@pytest.mark.also_on("hive", "toy")
def test_compactions_amid_transfers(store: Store) -> None:
    con = store.connect()
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, n INTEGER NOT NULL)")
    con.execute("INSERT INTO t SELECT i, 100 FROM range(20) r(i)")
    over = threading.Event()
    failures: list[BaseException] = []

    def transfer(number: int) -> None:
        mine = store.connect()
        while not over.is_set() and not failures:
            number += 7
            try:
                mine.execute("BEGIN")
                mine.execute("UPDATE t SET n = n - 1 WHERE a = ?", [number % 20])
                mine.execute("UPDATE t SET n = n + 1 WHERE a = ?", [(number + 3) % 20])
                mine.execute("COMMIT")
            except gateway.Error as error:
                mine.rollback()
                if error.sqlstate != "40001":
                    failures.append(error)

    workers = [threading.Thread(target=transfer, args=(i,)) for i in range(2)]
    for worker in workers:
        worker.start()
    try:
        for _ in range(4):
            con.execute("OPTIMIZE t")
            assert rows(con, "SELECT sum(n), count(*) FROM t") == [(2000, 20)]
    finally:
        over.set()
        for worker in workers:
            worker.join()
    assert failures == []
    assert _is_clean(con)


@pytest.mark.also_on("hive")
def test_a_table_without_a_key_is_compacted(con: Connection) -> None:
    con.execute("CREATE TABLE keyless (a INTEGER, b VARCHAR)")
    con.execute("INSERT INTO keyless VALUES (1, 'x'), (1, 'x'), (2, 'y')")
    con.execute("UPDATE keyless SET b = 'z' WHERE a = 2")
    before = rows(con, "SELECT a, b FROM keyless ORDER BY a, b")
    assert rows(con, "CALL system.compact('keyless')")[0][3] == "SUCCEEDED"
    assert rows(con, "SELECT a, b FROM keyless ORDER BY a, b") == before
    assert _is_clean(con)


@pytest.mark.also_on("hive")
@pytest.mark.needs(Capability.BACKUPS)  # SQLite has no join that the query needs.
def test_changes_are_the_same_before_and_after_where_nothing_has_ended(store: Store) -> None:
    con = store.connect()
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
    assert rows(con, "SELECT * FROM table_changes('t', 0)") == []
    for first in (2, 0):
        con.execute(f"INSERT INTO t SELECT {first} + i, 'b' FROM range(2) r(i)")
    versions = rows(con, "SELECT version FROM system.transactions ORDER BY version")
    (earlier,), (later,) = versions[-2:]
    changes = f"SELECT * FROM table_changes('t', {earlier}, {later})"
    before = rows(con, changes)
    assert [(a, kind, version) for a, _, kind, version, _ in before] == [
        (2, "insert", earlier),
        (3, "insert", earlier),
        (0, "insert", later),
        (1, "insert", later),
    ]
    con.execute("OPTIMIZE t")
    assert rows(con, changes) == before
    assert rows(con, f"SELECT a FROM table_changes('t', {later}, {later})") == [(0,), (1,)]
