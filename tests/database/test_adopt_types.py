"""Types of adopted tables that the gateway has under another name: rows, and what others see."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from gateway.dbapi.connection import Connection
from gateway.procedures.adopting import adopt, eject

pytestmark = pytest.mark.stores

CLASSIC = ("_journal", "version_number", "subsequent_version_number")


def _type(admin: psycopg.Connection[Any], column: str) -> str:
    found = admin.execute(
        "SELECT format_type(atttypid, atttypmod) FROM pg_attribute"
        " WHERE attrelid = 'docs'::regclass AND attname = %s",
        [column],
    ).fetchone()
    assert found is not None
    return str(found[0])


def test_jsonb_stays_jsonb_for_others(con: Connection, admin: psycopg.Connection[Any]) -> None:
    admin.execute(
        "CREATE TABLE docs (id int PRIMARY KEY, data jsonb DEFAULT '{\"z\": 0}'::jsonb, v text);"
        """ INSERT INTO docs VALUES (1, '{"a": [1, 2], "b": null}', 'x'), (2, NULL, 'y');"""
        " CREATE INDEX docs_data ON docs USING gin (data);"
        " CREATE VIEW found AS SELECT id, data FROM docs WHERE data @> '{\"a\": [1]}'"
    )
    adopt(con.session, "docs", (), CLASSIC, run=True)
    assert _type(admin, "data") == "jsonb"
    con.execute("CALL system.backup('docs', name => 'first')")
    con.execute("INSERT INTO docs (id) VALUES (3)")
    con.execute("INSERT INTO docs VALUES (4, ?, 'w')", ['{"a":  [1]}'])
    con.execute("UPDATE docs SET v = 'z', data = ? WHERE id = 2", ['{"q": 2}'])
    con.execute("CALL system.backup('docs', name => 'before')")
    con.execute("CALL system.restore('docs', backup => 'first')")
    assert con.execute("SELECT count(*) FROM docs").fetchall() == [(2,)]
    con.execute("CALL system.restore('docs', backup => 'before')")
    for jobs in (False, True):
        if jobs:
            con.execute("OPTIMIZE docs")
        rows = con.execute("SELECT id, data->'a'->0, v FROM docs ORDER BY id").fetchall()
        assert rows == [(1, "1", "x"), (2, None, "z"), (3, None, None), (4, "1", "w")]
        assert admin.execute("SELECT id FROM found ORDER BY id").fetchall() == [(1,), (4,)]
    con.execute("ALTER TABLE docs ADD COLUMN more INTEGER")
    con.execute("CALL system.restore('docs', backup => 'before')")
    con.execute("ALTER TABLE docs RENAME COLUMN data TO body")
    assert _type(admin, "body") == "jsonb"
    eject(con.session, "docs", run=True)
    assert _type(admin, "body") == "jsonb"
    found = admin.execute("SELECT id, body FROM docs ORDER BY id").fetchall()
    assert [found[0], found[2]] == [(1, {"a": [1, 2], "b": None}), (3, {"z": 0})]
    assert admin.execute("SELECT id FROM found ORDER BY id").fetchall() == [(1,), (4,)]


def test_a_default_of_bytes(con: Connection, admin: psycopg.Connection[Any]) -> None:
    admin.execute(r"CREATE TABLE docs (id int PRIMARY KEY, b bytea DEFAULT '\xdead'::bytea)")
    adopt(con.session, "docs", (), CLASSIC, run=True)
    con.execute("INSERT INTO docs (id) VALUES (1)")
    assert con.execute("SELECT b FROM docs").fetchall() == [(b"\xde\xad",)]
    eject(con.session, "docs", run=True)
    admin.execute("INSERT INTO docs (id) VALUES (2)")
    assert admin.execute("SELECT b FROM docs WHERE id = 2").fetchall() == [(b"\xde\xad",)]


def test_columns_longer_than_names_may_be(con: Connection, admin: psycopg.Connection[Any]) -> None:
    name = "ü" * 40
    con.execute(f'CREATE TABLE docs (id INTEGER PRIMARY KEY, "{name}" VARCHAR UNIQUE)')
    con.execute("INSERT INTO docs VALUES (1, 'x')")
    assert con.execute(f'SELECT "{name}" FROM docs').fetchall() == [("x",)]
    assert admin.execute("SELECT * FROM docs").fetchall() == [(1, "x")]
