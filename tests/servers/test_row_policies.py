"""Row policies that read other tables, over the PostgreSQL protocol: by COPY, prepared, then."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.servers.conftest import Server

SETUP = (
    "CREATE TABLE papers (id INTEGER PRIMARY KEY, org TEXT, body TEXT)",
    "CREATE TABLE staff_of (usr TEXT, org TEXT)",
    "INSERT INTO papers VALUES (1, 'a', 'x'), (2, 'b', 'y')",
    "INSERT INTO staff_of VALUES ('pia', 'a')",
    "CREATE ROLE pia",
    "GRANT SELECT, INSERT, HISTORY ON papers TO pia",
    "GRANT SELECT ON staff_of TO pia",
    (
        "ALTER TABLE papers SET ROW POLICY"
        " (EXISTS (SELECT 1 FROM staff_of s WHERE s.usr = CURRENT_USER AND s.org = papers.org))"
    ),
)


@pytest.fixture
def pia(server: Server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        for sql in SETUP:
            connection.execute(sql)
        connection.execute("SET ROLE pia")
        yield connection
        connection.execute("RESET ROLE")
        connection.execute("DROP TABLE papers, staff_of")
        connection.execute("DROP ROLE pia")


def _copied(connection: psycopg.Connection, sql: str) -> list[str]:
    with connection.cursor() as cursor, cursor.copy(sql) as copy:
        return sorted(str(row[0]) for row in copy.rows())


def _copy_in(connection: psycopg.Connection, rows: list[tuple[int, str, str]]) -> None:
    with connection.cursor() as cursor, cursor.copy("COPY papers FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


def test_copy_takes_and_gives_what_is_seen(pia: psycopg.Connection) -> None:
    assert _copied(pia, "COPY papers TO STDOUT") == ["1"]
    assert _copied(pia, "COPY (SELECT id FROM papers) TO STDOUT") == ["1"]
    _copy_in(pia, [(3, "a", "z")])
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        _copy_in(pia, [(4, "a", "z"), (5, "b", "z")])
    assert _copied(pia, "COPY papers TO STDOUT") == ["1", "3"]


def test_prepared_statements_and_the_past_ask_the_members_of_now(
    pia: psycopg.Connection, server: Server
) -> None:
    point = "SELECT body FROM papers WHERE id = %s"
    with psycopg.connect(server.dsn, autocommit=True) as root:
        then = root.execute("SELECT max(version) FROM system.transactions").fetchone()
        assert then is not None
        assert pia.execute(point, (2,), prepare=True).fetchall() == []
        root.execute("INSERT INTO staff_of VALUES ('pia', 'b')")
        assert pia.execute(point, (2,), prepare=True).fetchall() == [("y",)]
        root.execute("DELETE FROM staff_of WHERE org = 'a'")
        assert pia.execute(point, (1,), prepare=True).fetchall() == []
        past = f"SELECT id FROM papers FOR SYSTEM_VERSION AS OF {then[0]}"
        assert pia.execute(past).fetchall() == [(2,)]
        changed = pia.execute("EXPLAIN SELECT * FROM papers").fetchall()
        assert "policies" in str(changed)
