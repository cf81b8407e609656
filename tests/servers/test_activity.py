"""What an operator sees and does: sessions, statements, cancel and terminate, pg_stat_activity."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import psycopg
import pytest

import gateway
from gateway.activity.statement_text import shape_digest, without_literals
from tests.servers.conftest import Server, wait_for_statement

LONG = "SELECT sum(a.x * b.x) FROM range(1000000) a(x), range(1000000) b(x)"


@pytest.fixture
def con(server: Server) -> Iterator[psycopg.Connection]:
    """An autocommit connection to the server that tests share."""
    with psycopg.connect(server.dsn, autocommit=True, application_name="operator") as connection:
        yield connection


@pytest.mark.parametrize(
    ("text", "dialect", "shown"),
    [
        ("SELECT 'Ada', 1.5, -3, x'ff'", "duckdb", "SELECT ?, ?, -?, x?"),
        ("SELECT $1,$2 /* of Ada */ FROM t -- Ada", "postgres", "SELECT ?,? FROM t"),
        ("SELECT $$Ada$$, E'Ada', U&'Ada'", "postgres", "SELECT ?, ?, ?"),
        ('SELECT "Ada" FROM t', "mysql", "SELECT ? FROM t"),
        ('SELECT "a b"\n\n FROM "T"', "postgres", 'SELECT "a b" FROM "T"'),
        ("INSERT INTO t VALUES ('unclosed", "duckdb", "INSERT .."),
        ("CREATE USER ada PASSWORD 'Ada'", "postgres", "CREATE USER ada PASSWORD ?"),
        ("SET commit_message = 'Ada'", "ansi", "SET commit_message = ?"),
    ],
)
def test_statements_are_shown_without_values(text: str, dialect: str, shown: str) -> None:
    assert without_literals(text, dialect) == shown
    assert "Ada" not in without_literals(text, dialect) or '"' in text


def test_a_digest_is_that_of_the_shape() -> None:
    texts = ("SELECT a FROM t WHERE b = 1", "select  a\nFROM t WHERE b = 'x'", "SELECT a FROM u")
    first, second, third = (shape_digest(without_literals(t, "duckdb")) for t in texts)
    assert first == second != third


def test_statements_tell_what_ran_for_whom(con: psycopg.Connection) -> None:
    con.execute("CREATE OR REPLACE TABLE op (a INTEGER PRIMARY KEY, b TEXT)")
    con.execute("INSERT INTO op SELECT x, 'secret' FROM range(1000) AS r(x)")
    con.execute("SELECT * FROM op WHERE b = %s", ("secret",))
    with pytest.raises(psycopg.Error):
        con.execute("INSERT INTO op VALUES (1, 'secret')")
    query = (
        'SELECT s."user", statement, state, rows, bytes > 1000, seconds > 0, error_code'
        " FROM system.statements AS s WHERE session_id = %s ORDER BY id DESC LIMIT 4"
    )
    found = con.execute(query, (con.info.backend_pid,)).fetchall()
    assert found[0][2] == "running"
    assert found[1] == ("me", "INSERT INTO op VALUES (?, ?)", "failed", None, None, True, "PAL-301")
    selected = ("me", "SELECT * FROM op WHERE b = ?", "finished", 1000, True, True, None)
    assert found[2] == selected
    assert found[3][3] == 1000


def test_sessions_tell_who_is_there(con: psycopg.Connection, server: Server) -> None:
    query = "SELECT state, client, front_end FROM system.sessions AS s WHERE s.application = %s"
    with psycopg.connect(server.dsn, application_name="idler") as other:
        other.execute("SELECT 1")
        (found,) = con.execute(query, ("idler",)).fetchall()
        assert found[0] == "idle in transaction"
        assert found[1].startswith("127.0.0.1:")
        assert found[2] == "postgresql"
        with pytest.raises(psycopg.Error):
            other.execute("SELECT * FROM nothing")
        assert con.execute(query, ("idler",)).fetchall()[0][0] == "idle in transaction (aborted)"
        other.rollback()
        assert con.execute(query, ("idler",)).fetchall()[0][0] == "idle"
    folder = f"palimpsest:///{server.folder}"
    with gateway.connect(folder, application="sharer", autocommit=True) as sharer:
        sharer.execute("SELECT 1")
        ((state, client, front_end),) = con.execute(query, ("sharer",)).fetchall()
        assert (state, client.split()[0], front_end) == ("idle", "process", "python")


def test_cancel_and_terminate(con: psycopg.Connection, server: Server) -> None:
    failed: list[psycopg.Error] = []

    def run_long(connection: psycopg.Connection) -> None:
        try:
            connection.execute(LONG)
        except psycopg.Error as error:
            failed.append(error)

    other = psycopg.connect(server.dsn, autocommit=True)
    for procedure, told in (("cancel", "cancelled"), ("terminate", "terminated")):
        thread = threading.Thread(target=run_long, args=(other,))
        thread.start()
        number = other.info.backend_pid
        wait_for_statement(con, number)
        done = con.execute(f"CALL system.{procedure}({number})").fetchall()
        thread.join()
        assert done == [(number, told)]
    assert failed[0].sqlstate == "57014"
    assert failed[1].sqlstate == "57P01"
    with pytest.raises(psycopg.OperationalError):
        other.execute("SELECT 1")
    other.close()
    for wrong in ("(99999999)", "('x')", "()", "(NULL)"):
        with pytest.raises(psycopg.Error, match="PAL-222"):
            con.execute(f"CALL system.cancel{wrong}")
    with pytest.raises(psycopg.Error, match="is your own"):
        con.execute(f"CALL system.terminate({con.info.backend_pid})")


def test_pg_stat_activity_is_that_of_the_server(con: psycopg.Connection, server: Server) -> None:
    query = (
        "SELECT datname, usename, state, query, client_port > 0, backend_start <= query_start,"
        " backend_type FROM pg_stat_activity WHERE application_name = 'idler'"
    )
    with psycopg.connect(server.dsn, application_name="idler") as other:
        other.execute("SELECT 'secret' AS a")
        ((_, user, *rest),) = con.execute(query).fetchall()
        assert (user, rest[-1]) == ("me", "client backend")
        assert rest[:-1] == ["idle in transaction", "SELECT ? AS a", True, True]
        other.rollback()
        assert con.execute(query).fetchall()[0][2] == "idle"
    own = "SELECT count(*) FROM pg_stat_activity WHERE pid = pg_backend_pid()"
    assert con.execute(own).fetchone() == (1,)


def test_a_program_alone_sees_itself() -> None:
    with gateway.connect("palimpsest://", user="ada", autocommit=True) as connection:
        rows = connection.execute('SELECT s."user", client, state FROM system.sessions AS s')
        assert rows.fetchall() == [("ada", None, "active")]
        statements = connection.execute("SELECT count(*) FROM system.statements").fetchone()
        assert statements == (2,)
        with pytest.raises(gateway.DataError, match="PAL-222"):
            connection.execute("CALL system.cancel(0)")
