"""Writes that stand are run again at once; whatever could change them has them planned anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.errors import Error
from gateway.session.standing_writes import StandingWrites

_ADD = "UPDATE t SET v = v + 1 WHERE id = ?"
_INSERT = "INSERT INTO t VALUES (?, ?)"
_DELETE = "DELETE FROM t WHERE id = ?"


@pytest.fixture
def con(connect: Callable[..., Connection]) -> Connection:
    """A connection to a database with a table of ten rows."""
    con = connect()
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER CHECK (v < 1000))")
    con.execute("INSERT INTO t SELECT i, i * 10 FROM range(10) AS r(i)")
    return con


@pytest.fixture
def stood(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Of each statement, whether it stood and was run so."""
    found: list[bool] = []
    again = StandingWrites.write_again

    def asked(self: StandingWrites, *given: Any) -> Any:
        answer = again(self, *given)
        found.append(answer is not None)
        return answer

    monkeypatch.setattr(StandingWrites, "write_again", asked)
    return found


def _standing(con: Connection, stood: list[bool], sql: str = _ADD, given: Any = (0,)) -> None:
    """Run a write until it stands."""
    for _ in range(70):
        stood.clear()
        con.execute(sql, given)
        if stood == [True]:
            return
    raise AssertionError("it never stands")


def _value(con: Connection, key: int, table: str = "t") -> int | None:
    found = con.execute(f"SELECT v FROM {table} WHERE id = {key}").fetchall()
    return found[0][0] if found else None


def test_a_write_stands_with_other_parameters(con: Connection, stood: list[bool]) -> None:
    _standing(con, stood)
    cursor = con.execute(_ADD, [4])
    assert (cursor.rowcount, cursor.statusmessage, stood[-1]) == (1, "UPDATE", True)
    assert con.execute(_ADD, [99]).rowcount == 0
    assert stood[-1]
    assert _value(con, 4) == 41
    con.execute(_ADD, [4.0])
    assert (_value(con, 4), stood[-2]) == (42, False)
    with pytest.raises(Error):
        con.execute(_ADD, [])
    con.execute(_ADD, [4])
    assert _value(con, 4) == 43
    assert [con.execute(_DELETE, [key]).rowcount for key in (5, 6, 7, 4)] == [1] * 4
    assert (stood[-1], con.execute(_DELETE, [4]).rowcount) == (True, 0)
    assert _value(con, 4) is None


def test_what_fails_raises_what_it_did(con: Connection, stood: list[bool]) -> None:
    for key in range(20, 30):
        con.execute(_INSERT, [key, 1])
    assert stood[-1]
    for given, code in (([20, 1], "23505"), ([0, 5000], "23514"), ([None, 1], "23502")):
        with pytest.raises(Error) as caught:
            con.execute(_INSERT, given)
        assert caught.value.sqlstate in {code, "23505"}
    assert con.execute("SELECT count(*) FROM t").fetchall() == [(20,)]
    con.execute(_INSERT, [100, 7])
    assert _value(con, 100) == 7


def test_it_is_recorded_as_ever(con: Connection, stood: list[bool]) -> None:
    _standing(con, stood)
    con.execute("SET commit_message = 'why'")
    _standing(con, stood)
    con.execute(_ADD, [3])
    told = '"user", application, statements, statement_digest, message, tables, rows_written'
    found = con.execute(
        f"SELECT {told} FROM system.transactions ORDER BY version DESC LIMIT 2"
    ).fetchall()
    assert stood[-2]
    assert found[0] == found[1]
    assert found[0][2:] == (1, found[0][3], "why", found[0][5], 1)
    told = con.execute("SELECT statement, state, rows FROM system.statements").fetchall()
    assert told.count(("UPDATE t SET v = v + ? WHERE id = ?", "finished", 1)) >= 4


def test_settings_transactions_and_temporary_tables_end_it(
    con: Connection, stood: list[bool]
) -> None:
    con.execute("CREATE SCHEMA s")
    con.execute("CREATE TABLE s.t (id INTEGER PRIMARY KEY, v INTEGER)")
    con.execute("INSERT INTO s.t VALUES (1, 1)")
    _standing(con, stood)
    con.execute("SET search_path = 's'")
    con.execute(_ADD, [1])
    con.execute("RESET search_path")
    assert (_value(con, 1), _value(con, 1, "s.t")) == (10, 2)
    _standing(con, stood)
    con.execute("SET default_transaction_read_only = on")
    for _ in range(2):
        with pytest.raises(Error, match="read-only"):
            con.execute(_ADD, [1])
    con.execute("RESET default_transaction_read_only")
    _standing(con, stood)
    con.execute("BEGIN")
    con.execute(_ADD, [1])
    con.execute("ROLLBACK")
    assert _value(con, 1) == 10
    con.execute("CREATE TEMPORARY TABLE t (id INTEGER PRIMARY KEY, v INTEGER)")
    con.execute("INSERT INTO t VALUES (1, 5)")
    assert con.execute(_ADD, [1]).rowcount == 1
    assert _value(con, 1) == 6
    con.execute("DROP TABLE t")
    assert _value(con, 1) == 10
    con.autocommit = False
    con.execute(_ADD, [1])
    con.rollback()
    assert _value(con, 1) == 10


def test_what_others_do_ends_it(con: Connection, url: str, stood: list[bool]) -> None:
    with gateway.connect(f"{url}?connect_timeout=16", autocommit=True) as other:
        for change, rows in (
            ("UPDATE t SET v = 100 WHERE id = 4", 101),
            ("CALL system.compact('t')", 102),
            ("UPDATE t SET v = 200 WHERE id = 4", 201),
            ("ALTER TABLE t SET ROW POLICY (id <> 3)", 202),
            ("ALTER TABLE t ADD COLUMN w INTEGER DEFAULT 3", 203),
            ("ALTER TABLE t RENAME COLUMN v TO x", None),
            ("ALTER TABLE t RENAME COLUMN x TO v", 204),
            ("ALTER TABLE t ALTER v TYPE BIGINT", 205),
            ("CREATE TABLE old AS SELECT * FROM t", 206),
        ):
            other.execute(change)
            if rows is None:
                with pytest.raises(Error):
                    con.execute(_ADD, [4])
                continue
            con.execute(_ADD, [4])
            assert _value(other, 4) == rows, change
            _standing(con, stood)
        other.execute("ALTER TABLE t RENAME TO u")
        other.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER)")
        assert con.execute(_ADD, [4]).rowcount == 0
        assert _value(other, 4, "u") == 206


def test_who_was_erased_does_not_come_back(con: Connection, stood: list[bool]) -> None:
    for key in range(20, 30):
        con.execute(_INSERT, [key, 1])
    assert stood[-1]
    con.execute("ERASE FROM t WHERE id = 25")
    for _ in range(2):
        with pytest.raises(Error) as caught:
            con.execute(_INSERT, [25, 1])
        assert caught.value.code == "PAL-306"
    con.execute(_INSERT, [90, 1])
    assert con.execute("SELECT count(*) FROM t").fetchall() == [(20,)]


def test_triggers_see_it(con: Connection, url: str, stood: list[bool]) -> None:
    _standing(con, stood)
    before = _value(con, 0)
    assert before is not None
    with gateway.connect(url, autocommit=True, dialect="postgres") as other:
        other.execute(
            "CREATE FUNCTION twice() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN NEW.v := NEW.v * 2; RETURN NEW; END $$"
        )
        other.execute("CREATE TRIGGER r BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION twice()")
    con.execute(_ADD, [0])
    assert _value(con, 0) == (before + 1) * 2
