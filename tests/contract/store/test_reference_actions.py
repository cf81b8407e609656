"""Foreign keys that act, on each store that has them: between transactions, and in the past."""

from __future__ import annotations

import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.kept import rows
from tests.support.stores.store import Capability, Store

pytestmark = [pytest.mark.needs(Capability.FOREIGN_KEYS), pytest.mark.timeout(900)]
ACTIONS = ("", "ON DELETE CASCADE ON UPDATE CASCADE", "ON DELETE SET NULL ON UPDATE SET NULL")
GOES = "DELETE FROM p WHERE k = 1"
MOVES = "UPDATE p SET k = 7 WHERE k = 1"
COMES = "INSERT INTO c VALUES (11, 1)"
TURNS = "UPDATE c SET r = 1 WHERE k = 10"


def _tables(con: Connection, action: str) -> None:
    con.execute("CREATE TABLE p (k INTEGER PRIMARY KEY)")
    con.execute(f"CREATE TABLE c (k INTEGER PRIMARY KEY, r INTEGER REFERENCES p {action})")
    con.execute("INSERT INTO p VALUES (1), (2)")
    con.execute("INSERT INTO c VALUES (10, 2)")


def _state(con: Connection, sql: str) -> str:
    with pytest.raises(gateway.Error) as raised:
        con.execute(sql)
    return str(raised.value.sqlstate)


_ACTS = [pytest.param(a, marks=pytest.mark.also_on("hive") if a else ()) for a in ACTIONS]


@pytest.mark.also_on("postgres")
@pytest.mark.first(1)
@pytest.mark.parametrize("action", _ACTS)
def test_who_comes_second_begins_again(store: Store, action: str) -> None:
    con, other = store.connect(), store.connect()
    _tables(con, action)
    for mine in (GOES, MOVES, COMES, TURNS):
        for theirs in (GOES, MOVES) if mine in {COMES, TURNS} else (COMES, TURNS):
            con.execute("BEGIN")
            con.execute(mine)
            other.execute(theirs)
            assert _state(con, "COMMIT") == "40001", (mine, theirs)
            other.execute("DELETE FROM c")
            other.execute("DELETE FROM p")
            other.execute("INSERT INTO p VALUES (1), (2)")
            other.execute("INSERT INTO c VALUES (10, 2)")


def test_a_child_that_follows_and_changes_at_once(store: Store) -> None:
    con, other = store.connect(), store.connect()
    _tables(con, "ON DELETE SET NULL")
    con.execute("BEGIN")
    con.execute("DELETE FROM p WHERE k = 2")
    other.execute("UPDATE c SET k = 12 WHERE k = 10")
    assert _state(con, "COMMIT") == "40001"
    con.execute("DELETE FROM p WHERE k = 2")
    assert rows(con, "SELECT * FROM c") == [(12, None)]


@pytest.mark.also_on("hive")
def test_the_past_shows_what_followed(store: Store) -> None:
    con = store.connect()
    _tables(con, "ON DELETE CASCADE")
    con.execute("INSERT INTO c VALUES (11, 2), (12, 1)")
    assert con.execute("DELETE FROM p WHERE k = 2").rowcount == 1
    assert rows(con, "SELECT k FROM c") == [(12,)]
    (version,) = rows(con, "SELECT max(version) FROM system.transactions")[0]
    past = f"SELECT k FROM c VERSION AS OF {version - 1} ORDER BY k"
    assert rows(con, past) == [(10,), (11,), (12,)]
    for table, keys in (("c", [(10,), (11,)]), ("p", [(2,)])):
        changes = f"SELECT k FROM table_changes('{table}', {version - 1}, {version}) ORDER BY k"
        assert rows(con, changes) == keys


@pytest.mark.also_on("hive")
def test_how_many_rows_may_follow(store: Store) -> None:
    con = store.connect()
    _tables(con, "ON DELETE CASCADE")
    con.execute("INSERT INTO c VALUES (11, 2), (12, 2)")
    con.execute("SET max_cascade_rows = 2")
    with pytest.raises(gateway.Error, match="3 further rows, at most 2") as raised:
        con.execute("DELETE FROM p WHERE k = 2")
    assert (raised.value.code, raised.value.sqlstate) == ("PAL-319", "54000")
    con.execute("SET max_cascade_rows = 3")
    con.execute("DELETE FROM p WHERE k = 2")
    assert rows(con, "SELECT * FROM c") == []
