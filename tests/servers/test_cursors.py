"""Cursors that scroll and that outlive their transaction, as PostgreSQL itself has them."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import Connection

from tests.servers.conftest import Server
from tests.support.postgres import running

DECLARE = "DECLARE c SCROLL CURSOR FOR SELECT x FROM generate_series(1, 5) AS r(x) ORDER BY x"
HOLD = "DECLARE h CURSOR WITH HOLD FOR SELECT x FROM generate_series(1, 5) AS r(x) ORDER BY x"
SCRIPTS = {
    "scroll": [
        "BEGIN", DECLARE, "FETCH c", "FETCH 2 FROM c", "FETCH PRIOR FROM c", "FETCH LAST IN c",
        "FETCH NEXT FROM c", "FETCH BACKWARD 2 FROM c", "FETCH FIRST FROM c", "FETCH PRIOR FROM c",
        "FETCH FORWARD ALL FROM c", "FETCH BACKWARD ALL FROM c", "FETCH ABSOLUTE 3 FROM c",
        "FETCH RELATIVE -1 FROM c", "FETCH RELATIVE 2 FROM c", "FETCH ABSOLUTE -2 FROM c",
        "FETCH 0 FROM c", "FETCH -2 FROM c", "FETCH ABSOLUTE 9 FROM c", "FETCH PRIOR FROM c",
        "FETCH ABSOLUTE 0 FROM c", "FETCH ALL FROM c", "FETCH BACKWARD FROM c",
        "FETCH BACKWARD -1 FROM c", "FETCH FORWARD 0 FROM c", "CLOSE c", "FETCH c", "ROLLBACK",
    ],
    "move": [
        "BEGIN", DECLARE, "MOVE 2 FROM c", "FETCH c", "MOVE BACKWARD ALL IN c", "FETCH c",
        "MOVE LAST FROM c", "FETCH PRIOR FROM c", "MOVE ABSOLUTE 2 FROM c", "FETCH c",
        "MOVE RELATIVE 9 FROM c", "FETCH c", "MOVE 0 FROM c", "COMMIT", "FETCH c",
    ],
    "hold": [
        HOLD, "FETCH 2 FROM h", "BEGIN", "FETCH h", "COMMIT", "FETCH h", "BEGIN", "ROLLBACK",
        "FETCH h", "FETCH h", "CLOSE h", "FETCH h",
    ],
    "held in a transaction": [
        "BEGIN", HOLD, "FETCH h", "COMMIT", "FETCH ALL FROM h", "CLOSE ALL", "FETCH h",
    ],
    "rolled back": ["BEGIN", HOLD, "FETCH h", "ROLLBACK", "FETCH h"],
    "failed": ["BEGIN", HOLD, "SELECT * FROM nothing_there", "COMMIT", "FETCH h"],
    "without scroll": [
        "BEGIN", DECLARE.replace("SCROLL", "NO SCROLL"), "FETCH 2 FROM c", "FETCH PRIOR FROM c",
        "ROLLBACK",
    ],
    "outside": ["DECLARE c CURSOR FOR SELECT 1 AS x"],
    "no rows": [
        "BEGIN", DECLARE.replace("(1, 5)", "(1, 0)"), "FETCH c", "FETCH LAST FROM c", "COMMIT",
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def postgres() -> Iterator[Connection]:
    """A real server."""
    with running() as cluster:
        with psycopg.connect(cluster.conninfo("postgres"), autocommit=True) as connection:
            yield connection


@pytest.fixture(scope="module")
def ours(server: Server) -> Iterator[Connection]:
    """Ours."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        yield connection


def results(connection: Connection, script: list[str], *, prepare: bool) -> list[object]:
    """For each statement its rows, tag, and SQLSTATE of an error."""
    found: list[object] = []
    for text in script:
        try:
            cursor = connection.execute(text, prepare=prepare)
            rows = None if cursor.description is None else cursor.fetchall()
            found.append((text, cursor.statusmessage, rows))
        except psycopg.Error as error:
            found.append((text, error.sqlstate))
    connection.execute("CLOSE ALL")
    return found


@pytest.mark.parametrize("prepare", [False, True])
@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_cursors_are_those_of_postgresql(
    ours: Connection, postgres: Connection, script: list[str], prepare: bool
) -> None:
    expected = results(postgres, script, prepare=prepare)
    assert results(ours, script, prepare=prepare) == expected


@pytest.mark.parametrize("options", [{}, {"scrollable": True}, {"withhold": True}])
def test_cursors_of_drivers_take_parameters(server: Server, options: dict[str, bool]) -> None:
    with psycopg.connect(server.dsn) as connection:
        with connection.cursor("named", **options) as cursor:
            cursor.execute("SELECT x FROM generate_series(1, %s) AS r(x) WHERE x > %s", (500, 2))
            assert cursor.fetchmany(2) == [(3,), (4,)]
            if "withhold" in options:
                connection.commit()
            assert len(cursor.fetchall()) == 496
            if "scrollable" in options:
                cursor.scroll(0, mode="absolute")
                assert cursor.fetchone() == (3,)


def test_a_cursor_without_a_query_is_an_error_of_syntax(server: Server) -> None:
    with psycopg.connect(server.dsn) as con, pytest.raises(psycopg.errors.SyntaxError):
        con.execute("DECLARE c CURSOR FOR ")
