"""PEP 249, clause by clause: module, connections, cursors, and the optional extensions."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Callable
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.dbapi.cursor import Cursor

ERRORS = (
    "Warning", "Error", "InterfaceError", "DatabaseError", "DataError", "OperationalError",
    "IntegrityError", "InternalError", "ProgrammingError", "NotSupportedError",
)  # fmt: skip


@pytest.fixture
def drinks(con: Connection) -> Connection:
    """A table of six drinks, uncommitted."""
    con.execute("CREATE TABLE drink (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL)")
    names = ["ale", "bitter", "cider", "dubbel", "eiswein", "fino"]
    con.executemany("INSERT INTO drink VALUES (?, ?)", list(enumerate(names, 1)))
    return con


def test_connections_carry_the_exceptions(con: Connection) -> None:
    for name in ERRORS:
        assert getattr(con, name) is getattr(gateway, name)


def test_exceptions_say_state_code_place_and_advice(con: Connection) -> None:
    with pytest.raises(gateway.ProgrammingError) as caught:
        con.execute("SELECT *\n  FROM nowhere")
    error = caught.value
    assert (error.sqlstate, error.code) == ("42P01", "PAL-201")
    assert error.position is not None
    assert (error.position.line, error.position.column) == (2, 8)
    assert error.advice
    assert "nowhere" in error.message


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("SELEC 1", "ProgrammingError"),
        ("SELECT nothing FROM drink", "ProgrammingError"),
        ("INSERT INTO drink VALUES (1, 'again')", "IntegrityError"),
        ("INSERT INTO drink VALUES (7, NULL)", "IntegrityError"),
        ("SELECT CAST('x' AS INTEGER)", "DataError"),
        ("SELECT CAST(300 AS TINYINT)", "DataError"),
        ("LISTEN drink", "NotSupportedError"),
        ("RELEASE SAVEPOINT unknown", "ProgrammingError"),
    ],
)
def test_each_error_has_the_class_of_its_kind(drinks: Connection, sql: str, kind: str) -> None:
    with pytest.raises(getattr(gateway, kind)) as caught:
        drinks.execute(sql).fetchall()
    assert type(caught.value).__name__ == kind


def test_commit_keeps_and_rollback_undoes(
    drinks: Connection, connect: Callable[..., Connection]
) -> None:
    other = connect()
    with pytest.raises(gateway.ProgrammingError):
        other.execute("SELECT * FROM drink")
    other.rollback()
    drinks.commit()
    drinks.execute("DELETE FROM drink")
    drinks.rollback()
    assert other.execute("SELECT count(*) FROM drink").fetchone() == (6,)


def test_closing_rolls_back(drinks: Connection, connect: Callable[..., Connection]) -> None:
    drinks.commit()
    drinks.execute("DELETE FROM drink")
    drinks.close()
    assert connect().execute("SELECT count(*) FROM drink").fetchone() == (6,)


def test_a_closed_connection_refuses_everything(con: Connection) -> None:
    cursor = con.execute("SELECT 1")
    con.close()
    con.close()
    assert con.closed
    calls = [
        con.commit, con.rollback, con.cursor, con.cancel, cursor.fetchone, cursor.fetchall,
        cursor.fetchmany, cursor.fetch_arrow, cursor.nextset,
        lambda: cursor.execute("SELECT 1"), lambda: cursor.executemany("SELECT 1", [()]),
        lambda: cursor.setinputsizes([]), lambda: cursor.setoutputsize(1),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(gateway.Error) as caught:
            call()
        assert isinstance(caught.value, gateway.InterfaceError)


def test_a_closed_cursor_refuses_everything(con: Connection) -> None:
    cursor = con.execute("SELECT 1")
    cursor.close()
    cursor.close()
    assert cursor.closed
    calls = [
        cursor.fetchone, cursor.fetchall, cursor.fetchmany, cursor.nextset, cursor.fetch_df,
        lambda: cursor.execute("SELECT 1"), lambda: cursor.setinputsizes([]),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(gateway.InterfaceError, match="PAL-601"):
            call()
    assert con.execute("SELECT 1").fetchone() == (1,)


def test_context_managers(url: str) -> None:
    with gateway.connect(url) as con, con.cursor() as cursor:
        cursor.execute("CREATE TABLE t (a INTEGER)")
        cursor.execute("INSERT INTO t VALUES (1)")
    assert con.closed
    assert cursor.closed
    with contextlib.suppress(ZeroDivisionError), gateway.connect(url) as con:
        con.execute("INSERT INTO t VALUES (2)")
        raise ZeroDivisionError
    with gateway.connect(url) as con:
        assert con.execute("SELECT a FROM t").fetchall() == [(1,)]


def test_description_and_rowcount(drinks: Connection) -> None:
    cursor = drinks.cursor()
    assert cursor.description is None
    assert cursor.rowcount == -1
    cursor.execute("INSERT INTO drink VALUES (7, 'gin'), (8, 'hock')")
    assert cursor.description is None
    assert cursor.rowcount == 2
    cursor.execute("UPDATE drink SET name = upper(name) WHERE id > 6")
    assert cursor.rowcount == 2
    cursor.execute("DELETE FROM drink WHERE id > 100")
    assert cursor.rowcount == 0
    cursor.execute("SELECT id, name AS label FROM drink")
    assert cursor.description is not None
    assert [column[0] for column in cursor.description] == ["id", "label"]
    assert all(len(column) == 7 for column in cursor.description)
    assert cursor.description[0][1] == gateway.NUMBER
    assert cursor.description[1][1] == gateway.STRING
    cursor.execute("DELETE FROM drink WHERE id > 6 RETURNING id")
    assert cursor.rowcount == 2
    assert sorted(cursor.fetchall()) == [(7,), (8,)]


def test_fetching(drinks: Connection) -> None:
    cursor = drinks.execute("SELECT id FROM drink ORDER BY id")
    assert cursor.arraysize == 1
    assert cursor.rownumber == 0
    assert cursor.fetchone() == (1,)
    assert cursor.fetchmany() == [(2,)]
    cursor.arraysize = 2
    assert cursor.fetchmany() == [(3,), (4,)]
    assert cursor.rownumber == 4
    assert cursor.fetchmany(0) == []
    assert cursor.fetchmany(10) == [(5,), (6,)]
    assert cursor.rownumber == 6
    assert cursor.fetchone() is None
    assert cursor.fetchmany(3) == []
    assert cursor.fetchall() == []
    with pytest.raises(gateway.InterfaceError):
        cursor.fetchmany(-1)


def test_iteration_mixes_with_fetching(drinks: Connection) -> None:
    cursor = drinks.execute("SELECT id FROM drink ORDER BY id")
    assert next(cursor) == (1,)
    assert cursor.fetchone() == (2,)
    assert [row[0] for row in cursor] == [3, 4, 5, 6]
    assert cursor.rownumber == 6
    with pytest.raises(StopIteration):
        next(cursor)


def test_fetching_without_a_result_is_an_error(drinks: Connection) -> None:
    cursor = drinks.cursor()
    for prepare in (lambda: None, lambda: cursor.execute("DELETE FROM drink WHERE id = 1")):
        prepare()
        for fetch in (cursor.fetchone, cursor.fetchmany, cursor.fetchall, cursor.fetch_arrow):
            with pytest.raises(gateway.InterfaceError, match="PAL-602"):
                fetch()


def test_executemany(drinks: Connection) -> None:
    cursor = drinks.cursor()
    cursor.executemany("UPDATE drink SET name = ? WHERE id = ?", [("x", 1), ("y", 2), ("z", 99)])
    assert cursor.rowcount == 2
    cursor.executemany("INSERT INTO drink VALUES (?, ?)", iter([(10, "a"), (11, "b")]))
    assert cursor.rowcount == 2
    cursor.executemany("DELETE FROM drink WHERE id = :id", [{"id": 10}, {"id": 11}])
    assert cursor.rowcount == 2
    cursor.executemany("DELETE FROM drink WHERE id = ?", [])
    assert cursor.rowcount == 0
    with pytest.raises(gateway.InterfaceError):
        cursor.executemany("SELECT ?", [(1,)])
    for wrong in ("text", {"id": 1}, 5):
        with pytest.raises(gateway.ProgrammingError, match="PAL-220"):
            cursor.executemany("DELETE FROM drink WHERE id = ?", wrong)  # type: ignore[arg-type]


def test_executemany_is_all_or_nothing(connect: Callable[..., Connection]) -> None:
    con = connect(autocommit=True)
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    with pytest.raises(gateway.IntegrityError):
        con.executemany("INSERT INTO t VALUES (?)", [(1,), (2,), (1,)])
    assert con.execute("SELECT count(*) FROM t").fetchone() == (0,)
    assert not con.in_transaction


def test_executemany_returning_gives_every_row(drinks: Connection) -> None:
    cursor = drinks.executemany(
        "INSERT INTO drink VALUES (?, ?) RETURNING id", [(7, "g"), (8, "h")]
    )
    assert sorted(cursor.fetchall()) == [(7,), (8,)]
    cursor = drinks.executemany("DELETE FROM drink WHERE id = ? RETURNING id, name", [(7,), (8,)])
    assert cursor.fetchall() == [(7, "g"), (8, "h")]


def test_callproc_gives_its_report(con: Connection) -> None:
    con.execute("CREATE TABLE t (a INTEGER)")
    con.execute("INSERT INTO t VALUES (1)")
    con.commit()
    cursor = con.cursor()
    assert list(cursor.callproc("system.flush", ["main.t"])) == ["main.t"]
    (row,) = cursor.fetchall()
    assert row[0] == "main.t"
    with pytest.raises(gateway.ProgrammingError):
        cursor.callproc("system.nothing")


def test_sizes_and_sets_are_accepted(con: Connection) -> None:
    cursor = con.cursor()
    cursor.setinputsizes([gateway.NUMBER, 10, None])
    cursor.setoutputsize(100)
    cursor.setoutputsize(100, 1)
    assert cursor.nextset() is None
    assert cursor.connection is con
    assert cursor.lastrowid is None


def test_several_statements_in_one_text(con: Connection) -> None:
    cursor = con.execute(
        "CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1), (2); -- done\n SELECT sum(a) FROM t;"
    )
    assert cursor.fetchone() == (3,)


@pytest.mark.parametrize("text", ["", "  ", ";", ";;", "-- nothing", "/* nothing */ ; -- at all"])
def test_empty_statements_do_nothing(con: Connection, text: str) -> None:
    cursor = con.execute(text)
    assert cursor.description is None
    assert not con.in_transaction


@pytest.mark.parametrize("text", ["SELECT 1;", "SELECT 1 -- one", "/* a */ SELECT /* b */ 1 ; ;"])
def test_comments_and_semicolons(con: Connection, text: str) -> None:
    assert con.execute(text).fetchall() == [(1,)]


def test_text_must_be_text(con: Connection) -> None:
    for wrong in (None, 5, b"SELECT 1"):
        with pytest.raises(gateway.InterfaceError):
            con.execute(wrong)  # type: ignore[arg-type]


def test_constructors() -> None:
    assert gateway.Date(2026, 2, 28) == dt.date(2026, 2, 28)
    assert gateway.Time(1, 2, 3) == dt.time(1, 2, 3)
    assert gateway.Timestamp(2026, 2, 28, 1, 2, 3) == dt.datetime(2026, 2, 28, 1, 2, 3)  # noqa: DTZ001
    assert gateway.DateFromTicks(86_400) == dt.date(1970, 1, 2)
    assert gateway.TimeFromTicks(61) == dt.time(0, 1, 1)
    assert gateway.TimestampFromTicks(61) == dt.datetime(1970, 1, 1, 0, 1, 1)  # noqa: DTZ001
    assert gateway.Binary(b"ab") == b"ab"


def test_autocommit(connect: Callable[..., Connection]) -> None:
    con = connect(autocommit=True)
    con.execute("CREATE TABLE t (a INTEGER)")
    con.execute("INSERT INTO t VALUES (1)")
    assert not con.in_transaction
    assert connect().execute("SELECT a FROM t").fetchall() == [(1,)]
    con.autocommit = False
    con.execute("INSERT INTO t VALUES (2)")
    assert con.in_transaction
    with pytest.raises(gateway.OperationalError, match="PAL-405"):
        con.autocommit = True
    con.rollback()
    con.autocommit = True
    assert con.execute("SELECT a FROM t").fetchall() == [(1,)]


@pytest.mark.parametrize(
    "url",
    ["sqlite:///x", "palimpsest://host/a/path", "warehouse", "palimpsest+oracle:///x", ""],
)
def test_wrong_urls(url: str) -> None:
    with pytest.raises(gateway.InterfaceError, match="PAL-603"):
        gateway.connect(url)


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("dialect=postgres", "unknown option: dialect"),
        ("threads=many", "has a value"),
        ("memory_limit=much", "has a value"),
    ],
)
def test_wrong_options_of_a_folder(option: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(gateway.InterfaceError, match=f"PAL-603.*{why}"):
        gateway.connect(f"palimpsest:///{tmp_path}/w?{option}")
    gateway.connect(f"palimpsest:///{tmp_path}/w").close()


def test_wrong_options() -> None:
    with pytest.raises(gateway.ProgrammingError, match="PAL-221"):
        gateway.connect("palimpsest://", nonsense=1)
    with pytest.raises(gateway.Error, match="PAL-222"):
        gateway.connect("palimpsest://", dialect="klingon")


@pytest.mark.parametrize("text", ["ROLLBACK TO nothing", "RELEASE nothing"])
def test_an_unknown_savepoint_fails_the_transaction(drinks: Connection, text: str) -> None:
    drinks.execute("SAVEPOINT known")
    with pytest.raises(gateway.ProgrammingError, match="PAL-406"):
        drinks.execute(text)
    with pytest.raises(gateway.OperationalError, match="PAL-402"):
        drinks.execute("SELECT 1")
    drinks.execute("ROLLBACK TO known")
    assert drinks.execute("SELECT count(*) FROM drink").fetchone() == (6,)


def test_a_query_is_counted_once_its_last_row_is_fetched(drinks: Connection) -> None:
    fetches: list[Callable[[Cursor], object]] = [
        Cursor.fetchall, list, Cursor.fetch_arrow, lambda c: list(c.fetch_record_batches()),
    ]  # fmt: skip
    for fetch in fetches:
        cursor = drinks.execute("SELECT x FROM range(3000) AS r(x)")
        fetch(cursor)
        assert cursor.rowcount == 3000
    cursor = drinks.execute("SELECT x FROM range(3000) AS r(x)")
    cursor.fetchmany(2000)
    assert cursor.rowcount == -1
    cursor.fetchone()
    assert cursor.rowcount == 3000
    written = drinks.execute("UPDATE drink SET name = name WHERE id < 3 RETURNING name")
    assert (len(written.fetchall()), written.rowcount) == (2, 2)
