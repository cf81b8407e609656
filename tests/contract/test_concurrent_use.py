"""One connection in many threads, many cursors at once, cancelling, streaming, forgetting."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection

SLOW = "SELECT count(*) FROM range(3000000) AS a(i), range(3000000) AS b(j) WHERE i * j % 7 = 3"
WITHIN_S = 5.0


def test_threads_share_a_connection(con: Connection) -> None:
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, worker INTEGER)")

    def work(worker: int) -> int:
        cursor = con.cursor()
        for i in range(20):
            cursor.execute("INSERT INTO t VALUES (?, ?)", (worker * 100 + i, worker))
            cursor.execute("SELECT count(*) FROM t WHERE worker = ?", (worker,))
            assert cursor.fetchone() == (i + 1,)
        return len(cursor.execute("SELECT * FROM t WHERE worker = ?", (worker,)).fetchall())

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [20] * 8
    con.commit()
    assert con.execute("SELECT count(*) FROM t").fetchone() == (160,)


def test_several_open_results_in_one_transaction(con: Connection) -> None:
    con.execute("CREATE TABLE t (a INTEGER)")
    con.execute("INSERT INTO t SELECT range FROM range(5000)")
    first = con.execute("SELECT a FROM t ORDER BY a")
    second = con.execute("SELECT a FROM t ORDER BY a DESC")
    assert (first.fetchone(), second.fetchone()) == ((0,), (4999,))
    con.execute("DELETE FROM t WHERE a < 100")
    third = con.execute("SELECT count(*) FROM t")
    assert third.fetchone() == (4900,)
    assert len(first.fetchall()) == len(second.fetchall()) == 4999


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_results_outlive_their_transaction(con: Connection, end: str) -> None:
    con.execute("CREATE TABLE t (a INTEGER)")
    con.execute("INSERT INTO t SELECT range FROM range(5000)")
    cursor = con.execute("SELECT a FROM t ORDER BY a")
    assert cursor.fetchone() == (0,)
    getattr(con, end)()
    assert len(cursor.fetchall()) == 4999


def test_closing_while_a_result_is_open(connect: Callable[..., Connection]) -> None:
    con = connect()
    cursor = con.execute("SELECT range FROM range(1000000)")
    cursor.fetchone()
    con.close()
    with pytest.raises(gateway.InterfaceError):
        cursor.fetchall()
    assert connect().execute("SELECT 1").fetchone() == (1,)


def cancelled_after(con: Connection, call: Callable[[], object]) -> tuple[gateway.Error, float]:
    """The error of a call that another thread cancels, and how long it lasted after that."""
    moment: list[float] = []

    def cancel() -> None:
        time.sleep(0.3)
        moment.append(time.monotonic())
        con.cancel()

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(gateway.OperationalError) as caught:
        call()
    elapsed = time.monotonic() - moment[0]
    thread.join()
    return caught.value, elapsed


@pytest.mark.parametrize("autocommit", [True, False])
def test_cancelling_a_query(connect: Callable[..., Connection], autocommit: bool) -> None:
    con = connect(autocommit=autocommit)
    error, elapsed = cancelled_after(con, lambda: con.execute(SLOW).fetchall())
    assert error.sqlstate == "57014"
    assert elapsed < WITHIN_S
    con.rollback()
    assert con.execute("SELECT 1").fetchone() == (1,)


def test_cancelling_a_change(connect: Callable[..., Connection]) -> None:
    con = connect(autocommit=True)
    con.execute("CREATE TABLE t (a BIGINT)")
    error, elapsed = cancelled_after(con, lambda: con.execute(f"INSERT INTO t {SLOW}"))
    assert error.sqlstate == "57014"
    assert elapsed < WITHIN_S
    assert con.execute("SELECT count(*) FROM t").fetchone() == (0,)


@pytest.mark.parametrize("autocommit", [True, False])
def test_cancelling_a_commit_that_waits(
    connect: Callable[..., Connection], autocommit: bool
) -> None:
    con = connect(autocommit=True)
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER)")
    con.execute("INSERT INTO t VALUES (1, 1)")
    con.autocommit = autocommit
    section, done = con.session.journal.commit_lock, threading.Event()
    taken = threading.Event()

    def hold() -> None:
        with section:
            taken.set()
            done.wait(60)

    def change() -> None:
        con.execute("UPDATE t SET b = 2 WHERE a = 1")
        con.commit()

    holder = threading.Thread(target=hold)
    holder.start()
    taken.wait(60)
    error, elapsed = cancelled_after(con, change)
    done.set()
    holder.join()
    assert error.sqlstate == "57014"
    assert elapsed < WITHIN_S
    assert con.execute("SELECT b FROM t").fetchone() == (1,)


def test_cancelling_a_loop_of_changes(connect: Callable[..., Connection]) -> None:
    con = connect(autocommit=True)
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    rows = [(i,) for i in range(100_000)]
    error, _ = cancelled_after(
        con, lambda: con.executemany("UPDATE t SET a = a + 1 WHERE a = ?", rows)
    )
    assert error.sqlstate == "57014"
    assert not con.in_transaction


def test_cancelling_hits_nobody_else(connect: Callable[..., Connection]) -> None:
    con, other = connect(), connect()
    con.cancel()
    stop = threading.Event()

    def cancel_all_the_time() -> None:
        while not stop.is_set():
            con.cancel()
            time.sleep(0.001)

    thread = threading.Thread(target=cancel_all_the_time)
    thread.start()
    try:
        for _ in range(50):
            assert other.execute("SELECT sum(range) FROM range(100000)").fetchone() is not None
    finally:
        stop.set()
        thread.join()
    assert con.execute("SELECT 1").fetchone() == (1,)


def test_an_abandoned_transaction_blocks_nobody(
    connect: Callable[..., Connection], url: str
) -> None:
    con = connect(autocommit=True)
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)")
    con.execute("INSERT INTO t VALUES (1, 0)")
    idle = connect()
    idle.execute("UPDATE t SET a = 5 WHERE id = 1")
    forgotten = gateway.connect(url)
    forgotten.execute("UPDATE t SET a = 6 WHERE id = 1")
    cycle = [forgotten, forgotten.execute("SELECT * FROM t, range(100000)")]
    cycle.append(cycle)  # type: ignore[arg-type]
    del forgotten, cycle
    gc.collect()
    con.execute("UPDATE t SET a = 7 WHERE id = 1")
    assert con.execute("SELECT a FROM t").fetchone() == (7,)
    with pytest.raises(gateway.OperationalError) as caught:
        idle.commit()
    assert caught.value.sqlstate == "40001"


def test_a_result_holds_the_store_up_to_its_last_row(connect: Callable[..., Connection]) -> None:
    con = connect(autocommit=True)
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    con.execute("INSERT INTO t SELECT range FROM range(10)")
    rows = con.session.execute("SELECT t.id FROM t, range(1000) AS r(i)").rows
    assert rows is not None
    assert len(rows.take(9_000)) == 9_000
    assert rows.is_held
    assert len(rows.take(9_000)) == 1_000
    assert not rows.is_held
    told = con.session.execute("EXPLAIN SELECT 1").rows
    assert told is not None
    assert not told.is_held


SCRIPT = """
import resource
import gateway
con = gateway.connect("palimpsest://")
con.execute("CREATE TABLE t (id BIGINT, name VARCHAR)")
con.execute("INSERT INTO t SELECT range, 'row number ' || range FROM range(2000000)")
con.commit()
con.cursor().callproc("system.flush", ["main.t"])
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
cursor = con.execute("SELECT id, name FROM t LIMIT 1")
cursor.fetchall()
before = peak()
cursor = con.execute("SELECT id, name FROM t")
count = sum(1 for _ in cursor)
print(count, (peak() - before) // 1024)
"""


@pytest.mark.long
def test_two_million_rows_stream_in_bounded_memory(root: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=True,
    )
    count, grown_mb = map(int, done.stdout.split())
    assert count == 2_000_000
    assert grown_mb < 200


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_must_connect_anew(con: Connection) -> None:
    con.execute("CREATE TABLE t (a INTEGER)")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            con.execute("SELECT 1")
            answer = b"it worked"
        except gateway.InterfaceError as error:
            answer = error.code.encode()
        finally:
            os.write(writing, answer)
            os._exit(0)
    os.close(writing)
    assert os.read(reading, 100) == b"PAL-605"
    os.waitpid(child, 0)
    os.close(reading)
    assert con.execute("SELECT count(*) FROM t").fetchone() == (0,)
