"""SET, RESET, SHOW, PRAGMA and current_setting; EXECUTE with types and parameters of the client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.client import Client


@pytest.fixture
def con(tmp_path: Path) -> Iterator[Connection]:
    """A connection in PostgreSQL's dialect."""
    with gateway.connect(f"palimpsest:///{tmp_path}/w", autocommit=True, dialect="postgres") as con:
        con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
        con.execute("INSERT INTO t VALUES (1), (2)")
        yield con


@pytest.mark.parametrize(
    ("sql", "shown"),
    [
        ("SET client_encoding = 'UTF8'", "UTF8"),
        ("SET NAMES 'utf-8'", "utf-8"),
        ("SET extra_float_digits TO 3", "3"),
        ("SET SESSION statement_timeout = '5s'", "5s"),
        ("SET standard_conforming_strings = on", "on"),
        ("SET DateStyle TO ISO, MDY", "ISO, MDY"),
        ("SET application_name = 'tool'", "tool"),
        ("SET TIME ZONE 'UTC'", "UTC"),
        ("SET row_security = off", "off"),
    ],
)
def test_what_postgres_programs_send_is_taken_and_shown(
    con: Connection, sql: str, shown: str
) -> None:
    con.execute(sql)
    name = {"NAMES": "client_encoding", "TIME": "timezone", "SESSION": "statement_timeout"}.get(
        sql.split()[1], sql.split()[1]
    )
    assert con.execute(f"SHOW {name}").fetchall() == [(shown,)]
    assert con.execute(f"SELECT current_setting('{name}')").fetchall() == [(shown,)]
    con.execute(f"RESET {name}")
    con.execute(f"SHOW {name}")


@pytest.mark.parametrize(
    ("sql", "state", "says"),
    [
        ("SET client_encoding = 'LATIN1'", "22023", "utf8"),
        ("SET standard_conforming_strings = off", "22023", "on"),
        ("SET DateStyle = 'German'", "22023", "iso"),
        ("SET client_enconding = 'UTF8'", "42704", "did you mean client_encoding"),
        ("SHOW statement_timeot", "42704", "did you mean statement_timeout"),
        ("SELECT current_setting('serch_path')", "42704", "did you mean search_path"),
        ("SET threads = 1", "42704", "system.settings"),
        ("SET default_null_order = 'nulls_first'", "42704", "system.settings"),
    ],
)
def test_what_would_change_answers_or_is_unknown_is_refused(
    con: Connection, sql: str, state: str, says: str
) -> None:
    with pytest.raises(gateway.Error, match=says) as caught:
        con.execute(sql)
    assert caught.value.sqlstate == state


def test_set_local_lasts_until_the_transaction_ends(tmp_path: Path) -> None:
    run = Client(tmp_path / "w")
    run("SET LOCAL default_order = 'desc'")
    assert run("SHOW default_order") == [("asc",)]
    for end in ("COMMIT", "ROLLBACK"):
        run("BEGIN")
        run("SET LOCAL default_order = 'desc'")
        run("SELECT 1")
        run("SET threads = 3")
        assert run("SHOW default_order") == [("desc",)]
        run(end)
        assert (run("SHOW default_order"), run("SHOW threads")) == ([("asc",)], [("3",)])
        run("RESET ALL")
        assert run("SHOW threads") == [("",)]
    run.close()


def test_a_snapshot_that_begins_with_begin_is_refused(tmp_path: Path) -> None:
    run = Client(tmp_path / "w")
    run("SET immediate_transaction_mode = false")
    assert run.error("SET immediate_transaction_mode = true")[0] == "PAL-222"
    run.close()


def test_the_tag_says_whether_a_setting_was_reset(con: Connection) -> None:
    for sql in ("SET timezone TO DEFAULT", "RESET timezone", "RESET ALL", "RESET ROLE"):
        assert con.execute(sql).statusmessage == sql.split()[0], sql


def test_a_plan_follows_the_setting_that_it_shows(con: Connection) -> None:
    con.execute("CREATE VIEW who AS SELECT current_setting('application_name') AS name")
    for name in ("one", "two"):
        con.execute(f"SET application_name = '{name}'")
        assert con.execute("SELECT * FROM who").fetchall() == [(name,)]
    assert con.execute("SELECT current_setting('no.such', true)").fetchall() == [(None,)]


def test_values_have_the_types_that_prepare_gives(con: Connection) -> None:
    con.execute("PREPARE p (int, text, date) AS SELECT $1 + 1, $2, $3 FROM t WHERE a = $1")
    (row,) = con.execute("EXECUTE p ('1', 2, '2024-05-01')").fetchall()
    assert (row[0], row[1], str(row[2])) == (2, "2", "2024-05-01")
    (row,) = con.execute("EXECUTE p (%s, %s, %s)", (2, "x", "2024-05-02")).fetchall()
    assert (row[0], row[1], str(row[2])) == (3, "x", "2024-05-02")
    for sql, state in (
        ("EXECUTE p (1, 'a')", "42601"),
        ("EXECUTE p ((SELECT max(a) FROM t), 'a', NULL)", "0A000"),
        ("EXECUTE p (1, 'a', 'no date')", "22"),
        ("PREPARE p AS SELECT 1", "42P05"),
        ("EXECUTE q", "26000"),
        ("DEALLOCATE q", "26000"),
        ("PREPARE q AS BEGIN", "0A000"),
    ):
        with pytest.raises(gateway.Error) as caught:
            con.execute(sql)
        assert caught.value.sqlstate.startswith(state), sql
    con.execute("DEALLOCATE ALL")
    con.execute("PREPARE p AS SELECT 1")


def test_an_error_of_execute_fails_the_transaction(con: Connection) -> None:
    con.execute("BEGIN")
    with pytest.raises(gateway.Error):
        con.execute("EXECUTE nothing")
    for sql in ("SELECT 1", "EXECUTE nothing", "DEALLOCATE nothing", "PREPARE p AS SELECT 1"):
        with pytest.raises(gateway.Error) as caught:
            con.execute(sql)
        assert caught.value.sqlstate == "25P02"
    con.execute("ROLLBACK")
