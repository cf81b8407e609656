"""INSERT in the words of other dialects: OVERRIDING, REPLACE INTO, duplicate keys, multi-insert."""

from __future__ import annotations

import pytest

import gateway


def _rows(con: gateway.Connection, sql: str) -> list[tuple[object, ...]]:
    return sorted(con.execute(sql).fetchall())


def test_generated_always_takes_values_only_when_overridden() -> None:
    with gateway.connect("palimpsest://", autocommit=True, dialect="postgres") as con:
        con.execute("CREATE TABLE g (id INT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v INT)")
        con.execute("INSERT INTO g (v) VALUES (1), (2)")
        with pytest.raises(gateway.Error) as caught:
            con.execute("INSERT INTO g VALUES (5, 1)")
        assert caught.value.sqlstate == "428C9"
        con.execute("INSERT INTO g (id, v) OVERRIDING SYSTEM VALUE VALUES (5, 3)")
        con.execute("INSERT INTO g (id, v) OVERRIDING USER VALUE VALUES (99, 4)")
        assert _rows(con, "SELECT * FROM g") == [(1, 1), (2, 2), (5, 3), (6, 4)]


def test_replace_into_keeps_the_last_row_of_a_key() -> None:
    with gateway.connect("palimpsest://", autocommit=True, dialect="mysql") as con:
        con.execute("CREATE TABLE t (k INT PRIMARY KEY, v INT)")
        con.execute("INSERT INTO t VALUES (1, 1), (2, 2)")
        con.execute("REPLACE INTO t VALUES (1, 10), (1, 11), (3, 3)")
        assert _rows(con, "SELECT * FROM t") == [(1, 11), (2, 2), (3, 3)]


def test_duplicate_key_update_sees_the_new_row() -> None:
    with gateway.connect("palimpsest://", autocommit=True, dialect="mysql") as con:
        con.execute("CREATE TABLE t (k INT PRIMARY KEY, v INT)")
        con.execute("INSERT INTO t VALUES (1, 1), (2, 2)")
        con.execute("INSERT INTO t VALUES (1, 5) ON DUPLICATE KEY UPDATE v = v + VALUES(v)")
        con.execute("INSERT INTO t VALUES (2, 7) AS n ON DUPLICATE KEY UPDATE v = n.v")
        con.execute("INSERT IGNORE INTO t VALUES (1, 0), (4, 4)")
        assert _rows(con, "SELECT * FROM t") == [(1, 6), (2, 7), (4, 4)]


def test_hive_multi_insert_writes_every_branch() -> None:
    with gateway.connect("palimpsest://", autocommit=True, dialect="hive") as con:
        con.execute("CREATE TABLE s (k INT, v INT)")
        con.execute("CREATE TABLE a (k INT)")
        con.execute("CREATE TABLE b (v INT)")
        con.execute("INSERT INTO s VALUES (1, 10), (2, 20)")
        con.execute("INSERT INTO b VALUES (0)")
        con.execute("FROM s INSERT INTO a SELECT k INSERT OVERWRITE TABLE b SELECT v WHERE k = 2")
        assert _rows(con, "SELECT * FROM a") == [(1,), (2,)]
        assert _rows(con, "SELECT * FROM b") == [(20,)]


def test_set_without_an_assignment_is_a_syntax_error() -> None:
    with gateway.connect("palimpsest://", autocommit=True) as con:
        con.execute("CREATE TABLE t (k INT PRIMARY KEY, v INT)")
        with pytest.raises(gateway.Error) as caught:
            con.execute("UPDATE t SET WHERE 1 = 1")
        assert caught.value.sqlstate == "42601"
