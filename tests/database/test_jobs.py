"""Jobs inside the database: they change no answer, whoever reads, and whenever they are killed."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from sqlglot import exp

import gateway
from gateway.dbapi.connection import Connection
from journal.model.plan import Query
from journal.model.schema import Table
from journal.sql.relations import Reader, column
from journal.stores.postgres.journal import DatabaseJournal
from spark_compaction.backends.postgres import segment_swap
from spark_compaction.backends.postgres.maintenance import compact
from spark_compaction.contract import JobRequest
from tests.support.postgres import Cluster


@pytest.fixture
def outside(cluster: Cluster, database: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection of another tool."""
    with psycopg.connect(cluster.conninfo(database), autocommit=True) as found:
        yield found


@pytest.fixture
def changed(con: Connection) -> Connection:
    """A table that was filled, changed under two layouts, and partly deleted."""
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR, UNIQUE (b))")
    con.execute("INSERT INTO t SELECT i, 'b' || i FROM range(200) r(i)")
    con.execute("UPDATE t SET b = 'c' || a WHERE a < 50")
    con.execute("DELETE FROM t WHERE a BETWEEN 40 AND 60")
    con.execute("ALTER TABLE t ADD COLUMN d INTEGER DEFAULT 7")
    con.execute("UPDATE t SET d = 8 WHERE a = 1")
    con.execute("INSERT INTO t VALUES (41, 'again', 9)")
    return con


def _rows(con: Connection, sql: str) -> list[tuple[Any, ...]]:
    return list(con.execute(sql).fetchall())


def _answers(con: Connection) -> list[list[tuple[Any, ...]]]:
    versions = [v for (v,) in _rows(con, "SELECT version FROM system.transactions ORDER BY 1")]
    asked = ["SELECT * FROM t ORDER BY a", "SELECT * FROM t WHERE a = 41"]
    asked += [f"SELECT count(*), max(b) FROM t FOR SYSTEM_VERSION AS OF {v}" for v in versions[1:]]
    asked.append("SELECT * FROM t FOR SYSTEM_TIME ALL ORDER BY a, version_number")
    return [_rows(con, sql) for sql in asked]


def _journal(con: Connection) -> tuple[DatabaseJournal, Table]:
    journal = con.session.journal
    assert isinstance(journal, DatabaseJournal)
    return journal, next(iter(journal.state.catalog.tables()))


def _tables(outside: psycopg.Connection[Any]) -> list[str]:
    found = outside.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = '_palimpsest'::regnamespace"
        " AND relkind = 'r' AND relname ~ '^t[0-9]+_' ORDER BY 1"
    )
    return [name for (name,) in found.fetchall()]


def test_a_compaction_changes_no_answer(
    changed: Connection, outside: psycopg.Connection[Any]
) -> None:
    before, seen = _answers(changed), outside.execute("SELECT * FROM t ORDER BY a").fetchall()
    (planned,) = _rows(changed, "CALL system.compact('t', dry_run => true)")
    (done,) = _rows(changed, "OPTIMIZE t")
    assert (planned[3], done[3]) == ("planned".upper(), "SUCCEEDED")
    assert planned[4:7] == done[4:7]
    assert _answers(changed) == before
    assert outside.execute("SELECT * FROM t ORDER BY a").fetchall() == seen
    report = json.loads(done[-1])
    assert report["details"]["current_rows"] == len(seen)
    assert min(report[part]["bytes"] for part in ("read", "written")) > 0
    assert _rows(changed, "SELECT head_rows, base_rows FROM system.journals") == [(0, len(seen))]
    assert _rows(changed, "SELECT state FROM system.jobs ORDER BY started_at") == [
        ("PLANNED",),
        ("SUCCEEDED",),
    ]
    assert _rows(changed, "CALL system.compact('t')")[0][3] == "NOTHING"
    assert changed.session.executor.sealer.verify().is_clean
    assert _rows(changed, "CALL system.verify('t')")[0][3] == "SUCCEEDED"


def test_a_minor_compaction_puts_small_pieces_together(
    con: Connection, outside: psycopg.Connection[Any]
) -> None:
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
    for number in range(3):
        con.execute(
            f"INSERT INTO t SELECT i, 'b' FROM range({number * 10}, {number * 10 + 10}) r(i)"
        )
        con.execute(f"UPDATE t SET b = 'c' WHERE a = {number}")
        con.execute(f"CALL system.backup('t', name => 'at {number}')")
    con.execute("DELETE FROM t WHERE a = 5")
    before = _answers(con)
    (planned,) = _rows(con, "CALL system.compact('t', mode => 'minor', dry_run => true)")
    (done,) = _rows(con, "CALL system.compact('t', mode => 'minor')")
    assert (planned[3], done[3]) == ("PLANNED", "SUCCEEDED")
    assert planned[4:7] == done[4:7]
    assert [len(json.loads(row[-1])["taken"]) for row in (planned, done)] == [4, 4]
    assert _answers(con) == before
    assert _rows(con, "SELECT tier FROM system.segments") == [("delta",)]
    assert _rows(con, "CALL system.compact('t', mode => 'minor')")[0][3] == "NOTHING"
    con.execute("OPTIMIZE t")
    assert _answers(con) == before
    assert con.session.executor.sealer.verify().is_clean


def test_auto_follows_the_limits_of_the_table(con: Connection) -> None:
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
    con.execute("INSERT INTO t SELECT i, 'b' FROM range(2000) r(i)")
    assert _rows(con, "CALL system.compact('t', mode => 'auto')")[0][3] == "SUCCEEDED"
    con.execute("UPDATE t SET b = 'c' WHERE a < 10")
    (left_alone,) = _rows(con, "CALL system.compact('t', mode => 'auto')")
    assert json.loads(left_alone[-1])["why"] == "no limit is exceeded"
    journal, table = _journal(con)
    assert len(journal.state.tables[table.id].manifest.heads) == 1


def test_writes_go_on_after_a_compaction(
    changed: Connection, outside: psycopg.Connection[Any]
) -> None:
    journal, table = _journal(changed)
    for round_ in range(3):
        compact(journal, JobRequest(table, f"run {round_}", grace_us=0))
        changed.execute(f"UPDATE t SET d = {round_} WHERE a < 5")
        changed.execute("DELETE FROM t WHERE a = 41")
        changed.execute(f"INSERT INTO t VALUES (41, 'round {round_}', 0)")
        with pytest.raises(gateway.IntegrityError):
            changed.execute("INSERT INTO t VALUES (300, 'b100', 0)")
        told = "SELECT sum(d), count(*), max(b) FROM t"
        assert _rows(changed, told) == outside.execute(told).fetchall()
    assert changed.session.executor.sealer.verify().is_clean


STEPS = ("plan", "seal", "stage", "verify", "swap")


@pytest.mark.parametrize("killed_after", STEPS)
def test_a_run_that_was_killed_is_simply_run_again(
    changed: Connection, outside: psycopg.Connection[Any], killed_after: str
) -> None:
    journal, table = _journal(changed)
    before = _answers(changed)

    def die(step: str, _done: int, _total: int) -> None:
        if step == killed_after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compact(journal, JobRequest(table, "killed", grace_us=0, progress=die))
    assert _answers(changed) == before
    assert compact(journal, JobRequest(table, "again", grace_us=0)).state in {"done", "nothing"}
    segment_swap.reap(journal, table.id)
    assert _answers(changed) == before
    listed = {s.id for s in journal.state.tables[table.id].manifest.segments}
    heads = {
        f"t{table.id}_head_{h.generation}" for h in journal.state.tables[table.id].manifest.heads
    }
    assert set(_tables(outside)) == listed | heads


def test_a_snapshot_from_before_is_told_to_start_again(
    changed: Connection, outside: psycopg.Connection[Any]
) -> None:
    with outside.transaction():
        outside.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        outside.execute("SELECT 1 FROM _palimpsest.state")
        changed.execute("OPTIMIZE t")
        with pytest.raises(psycopg.errors.SerializationFailure):
            with outside.transaction():
                outside.execute("SELECT count(*) FROM t").fetchall()
    assert outside.execute("SELECT count(*) FROM t").fetchall() == [(180,)]


def test_what_was_replaced_stays_while_it_may_be_read(
    changed: Connection, outside: psycopg.Connection[Any]
) -> None:
    journal, table = _journal(changed)
    with journal.statement(journal.begin(read_only=True)) as reader:
        changed.execute("OPTIMIZE t")
        changed.execute("INSERT INTO t VALUES (900, 'new', 0)")
        assert _rows(changed, "VACUUM t RETAIN 1 HOURS")[0][3] == "NOTHING"
        kept = segment_swap.reap(journal, table.id, list)
        assert kept.in_use == ("t1_head_1", "t1_head_2")
        rows = Reader(table, reader.committed.tables[table.id].tiers).current([(column("a"), "a")])
        count = exp.select(exp.Count(this=exp.Star())).from_(rows.subquery("r"))
        assert reader.session.row(Query(count, ()), {}) == (180,)
    assert segment_swap.reap(journal, table.id, list).in_use == ()
    assert "t1_head_1" not in _tables(outside)


def test_jobs_on_a_table_take_turns(changed: Connection) -> None:
    journal, table = _journal(changed)
    with segment_swap.turn(journal, table):
        with pytest.raises(gateway.Error) as raised:
            changed.execute("OPTIMIZE t")
    assert raised.value.code == "PAL-703"
    changed.execute("OPTIMIZE t")


def test_a_transaction_from_before_a_compaction_conflicts_as_ever(
    changed: Connection, connect: Callable[..., Connection]
) -> None:
    other = connect()
    other.execute("BEGIN")
    assert _rows(other, "SELECT b FROM t WHERE a = 2") == [("c2",)]
    changed.execute("DELETE FROM t WHERE a = 2")
    changed.execute("OPTIMIZE t")
    assert _rows(other, "SELECT b FROM t WHERE a = 2") == [("c2",)]
    other.execute("UPDATE t SET b = 'lost' WHERE a = 2")
    with pytest.raises(gateway.Error) as raised:
        other.execute("COMMIT")
    assert raised.value.sqlstate == "40001"


@pytest.mark.timeout(120)
def test_compactions_amid_transfers(
    connect: Callable[..., Connection], outside: psycopg.Connection[Any]
) -> None:
    con = connect()
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, n INTEGER NOT NULL)")
    con.execute("INSERT INTO t SELECT i, 100 FROM range(20) r(i)")
    journal, table = _journal(con)
    over = threading.Event()
    failures: list[BaseException] = []

    def transfer(place: int) -> None:
        mine = connect()
        number = place
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
    for number in range(8):
        compact(journal, JobRequest(table, f"run {number}", grace_us=0))
        assert _rows(con, "SELECT sum(n), count(*) FROM t") == [(2000, 20)]
        assert outside.execute("SELECT sum(n), count(*) FROM t").fetchall() == [(2000, 20)]
    over.set()
    for worker in workers:
        worker.join()
    assert failures == []
    assert con.session.executor.sealer.verify().is_clean
