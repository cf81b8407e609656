"""What a statement tells besides its result reaches clients by every way."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from psycopg import Connection, sql

import gateway
from tests.servers.conftest import Server
from tests.servers.test_network import run_command, url_of
from tests.sharing.programs import Program

_TAG = "ALTER TABLE {} ALTER COLUMN b SET TAG = (one{}, two{})"
_TOLD = ["tag one{} is new", "tag two{} is new"]


def _told(number: int) -> list[str]:
    return [text.format(number) for text in _TOLD]


def test_notices_cross_networks_and_processes(server: Server, tmp_path: Path) -> None:
    with gateway.connect(url_of(server), autocommit=True) as con:
        con.execute("CREATE OR REPLACE TABLE noted (a INTEGER PRIMARY KEY, b VARCHAR)")
        cursor = con.execute(_TAG.format("noted", 1, 1))
        assert cursor.messages == [(gateway.Warning, text) for text in _told(1)]
        assert cursor.execute(_TAG.format("noted", 1, 1)).messages == []
    heard = []
    with psycopg.connect(server.dsn, autocommit=True) as driver:
        driver.add_notice_handler(lambda notice: heard.append((notice.severity, notice.sqlstate)))
        driver.add_notice_handler(lambda notice: heard.append(notice.message_primary))
        driver.execute(_TAG.format("noted", 2, 2))
    assert heard[1::2] == _told(2)
    assert heard[0] == ("NOTICE", "00000")
    command = run_command("query", "-w", url_of(server), _TAG.format("noted", 3, 3))
    assert command.stderr.splitlines() == [f"NOTICE: {text}" for text in _told(3)]
    root = tmp_path / "w"
    with gateway.connect(f"palimpsest:///{root}", autocommit=True) as owner:
        both = "CREATE TABLE noted (a INTEGER PRIMARY KEY, b VARCHAR);"
        told = owner.execute(both + _TAG.format("noted", 4, 4) + "; SELECT 1").messages
        assert [text for _, text in told] == _told(4)
        with Program(root) as other:
            code = f"c = connection.execute({_TAG.format('noted', 5, 5)!r});"
            found = other.ask("python", f"{code} found['value'] = [t for _, t in c.messages]")
            assert found == _told(5)


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE IF EXISTS nowhere, {home}.elsewhere",
        "DROP VIEW IF EXISTS nowhere",
        "DROP MATERIALIZED VIEW IF EXISTS nowhere",
        "DROP INDEX IF EXISTS nowhere",
        "DROP SCHEMA IF EXISTS nowhere",
        "DROP SEQUENCE IF EXISTS nowhere",
        "DROP TYPE IF EXISTS nowhere",
        "CREATE TABLE IF NOT EXISTS skipping (a INTEGER)",
        "CREATE INDEX IF NOT EXISTS skipping_b ON skipping (b)",
        "CREATE SCHEMA IF NOT EXISTS {home}",
        "ALTER TABLE IF EXISTS nowhere ADD COLUMN c INTEGER",
        "ALTER TABLE skipping ADD COLUMN IF NOT EXISTS b INTEGER",
        "ALTER TABLE skipping DROP COLUMN IF EXISTS c, DROP CONSTRAINT IF EXISTS d",
        "DROP TABLE IF EXISTS skipping, nowhere",
    ],
)
def test_statements_say_that_they_have_nothing_to_do(
    gateway: Connection, postgres: Connection, statement: str
) -> None:
    heard = []
    for con in (gateway, postgres):
        told: list[str | None] = []
        (home,) = con.execute("SELECT current_schema()").fetchone() or ("",)
        con.execute("DROP TABLE IF EXISTS skipping")
        con.execute("CREATE TABLE skipping (a INTEGER PRIMARY KEY, b TEXT)")
        con.execute("CREATE INDEX skipping_b ON skipping (b)")

        def hear(
            notice: psycopg.errors.Diagnostic, told: list[str | None] = told, home: str = home
        ) -> None:
            told.append((notice.message_primary or "").replace(f'"{home}"', '"home"'))

        con.add_notice_handler(hear)
        con.execute(sql.SQL(statement).format(home=sql.Identifier(home)))
        con.remove_notice_handler(hear)
        con.execute("DROP TABLE IF EXISTS skipping")
        heard.append(told)
    assert heard[0] == heard[1] != []


@pytest.mark.parametrize("level", ["log", "notice", "WARNING", "error"])
def test_clients_hear_from_the_level_that_they_set(
    gateway: Connection, postgres: Connection, level: str
) -> None:
    """Sequel, DBD::Pg's programs and migrations want to hear of warnings alone."""
    heard = []
    for con in (gateway, postgres):
        told: list[str | None] = []

        def hear(notice: psycopg.errors.Diagnostic, told: list[str | None] = told) -> None:
            told.append(notice.message_primary)

        con.add_notice_handler(hear)
        con.execute(f"SET client_min_messages = {level}")
        for statement in ("DROP TABLE IF EXISTS nowhere", "COMMIT", "RESET client_min_messages"):
            con.execute(statement)
        con.remove_notice_handler(hear)
        heard.append(told)
    assert heard[0] == heard[1]


def test_transactions_warn_of_what_changes_nothing(
    gateway: Connection, postgres: Connection
) -> None:
    """BEGIN within and COMMIT outside of a transaction, as ORMs and migrations send them."""
    heard = []
    for con in (gateway, postgres):
        told: list[tuple[str | None, ...]] = []

        def hear(
            notice: psycopg.errors.Diagnostic, told: list[tuple[str | None, ...]] = told
        ) -> None:
            told.append((notice.severity, notice.sqlstate, notice.message_primary))

        con.add_notice_handler(hear)
        for statement in (
            *("COMMIT", "ROLLBACK", "END", "ABORT", "SET LOCAL work_mem = '8MB'"),
            *("SET CONSTRAINTS ALL DEFERRED", "SET TRANSACTION READ ONLY", "SELECT 1; COMMIT"),
            "SET transaction_isolation = 'repeatable read'",
            *("START TRANSACTION", "BEGIN", "SET LOCAL work_mem = '8MB'", "SELECT nothing"),
            *("BEGIN", "ROLLBACK", "SELECT 1; BEGIN; SELECT 1", "COMMIT; COMMIT"),
        ):
            try:
                told.append((con.execute(statement).statusmessage,))
            except psycopg.Error as error:
                told.append((error.sqlstate,))
        con.remove_notice_handler(hear)
        heard.append(told)
    assert heard[0] == heard[1]


def test_blocks_tell_notices_and_ask_the_catalog(server: Server) -> None:
    heard: list[str | None] = []
    make = (
        "DO $$ BEGIN IF NOT EXISTS (SELECT 1 FROM pg_type WHERE typname = 'noted_mood')"
        " THEN CREATE TYPE noted_mood AS ENUM ('ok'); RAISE NOTICE 'made %', 1;"
        " ELSE RAISE NOTICE 'there'; END IF; END $$"
    )
    with psycopg.connect(server.dsn, autocommit=True) as driver:
        driver.add_notice_handler(lambda notice: heard.append(notice.message_primary))
        assert driver.execute(make).statusmessage == "DO"
        driver.execute(make)
        with pytest.raises(psycopg.errors.RaiseException, match="no: 3"):
            driver.execute(
                "DO $$ BEGIN DROP TYPE noted_mood; RAISE EXCEPTION 'no: %', 1 + 2; END $$"
            )
        driver.execute(make)
        driver.execute("DROP TYPE noted_mood")
    assert heard == ["made 1", "there", "there"]
