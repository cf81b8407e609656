"""Flight clients that vanish, a server that is killed or told to end, and limits."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest
from google.protobuf.any_pb2 import Any
from google.protobuf.message import Message
from pyarrow import flight

from gateway.servers.flight.wire import flight_sql_pb2 as wire
from tests.servers.conftest import Server, launch
from tests.servers.test_flight import asking, logged_in, packed
from tests.support.repeatedly import repeatedly

adbc = pytest.importorskip("adbc_driver_flightsql.dbapi")
driver = pytest.importorskip("adbc_driver_manager")
pytestmark = pytest.mark.slow
SLOW = "SELECT sum(hash(a.x + b.x)) FROM range(10000000) AS a(x), range(10000000) AS b(x)"
RUNNING = (
    "SELECT count(*) FROM system.sessions WHERE state = 'running' AND statement LIKE '%range%'"
)
_PATIENCE_S = 20.0


def started(folder: Path, *options: str) -> tuple[Server, str]:
    server = launch(folder, "--flight", "127.0.0.1:0", "--drain", "3", *options)
    assert server.process.stdout is not None
    return server, server.process.stdout.readline().strip()


def begun(client: flight.FlightClient, options: flight.FlightCallOptions) -> bytes:
    action = flight.Action("BeginTransaction", packed(wire.ActionBeginTransactionRequest()))
    (answer,) = client.do_action(action, options)
    found = wire.ActionBeginTransactionResult()
    Any.FromString(answer.body.to_pybytes()).Unpack(found)
    return bytes(found.transaction_id)


def done(client: flight.FlightClient, options: flight.FlightCallOptions, message: Message) -> None:
    writer, reader = client.do_put(asking(message), pa.schema([]), options)
    writer.done_writing()
    reader.read()
    writer.close()


def until(check: str, dsn: str, wanted: int) -> None:
    end = time.monotonic() + _PATIENCE_S
    with psycopg.connect(dsn, autocommit=True) as con:
        while time.monotonic() < end:
            found = con.execute(check).fetchone()
            if found == (wanted,):
                return
            time.sleep(0.2)
    raise AssertionError(found)


def test_clients_that_vanish_leave_nothing_running(tmp_path: Path) -> None:
    server, url = started(tmp_path)
    client = flight.FlightClient(url)
    token = client.authenticate_basic_token("me", "")
    options = flight.FlightCallOptions(headers=[token])
    impatient = flight.FlightCallOptions(headers=[token], timeout=1.0)
    with pytest.raises(flight.FlightTimedOutError):
        client.get_flight_info(asking(wire.CommandStatementQuery(query=SLOW)), impatient)
    until(RUNNING, server.dsn, 0)
    query = wire.CommandStatementQuery(query="SELECT x, x * 2 AS y FROM range(20000000) AS r(x)")
    info = client.get_flight_info(asking(query), options)
    reader = client.do_get(info.endpoints[0].ticket, options)
    assert reader.read_chunk().data.num_rows > 0
    reader.cancel()
    del reader
    until(RUNNING, server.dsn, 0)
    again = client.get_flight_info(
        asking(wire.CommandStatementQuery(query="SELECT 1 AS a")), options
    )
    assert client.do_get(again.endpoints[0].ticket, options).read_all().to_pylist() == [{"a": 1}]
    server.end()


def test_a_statement_that_its_client_cancels_stops(tmp_path: Path) -> None:
    server, url = started(tmp_path)
    with adbc.connect(url, autocommit=True) as con, con.cursor() as cursor:
        with pytest.raises(driver.Error) as caught, repeatedly(cursor.adbc_cancel, 1.0):
            cursor.execute(SLOW)
        assert caught.value.status_code == driver.AdbcStatusCode.CANCELLED
        until(RUNNING, server.dsn, 0)
        with con.cursor() as again:
            again.execute("SELECT 1")
            assert again.fetchall() == [(1,)]
    server.end()


def test_limits_of_statements_results_and_idle_time_hold(tmp_path: Path) -> None:
    limits = ("--statement-timeout", "1", "--max-result-rows", "1000", "--idle-timeout", "2")
    server, url = started(tmp_path, *limits, "--max-connections", "20")
    with adbc.connect(url, autocommit=True) as con, con.cursor() as cursor:
        with pytest.raises(driver.Error, match="PAL-408") as late:
            cursor.execute(SLOW)
        assert late.value.status_code == driver.AdbcStatusCode.TIMEOUT
        cursor.execute("SELECT x FROM range(1000) AS r(x)")
        assert len(cursor.fetchall()) == 1000
        cursor.execute("SELECT x FROM range(1001) AS r(x)")
        with pytest.raises(driver.Error, match="PAL-105"):
            cursor.fetchall()
    client, options = logged_in(url)
    time.sleep(4)
    with pytest.raises(flight.FlightUnauthenticatedError, match="PAL-609"):
        begun(client, options)
    kept = [logged_in(url) for _ in range(20)]
    with pytest.raises(flight.FlightError, match="PAL-608"):
        logged_in(url)
    del kept
    server.end()


def test_an_end_lets_transactions_commit(tmp_path: Path) -> None:
    server, url = started(tmp_path)
    client, options = logged_in(url)
    create = wire.CommandStatementUpdate(query="CREATE TABLE t (a INTEGER PRIMARY KEY)")
    done(client, options, create)
    handle = begun(client, options)
    insert = wire.CommandStatementUpdate(query="INSERT INTO t VALUES (1)", transaction_id=handle)
    done(client, options, insert)
    server.process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    late, others = logged_in(url)
    with pytest.raises(flight.FlightUnavailableError, match="PAL-"):
        late.get_flight_info(asking(wire.CommandGetCatalogs()), others)
    ending = wire.ActionEndTransactionRequest(transaction_id=handle, action=1)
    list(client.do_action(flight.Action("EndTransaction", packed(ending)), options))
    server.process.communicate(timeout=30)
    assert server.process.returncode == 0
    server, url = started(tmp_path)
    with adbc.connect(url, autocommit=True) as con, con.cursor() as cursor:
        cursor.execute("SELECT a FROM t")
        assert cursor.fetchall() == [(1,)]
    server.end()


def test_a_killed_server_loses_nothing_that_it_has_acknowledged(tmp_path: Path) -> None:
    """Clients of both ports write pairs of rows in transactions until the server is killed."""
    server, url = started(tmp_path)
    with psycopg.connect(server.dsn, autocommit=True) as con:
        con.execute(
            "CREATE TABLE pair (who INTEGER, n INTEGER, half INTEGER, PRIMARY KEY (who, n, half))"
        )
    acknowledged: set[tuple[int, int]] = set()
    sql = "INSERT INTO pair VALUES ({who}, {n}, {half})"

    def by_postgres(who: int) -> None:
        with suppress(psycopg.Error), psycopg.connect(server.dsn) as con:
            for n in range(100_000):
                for half in (1, 2):
                    con.execute(sql.format(who=who, n=n, half=half))
                con.commit()
                acknowledged.add((who, n))

    def by_flight(who: int) -> None:
        with suppress(flight.FlightError, pa.ArrowException, OSError):
            client, options = logged_in(url)
            for n in range(100_000):
                handle = begun(client, options)
                for half in (1, 2):
                    text = sql.format(who=who, n=n, half=half)
                    insert = wire.CommandStatementUpdate(query=text, transaction_id=handle)
                    done(client, options, insert)
                ending = wire.ActionEndTransactionRequest(transaction_id=handle, action=1)
                list(client.do_action(flight.Action("EndTransaction", packed(ending)), options))
                acknowledged.add((who, n))

    threads = [
        threading.Thread(target=target, args=(number,))
        for number, target in enumerate((by_postgres, by_postgres, by_flight, by_flight))
    ]
    for thread in threads:
        thread.start()
    time.sleep(4)
    os.kill(server.pid, signal.SIGKILL)
    server.process.communicate(timeout=30)
    for thread in threads:
        thread.join(30)
    assert {who for who, _ in acknowledged} == {0, 1, 2, 3}
    server, url = started(tmp_path)
    with psycopg.connect(server.dsn, autocommit=True) as con:
        found = con.execute("SELECT who, n, count(*) FROM pair GROUP BY who, n").fetchall()
    assert {count for _, _, count in found} == {2}
    assert acknowledged <= {(who, n) for who, n, _ in found}
    # What was under way when the server went may be there: at most one transaction of each client.
    assert len(found) <= len(acknowledged) + len(threads)
    server.end()


def test_a_thousand_connections_leave_no_thread_and_no_file(tmp_path: Path) -> None:
    server, url = started(tmp_path)
    process = Path(f"/proc/{server.pid}")

    def held() -> tuple[int, int]:
        return len(list((process / "fd").iterdir())), len(list((process / "task").iterdir()))

    def come_and_go(count: int) -> None:
        for number in range(count):
            with psycopg.connect(server.dsn) as con:
                con.execute("SELECT 1")
            if number % 2:
                with adbc.connect(url) as con, con.cursor() as cursor:
                    cursor.execute("SELECT 1 AS a")
                    cursor.fetchall()

    come_and_go(50)
    time.sleep(2)
    files, threads = held()
    come_and_go(700)
    end = time.monotonic() + _PATIENCE_S
    while time.monotonic() < end:
        now = held()
        if now[0] <= files + 5 and now[1] <= threads + 5:
            break
        time.sleep(0.5)
    assert now[0] <= files + 5
    assert now[1] <= threads + 5
    server.end()
