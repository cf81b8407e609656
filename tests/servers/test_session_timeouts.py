"""What a client sets of how long its statements, locks and pauses may last, on each store."""

from __future__ import annotations

import time

import psycopg
import pytest
from psycopg import Connection

from tests.servers.conftest import Server

_LONG = "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b"


def test_a_statement_ends_after_its_time(gateway: Connection) -> None:
    gateway.execute("SET statement_timeout = '200ms'")
    try:
        assert gateway.execute("SHOW statement_timeout").fetchone() == ("200ms",)
        with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
            gateway.execute(_LONG)
        assert gateway.execute("SELECT 1").fetchone() == (1,)
        gateway.execute("SET statement_timeout = 5000")
        assert gateway.execute("SHOW statement_timeout").fetchone() == ("5s",)
        # A name of a server's statement, with parameters: as drivers send it.
        gateway.execute("SET statement_timeout = 200")
        with pytest.raises(psycopg.errors.QueryCanceled):
            gateway.execute(_LONG + " WHERE a.a > %s", (0,), prepare=True)
    finally:
        gateway.execute("RESET statement_timeout")
    assert gateway.execute("SELECT current_setting('statement_timeout')").fetchone() == ("0",)


def test_it_may_be_for_a_transaction_alone(gateway: Connection) -> None:
    gateway.execute("BEGIN")
    gateway.execute("SET LOCAL statement_timeout = '150ms'")
    with pytest.raises(psycopg.errors.QueryCanceled):
        gateway.execute(_LONG)
    gateway.execute("ROLLBACK")
    assert gateway.execute("SHOW statement_timeout").fetchone() == ("0",)


def test_options_of_the_connection_say_it(server: Server) -> None:
    options = "-c statement_timeout=150 -c lock_timeout=3s"
    with psycopg.connect(server.dsn, autocommit=True, options=options) as con:
        assert con.execute("SHOW lock_timeout").fetchone() == ("3s",)
        with pytest.raises(psycopg.errors.QueryCanceled):
            con.execute(_LONG)


def test_a_wait_for_a_lock_ends(server: Server) -> None:
    with (
        psycopg.connect(server.dsn, autocommit=True) as holder,
        psycopg.connect(server.dsn, autocommit=True) as other,
    ):
        holder.execute("SELECT pg_advisory_lock(77)")
        other.execute("SET lock_timeout = 100")
        with pytest.raises(psycopg.errors.LockNotAvailable, match="lock timeout"):
            other.execute("SELECT pg_advisory_lock(77)")
        other.execute("SET lock_timeout = 0")
        other.execute("SET statement_timeout = 100")
        with pytest.raises(psycopg.errors.QueryCanceled):
            other.execute("SELECT pg_advisory_lock(77)")
        holder.execute("SELECT pg_advisory_unlock(77)")


@pytest.mark.parametrize(
    ("setting", "sqlstate", "begins"),
    [
        ("idle_in_transaction_session_timeout", "25P03", True),
        ("idle_session_timeout", "57P05", False),
    ],
)
def test_whoever_waits_too_long_is_let_go(
    server: Server, setting: str, sqlstate: str, begins: bool
) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as con:
        con.execute(f"SET {setting} = '300ms'")
        if begins:
            con.execute("BEGIN")
        found = None
        for pause_s in (2, 4, 8, 16):
            time.sleep(pause_s)
            try:
                con.execute("SELECT 1")
            except psycopg.Error as error:
                found = error.sqlstate
                break
        assert found == sqlstate


def test_what_is_no_duration_is_refused(server: Server) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as con:
        for value in ("'5 weeks'", "-1", "'soon'", "3000000000"):
            with pytest.raises(psycopg.errors.InvalidParameterValue):
                con.execute(f"SET statement_timeout = {value}")
        for value, shown in (
            ("90000", "90s"),
            ("'2min'", "2min"),
            ("'1500us'", "2ms"),
            ("60000", "1min"),
        ):
            con.execute(f"SET statement_timeout = {value}")
            assert con.execute("SHOW statement_timeout").fetchone() == (shown,)
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            con.execute("SET transaction_timeout = '5s'")
