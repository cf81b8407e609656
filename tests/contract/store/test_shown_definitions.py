"""SHOW CREATE TABLE gives a statement that makes the table again, with all that it states."""

from __future__ import annotations

import pytest

from gateway.dbapi.connection import Connection
from tests.support.stores.store import Capability, Store


def _rows(con: Connection, sql: str) -> list[tuple[object, ...]]:
    return con.execute(sql).fetchall()


def _shown(con: Connection) -> list[object]:
    ((text,),) = _rows(con, "SHOW CREATE TABLE t")
    return [text, _rows(con, "SHOW TBLPROPERTIES t"), _rows(con, "SHOW POLICY t")]


def _check_made_again(con: Connection, *expected: str) -> None:
    """Drop ``t`` and run what SHOW CREATE TABLE gives: all that is shown of it is as before."""
    before = _shown(con)
    for words in expected:
        assert words in str(before[0])
    con.execute("DROP TABLE t")
    con.execute(str(before[0]))
    assert _shown(con) == before


def test_options_of_the_journal_and_comments(store: Store) -> None:
    con = store.connect()
    con.execute(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, note VARCHAR DEFAULT 'it''s')"
        " WITH (journal_suffix = '_old', journal_version_type = 'BIGINT', 'a b' = 'it''s')"
    )
    con.execute("COMMENT ON TABLE t IS 'it''s a table'")
    con.execute('COMMENT ON COLUMN t.note IS $$what "it" is$$')
    _check_made_again(con, "COMMENT 'it''s a table'", "'a b' = 'it''s'", "'_old'", "'BIGINT'")


@pytest.mark.also_on("hive")
@pytest.mark.needs(Capability.ERASURE)
def test_descriptors_and_policies_name_columns_as_they_are_called_now(store: Store) -> None:
    con = store.connect()
    con.execute(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, email VARCHAR, fax VARCHAR, day DATE)"
        " WITH (erasure = 'email LOWER, fax PHONE CH AS phone FPP 0.01', filters = 'fax')"
    )
    con.execute("ALTER TABLE t SET POLICY (RETENTION = 30 DAYS ON COLUMN day, BACKUP = 7 DAYS)")
    con.execute('ALTER TABLE t RENAME COLUMN email TO "E mail"')
    con.execute("ALTER TABLE t RENAME COLUMN day TO moment")
    con.execute("ALTER TABLE t RENAME COLUMN fax TO email")
    said = """'"E mail" AS email LOWER, email AS phone PHONE 41:00:0:9-9 FPP 0.01'"""
    _check_made_again(con, said, "'policy_retention_column' = 'moment'", "'policy_backup'")
    assert ("erasure", said.strip("'")) in _rows(con, "SHOW TBLPROPERTIES t")


@pytest.mark.also_on("hive")
@pytest.mark.needs(Capability.ERASURE)
def test_what_identified_people_in_a_column_that_is_gone_is_left_out(store: Store) -> None:
    con = store.connect()
    con.execute(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, email VARCHAR, fax VARCHAR)"
        " WITH (erasure = 'email, fax')"
    )
    con.execute("ALTER TABLE t DROP COLUMN fax")
    _check_made_again(con, "'erasure' = 'email AS email'")
    con.execute("ALTER TABLE t DROP COLUMN email")
    ((text,),) = _rows(con, "SHOW CREATE TABLE t")
    assert "erasure" not in text
