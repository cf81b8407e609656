"""A second program works on a warehouse as if it were alone."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from gateway.dbapi.connection import Connection
from tests.sharing.programs import Program

LONG = "SELECT sum(a.x * b.x) FROM range(1000000) a(x), range(1000000) b(x)"
ROWS = "SELECT * FROM t ORDER BY a"


def test_both_read_and_write(root: Path, owner: Connection) -> None:
    with Program(root) as other:
        assert other.kind == "RemoteSession"
        assert other.rows(ROWS) == [[1, "x"], [2, "y"]]
        assert other.ask("execute", "INSERT INTO t VALUES (?, ?)", [3, "z"])["count"] == 1
        counted = "found['value'] = connection.execute('SELECT * FROM t').rowcount"
        assert other.ask("python", counted) == 3
        assert owner.execute(ROWS).fetchall() == [(1, "x"), (2, "y"), (3, "z")]
        owner.execute("DELETE FROM t WHERE a = 1")
        assert other.rows(ROWS) == [[2, "y"], [3, "z"]]


def test_a_transaction_is_of_its_program(root: Path, owner: Connection) -> None:
    with Program(root, autocommit=False) as other:
        other.ask("execute", "UPDATE t SET b = 'q' WHERE a = 1")
        assert owner.execute("SELECT b FROM t WHERE a = 1").fetchall() == [("x",)]
        owner.execute("UPDATE t SET b = 'first' WHERE a = 1")
        lost = other.ask("commit")
        assert (lost["error"], lost["sqlstate"]) == ("PAL-401", "40001")
        other.ask("execute", "UPDATE t SET b = 'second' WHERE a = 1")
        assert other.ask("commit") is None
        assert owner.execute("SELECT b FROM t WHERE a = 1").fetchall() == [("second",)]


def test_errors_come_with_code_and_position(root: Path, owner: Connection) -> None:
    with Program(root) as other:
        wrong = other.ask("execute", "SELECT * FORM t")
        assert wrong["error"] == "PAL-101"
        assert "column 10" in wrong["message"]
        assert other.ask("execute", "INSERT INTO t VALUES (1, 'again')")["error"] == "PAL-301"


def test_values_of_every_type_are_the_same(root: Path, owner: Connection) -> None:
    queries = [
        "SELECT 1::TINYINT, 170141183460469231731687303715884105727::HUGEINT, 1.5::DOUBLE",
        "SELECT 1.50::DECIMAL(18,2), 'ä', 'x'::BLOB, true, NULL",
        "SELECT DATE '2024-02-29', TIME '12:00:01.5', TIMESTAMP '2024-01-01 00:00:00.000001'",
        "SELECT TIMESTAMPTZ '2024-01-01 00:00:00+02', INTERVAL 3 DAY, uuid() IS NOT NULL",
        "SELECT [1, 2], {'a': 1, 'b': [NULL]}, MAP {'k': 1.5}",
    ]
    for query in queries:
        with Program(root) as other:
            here = owner.execute(query)
            code = f"c = connection.execute({query!r}); found['value'] = repr("
            assert other.ask("python", f"{code}c.fetchall())") == repr(here.fetchall())
            assert other.ask("python", f"{code}c.description)") == repr(here.description)


def test_parameters_of_every_type_arrive(root: Path, owner: Connection) -> None:
    code = """
import datetime, decimal, uuid, zoneinfo
import numpy
class Own:
    pass
given = [1 << 100, 1.5, "x", b"y", None, True, decimal.Decimal("1.50"), uuid.UUID(int=7),
         datetime.date(2024, 2, 29), datetime.timedelta(1), numpy.int64(5), numpy.float32(0.5),
         datetime.datetime(2024, 1, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin")), [1, 2]]
marks = ", ".join("?" for _ in given)
(row,) = connection.execute(f"SELECT {marks}", given).fetchall()
try:
    connection.execute("SELECT ?", [Own()])
except gateway.Error as error:
    refused = error.code
found["value"] = [repr(row[:6]), refused, connection.execute("SELECT 1").fetchall()]
"""
    with Program(root) as other:
        first, refused, after = other.ask("python", code)
        assert first == repr((1 << 100, 1.5, "x", b"y", None, True))
        assert (refused, after) == ("PAL-220", [[1]])


def test_rows_that_do_not_fit_one_message_come_in_order(root: Path, owner: Connection) -> None:
    with Program(root) as other:
        code = """
one = connection.execute("SELECT x, x::VARCHAR FROM range(200000) r(x)")
two = connection.execute("SELECT x FROM range(150000) r(x)")
three = connection.execute("SELECT 1 FROM range(99999)")
first = one.fetchmany(1500)
rest = one.fetchall()
found["value"] = [
    [r[0] for r in first + rest] == list(range(200000)),
    two.fetch_arrow().column(0).to_pylist() == list(range(150000)),
    sum(b.num_rows for b in three.fetch_record_batches()),
    connection.execute("SELECT 5 AS n").fetch_arrow().to_pylist(),
    connection.execute("SELECT 1 WHERE false").fetch_arrow().num_rows,
]
"""
        assert other.ask("python", code) == [True, True, 99999, [{"n": 5}], 0]


def test_settings_and_temporary_tables_are_the_program_s(root: Path, owner: Connection) -> None:
    with Program(root) as other, Program(root) as third:
        other.ask("execute", "CREATE TEMP TABLE own AS SELECT 7 AS n")
        other.ask("execute", "SET timezone = 'Asia/Tokyo'")
        assert other.rows("SELECT n FROM own") == [[7]]
        assert third.rows("SELECT n FROM own")["error"] == "PAL-201"
        assert other.rows("SHOW timezone") == [["Asia/Tokyo"]]
        assert third.rows("SHOW timezone") != [["Asia/Tokyo"]]


def test_moments_are_shown_in_the_zone_of_the_program(
    root: Path, owner: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    with Program(root) as other:
        code = """
rows = connection.execute("SELECT TIMESTAMPTZ '2024-01-01 00:00:00+00' FROM range(3000)").fetchall()
found["value"] = sorted({str(moment) for moment, in rows})
"""
        assert other.ask("python", code) == ["2024-01-01 09:00:00+09:00"]


def test_many_rows_of_parameters(root: Path, owner: Connection) -> None:
    code = """
cursor = connection.cursor()
cursor.executemany("INSERT INTO t VALUES (?, ?)", [(i, str(i)) for i in range(10, 500)])
found["value"] = cursor.rowcount
"""
    with Program(root) as other:
        assert other.ask("python", code) == 490
        assert owner.execute("SELECT count(*) FROM t").fetchone() == (492,)


def test_a_program_that_leaves_is_rolled_back(root: Path, owner: Connection) -> None:
    with Program(root, autocommit=False) as other:
        other.ask("execute", "DELETE FROM t")
        other.kill()
    deadline = time.monotonic() + 10
    while owner.session.journal.oldest_snapshot() < owner.session.journal.state.version:  # type: ignore[attr-defined]
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert owner.execute("SELECT count(*) FROM t").fetchone() == (2,)


def test_a_statement_is_cancelled_from_another_thread(root: Path, owner: Connection) -> None:
    code = """
import threading, time
threading.Timer(0.5, connection.cancel).start()
began = time.monotonic()
try:
    connection.execute(LONG).fetchall()
except gateway.Error as error:
    found["value"] = [error.sqlstate, time.monotonic() - began < 20]
"""
    with Program(root) as other:
        assert other.ask("python", f"LONG = {LONG!r}\n{code}") == ["57014", True]
        assert other.rows("SELECT 1") == [[1]]


def test_ctrl_c_in_a_program_ends_its_statement_at_the_owner(root: Path, owner: Connection) -> None:
    code = """
import os, signal, threading, time
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
began = time.monotonic()
try:
    connection.execute(LONG).fetchall()
except KeyboardInterrupt:
    found["value"] = time.monotonic() - began < 20
"""
    with Program(root) as other:
        assert other.ask("python", f"LONG = {LONG!r}\n{code}") is True
        query = "SELECT state FROM system.statements WHERE statement LIKE '%range(%'"
        deadline = time.monotonic() + 20
        states = owner.execute(query).fetchall()
        assert states, "it did not reach the owner"
        while ("running",) in states:
            assert time.monotonic() < deadline, "it goes on"
            time.sleep(0.05)
            states = owner.execute(query).fetchall()
        assert other.rows("SELECT 1") == [[1]]


def test_relative_paths_are_those_of_the_program(
    root: Path, owner: Connection, tmp_path: Path
) -> None:
    there = tmp_path / "there"
    there.mkdir()
    (there / "rows.csv").write_text("a,b\n7,seven\n")
    with Program(root, cwd=there) as other:
        assert other.rows("SELECT * FROM read_csv('rows.csv')") == [[7, "seven"]]
        assert other.rows("SELECT b FROM 'rows.csv'") == [["seven"]]
        other.ask("execute", "COPY t FROM 'rows.csv' (HEADER)")
        assert owner.execute("SELECT b FROM t WHERE a = 7").fetchall() == [("seven",)]
        other.ask("execute", "COPY t TO 'out.parquet' (FORMAT parquet)")
        assert (there / "out.parquet").is_file()


@pytest.mark.long
@pytest.mark.parametrize("clients", [6])
def test_programs_that_open_a_folder_at_once_all_work(root: Path, clients: int) -> None:
    """Nobody has it open before: one becomes the owner, whichever it is."""
    answers: list[object] = []

    def work(number: int) -> None:
        with Program(root) as program:
            program.ask("execute", "INSERT INTO t VALUES (?, 'w')", [100 + number])
            answers.append(program.rows("SELECT count(*) >= 3 FROM t"))
            assert program.end() == 0

    threads = [threading.Thread(target=work, args=(n,)) for n in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [[[True]]] * clients
    with Program(root) as last:
        assert last.rows("SELECT count(*) FROM t WHERE b = 'w'") == [[clients]]


@pytest.mark.long
def test_programs_never_take_the_same_number(root: Path) -> None:
    with Program(root) as owner, Program(root) as other:
        owner.ask("execute", "CREATE SEQUENCE s")
        taken = [p.rows("SELECT nextval('s')")[0][0] for p in (owner, other, other, owner)]
        assert taken == [1, 2, 3, 4]
        assert other.rows("SELECT currval('s')") == [[3]]
        assert owner.end() == 0
        assert other.rows("SELECT nextval('s')") == [[5]]


def test_rows_go_on_as_arrow_where_fetching_left_off(root: Path, owner: Connection) -> None:
    """What CSV of a long result does: some rows as Python values, the rest in batches."""
    script = """
cursor = connection.execute("SELECT x FROM range(300000) AS r(x)")
taken = len(cursor.fetchmany({taken}))
rest = cursor.fetch_arrow()
found["value"] = [taken, rest.num_rows, rest.column(0)[0].as_py(), rest.column(0)[-1].as_py()]
"""
    with Program(root) as program:
        for taken in (1024, 2048, 70_000):
            answer = program.ask("python", script.format(taken=taken))
            assert answer == [taken, 300_000 - taken, taken, 299_999]
