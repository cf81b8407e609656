"""SET, SHOW and RESET around transactions and savepoints, as PostgreSQL does it."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import Connection

from tests.servers.conftest import Server
from tests.support.postgres import Cluster

_SHOW = "SHOW application_name"
SEQUENCES = (
    (
        "SET application_name = 'a' | BEGIN | SET application_name = 'b' | SHOW application_name "
        "| ROLLBACK | SHOW application_name"
    ),
    (
        "SET application_name = 'a' | BEGIN | SET application_name = 'b' | COMMIT | SHOW "
        "application_name"
    ),
    (
        "SET application_name = 'a' | BEGIN | SET LOCAL application_name = 'b' | SHOW "
        "application_name | COMMIT | SHOW application_name"
    ),
    (
        "SET application_name = 'a' | BEGIN | SET LOCAL application_name = 'b' | SET "
        "application_name = 'c' | SHOW application_name | COMMIT | SHOW application_name"
    ),
    (
        "SET application_name = 'a' | BEGIN | SET application_name = 'b' | SET LOCAL "
        "application_name = 'c' | SHOW application_name | COMMIT | SHOW application_name"
    ),
    (
        "SET application_name = 'a' | BEGIN | SET application_name = 'b' | SET LOCAL "
        "application_name = 'c' | SHOW application_name | ROLLBACK | SHOW application_name"
    ),
    (
        "SET application_name = 'a' | BEGIN | SET application_name = 'b' | SAVEPOINT s | SET "
        "application_name = 'c' | ROLLBACK TO s | SHOW application_name | COMMIT | SHOW "
        "application_name"
    ),
    (
        "SET application_name = 'a' | BEGIN | SAVEPOINT s | SET application_name = 'c' | "
        "ROLLBACK TO s | SET application_name = 'b' | ROLLBACK TO s | COMMIT | SHOW "
        "application_name"
    ),
    (
        "SET application_name = 'a' | BEGIN | SAVEPOINT s | SET application_name = 'c' | RELEASE "
        "s | SHOW application_name | ROLLBACK | SHOW application_name"
    ),
    (
        "SET application_name = 'a' | BEGIN | SAVEPOINT s | SET LOCAL application_name = 'c' | "
        "RELEASE s | SHOW application_name | COMMIT | SHOW application_name"
    ),
    (
        "SET application_name = 'a' | BEGIN | SET LOCAL application_name = 'l' | SAVEPOINT s | "
        "SET application_name = 'c' | ROLLBACK TO s | SHOW application_name | COMMIT | SHOW "
        "application_name"
    ),
    (
        "SET application_name = 'a' | BEGIN | SAVEPOINT s | SET application_name = 'b' | "
        "SAVEPOINT s | SET application_name = 'c' | ROLLBACK TO s | SHOW application_name | "
        "RELEASE s | ROLLBACK TO s | SHOW application_name | COMMIT | SHOW application_name"
    ),
    (
        "SET application_name = 'a' | BEGIN | RESET ALL | SHOW application_name | ROLLBACK | "
        "SHOW application_name"
    ),
    (
        "SET application_name = 'a' | BEGIN | SET LOCAL application_name TO DEFAULT | SHOW "
        "application_name | COMMIT | SHOW application_name"
    ),
    (
        "SET application_name = 'a' | BEGIN | SET application_name = 'b' | SELECT 1 / 0 | SHOW "
        "application_name | SET application_name = 'c' | ROLLBACK | SHOW application_name"
    ),
    (
        "SET application_name = 'a' | BEGIN | SET application_name = 'b' | SELECT 1 / 0 | COMMIT "
        "| SHOW application_name"
    ),
    (
        "SET application_name = 'a' | BEGIN | SAVEPOINT s | SET application_name = 'b' | SELECT "
        "1 / 0 | ROLLBACK TO s | SHOW application_name | COMMIT | SHOW application_name"
    ),
    (
        "SET application_name = 'a' | BEGIN | SELECT set_config('application_name', 'b', false) "
        "| ROLLBACK | SHOW application_name"
    ),
    (
        "SET application_name = 'a' | BEGIN | SELECT set_config('application_name', 'b', true) | "
        "SHOW application_name | COMMIT | SHOW application_name"
    ),
    (
        "SET application_name = 'a' | BEGIN | SET LOCAL application_name = 'b' | COMMIT AND "
        "CHAIN | SHOW application_name | SET application_name = 'c' | ROLLBACK AND CHAIN | SHOW "
        "application_name | ROLLBACK | SHOW application_name"
    ),
    (
        "SELECT current_setting('application_name') | SET LOCAL application_name = 'b' | SHOW "
        "application_name"
    ),
    # A text of several statements is one transaction.
    (
        "SET application_name = 'a' | SET application_name = 'b'; SELECT 1 / 0 | SHOW "
        "application_name | SET application_name = 'c'; SELECT 1 | SHOW application_name"
    ),
    (
        "SET application_name = 'a' | SET LOCAL application_name = 'b'; SHOW application_name | "
        "SHOW application_name"
    ),
    (
        "SET application_name = 'a' | SET application_name = 'b'; BEGIN; SET application_name = "
        "'c'; ROLLBACK | SHOW application_name"
    ),
    # What a program calls its own stays known, without a value.
    (
        "SET app.x = '1' | BEGIN | SET app.x = '2' | SET LOCAL app.y = '3' | SHOW app.y | "
        "ROLLBACK | SHOW app.x | SHOW app.y | SELECT current_setting('app.y', true)"
    ),
    "SHOW app.never | BEGIN | SET LOCAL app.z = '3' | COMMIT | SHOW app.z",
    (
        "SET timezone = 'UTC' | BEGIN | SET timezone = 'Asia/Tokyo' | ROLLBACK | SELECT "
        "timestamptz '2024-01-01 00:00:00+00'::text"
    ),
    (
        "BEGIN | SET TRANSACTION READ ONLY | SHOW transaction_read_only | CREATE TABLE undone (a "
        "int) | ROLLBACK | SHOW transaction_read_only"
    ),
    (
        "BEGIN READ ONLY | SHOW transaction_read_only | SET TRANSACTION READ WRITE | CREATE "
        "TABLE undone (a int) | ROLLBACK"
    ),
    (
        "BEGIN | SET default_transaction_read_only = on | CREATE TABLE undone (a int) | ROLLBACK "
        "| SHOW default_transaction_read_only"
    ),
    (
        "SET default_transaction_read_only = on | CREATE TABLE undone (a int) | BEGIN READ WRITE "
        "| SHOW transaction_read_only | ROLLBACK"
    ),
    "BEGIN | PREPARE stays AS SELECT 9 | ROLLBACK | EXECUTE stays",
)
"""Statements, one after another."""


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_settings_end_as_in_postgresql(server: Server, cluster: Cluster, sequence: str) -> None:
    found, wanted = (
        _outcomes(where, sequence) for where in (server.dsn, cluster.conninfo("postgres"))
    )
    assert found == wanted


RESETS = (
    "SET application_name = 'b' | RESET application_name | SHOW application_name",
    "SET application_name = '' | SHOW application_name | SET application_name TO DEFAULT",
    "SET app.x = '' | SHOW app.x | RESET app.x | SELECT current_setting('app.x') | SET app.x = 'c'",
    "SET app.y = '' | SELECT current_setting('app.y', true) = '' | RESET app.y | SHOW app.y",
    "SET search_path = 'a' | RESET search_path | SELECT current_schemas(false)",
    "SET SCHEMA '' | SELECT current_schemas(false) | SET search_path TO DEFAULT",
    "SET timezone = 'UTC' | RESET timezone | SHOW timezone | SET timezone = ''",
    "SET TIME ZONE 2 | SET TIME ZONE DEFAULT | SHOW timezone",
    "SET statement_timeout = 1 | RESET statement_timeout | SHOW statement_timeout",
    "BEGIN | SET application_name = 'b' | RESET application_name | COMMIT | SHOW application_name",
    "SET application_name = 'b' | BEGIN | RESET application_name | ROLLBACK",
)
"""What RESET goes back to where the client gave settings as it connected, and empty values."""
_GIVEN = "-c app.x=t -c search_path=undone_s,public -c timezone=Europe/Rome -c statement_timeout=5s"


@pytest.mark.parametrize("sequence", RESETS)
def test_a_reset_goes_back_to_what_the_client_began_with(
    server: Server, cluster: Cluster, sequence: str
) -> None:
    found = []
    for where in (server.dsn, cluster.conninfo("postgres")):
        given = psycopg.conninfo.make_conninfo(where, options=_GIVEN, application_name="began")
        with psycopg.connect(given, autocommit=True) as con:
            con.execute("CREATE SCHEMA IF NOT EXISTS undone_s")
            told = [con.execute("SHOW application_name").fetchone()]
        found.append((_outcomes(given, sequence), told))
        with psycopg.connect(where, autocommit=True) as con:
            con.execute("DROP SCHEMA undone_s")
    assert found[0] == found[1]


def test_an_empty_moment_is_refused(server: Server) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as con:
        con.execute("SET as_of = '2024-01-01'")
        with pytest.raises(psycopg.Error, match="needs a value"):
            con.execute("SET as_of = ''")
        assert con.execute("SHOW as_of").fetchone() == ("2024-01-01",)


SPELLED = (
    "SET TIME ZONE INTERVAL '+00:00' HOUR TO MINUTE",
    "SET TIME ZONE INTERVAL '-07:00' HOUR TO MINUTE",
    "SET TIME ZONE -7",
    "SET TIME ZONE 2",
    "SET TIME ZONE 'Asia/Tokyo'",
)


@pytest.mark.parametrize("spelled", SPELLED)
def test_zones_are_taken_as_clients_spell_them(
    server: Server, cluster: Cluster, spelled: str
) -> None:
    show = "SELECT (timestamptz '2024-01-01 00:00:00+00')::text"
    found, wanted = (
        _outcomes(where, f"{spelled} | {show}")
        for where in (server.dsn, cluster.conninfo("postgres"))
    )
    assert found == wanted


def test_a_transaction_takes_a_level_beside_its_mode(server: Server) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as con:
        con.execute("BEGIN")
        con.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        assert con.execute("SHOW transaction_read_only").fetchone() == ("on",)
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            con.execute("CREATE TABLE undone (a INTEGER)")
        con.execute("ROLLBACK")
        con.execute("BEGIN")
        with pytest.raises(psycopg.Error):
            con.execute("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY")
        con.execute("ROLLBACK")


def test_a_role_is_given_back(server: Server) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as con:
        con.execute("CREATE ROLE undone_role")
        for how, end in (("SET", "ROLLBACK"), ("SET LOCAL", "COMMIT")):
            con.execute("BEGIN")
            con.execute(f"{how} ROLE undone_role")
            assert con.execute("SELECT current_user").fetchone() == ("undone_role",)
            con.execute(end)
            assert con.execute("SELECT current_user = session_user").fetchone() == (True,)
        con.execute("DROP ROLE undone_role")


def test_a_commit_that_fails_undoes_settings(server: Server) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as con:
        con.execute("CREATE TABLE undone_p (a INTEGER PRIMARY KEY)")
        con.execute(
            "CREATE TABLE undone_c (a INTEGER REFERENCES undone_p (a)"
            " DEFERRABLE INITIALLY DEFERRED)"
        )
        con.execute("SET application_name = 'before'")
        con.execute("BEGIN")
        con.execute("SET application_name = 'within'")
        con.execute("INSERT INTO undone_c VALUES (1)")
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            con.execute("COMMIT")
        assert con.execute(_SHOW).fetchone() == ("before",)
        assert con.info.parameter_status("application_name") == "before"
        con.execute("DROP TABLE undone_c")
        con.execute("DROP TABLE undone_p")


def _outcomes(where: str, sequence: str) -> list[object]:
    found: list[object] = []
    with psycopg.connect(where, autocommit=True) as con:
        for sql in sequence.split(" | "):
            found.append((sql, _outcome(con, sql), con.info.transaction_status))
    return found


def _outcome(con: Connection, sql: str) -> object:
    try:
        cursor = con.execute(sql)
    except psycopg.Error as error:
        return error.sqlstate
    return cursor.fetchall() if cursor.description else "done"
