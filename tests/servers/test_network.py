"""The DB-API, SQLAlchemy and the commands over a server's URL, besides what the contract says.

``tests/contract`` runs PEP 249 over a server as well.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

import gateway
from gateway.dbapi.connection import Connection
from gateway.network.messages import CALL_SQL, PROTOCOL
from tests.servers.conftest import Server, launch
from tests.support.repeatedly import repeatedly
from tests.support.warm_python import warm_python


def url_of(server: Server) -> str:
    """How programs of Python reach a server over TCP."""
    return f"palimpsest://ada@127.0.0.1:{server.port}/"


def run_command(*words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """What a command of palimpsest did."""
    command = [warm_python(), "-m", "gateway.cli", *words]
    return subprocess.run(command, capture_output=True, text=True, input=stdin, check=False)


@pytest.fixture
def con(server: Server) -> Iterator[Connection]:
    """An autocommit connection to the server that tests share, with a table ``n`` of its own."""
    with gateway.connect(url_of(server), autocommit=True) as connection:
        connection.execute("CREATE OR REPLACE TABLE n (a INTEGER PRIMARY KEY, b VARCHAR)")
        connection.execute("INSERT INTO n VALUES (1, 'x'), (2, 'y')")
        yield connection


def test_the_login_is_that_of_the_url(con: Connection, server: Server) -> None:
    query = "SELECT t.user, application FROM system.transactions AS t ORDER BY version DESC LIMIT 1"
    assert con.execute(query).fetchone() == ("ada", None)
    url = f"palimpsest://127.0.0.1:{server.port}/palimpsest"
    with gateway.connect(url, user="eve", application="loader", autocommit=True) as other:
        other.execute("INSERT INTO n VALUES (3, 'z')")
    assert con.execute(query).fetchone() == ("eve", "loader")


def test_settings_of_the_url_and_of_connect_hold(con: Connection, server: Server) -> None:
    (version,) = con.execute("SELECT max(version) FROM system.transactions").fetchall()[0]
    con.execute("DELETE FROM n")
    with gateway.connect(url_of(server), as_of=version) as past:
        assert past.execute("SELECT count(*) FROM n").fetchone() == (2,)
    option = f"{url_of(server)}?options=-c%20as_of%3D{version}"
    with gateway.connect(option) as past:
        assert past.execute("SELECT count(*) FROM n").fetchone() == (2,)
    with gateway.connect(url_of(server), read_only=True, autocommit=True) as reader:
        with pytest.raises(gateway.OperationalError, match="PAL-403"):
            reader.execute("DELETE FROM n")


def test_copy_goes_through_the_protocol_in_the_transaction(con: Connection, server: Server) -> None:
    with gateway.connect(url_of(server)) as other:
        cursor = other.cursor()
        with cursor.copy("COPY n FROM STDIN (FORMAT csv)") as copy:
            copy.write("7,seven\n8,eight\n")
        assert (cursor.rowcount, other.in_transaction) == (2, True)
        other.rollback()
        with pytest.raises(gateway.IntegrityError, match="PAL-301"):
            with cursor.copy("COPY n FROM STDIN") as copy:
                copy.write("1\tagain\n")
        other.rollback()
        with cursor.copy("COPY n TO STDOUT (FORMAT csv)") as copy:
            assert sorted(bytes(copy.read()).split()) == [b"1,x", b"2,y"]


def test_cancel_stops_a_statement(con: Connection) -> None:
    with pytest.raises(gateway.OperationalError) as caught, repeatedly(con.cancel, 0.3):
        con.execute(
            "SELECT sum(a.x * b.x) FROM range(1000000) a(x), range(1000000) b(x)"
        ).fetchall()
    assert caught.value.sqlstate == "57014"
    assert con.execute("SELECT count(*) FROM n").fetchone() == (2,)


def test_two_results_of_one_connection_are_fetched_in_turns(con: Connection) -> None:
    first = con.execute("SELECT x FROM range(200000) AS r(x) ORDER BY x")
    second = con.execute("SELECT -x FROM range(200000) AS r(x) ORDER BY x")
    for place in range(0, 5000, 1000):
        assert first.fetchmany(1000)[0] == (place,)
        assert second.fetchmany(1000)[-1] == (-place - 999,)
    batches = con.execute("SELECT x FROM range(200000) AS r(x)").fetch_record_batches()
    assert sum(batch.num_rows for batch in batches) == 200_000


def test_commands_take_the_url(con: Connection, server: Server, tmp_path: Path) -> None:
    url = url_of(server)
    done = run_command("query", "--url", url, "-t", "csv", "SELECT a FROM n ORDER BY a")
    assert done.stdout.split() == ["a", "1", "2"]
    done = run_command("shell", url, "-c", r"\d n", "-c", "SELECT b FROM n WHERE a = 1")
    assert "Journal main.n_journal: 2 rows in the head" in done.stdout
    script = "COPY n FROM STDIN (FORMAT csv);\n5,five\n\\.\nSELECT b FROM n WHERE a = 5;\n"
    assert "five" in run_command("shell", url, stdin=script).stdout
    file = tmp_path / "rows.csv"
    file.write_text("a,b\n6,six\n")
    done = run_command("import", str(file), "n", "-w", url)
    assert "PAL-110" in done.stderr
    assert "COPY t FROM STDIN" in done.stderr
    assert "PAL-110" in run_command("verify", "-w", url).stderr
    assert run_command("export", "n", str(tmp_path / "n.parquet"), "-w", url).returncode == 0


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("palimpsest://127.0.0.1:1/", "PAL-520"),
        ("palimpsest://127.0.0.1:1/?nonsense=1", "PAL-603"),
        ("palimpsest://127.0.0.1:1/folder/of/a/warehouse", "PAL-603"),
        ("palimpsest://?host=/nowhere&port=1", "PAL-520"),
    ],
)
def test_a_url_that_leads_nowhere_says_so(url: str, code: str) -> None:
    with pytest.raises(gateway.Error) as caught:
        gateway.connect(url)
    assert caught.value.code == code


def test_a_server_without_tls_is_not_taken_for_one_with_it(server: Server) -> None:
    with pytest.raises(gateway.OperationalError, match="SSL"):
        gateway.connect(f"{url_of(server)}?sslmode=require")


@pytest.mark.long
def test_sqlalchemy_takes_the_url_and_comes_back_after_the_server(tmp_path: Path) -> None:
    server = launch(tmp_path)
    engine = sa.create_engine(url_of(server), pool_pre_ping=True)
    table = sa.Table("s", sa.MetaData(), sa.Column("a", sa.Integer, primary_key=True))
    table.metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(table.insert(), [{"a": 1}, {"a": 2}])
    assert sa.inspect(engine).get_columns("s")[0]["name"] == "a"
    port = server.port
    server.end()
    server = launch(tmp_path, "--postgres", f"127.0.0.1:{port}")
    with engine.connect() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(table)) == 2
    engine.dispose()
    server.end()


def test_what_a_lost_connection_leaves(tmp_path: Path) -> None:
    server = launch(tmp_path)
    reading = gateway.connect(url_of(server), autocommit=True)
    reading.execute("CREATE TABLE t (a INTEGER)")
    writing = gateway.connect(url_of(server))
    writing.execute("INSERT INTO t VALUES (1)")
    committing = gateway.connect(url_of(server))
    committing.execute("INSERT INTO t VALUES (2)")
    os.kill(server.pid, signal.SIGSTOP)
    failed: list[gateway.Error] = []

    def commit() -> None:
        try:
            committing.commit()
        except gateway.Error as error:
            failed.append(error)

    thread = threading.Thread(target=commit)
    thread.start()
    time.sleep(0.3)
    server.process.kill()
    server.process.communicate()
    thread.join()
    assert [error.code for error in failed] == ["PAL-525"]
    assert "transaction_id" in failed[0].advice
    with pytest.raises(gateway.OperationalError, match="PAL-522"):
        writing.execute("INSERT INTO t VALUES (3)")
    with pytest.raises(gateway.OperationalError, match="PAL-522"):
        reading.execute("SELECT * FROM t")
    with pytest.raises(gateway.OperationalError, match="PAL-525"):
        reading.execute("INSERT INTO t VALUES (4)")
    for connection in (reading, writing, committing):
        connection.close()


def test_a_second_server_is_told_where_the_first_one_is(tmp_path: Path) -> None:
    server = launch(tmp_path)
    done = run_command("serve", str(server.folder))
    assert "PAL-532" in done.stderr
    assert f"palimpsest://?host={server.folder}&port={server.port}" in done.stderr
    server.end()


@pytest.mark.parametrize("call", ["", "[", "{}", '["execute"]', '{"date": 1}', "[" * 100_000])
def test_calls_that_are_none_are_refused(server: Server, call: str) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        with pytest.raises(psycopg.Error, match="PAL-606"):
            connection.execute(CALL_SQL.replace("$1", "%s").replace("$2", "%s"), (call, PROTOCOL))


def test_operations_of_the_machine_are_not_the_network_s(server: Server) -> None:
    call = '["perform",["gateway.procedures.requests:purge",[]],null,false,[]]'
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        text = CALL_SQL.replace("$1", "%s").replace("$2", "%s")
        row = connection.execute(text, (call, PROTOCOL)).fetchone()
    assert row is not None
    assert b"NOT_SUPPORTED" in row[0]
