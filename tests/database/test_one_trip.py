"""Small commits in one trip: what they leave is what the long way leaves, whoever else commits."""

from __future__ import annotations

import threading
from typing import Any

import psycopg
import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.errors import Error, IntegrityError
from journal.sql.relations_flat import is_flat
from journal.stores.postgres.journal import DatabaseJournal

_LOCK = 5283_1905_7734
_UPDATE = "UPDATE t SET v = v + 1 WHERE id = ?"
_COMMITS = "SELECT version, statements, tables, rows_written FROM system.transactions"


@pytest.fixture
def con(ten_rows: Connection) -> Connection:
    return ten_rows


def _journal(con: Connection) -> DatabaseJournal:
    journal = con.session.journal
    assert isinstance(journal, DatabaseJournal)
    return journal


def _rows(con: Connection) -> list[tuple[Any, ...]]:
    return con.execute("SELECT id, v FROM t ORDER BY id").fetchall()


def _kept(con: Connection) -> list[str]:
    """The statements that the server keeps for the connection that is used next."""
    with _journal(con).store.lent() as session:
        return [sql for (sql,) in session.text("SELECT statement FROM pg_prepared_statements")]


def test_rows_counts_and_records_are_those_of_the_long_way(con: Connection) -> None:
    for i in range(3):
        assert con.execute(_UPDATE, [i]).rowcount == 1
        assert con.execute("INSERT INTO t VALUES (?, ?)", [20 + i, i]).rowcount == 1
        assert con.execute("DELETE FROM t WHERE id = ?", [5 + i]).rowcount == 1
        assert con.execute(_UPDATE, [70 + i]).rowcount == 0
    assert sum(sql.startswith("WITH new_rows") for sql in _kept(con)) >= 3
    expected = [(0, 1), (1, 2), (2, 3), (3, 3), (4, 4), (8, 8), (9, 9), (20, 0), (21, 1), (22, 2)]
    assert _rows(con) == expected
    commits = con.execute(f"{_COMMITS} ORDER BY version DESC LIMIT 9").fetchall()
    assert [c[1:4] for c in commits] == [(1, ["public.t"], 1)] * 9
    assert len({c[0] for c in commits}) == 9
    with gateway.connect(_url(con), autocommit=True) as other:
        assert _rows(other) == expected


def _url(con: Connection) -> str:
    with _journal(con).store.lent() as session:
        place = session.place
        return f"palimpsest+postgresql://{place.user}@{place.host}:{place.port}/{place.dbname}"


def test_heads_are_counted(con: Connection) -> None:
    """A compaction holds the rows of a head against the catalog's counts."""
    if is_flat(next(iter(con.session.catalog.tables()))):
        pytest.skip("nobody counts rows of adopted journals")
    for i in range(4):
        con.execute(_UPDATE, [i])
        con.execute("INSERT INTO t VALUES (?, 1)", [50 + i])
    con.execute("CALL system.compact('t')")
    for i in range(4):
        con.execute("DELETE FROM t WHERE id = ?", [50 + i])
    con.execute("CALL system.compact('t')")
    assert _rows(con) == [(i, i + (i < 4)) for i in range(10)]


@pytest.mark.parametrize(
    ("sql", "state"),
    [
        ("INSERT INTO t VALUES (?, 3)", "23505"),
        ("UPDATE t SET v = v + 200 WHERE id = ?", "23514"),
        ("UPDATE t SET v = v / 0 WHERE id = ?", "22012"),
    ],
)
def test_what_is_refused_leaves_nothing(con: Connection, sql: str, state: str) -> None:
    before = _rows(con)
    con.execute("INSERT INTO t VALUES (?, 3)", [30])
    con.execute("INSERT INTO t VALUES (?, 3)", [31])
    commits = con.execute("SELECT count(*) FROM system.transactions").fetchall()
    for _ in range(3):
        with pytest.raises(Error) as caught:
            con.execute(sql, [4])
        assert caught.value.sqlstate == state
    assert con.execute("SELECT count(*) FROM system.transactions").fetchall() == commits
    assert _rows(con) == [*before, (30, 3), (31, 3)]


def test_two_gateways_lose_no_change(con: Connection) -> None:
    def add() -> None:
        with gateway.connect(f"{_url(con)}?connect_timeout=13", autocommit=True) as other:
            for _ in range(40):
                other.execute(_UPDATE, [3])

    threads = [threading.Thread(target=add) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(15):
        con.execute(_UPDATE, [3])
    for thread in threads:
        thread.join()
    assert _rows(con)[3] == (3, 98)


def test_a_definition_of_another_gateway_is_heeded(con: Connection) -> None:
    with gateway.connect(f"{_url(con)}?connect_timeout=14", autocommit=True) as other:
        for _ in range(3):
            con.execute(_UPDATE, [1])
        other.execute("ALTER TABLE t ADD COLUMN w INTEGER DEFAULT 7")
        assert con.execute(_UPDATE, [1]).rowcount == 1
        other.execute("ALTER TABLE t ADD CHECK (v < 10)")
        with pytest.raises(IntegrityError):
            con.execute(_UPDATE, [9])
        found = other.execute("SELECT v, w FROM t WHERE id = 1").fetchall()
    assert found == [(5, 7)]


def test_what_was_told_of_the_past_stays(con: Connection, admin: psycopg.Connection[Any]) -> None:
    """Another gateway has answered for a moment that this one's clock has not reached."""
    for _ in range(3):
        con.execute(_UPDATE, [1])
    answered = "UPDATE _palimpsest.state SET settled = version + 3000000 RETURNING settled"
    ((settled,),) = admin.execute(answered).fetchall()
    assert con.execute(_UPDATE, [1]).rowcount == 1
    ((version,),) = con.execute("SELECT max(version) FROM system.transactions").fetchall()
    assert version > settled


def test_a_connection_that_is_cut_writes_once(
    con: Connection, admin: psycopg.Connection[Any]
) -> None:
    """It waits for the lock when it is cut: the server says that it wrote nothing."""
    for _ in range(3):
        con.execute(_UPDATE, [1])
    admin.execute("BEGIN")
    admin.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
    writing = threading.Thread(target=con.execute, args=(_UPDATE, [1]))
    writing.start()
    waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'advisory'"
    while not (found := admin.execute(waiting).fetchall()):
        continue
    admin.execute("SELECT pg_terminate_backend(%s)", found[0])
    admin.execute("COMMIT")
    writing.join()
    assert _rows(con)[1] == (1, 5)


def test_what_was_committed_when_the_answer_was_cut_is_not_done_again(
    con: Connection,
) -> None:
    for _ in range(3):
        con.execute(_UPDATE, [1])
    session = _journal(con).store.acquire()
    run_together = session.run_together

    def cut(statements: Any) -> Any:
        run_together(statements)
        session.close()
        return run_together(statements)

    session.run_together = cut  # type: ignore[method-assign]
    _journal(con).store.release(session)
    assert con.execute(_UPDATE, [1]).rowcount == 1
    assert _rows(con)[1] == (1, 5)


def test_a_server_that_forgets_statements_is_told_them_again(con: Connection) -> None:
    for _ in range(3):
        con.execute(_UPDATE, [1])
    with _journal(con).store.lent() as session:
        session.text("DEALLOCATE ALL")
    for _ in range(3):
        assert con.execute(_UPDATE, [1]).rowcount == 1
    assert _rows(con)[1] == (1, 7)
    assert any(sql.startswith("WITH new_rows") for sql in _kept(con))


def test_rows_of_classic_tools_above_are_passed(
    con: Connection, admin: psycopg.Connection[Any]
) -> None:
    if not is_flat(next(iter(con.session.catalog.tables()))):
        pytest.skip("others write to adopted journals alone")
    for _ in range(3):
        con.execute(_UPDATE, [1])
    admin.execute("INSERT INTO t_journal VALUES (1, 50, now() + interval '3 seconds', NULL)")
    assert con.execute(_UPDATE, [1]).rowcount == 1
    assert _rows(con)[1] == (1, 51)
