"""set_config, settings of programs, DISCARD, LOCK TABLE, advisory locks and ``public``."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.repeatedly import repeatedly


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"palimpsest:///{tmp_path}/w"


@pytest.fixture
def con(url: str) -> Iterator[Connection]:
    with gateway.connect(url, dialect="postgres", autocommit=True) as con:
        yield con


def value(con: Connection, sql: str, *parameters: object) -> object:
    row = con.execute(sql, parameters or None).fetchone()
    assert row is not None
    return row[0]


def sqlstate(con: Connection, sql: str) -> str | None:
    with pytest.raises(gateway.Error) as caught:
        con.execute(sql).fetchall()
    return caught.value.sqlstate


def test_set_config_sets_for_the_session(con: Connection) -> None:
    con.execute("CREATE SCHEMA hr")
    assert value(con, "SELECT pg_catalog.set_config('search_path', 'hr', false)") == "hr"
    con.execute("CREATE TABLE t (a INTEGER)")
    assert value(con, "SELECT count(*) FROM hr.t") == 0


def test_set_config_takes_parameters_and_expressions(con: Connection) -> None:
    sql = "SELECT set_config(?, ? || 'z', false) AS one, current_setting('app.who') AS two"
    assert con.execute(sql, ("app.who", "y")).fetchall() == [("yz", "yz")]


def test_set_config_of_what_may_be_missing_gives_a_row_if_it_is_there(con: Connection) -> None:
    asked = "SELECT set_config(name, '{}', false) FROM pg_settings WHERE name = '{}'"
    assert con.execute(asked.format("hr", "search_path")).fetchall() == [("hr",)]
    assert con.execute(asked.format("view", "restrict_nonsystem_relation_kind")).fetchall() == []
    assert sqlstate(con, "SELECT set_config('search_path', '', false) FROM t") == "0A000"


def test_calls_of_a_cte_come_first(con: Connection, url: str) -> None:
    """Kysely waits so for the lock of its migrations, and no longer than it says."""
    lock = (
        "WITH a AS (SELECT set_config('lock_timeout', '50', true) AS b)"
        " SELECT pg_advisory_lock(3853314791062309107) FROM a"
    )
    assert con.execute(lock).fetchall() == [("",)]
    with gateway.connect(url, dialect="postgres", autocommit=True) as other:
        assert sqlstate(other, lock) == "55P03"
        assert value(other, "SHOW lock_timeout") == "0"
    assert value(con, "SELECT pg_advisory_unlock(3853314791062309107)") is True
    assert sqlstate(con, "WITH a AS (SELECT set_config('x.y', 'z', true)) SELECT"
                    " pg_advisory_lock(1), * FROM a") == "0A000"  # fmt: skip
    both = "SELECT set_config('x.y', 'a', true), set_config('x.z', 'b', false)"
    assert con.execute(both).fetchall() == [("a", "b")]
    assert con.execute("SELECT current_setting('x.y', true), current_setting('x.z')").fetchall() \
        == [(None, "b")]  # fmt: skip


def test_set_config_of_a_transaction_ends_with_it(con: Connection) -> None:
    con.execute("SET app.tenant = 'a'")
    assert value(con, "SELECT set_config('app.tenant', 'lost', true)") == "lost"
    assert value(con, "SELECT current_setting('app.tenant')") == "a"
    con.execute("BEGIN")
    con.execute("SELECT set_config('app.tenant', 'b', true)")
    assert value(con, "SELECT current_setting('app.tenant')") == "b"
    con.execute("ROLLBACK")
    assert value(con, "SHOW app.tenant") == "a"
    con.execute("RESET app.tenant")
    assert value(con, "SELECT current_setting('app.tenant')") == ""


def test_set_config_refuses_what_set_refuses(con: Connection) -> None:
    assert sqlstate(con, "SELECT set_config('client_encoding', 'LATIN1', false)") == "22023"
    assert sqlstate(con, "SELECT set_config('nothing_such', '1', false)") == "42704"
    assert sqlstate(con, "SELECT set_config('app.a', '1', false) FROM system.tables") == "0A000"
    assert sqlstate(con, "SELECT current_setting('app.unknown')") == "42704"
    assert value(con, "SELECT current_setting('app.unknown', true)") is None


def test_an_empty_search_path_finds_and_makes_nothing(con: Connection) -> None:
    con.execute("CREATE TABLE t (a INTEGER)")
    assert value(con, "SELECT set_config('search_path', '', false)") == ""
    assert value(con, "SELECT current_schema()") is None
    assert sqlstate(con, "CREATE TABLE u (a INTEGER)") == "3F000"
    assert sqlstate(con, "SELECT * FROM t") == "42P01"
    assert value(con, "SELECT count(*) FROM public.t") == 0
    con.execute("CREATE TYPE public.mood AS ENUM ('ok')")
    con.execute("CREATE TABLE public.m (how public.mood DEFAULT 'ok'::public.mood)")
    con.execute("INSERT INTO public.m DEFAULT VALUES")
    assert value(con, "SELECT how FROM public.m") == "ok"


@pytest.mark.long
def test_public_is_the_home_schema_where_there_is_no_other(con: Connection) -> None:
    con.execute("SET SESSION search_path = public")
    con.execute("CREATE TYPE public.mood AS ENUM ('sad', 'ok')")
    con.execute("CREATE TABLE public.t (id SERIAL PRIMARY KEY, how public.mood)")
    con.execute("INSERT INTO public.t (how) VALUES ('ok')")
    con.execute("CREATE VIEW public.v AS SELECT public.t.id FROM public.t")
    con.execute("CREATE SCHEMA IF NOT EXISTS public")
    con.execute("CREATE SCHEMA other")
    con.execute("ALTER TABLE public.t SET SCHEMA other")
    con.execute("ALTER TABLE other.t SET SCHEMA public")
    con.execute("GRANT USAGE ON SCHEMA public TO PUBLIC")
    assert value(con, "SELECT setval('public.t_id_seq', 7)") == 7
    assert value(con, "SELECT count(*) FROM main.t") == 1
    assert sqlstate(con, "CREATE SCHEMA public") == "42P06"


def test_clients_read_public_for_the_home_schema(con: Connection) -> None:
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    assert value(con, "SELECT current_schema()") == "public"
    assert value(con, "SELECT current_setting('search_path')") == "public"
    assert value(con, "SHOW search_path") == "public"
    assert value(con, "SELECT current_schemas(false)") == ["public"]
    assert value(con, "SELECT pg_catalog.current_schemas(true)") == ["pg_catalog", "public"]
    listed = "SELECT table_name FROM information_schema.tables WHERE table_schema"
    assert value(con, f"{listed} = current_schema()") == "t"
    assert value(con, "SELECT schema FROM system.tables") == "main"
    con.execute("CREATE SCHEMA hr")
    con.execute("SET search_path = hr, public")
    assert value(con, "SHOW search_path") == "hr, public"
    assert value(con, "SELECT current_schema()") == "hr"


def test_a_schema_called_public_is_itself(url: str, con: Connection) -> None:
    with gateway.connect(url, autocommit=True) as duckdb:
        duckdb.execute("CREATE SCHEMA public")
    con.execute("CREATE TABLE public.t (a INTEGER)")
    assert (
        value(con, "SELECT table_schema FROM information_schema.tables WHERE table_name = 't'")
        == "public"
    )


def test_discard_forgets_what_a_session_made(con: Connection) -> None:
    con.execute("CREATE SEQUENCE s")
    con.execute("SELECT nextval('s')").fetchall()
    con.execute("DISCARD PLANS")
    con.execute("DISCARD SEQUENCES")
    assert sqlstate(con, "SELECT currval('s')") == "55000"
    con.execute("CREATE TEMP TABLE own (a INTEGER)")
    con.execute("DISCARD TEMPORARY")
    assert sqlstate(con, "SELECT * FROM own") == "42P01"
    con.execute("CREATE TEMP TABLE own (a INTEGER)")
    con.execute("SET timezone = 'Asia/Tokyo'")
    con.execute("PREPARE p AS SELECT 1")
    con.execute("DISCARD ALL")
    assert sqlstate(con, "SELECT * FROM own") == "42P01"
    assert sqlstate(con, "EXECUTE p") == "26000"
    assert value(con, "SHOW timezone") != "Asia/Tokyo"
    con.execute("BEGIN")
    assert sqlstate(con, "DISCARD ALL") == "25001"
    con.execute("ROLLBACK")


def test_locks_that_keep_nobody_out_are_taken(con: Connection) -> None:
    con.execute("CREATE TABLE t (a INTEGER)")
    assert sqlstate(con, "LOCK TABLE t IN ACCESS SHARE MODE") == "25P01"
    con.execute("BEGIN")
    con.execute("LOCK TABLE ONLY t IN ROW EXCLUSIVE MODE NOWAIT")
    con.execute("COMMIT")
    assert sqlstate(con, "LOCK TABLE t") == "0A000"
    con.execute("BEGIN")
    assert sqlstate(con, "LOCK TABLE nowhere IN ACCESS SHARE MODE") == "42P01"
    con.execute("ROLLBACK")


def test_an_advisory_lock_keeps_other_sessions_out(url: str, con: Connection) -> None:
    with gateway.connect(url, dialect="postgres", autocommit=True) as other:
        assert con.execute("SELECT pg_advisory_lock(1)").fetchall() == [("",)]
        assert value(other, "SELECT pg_try_advisory_lock(1)") is False
        assert value(other, "SELECT pg_try_advisory_lock(1, 1)") is True
        assert value(other, "SELECT pg_advisory_unlock(1)") is False
        assert value(con, "SELECT pg_advisory_unlock(1)") is True
        assert value(other, "SELECT pg_try_advisory_lock_shared(1)") is True
        assert value(con, "SELECT pg_try_advisory_lock(1)") is False
        assert value(con, "SELECT pg_try_advisory_lock_shared(1)") is True
    assert value(con, "SELECT pg_try_advisory_lock(1)") is True


def test_an_advisory_lock_of_a_transaction_goes_with_it(url: str, con: Connection) -> None:
    with gateway.connect(url, dialect="postgres", autocommit=True) as other:
        con.execute("SELECT pg_advisory_xact_lock(5)")
        assert value(other, "SELECT pg_try_advisory_lock(5)") is True
        con.execute("BEGIN")
        assert value(con, "SELECT pg_try_advisory_xact_lock(5)") is False
        con.execute("SELECT pg_advisory_xact_lock(?)", (6,))
        assert value(other, "SELECT pg_try_advisory_lock(6)") is False
        con.execute("ROLLBACK")
        assert value(other, "SELECT pg_try_advisory_lock(6)") is True


def test_who_waits_for_an_advisory_lock_gets_it_or_is_cancelled(url: str, con: Connection) -> None:
    with gateway.connect(url, dialect="postgres", autocommit=True) as other:
        con.execute("SELECT pg_advisory_lock(1)")
        found: list[object] = []

        def wait() -> None:
            try:
                found.append(value(other, "SELECT pg_advisory_lock(1)"))
            except gateway.Error as error:
                found.append(error.sqlstate)

        for ends, expected in ((other.cancel, "57014"), (None, "")):
            thread = threading.Thread(target=wait)
            thread.start()
            time.sleep(0.3)
            assert not found
            if ends is None:
                con.execute("SELECT pg_advisory_unlock(1)")
                thread.join(10)
            else:
                with repeatedly(ends, 0):
                    thread.join(10)
            assert found.pop() == expected


def test_what_pools_and_tools_send_is_taken(con: Connection) -> None:
    for statement in (
        "UNLISTEN *",
        "UNLISTEN channel",
        "NOTIFY channel",
        "NOTIFY channel, 'payload'",
        "SELECT pg_notify('channel', 'pay' || 'load')",
        "SET synchronize_seqscans = off",
        "RESET SESSION AUTHORIZATION",
    ):
        con.execute(statement)
    assert str(value(con, "SHOW server_version")).startswith("15.0")
    assert value(con, "SHOW is_superuser") == "on"
    assert sqlstate(con, "SET server_version_num = 160000") == "22023"
    assert sqlstate(con, "LISTEN channel") == "0A000"
    assert sqlstate(con, "NOTIFY channel, 1") == "42601"


def test_a_transaction_says_whether_it_only_reads(con: Connection) -> None:
    asked = "SELECT current_setting('transaction_read_only')"
    assert value(con, asked) == "off"
    con.execute("BEGIN READ ONLY")
    assert value(con, asked) == value(con, "SHOW transaction_read_only") == "on"
    con.execute("COMMIT")
    assert value(con, asked) == "off"
