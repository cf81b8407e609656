"""Reads that stand are run again at once; whatever could change them has them planned anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.errors import Error
from journal.stores.postgres.at_once import AtOnce

_BY_KEY = "SELECT id, v FROM t WHERE id = ?"
_PAGE = "SELECT id, v FROM t WHERE id > 3 ORDER BY id LIMIT 2"


@pytest.fixture
def con(connect: Callable[..., Connection]) -> Connection:
    """A connection to a database with a table of ten rows."""
    con = connect()
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER)")
    con.execute("INSERT INTO t SELECT i, i * 10 FROM range(10) AS r(i)")
    return con


@pytest.fixture
def stood(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Of each read that stands, whether it was run so."""
    found: list[bool] = []
    ask = AtOnce.ask

    def asked(self: AtOnce, *given: Any) -> Any:
        answer = ask(self, *given)
        found.append(answer is not None)
        return answer

    monkeypatch.setattr(AtOnce, "ask", asked)
    return found


def _standing(con: Connection, stood: list[bool], sql: str, given: Any = None) -> list[Any]:
    """The rows of a read, once it stands."""
    rows = con.execute(sql, given).fetchall()
    for _ in range(70):
        stood.clear()
        assert con.execute(sql, given).fetchall() == rows
        if stood == [True]:
            return rows
    raise AssertionError("it never stands")


def test_a_read_stands_with_other_parameters(con: Connection, stood: list[bool]) -> None:
    assert _standing(con, stood, _BY_KEY, [3]) == [(3, 30)]
    cursor = con.execute(_BY_KEY, [4])
    assert [column[:2] for column in cursor.description or ()] == [
        ("id", "INTEGER"),
        ("v", "INTEGER"),
    ]
    assert cursor.fetchall() == [(4, 40)]
    assert con.execute(_BY_KEY, [99]).fetchall() == []
    assert stood == [True] * 3
    # One whose kind is another one is planned for that.
    assert con.execute(_BY_KEY, [5.0]).fetchall() == [(5, 50)]
    assert stood == [True] * 3
    with pytest.raises(Error):
        con.execute(_BY_KEY, [])
    assert con.execute(_BY_KEY, [5]).fetch_arrow().to_pylist() == [{"id": 5, "v": 50}]


def test_settings_transactions_and_temporary_tables_end_it(
    con: Connection, stood: list[bool]
) -> None:
    assert _standing(con, stood, _PAGE) == [(4, 40), (5, 50)]
    before = con.execute("SELECT max(version) FROM system.transactions").fetchall()[0][0]
    con.execute("CREATE SCHEMA s")
    con.execute("CREATE TABLE s.t (id INTEGER PRIMARY KEY, v INTEGER)")
    con.execute("INSERT INTO s.t VALUES (4, 1)")
    _standing(con, stood, _PAGE)
    con.execute("SET search_path = 's'")
    assert _standing(con, stood, _PAGE) == [(4, 1)]
    con.execute("RESET search_path")
    assert _standing(con, stood, _PAGE) == [(4, 40), (5, 50)]
    con.execute("DELETE FROM t WHERE id = 4")
    assert con.execute(_PAGE).fetchall() == [(5, 50), (6, 60)]
    con.execute(f"SET as_of = {before}")
    assert con.execute(_PAGE).fetchall() == [(4, 40), (5, 50)]
    con.execute("RESET as_of")
    assert _standing(con, stood, _PAGE) == [(5, 50), (6, 60)]
    con.execute("BEGIN")
    con.execute("UPDATE t SET v = 0 WHERE id = 5")
    assert con.execute(_PAGE).fetchall() == [(5, 0), (6, 60)]
    con.execute("ROLLBACK")
    assert _standing(con, stood, _PAGE) == [(5, 50), (6, 60)]
    con.execute("CREATE TEMPORARY TABLE t (id INTEGER, v INTEGER)")
    con.execute("INSERT INTO t VALUES (7, 7)")
    assert con.execute(_PAGE).fetchall() == [(7, 7)]
    con.execute("DROP TABLE t")
    assert con.execute(_PAGE).fetchall() == [(5, 50), (6, 60)]
    con.autocommit = False
    assert con.execute(_PAGE).fetchall() == [(5, 50), (6, 60)]
    con.rollback()


def test_what_others_do_ends_it(con: Connection, url: str, stood: list[bool]) -> None:
    with gateway.connect(f"{url}?connect_timeout=16", autocommit=True) as other:
        for change, rows in (
            ("UPDATE t SET v = 1 WHERE id = 4", [(4, 1), (5, 50)]),
            ("DELETE FROM t WHERE id = 5", [(4, 1), (6, 60)]),
            ("CALL system.compact('t')", [(4, 1), (6, 60)]),
            ("ALTER TABLE t SET ROW POLICY (id <> 6)", [(4, 1), (6, 60)]),
            ("ALTER TABLE t RENAME COLUMN v TO w", None),
            ("ALTER TABLE t RENAME COLUMN w TO v", [(4, 1), (6, 60)]),
            ("ALTER TABLE t ALTER v TYPE BIGINT", [(4, 1), (6, 60)]),
            ("DROP TABLE t", None),
            ("CREATE VIEW t AS SELECT 9 AS id, 'x' AS v", [(9, "x")]),
        ):
            other.execute(change)
            if rows is None:
                with pytest.raises(Error):
                    con.execute(_PAGE)
                continue
            assert con.execute(_PAGE).fetchall() == rows
            if "VIEW" not in change:
                assert _standing(con, stood, _PAGE) == rows


def test_roles_read_by_their_own_plans(con: Connection, stood: list[bool]) -> None:
    con.execute("CREATE ROLE ann")
    con.execute("GRANT SELECT ON t TO ann")
    con.execute("ALTER TABLE t SET ROW POLICY (id % 2 = 0)")
    for _ in range(2):
        assert _standing(con, stood, _PAGE) == [(4, 40), (5, 50)]
        con.execute("SET ROLE ann")
        assert _standing(con, stood, _PAGE) == [(4, 40), (6, 60)]
        con.execute("RESET ROLE")
    con.execute("SET ROLE ann")
    _standing(con, stood, _PAGE)
    con.execute("RESET ROLE")
    con.execute("REVOKE SELECT ON t FROM ann")
    con.execute("SET ROLE ann")
    with pytest.raises(Error) as caught:
        con.execute(_PAGE)
    assert caught.value.sqlstate == "42P01", "a table that it may not see is none"


def test_erased_rows_are_gone(con: Connection, stood: list[bool]) -> None:
    assert _standing(con, stood, _PAGE) == [(4, 40), (5, 50)]
    con.execute("ERASE FROM t WHERE id = 4")
    assert con.execute(_PAGE).fetchall() == [(5, 50), (6, 60)]


def test_what_fails_does_not_stand(con: Connection, stood: list[bool]) -> None:
    inverse = "SELECT 100 / (v - 40) FROM t WHERE id = ?"
    assert _standing(con, stood, inverse, [3]) == [(-10,)]
    for _ in range(3):
        with pytest.raises(Error) as caught:
            con.execute(inverse, [4]).fetchall()
        assert caught.value.sqlstate == "22012"
    assert _standing(con, stood, inverse, [5]) == [(10,)]


def test_a_lost_connection_is_replaced(
    con: Connection, admin: psycopg.Connection[Any], stood: list[bool]
) -> None:
    rows = _standing(con, stood, _PAGE)
    admin.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name"
        " = 'palimpsest' AND datname = current_database()"
    )
    assert con.execute(_PAGE).fetchall() == rows


def test_the_time_goes_on(con: Connection, stood: list[bool]) -> None:
    now = "SELECT now() FROM t WHERE id = ?"
    seen = []
    for _ in range(6):
        seen += con.execute(now, [3]).fetchall()
    assert seen == sorted(set(seen))
    assert True in stood
