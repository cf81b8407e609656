"""Who set what stands in a table, and what differs between two states of it, on every store."""

from __future__ import annotations

from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.stores.store import Capability, Store

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.drifts(toy="SQLite has no join with the nearest row, in no spelling of ours"),
]

Rows = list[tuple[Any, ...]]


def _rows(con: Connection, sql: str) -> Rows:
    return sorted(con.execute(sql).fetchall(), key=repr)


def _last(con: Connection) -> int:
    return int(con.execute("SELECT max(version) FROM system.transactions").fetchall()[0][0])


def _do(con: Connection, sql: str, message: str) -> int:
    con.execute(f"SET commit_message = '{message}'")
    con.execute(sql)
    return _last(con)


def _fill(con: Connection) -> list[int]:
    """Four commits of a table; its rows 1 and 3 are left."""
    return [
        _do(con, "CREATE TABLE t (k INTEGER PRIMARY KEY, a VARCHAR, b INTEGER)", "make"),
        _do(con, "INSERT INTO t VALUES (1, 'x', 1), (2, 'y', 2)", "load"),
        _do(con, "UPDATE t SET b = b + 1 WHERE k = 1", "raise"),
        _do(con, "UPDATE t SET a = 'x' WHERE k = 1", "same"),
        _do(con, "DELETE FROM t WHERE k = 2", "leave"),
        _do(con, "INSERT INTO t VALUES (3, NULL, NULL)", "come"),
    ]


@pytest.mark.also_on("hive")
def test_blame_names_who_set_rows_and_columns(store: Store) -> None:
    con = store.connect(user="ann", application="desk")
    v = _fill(con)
    names = "k, a, b, version, user, application, message"
    rows = [(1, "x", 2, v[3], "ann", "desk", "same"), (3, None, None, v[5], "ann", "desk", "come")]
    columns = [
        (1, "a", "x", "insert", v[1], "load"),
        (1, "b", "2", "update", v[2], "raise"),
        (3, "a", None, "insert", v[5], "come"),
        (3, "b", None, "insert", v[5], "come"),
    ]
    of_columns = "SELECT k, column_name, value, change, version, message FROM"
    of_columns += " table_blame('t'{}, columns => true) WHERE column_name <> 'k'"
    for _ in range(2):
        assert _rows(con, f"SELECT {names} FROM table_blame('t')") == rows
        assert _rows(con, of_columns.format("")) == columns
        past = _rows(con, of_columns.format(f", {v[1]}"))
        assert past == [
            (1, "a", "x", "insert", v[1], "load"),
            (1, "b", "1", "insert", v[1], "load"),
            (2, "a", "y", "insert", v[1], "load"),
            (2, "b", "2", "insert", v[1], "load"),
        ]
        con.execute("OPTIMIZE TABLE t")
    joined = """SELECT DISTINCT b.version = x.version AND b.committed_at = x.committed_at
        FROM table_blame('t') AS b JOIN system.transactions AS x USING (version)"""
    assert _rows(con, joined) == [(True,)]
    assert len(_rows(con, f"BLAME t VERSION AS OF {v[1]} WHERE t.k = 2")) == 1
    first = con.execute("BLAME t COLUMNS WHERE k = 1 ORDER BY version DESC LIMIT 1").fetchall()
    assert first[0][:4] == (1, "b", "2", "update")


@pytest.mark.also_on("hive")
def test_rows_without_a_key_are_blamed_by_their_number(store: Store) -> None:
    con = store.connect()
    con.execute("CREATE TABLE u (a VARCHAR, d DOUBLE)")
    con.execute("INSERT INTO u VALUES ('p', 1.5), ('p', 1.5)")
    first = _last(con)
    con.execute("UPDATE u SET a = 'q'")
    found = _rows(
        con,
        "SELECT row_id, column_name, change, version FROM table_blame('u', columns => true)",
    )
    assert len({row[0] for row in found}) == 2
    assert [row[1:] for row in found] == [
        ("a", "update", _last(con)),
        ("d", "insert", first),
    ] * 2


@pytest.mark.also_on("hive")
def test_the_difference_is_that_of_two_states(store: Store) -> None:
    con = store.connect()
    v = _fill(con)
    diff = "SELECT k, a, b, _change_type FROM table_diff('t', {}, {})"
    assert _rows(con, diff.format(v[1], v[5])) == [
        (1, "x", 1, "update_preimage"),
        (1, "x", 2, "update_postimage"),
        (2, "y", 2, "delete"),
        (3, None, None, "insert"),
    ]
    # What is written anew as it was, and what came and went, is no difference.
    assert _rows(con, diff.format(v[2], v[3])) == []
    assert _rows(con, diff.format(v[0], v[0])) == []
    assert _rows(con, diff.format(v[0], v[4])) == [(1, "x", 2, "insert")]
    assert len(_rows(con, f"SELECT * FROM table_diff('t', {v[0]})")) == 2


@pytest.mark.needs(Capability.ACCESS_CONTROL)
@pytest.mark.also_on("hive")
def test_blame_and_differences_tell_of_what_a_role_sees(store: Store) -> None:
    con = store.connect(user="root")
    for sql in (
        "CREATE TABLE people (k INTEGER PRIMARY KEY, region VARCHAR, pay INTEGER)",
        "INSERT INTO people VALUES (1, 'north', 10), (2, 'south', 20), (3, 'south', 30)",
        "CREATE ROLE ann",
        "GRANT SELECT, HISTORY ON people TO ann",
        "ALTER TABLE people SET ROW POLICY (region = 'north')",
        "ALTER TABLE people ALTER COLUMN pay SET MASKING POLICY (0)",
    ):
        con.execute(sql)
    first = _last(con)
    con.execute("UPDATE people SET pay = pay + 1")
    con.execute("UPDATE people SET region = 'north' WHERE k = 3")
    moved = _last(con)
    con.execute("SET ROLE ann")
    cells = "SELECT k, column_name, value, change FROM table_blame('people', columns => true)"
    assert _rows(con, f"{cells} WHERE column_name = 'pay'") == [
        (1, "pay", "0", "insert"),
        (3, "pay", "0", "insert"),
    ]
    assert _rows(con, "SELECT k, pay FROM table_blame('people')") == [(1, 0), (3, 0)]
    when = f"SELECT k FROM table_blame('people', columns => true) WHERE version = {moved}"
    assert _rows(con, f"{when} AND column_name = 'pay'") == [(3,)]
    diff = f"SELECT k, region, pay, _change_type FROM table_diff('people', {first})"
    assert _rows(con, diff) == [(3, "north", 0, "insert")]
    con.execute("RESET ROLE")
    con.execute("REVOKE HISTORY ON people FROM ann")
    con.execute("SET ROLE ann")
    for call in ("table_blame('people')", f"table_diff('people', {first})"):
        with pytest.raises(gateway.Error) as caught:
            con.execute(f"SELECT * FROM {call}")
        assert caught.value.sqlstate == "42501"
