"""Transactions of few rows in few trips: they come to what the long way comes to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.errors import Error, OperationalError
from journal.stores.postgres.at_once import AtOnce
from journal.stores.postgres.journal import DatabaseJournal

_UPDATE = "UPDATE t SET v = v + 1 WHERE id = ?"
_SELECT = "SELECT v FROM t WHERE id = ?"
_INSERT = "INSERT INTO t VALUES (?, ?)"
_DELETE = "DELETE FROM t WHERE id = ?"


@pytest.fixture
def con(ten_rows: Connection) -> Connection:
    """The connection, all of whose statements were planned."""
    con = ten_rows
    # The first commit of a statement has its lineage to record as well.
    for _ in range(2):
        con.execute("BEGIN")
        con.execute(_UPDATE, [70])
        con.execute(_DELETE, [70])
        con.execute(_INSERT, [70, 1])
        con.execute(_UPDATE, [70])
        _value(con, 70)
        con.execute(_DELETE, [70])
        con.execute("COMMIT")
    return con


@pytest.fixture
def other(con: Connection) -> Iterator[Connection]:
    """Another gateway on the same database."""
    with _journal(con).store.lent() as session:
        place = session.place
        url = f"palimpsest+postgresql://{place.user}@{place.host}:{place.port}/{place.dbname}"
    with gateway.connect(f"{url}?connect_timeout=15", autocommit=True) as found:
        yield found


def _journal(con: Connection) -> DatabaseJournal:
    journal = con.session.journal
    assert isinstance(journal, DatabaseJournal)
    return journal


def _value(con: Connection, key: int) -> Any:
    return con.execute(_SELECT, [key]).fetchall()


@pytest.fixture
def trips(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was done in one trip: ``commit``, or ``ask``."""
    done: list[str] = []
    commit, note, ask = AtOnce.commit, AtOnce.asking, AtOnce.ask

    def committed(self: AtOnce, *given: Any) -> Any:
        version = commit(self, *given)
        done.extend(["commit"] if version is not None else [])
        return version

    def asked(self: AtOnce, *given: Any) -> Any:
        done.append("ask")
        return note(self, *given)

    def read_again(self: AtOnce, *given: Any) -> Any:
        found = ask(self, *given)
        done.extend([] if found is None else ["ask"])
        return found

    monkeypatch.setattr(AtOnce, "ask", read_again)
    monkeypatch.setattr(AtOnce, "commit", committed)
    monkeypatch.setattr(AtOnce, "asking", asked)
    return done


def test_own_rows_are_read_and_committed_together(con: Connection, trips: list[str]) -> None:
    con.execute("BEGIN")
    assert con.execute(_UPDATE, [1]).rowcount == 1
    assert _value(con, 1) == [(2,)]
    assert con.execute(_UPDATE, [1]).rowcount == 1
    assert con.execute(_INSERT, [20, 5]).rowcount == 1
    assert con.execute(_UPDATE, [20]).rowcount == 1
    assert con.execute(_DELETE, [2]).rowcount == 1
    assert con.execute(_INSERT, [2, 50]).rowcount == 1
    assert con.execute(_DELETE, [3]).rowcount == 1
    assert (_value(con, 20), _value(con, 2), _value(con, 3)) == ([(6,)], [(50,)], [])
    con.execute("COMMIT")
    assert trips == ["ask"] * 11 + ["commit"]
    assert con.execute("SELECT id, v FROM t WHERE id IN (1, 2, 3, 20) ORDER BY id").fetchall() == [
        (1, 3), (2, 50), (20, 6),
    ]  # fmt: skip
    told = "SELECT statements, tables, rows_written FROM system.transactions ORDER BY version"
    assert con.execute(told).fetchall()[-1] == (7, ["public.t"], 7)
    assert con.session.executor.upkeep.verify().is_clean


def test_savepoints_take_rows_back(con: Connection, trips: list[str]) -> None:
    con.execute("BEGIN")
    con.execute(_UPDATE, [1])
    con.execute("SAVEPOINT s")
    con.execute(_UPDATE, [1])
    con.execute(_INSERT, [20, 5])
    with pytest.raises(Error):
        con.execute(_INSERT, [20, 6])
    con.execute("ROLLBACK TO s")
    assert (_value(con, 1), _value(con, 20)) == ([(2,)], [])
    con.execute(_UPDATE, [4])
    con.execute("COMMIT")
    assert trips[-1] == "commit"
    assert (_value(con, 1), _value(con, 4), _value(con, 20)) == ([(2,)], [(5,)], [])


def test_who_comes_second_is_told(con: Connection, other: Connection) -> None:
    for sql, values in ((_UPDATE, [1]), (_DELETE, [1]), (_INSERT, [40, 1])):
        con.execute("BEGIN")
        con.execute(sql, values)
        other.execute(sql, values)
        with pytest.raises(OperationalError) as caught:
            con.execute("COMMIT")
        assert caught.value.sqlstate == "40001"
        other.execute(_DELETE, [1])
        other.execute(_INSERT, [1, 1])
    assert (_value(con, 1), _value(con, 40)) == ([(1,)], [(1,)])


def test_a_parent_that_goes_meanwhile_is_missed(con: Connection, other: Connection) -> None:
    """Both ends of the foreign key are written, each under a key that nobody else writes."""
    con.execute("CREATE TABLE c (id INTEGER PRIMARY KEY, t INTEGER REFERENCES t)")
    for key in (9, 9, 1):
        con.execute("BEGIN")
        con.execute("INSERT INTO c VALUES ((SELECT count(*) FROM c), ?)", [key])
        con.execute(_UPDATE, [2])
        if key == 9:
            con.execute("COMMIT")
    other.execute(_DELETE, [1])
    assert _value(con, 1) == [(1,)], "it sees its snapshot, and knows of the commit"
    with pytest.raises(OperationalError) as caught:
        con.execute("COMMIT")
    assert caught.value.sqlstate == "40001"
    assert con.execute("SELECT t FROM c").fetchall() == [(9,), (9,)]


def test_others_keys_are_no_conflict(con: Connection, other: Connection, trips: list[str]) -> None:
    con.execute("BEGIN")
    con.execute(_UPDATE, [1])
    other.execute(_UPDATE, [2])
    assert _value(con, 2) == [(2,)], "it sees its snapshot"
    con.execute(_UPDATE, [3])
    con.execute("COMMIT")
    assert [_value(con, key) for key in (1, 2, 3)] == [[(2,)], [(3,)], [(4,)]]
    assert [_value(other, key) for key in (1, 2, 3)] == [[(2,)], [(3,)], [(4,)]]


def test_a_read_sees_at_once_what_another_gateway_commits(
    con: Connection, other: Connection
) -> None:
    for turn in range(8):
        assert _value(con, 1) == [(1 + turn,)]
        other.execute(_UPDATE, [1])


def test_brief_queries_are_asked_once(con: Connection, other: Connection, trips: list[str]) -> None:
    """One that has given few rows soon; the next time it may have more than shall be held."""
    ranged = "SELECT id FROM t WHERE id >= ? ORDER BY id LIMIT 2000"
    for turn in range(5):
        assert con.execute(ranged, [8]).fetchall() == [(8,), (9,)][turn % 2 :]
        other.execute(*((_DELETE, [8]) if turn % 2 == 0 else (_INSERT, [8, 0])))
    other.execute("INSERT INTO t SELECT i, 0 FROM range(100, 3100) AS r(i)")
    few, many = [(key,) for key in range(3095, 3100)], [(key,) for key in range(100, 2100)]
    for _ in range(70):
        # Whoever has come second takes the long way for a while.
        assert con.execute(ranged, [3095]).fetchall() == few
    for rows in (few, many, many, few, few):
        trips.clear()
        assert con.execute(ranged, rows[0]).fetchall() == rows
    assert trips == ["ask"]
    found = con.execute(ranged, [3095])
    assert found.fetchone() == (3095,)
    con.execute(_UPDATE, [3096])
    assert found.fetchall() == [(key,) for key in range(3096, 3100)]
    arrow = con.execute(ranged, [3098]).fetch_arrow()
    assert arrow.to_pydict() == {"id": [3098, 3099]}


def test_definitions_of_others_are_heeded(con: Connection, other: Connection) -> None:
    assert _value(con, 1) == [(1,)]
    other.execute("ALTER TABLE t RENAME COLUMN v TO w")
    with pytest.raises(Error):
        _value(con, 1)
    other.execute("ALTER TABLE t RENAME COLUMN w TO v")
    con.execute("BEGIN")
    con.execute(_UPDATE, [1])
    other.execute("ALTER TABLE t ADD COLUMN w INTEGER DEFAULT 7")
    with pytest.raises(OperationalError):
        con.execute("COMMIT")
    assert con.execute("SELECT v, w FROM t WHERE id = 1").fetchall() == [(1, 7)]


def test_claims_of_a_known_statement_hold(con: Connection, other: Connection) -> None:
    claim = f"{_SELECT} FOR UPDATE"
    for _ in range(2):
        assert con.execute(claim, [1]).fetchall() == [(1,)]
    con.execute("BEGIN")
    assert con.execute(claim, [1]).fetchall() == [(1,)]
    con.execute(_UPDATE, [2])
    other.execute(_UPDATE, [1])
    with pytest.raises(OperationalError) as caught:
        con.execute("COMMIT")
    assert caught.value.sqlstate == "40001"
    assert (_value(con, 1), _value(con, 2)) == ([(2,)], [(2,)])


def test_what_fails_says_why_and_fails_the_transaction(con: Connection) -> None:
    for sql, values, state in (
        (_INSERT, [3, 3], "23505"),
        ("UPDATE t SET v = v + 200 WHERE id = ?", [3], "23514"),
        ("UPDATE t SET v = v / 0 WHERE id = ?", [3], "22012"),
        ("SELECT 1 / (v - v) FROM t WHERE id = ?", [3], "22012"),
    ):
        for _ in range(2):
            con.execute("BEGIN")
            con.execute(_UPDATE, [1])
            with pytest.raises(Error) as caught:
                con.execute(sql, values).fetchall()
            assert caught.value.sqlstate == state
            with pytest.raises(Error) as caught:
                con.execute(_UPDATE, [1])
            assert caught.value.sqlstate == "25P02"
            con.execute("ROLLBACK")
    assert _value(con, 1) == [(1,)]


def test_temporary_tables_take_part(con: Connection) -> None:
    con.execute("CREATE TEMPORARY TABLE own (id INTEGER PRIMARY KEY, v INTEGER)")
    for turn in range(3):
        con.execute("BEGIN")
        con.execute("INSERT INTO own VALUES (?, 1)", [turn])
        con.execute("UPDATE own SET v = v + 1 WHERE id = ?", [turn])
        con.execute(_UPDATE, [turn])
        assert con.execute("SELECT v FROM own WHERE id = ?", [turn]).fetchall() == [(2,)]
        con.execute("COMMIT")
    assert con.execute("SELECT count(*), sum(v) FROM own").fetchall() == [(3, 6)]
    assert [_value(con, key) for key in range(3)] == [[(1,)], [(2,)], [(3,)]]


def test_a_new_connection_can_be_asked_once(con: Connection) -> None:
    """The only one that there is holds a result that is not read yet."""
    con.execute(_UPDATE, [1])
    con.execute(_UPDATE, [1])
    waiting = con.cursor().execute("SELECT i FROM range(100000) AS r(i)")
    _journal(con).store.forget_idle()
    assert con.execute(_UPDATE, [1]).rowcount == 1
    _journal(con).store.forget_idle()
    assert _value(con, 1) == [(4,)]
    waiting.close()


def test_rows_of_classic_tools_decide(
    con: Connection, admin: psycopg.Connection[Any], request: pytest.FixtureRequest
) -> None:
    if "adopted" not in request.node.name:
        pytest.skip("others write to adopted journals alone")
    con.execute("BEGIN")
    con.execute(_UPDATE, [1])
    con.execute(_UPDATE, [2])
    admin.execute("INSERT INTO t_journal VALUES (5, 50, now(), NULL)")
    con.execute("COMMIT")
    assert [_value(con, key) for key in (1, 2, 5)] == [[(2,)], [(3,)], [(50,)]]
    con.execute("BEGIN")
    con.execute(_UPDATE, [1])
    admin.execute("INSERT INTO t_journal VALUES (1, 60, now() + interval '1 second', NULL)")
    with pytest.raises(OperationalError) as caught:
        con.execute("COMMIT")
    assert caught.value.sqlstate == "40001"
    con.execute("BEGIN")
    for value in (61, 62):
        con.execute(_UPDATE, [1])
        assert _value(con, 1) == [(value,)]
    con.execute("COMMIT")
    assert _value(con, 1) == [(62,)]


def test_a_version_ahead_hides_nothing_from_the_transaction(
    con: Connection, admin: psycopg.Connection[Any], request: pytest.FixtureRequest
) -> None:
    if "adopted" not in request.node.name:
        pytest.skip("others write to adopted journals alone")
    ahead = "INSERT INTO t_journal VALUES ({}, 60, now() + interval '2 seconds', NULL)"
    for key, changes in ((1, [_UPDATE] * 2), (2, [_DELETE]), (3, ["UPDATE t SET v = v + 1"] * 2)):
        admin.execute(ahead.format(key))
        con.execute("SET memory_rows = 3")
        con.execute("BEGIN")
        for change in changes:
            con.execute(change, [key] if "?" in change else None)
        expected = [] if changes == [_DELETE] else [(62,)]
        assert _value(con, key) == expected
        con.execute("COMMIT")
        assert _value(con, key) == expected


def test_ever_more_statements_are_forgotten_again(
    con: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("journal.stores.postgres.pipeline_cursor._TOGETHER_MAX", 12)
    for place in range(12):
        for _ in range(3):
            found = con.execute(f"SELECT v + {place} FROM t WHERE id = ?", [3]).fetchall()
            assert found == [(3 + place,)]
    with _journal(con).store.lent() as session:
        kept = "SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'together%'"
        assert session.text(kept)[0][0] <= 12
