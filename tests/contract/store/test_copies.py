"""COPY and imports on every store: files of this machine and streams, both ways."""

from __future__ import annotations

import datetime as dt
import os
import re
import subprocess
from decimal import Decimal
from pathlib import Path

import adbc_driver_flightsql.dbapi as flight
import adbc_driver_manager as adbc
import psycopg
import pyarrow as pa
import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.session.copies import file_loads
from gateway.shell.files import import_file
from tests.support.kept import rows
from tests.support.stores.store import Capability, Store
from tests.support.warm_python import warm_python

pytestmark = pytest.mark.timeout(900)
VALUES = [
    (1, "007", 1.5, dt.date(2024, 2, 29), Decimal("1.50"), True),
    (2, None, None, None, None, None),
    (3, 'a,"b"\n', 2.0, dt.date(1999, 1, 1), Decimal("-0.01"), False),
    (4, "", 0.0, dt.date(2000, 1, 1), Decimal("0.00"), False),
]


@pytest.fixture
def con(store: Store) -> Connection:
    """A connection to a store with a table of several types."""
    found = store.connect()
    found.execute(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR, x DOUBLE, day DATE,"
        " price DECIMAL(6, 2), good BOOLEAN)"
    )
    return found


def _fill(con: Connection) -> None:
    con.cursor().executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", VALUES)


@pytest.mark.also_on("hive", "postgres")
@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet", "rows.json", "rows.csv.gz"])
def test_what_a_file_takes_it_gives_back(con: Connection, tmp_path: Path, name: str) -> None:
    _fill(con)
    options = "(HEADER)" if ".csv" in name else ""
    path = tmp_path / name
    assert con.execute(f"COPY t TO '{path}' {options}").rowcount == 4
    con.execute("DELETE FROM t")
    assert con.execute(f"COPY t FROM '{path}' {options}").rowcount == 4
    assert rows(con, "SELECT * FROM t ORDER BY id") == VALUES


@pytest.mark.also_on("hive", "postgres")
def test_streams(con: Connection) -> None:
    _fill(con)
    cursor = con.cursor()
    for options in ("", "(FORMAT csv, HEADER)"):
        with cursor.copy(f"COPY (SELECT * FROM t ORDER BY id) TO STDOUT {options}") as copy:
            text = b"".join(copy)
        con.execute("DELETE FROM t")
        with cursor.copy(f"COPY t FROM STDIN {options}") as copy:
            copy.write(text)
        assert cursor.rowcount == 4
        assert rows(con, "SELECT * FROM t ORDER BY id") == VALUES


@pytest.mark.also_on("hive", "postgres")
@pytest.mark.drifts(toy="SQLite's numbers have no range")
def test_wrong_values_are_named_and_nothing_is_loaded(con: Connection, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    for text, column in (("1,a,1.5\n2,b,much\n", "x"), ("1,a,1\n9999999999,b,1\n", "id")):
        file.write_text(text)
        with pytest.raises(gateway.DataError, match=rf"rows.csv, line 2, column {column}"):
            con.execute(f"COPY t (id, name, x) FROM '{file}'")
        with (
            pytest.raises(gateway.DataError, match=f"STDIN, line 2, column {column}"),
            con.cursor().copy("COPY t (id, name, x) FROM STDIN (FORMAT csv)") as copy,
        ):
            copy.write(text)
    for sql, state in (
        (f"COPY nope FROM '{file}'", "42P01"),
        (f"COPY t (id, nope) FROM '{file}'", "42703"),
        ("COPY t FROM '/nowhere/x.csv'", "58P01"),
        ("COPY t TO '/nowhere/x.csv'", "58P01"),
    ):
        with pytest.raises(gateway.Error) as caught:
            con.execute(sql)
        assert caught.value.sqlstate == state, sql
    file.write_text("1,a\n")
    with pytest.raises(gateway.ProgrammingError):
        con.execute(f"COPY t (id, name, x) FROM '{file}'")
    file.write_text("1,a,1\n1,b,2\n")
    with pytest.raises(gateway.IntegrityError):
        con.execute(f"COPY t (id, name, x) FROM '{file}'")
    assert rows(con, "SELECT count(*) FROM t") == [(0,)]


@pytest.mark.also_on("hive", "postgres")
def test_a_copy_in_batches_belongs_to_its_transaction(
    con: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_loads, "BATCH_ROWS", 2048)
    file = tmp_path / "rows.csv"
    file.write_text("".join(f"{n},x,{n}\n" for n in range(5000)))
    con.execute("BEGIN")
    assert con.execute(f"COPY t (id, name, x) FROM '{file}'").rowcount == 5000
    assert rows(con, "SELECT count(*), max(x) FROM t") == [(5000, 4999.0)]
    con.execute("ROLLBACK")
    assert rows(con, "SELECT count(*) FROM t") == [(0,)]
    con.execute(f"COPY t (id, name, x) FROM '{file}'")
    assert rows(con, "SELECT count(*), sum(id) FROM t") == [(5000, 12_497_500)]
    with file.open("a") as end:
        end.write("5000,x,much\n")
    con.execute("DELETE FROM t")
    for begun in (False, True):
        if begun:
            con.execute("BEGIN")
        with pytest.raises(gateway.DataError, match="line 5001, column x"):
            con.execute(f"COPY t (id, name, x) FROM '{file}'")
        if begun:
            with pytest.raises(gateway.Error):
                con.execute("COMMIT")
        assert rows(con, "SELECT count(*) FROM t") == [(0,)]


@pytest.mark.also_on("hive", "postgres")
def test_imports(con: Connection, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("x,id,day\n1.5,1,2024-02-29\n2.5,2,\n")
    assert import_file(con, str(file), "t").rows == 2
    assert rows(con, "SELECT id, x, day FROM t ORDER BY id") == [
        (1, 1.5, dt.date(2024, 2, 29)),
        (2, 2.5, None),
    ]
    done = import_file(con, str(file), "made", create=True, key=["id"])
    assert (done.rows, done.created) == (2, True)
    assert rows(con, "SELECT id, day FROM made ORDER BY id") == [
        (1, dt.date(2024, 2, 29)),
        (2, None),
    ]
    file.write_text("id,x\n3,1\n4,much\n")
    with pytest.raises(gateway.DataError, match=r"rows.csv, line 3"):
        import_file(con, str(file), "t")
    assert rows(con, "SELECT count(*) FROM t") == [(2,)]


@pytest.mark.also_on("hive")
def test_bytes_go_as_postgresql_writes_them(store: Store) -> None:
    with gateway.connect(store.url, autocommit=True, dialect="postgres") as con:
        cursor = con.cursor()
        cursor.execute("CREATE TABLE files (id INTEGER PRIMARY KEY, content BYTEA)")
        text = "1\t\\\\xdead00\n2\t\\N\n3\t\\\\x6162\n"
        with cursor.copy("COPY files FROM STDIN") as copy:
            copy.write(text)
        cursor.execute("SELECT content FROM files ORDER BY id")
        assert cursor.fetchall() == [(b"\xde\xad\x00",), (None,), (b"ab",)]
        with cursor.copy("COPY (SELECT * FROM files ORDER BY id) TO STDOUT") as copy:
            assert b"".join(bytes(piece) for piece in copy).decode() == text
        with pytest.raises(gateway.Error, match="two hexadecimal digits"):
            with cursor.copy("COPY files FROM STDIN") as copy:
                copy.write("4\t\\\\xabc\n")


@pytest.mark.needs(Capability.PROCESSES)
@pytest.mark.also_on("hive", "postgres")
def test_a_server_takes_copies(store: Store, con: Connection) -> None:
    con.close()
    command = [warm_python(), "-m", "gateway.cli", "serve", store.url]
    serving = subprocess.Popen(
        [*command, "--postgres", "127.0.0.1:0", "--flight", "127.0.0.1:0", "--trust-loopback"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert serving.stdout is not None
        found = (re.match(r"postgresql://127\.0\.0\.1:(\d+)/", line) for line in serving.stdout)
        port = next(match[1] for match in found if match is not None)
        with psycopg.connect(host="127.0.0.1", port=port, user="me", autocommit=True) as client:
            cursor = client.cursor()
            with cursor.copy("COPY t (id, name, x) FROM STDIN") as copy:
                copy.write_row((1, "tab\tand\nline", 1.5))
                copy.write_row((2, None, None))
            assert cursor.rowcount == 2
            with cursor.copy("COPY (SELECT id, name FROM t ORDER BY id) TO STDOUT") as copy_out:
                assert list(copy_out.rows()) == [("1", "tab\tand\nline"), ("2", None)]
            with (
                pytest.raises(psycopg.errors.DataError, match="STDIN, line 2, column x"),
                cursor.copy("COPY t (id, x) FROM STDIN (FORMAT csv)") as copy,
            ):
                copy.write("3,1\n4,much\n")
            _copy_in_binary(cursor)
        _use_flight(serving.stdout.readline().strip())
    finally:
        serving.terminate()
        serving.communicate(timeout=60)


def _copy_in_binary(cursor: psycopg.Cursor) -> None:
    with cursor.copy("COPY t (id, name, x) FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(["int4", "text", "float8"])
        copy.write_row((3, "binary", 0.25))
        copy.write_row((4, None, None))
    assert cursor.rowcount == 2
    sql = "COPY (SELECT id, name, x FROM t WHERE id > 2 ORDER BY id) TO STDOUT (FORMAT BINARY)"
    with cursor.copy(sql) as copy_out:
        copy_out.set_types(["int4", "text", "float8"])
        assert list(copy_out.rows()) == [(3, "binary", 0.25), (4, None, None)]


def _use_flight(url: str) -> None:
    """Statements, a transaction and a bulk load over Flight."""
    with flight.connect(url) as con, con.cursor() as cursor:
        cursor.execute("SELECT id, name, x, day FROM t WHERE id > ? ORDER BY id", (2,))
        assert cursor.fetchall() == [(3, "binary", 0.25, None), (4, None, None, None)]
        cursor.execute("DELETE FROM t WHERE id = 3")
        con.rollback()
        rows_ = pa.table({"id": pa.array([5, 6], pa.int32()), "name": ["five", None]})
        assert cursor.adbc_ingest("t", rows_, mode="append") == 2
        con.commit()
        with pytest.raises(adbc.Error, match="PAL-301"):
            cursor.adbc_ingest("t", rows_, mode="append")
        con.rollback()
        assert cursor.adbc_ingest("made", rows_, mode="create") == 2
        con.commit()
        cursor.execute("SELECT (SELECT count(*) FROM t), (SELECT sum(id) FROM made)")
        ((count, total),) = cursor.fetchall()
        assert (count, int(total)) == (6, 11)


@pytest.mark.drifts(hive="it has no column of intervals", toy="its reader knows no months")
def test_intervals_keep_their_months_in_files(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "spans.parquet"
    con = store.connect()
    con.execute("CREATE TABLE spans (id INTEGER PRIMARY KEY, i INTERVAL, a INTERVAL[])")
    con.execute(
        "INSERT INTO spans VALUES"
        " (1, INTERVAL '13 months 2 days 00:00:01.5', [INTERVAL '14 months', NULL])"
    )
    con.execute(f"COPY spans TO '{file}' (FORMAT parquet)")
    con.execute("DELETE FROM spans")
    con.execute(f"COPY spans FROM '{file}' (FORMAT parquet)")
    found = con.execute("SELECT i, a FROM spans").fetch_arrow().to_pylist()
    assert found == [
        {
            "i": pa.MonthDayNano([13, 2, 1_500_000_000]),
            "a": [pa.MonthDayNano([14, 0, 0]), None],
        }
    ]
    (days,) = con.execute("SELECT i FROM spans").fetchone()
    assert days == dt.timedelta(days=392, seconds=1.5)


@pytest.mark.also_on("postgres")
def test_an_import_merges_by_the_key(store: Store, tmp_path: Path) -> None:
    con = store.connect()
    con.execute("CREATE TABLE d (id INTEGER PRIMARY KEY, name VARCHAR, place VARCHAR)")
    con.execute("INSERT INTO d VALUES (1, 'a', 'x'), (2, 'b', 'y')")
    file = tmp_path / "rows.csv"
    file.write_text("name,id\nB,2\nC,3\n")
    with pytest.raises(gateway.IntegrityError, match="--load merge replaces"):
        import_file(con, str(file), "d")
    done = import_file(con, str(file), "d", load="ignore")
    assert (done.rows, done.updated) == (1, 0)
    done = import_file(con, str(file), "d", load="merge")
    assert (done.rows, done.updated) == (2, 2)
    file.write_text("name,id\nA,1\nE,5\n")
    done = import_file(con, str(file), "d", load="merge")
    assert (done.rows, done.updated) == (2, 1)
    assert rows(con, "SELECT id, name, place FROM d ORDER BY id") == [
        (1, "A", "x"),
        (2, "B", "y"),
        (3, "C", None),
        (5, "E", None),
    ]
    file.write_text("name,id\nF,6\nG,6\n")
    with pytest.raises(gateway.Error, match=r"PAL-304.*several rows with \(id\) = \(6\)"):
        import_file(con, str(file), "d", load="merge")
    file.write_text("name\nA\n")
    with pytest.raises(gateway.ProgrammingError, match='has no column "id"'):
        import_file(con, str(file), "d", load="merge")
    con.execute("CREATE TABLE keyless (name VARCHAR)")
    with pytest.raises(gateway.Error, match="keyless has no key to merge by"):
        import_file(con, str(file), "keyless", load="merge")
