"""Tags of columns and their masks on every store: in each statement, at any version."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.requests import audit_check, audit_entries
from tests.support.stores.store import Capability, Store

pytestmark = [pytest.mark.timeout(900), pytest.mark.needs(Capability.ACCESS_CONTROL)]

_SETUP = """
CREATE TABLE people (k INTEGER PRIMARY KEY, mail VARCHAR, pay INTEGER, note VARCHAR);
INSERT INTO people VALUES (1, 'ada@x', 10, 'n'), (2, NULL, 20, 'n');
UPDATE people SET mail = 'ada@y' WHERE k = 1;
CREATE VIEW mails AS SELECT k, mail FROM people;
CREATE ROLE ann;
GRANT SELECT, INSERT, UPDATE, DELETE, HISTORY ON people TO ann;
GRANT SELECT ON mails TO ann;
ALTER TABLE people ALTER COLUMN mail SET TAG = (PII, contact);
ALTER TABLE people MODIFY COLUMN pay SET TAG PII
"""
_MASK = "ALTER TAG pii SET MASKING POLICY (left(value, 1) || '***')"


@pytest.fixture
def con(store: Store) -> Connection:
    """A store with tagged columns, which have no mask yet."""
    con = store.connect(user="root")
    for sql in _SETUP.strip().split(";\n"):
        con.execute(sql)
    return con


def _rows(con: Connection, sql: str) -> list[tuple[Any, ...]]:
    return sorted(con.execute(sql).fetchall(), key=repr)


def _state(con: Connection, sql: str) -> str:
    try:
        con.execute(sql)
    except gateway.Error as error:
        return error.sqlstate
    return ""


@pytest.mark.also_on("hive")
def test_who_lacks_a_tag_sees_its_mask(con: Connection) -> None:
    clear = [(1, "ada@y", 10, "n"), (2, None, 20, "n")]
    masked = [(1, "a***", None, "n"), (2, None, None, "n")]
    query = "SELECT * FROM people"
    version = con.execute("SELECT max(version) FROM system.transactions").fetchall()[0][0]
    con.execute("SET ROLE ann")
    assert _rows(con, query) == clear
    con.execute("RESET ROLE")
    con.execute(_MASK)
    assert _rows(con, query) == clear
    con.execute("SET ROLE ann")
    assert _rows(con, query) == masked
    assert _rows(con, "SELECT k FROM people WHERE mail = 'ada@y' OR pay > 0") == []
    assert _rows(con, "SELECT * FROM mails") == [(1, "a***"), (2, None)]
    assert _rows(con, f"{query} FOR SYSTEM_VERSION AS OF {version}") == masked
    past = "SELECT DISTINCT mail, pay FROM table_history('people') WHERE k = 1"
    assert _rows(con, past) == [("a***", None)]
    cells = "SELECT value FROM table_blame('people', columns => true) WHERE column_name = 'mail'"
    assert _rows(con, cells) == [("a***",), (None,)]
    assert _state(con, "SELECT * FROM people_journal") == "42501"
    # A column that is not assigned keeps its value; what is copied is what the role sees.
    con.execute("UPDATE people SET note = mail WHERE k = 1")
    con.execute("RESET ROLE")
    assert _rows(con, "SELECT mail, pay, note FROM people WHERE k = 1") == [("ada@y", 10, "a***")]
    con.execute("GRANT SELECT ON TAG PII TO ann")
    con.execute("SET ROLE ann")
    assert _rows(con, "SELECT k, mail, pay FROM people") == [row[:3] for row in clear]
    con.execute("RESET ROLE")
    con.execute("REVOKE SELECT ON TAG PII FROM ann")
    con.execute("SET ROLE ann")
    assert _rows(con, "SELECT pay FROM people") == [(None,), (None,)]


@pytest.mark.also_on("hive")
def test_a_tag_has_a_mask_for_each_family_of_types(con: Connection) -> None:
    con.execute(
        "CREATE TABLE typed (k INTEGER, s SMALLINT, d DECIMAL(8, 2), x DOUBLE, born DATE,"
        " seen TIMESTAMP, flag BOOLEAN, mail VARCHAR)"
    )
    con.execute(
        "INSERT INTO typed VALUES (1, 123, 456.78, 9.5, DATE '1990-05-06',"
        " TIMESTAMP '2024-02-03 04:05:06', TRUE, 'ada@x')"
    )
    con.execute("GRANT SELECT ON typed TO ann")
    for name in ("s", "d", "x", "born", "seen", "flag", "mail"):
        con.execute(f"ALTER TABLE typed ALTER COLUMN {name} SET TAG PII")
    query = "SELECT s, d, x, born, seen, flag, mail FROM typed"
    (clear,) = con.execute(query).fetchall()

    def seen_by_ann() -> tuple[Any, ...]:
        con.execute("SET ROLE ann")
        (row,) = con.execute(query).fetchall()
        con.execute("RESET ROLE")
        return tuple(row)

    assert seen_by_ann() == clear
    # The first mask closes the columns that it does not fit.
    con.execute("ALTER TAG pii SET MASKING POLICY (date_trunc('year', value)) FOR DATE")
    january = (date(1990, 1, 1), datetime(2024, 1, 1))  # noqa: DTZ001 - the column has no zone
    assert seen_by_ann() == (None, None, None, *january, None, None)
    con.execute("ALTER TAG pii SET MASKING POLICY (0) FOR BIGINT")
    con.execute("ALTER TAG pii SET MASKING POLICY (value = value) FOR BOOLEAN")
    con.execute(_MASK)
    assert seen_by_ann() == (0, Decimal("0.00"), 0.0, *january, True, "a***")
    # A new mask takes the place of the one for the same family.
    con.execute("ALTER TAG pii SET MASKING POLICY (7) FOR DECIMAL(5, 1)")
    assert seen_by_ann() == (7, Decimal("7.00"), 7.0, *january, True, "a***")
    con.execute("ALTER TAG pii DROP MASKING POLICY FOR INTEGER")
    assert seen_by_ann() == (None, None, None, *january, True, "a***")
    masks = "SELECT types FROM system.access_policies WHERE tag IS NOT NULL"
    assert _rows(con, masks) == [("BOOLEAN",), ("date",), ("text",)]
    for sql, state in (
        ("ALTER TAG pii SET MASKING POLICY ('x') FOR DATE", "42P16"),
        ("ALTER TAG pii DROP MASKING POLICY FOR INTEGER", "42P16"),
        ("ALTER TAG pii SET MASKING POLICY (0) FOR INTEGER INTEGER", "42601"),
    ):
        assert _state(con, sql) == state, sql
    con.execute("ALTER TAG pii DROP MASKING POLICY")
    assert seen_by_ann() == clear


@pytest.mark.also_on("hive")
def test_tags_are_set_by_owners_and_masked_by_admins(con: Connection) -> None:
    for sql, state in (
        ("ALTER TABLE people ALTER nope SET TAG a", "42703"),
        ("ALTER TABLE nope SET TAG a", "42P01"),
        ("ALTER TABLE mails SET TAG a", "42809"),
        ("ALTER TABLE people ALTER k UNSET TAG pii", "42P16"),
        ("ALTER TAG other DROP MASKING POLICY", "42P16"),
        ("ALTER TAG pii SET MASKING POLICY (other_column)", "42703"),
        ("ALTER TAG pii SET MASKING POLICY (1)", "42P16"),
        ("GRANT SELECT ON TAG unknown TO ann", "0LP01"),
        ("GRANT UPDATE ON TAG pii TO ann", "0LP01"),
        ("ALTER TABLE IF EXISTS nope SET TAG a", ""),
        ("ALTER TABLE people ALTER mail UNSET TAG (contact)", ""),
    ):
        assert _state(con, sql) == state, sql
    con.execute("SET ROLE ann")
    for sql in (
        "ALTER TABLE people ALTER mail UNSET TAG",
        _MASK,
        "GRANT SELECT ON TAG pii TO ann",
    ):
        assert _state(con, sql) == "42501", sql


@pytest.mark.also_on("hive")
def test_tags_are_shown_and_audited(con: Connection) -> None:
    con.execute(_MASK)
    con.execute("GRANT SELECT ON TAG pii TO ann")
    con.execute("ALTER TABLE people RENAME COLUMN mail TO address")
    con.execute("ALTER TABLE people SET TAG = (staff)")
    con.execute("ALTER TABLE people ALTER pay UNSET TAG")
    people = f"{con.client_session.catalog.home}.people"
    shown = 'SELECT "table", "column", tag, kind, origin FROM system.tags WHERE kind = \'set\''
    assert _rows(con, shown) == [
        ("people", "address", "PII", "set", f"{people}.address"),
        ("people", "address", "contact", "set", f"{people}.address"),
        ("people", None, "staff", "set", people),
    ]
    masks = "SELECT tag, kind, expression, types FROM system.access_policies"
    assert _rows(con, masks) == [("PII", "tag", "LEFT(\"value\", 1) || '***'", "text")]
    granted = "SELECT name, grantee, privilege FROM system.privileges WHERE kind = 'tag'"
    assert _rows(con, granted) == [("PII", "ann", "SELECT")]
    entries = con.client_session.perform(audit_entries)
    details = [json.loads(e.detail) for e in entries if e.action == "tag.change"]
    assert details[0] == {"tagged": ["PII (mail)", "contact (mail)"]}
    assert details[-1] == {"untagged": ["PII (pay)"]}
    assert con.client_session.perform(audit_check, None).problems == ()
