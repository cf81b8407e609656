"""Roles that do not come through the gateway read what they were granted, and change nothing."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.adopting import adopt

pytestmark = pytest.mark.stores


@pytest.fixture
def reader(admin: psycopg.Connection[Any], database: str) -> str:
    """A role that may read what it is granted."""
    name = f"reader_{database}"
    admin.execute(f"CREATE ROLE {name}")
    return name


@pytest.fixture
def filled(con: Connection) -> Connection:
    """A connection to a database with a table, and a view of a client's."""
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
    con.execute("INSERT INTO t VALUES (1, 'one'), (2, 'two')")
    con.execute("CREATE VIEW v AS SELECT a, b FROM t WHERE a > 0")
    return con


@pytest.mark.parametrize("compacted", [False, True])
@pytest.mark.parametrize("place", ["t", "t_journal", "v"])
def test_nobody_writes_past_the_gateway(
    filled: Connection, admin: psycopg.Connection[Any], place: str, compacted: bool
) -> None:
    if compacted:
        filled.execute("OPTIMIZE t")
    for sql in (
        "UPDATE {0} SET b = 'x' WHERE a = 1",
        "DELETE FROM {0} WHERE a = 1",
        "INSERT INTO {0} (a, b) VALUES (3, 'x')",
        "TRUNCATE {0}",
    ):
        with pytest.raises(psycopg.Error):
            admin.execute(sql.format(place))
    assert filled.execute("SELECT * FROM t ORDER BY a").fetchall() == [(1, "one"), (2, "two")]
    assert filled.session.executor.upkeep.verify().is_clean


def test_who_tries_to_write_is_told_where(
    filled: Connection, admin: psycopg.Connection[Any]
) -> None:
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="t can only be read here") as told:
        admin.execute("DELETE FROM t")
    assert "through the gateway" in (told.value.diag.message_hint or "")


def test_grants_stay_when_definitions_change(
    filled: Connection, admin: psycopg.Connection[Any], reader: str
) -> None:
    admin.execute(f"GRANT SELECT ON t TO {reader} WITH GRANT OPTION")
    admin.execute(f"GRANT SELECT ON v TO {reader}")
    admin.execute(f"GRANT SELECT (a) ON t_journal TO {reader}")
    admin.execute("GRANT SELECT ON v TO PUBLIC")
    asked = (
        f"SELECT has_table_privilege('{reader}', '{{0}}', 'SELECT WITH GRANT OPTION'),"
        f" has_table_privilege('{reader}', 'v', 'SELECT'),"
        f" has_column_privilege('{reader}', '{{0}}_journal', 'a', 'SELECT'),"
        f" has_column_privilege('{reader}', '{{0}}_journal', 'b', 'SELECT')"
    )
    for sql in (
        "ALTER TABLE t ADD COLUMN c INTEGER",
        "ALTER TABLE t DROP COLUMN c",
        "CREATE TABLE other (a INTEGER)",
        "OPTIMIZE t",
        "ALTER TABLE t SET TBLPROPERTIES ('erasure' = 'b')",
        "ERASE FROM t WHERE b = 'two'",
    ):
        filled.execute(sql)
        assert admin.execute(asked.format("t")).fetchall() == [(True, True, True, False)], sql
    filled.execute("DROP VIEW v")
    filled.execute("ALTER TABLE t RENAME TO u")
    filled.execute("CREATE VIEW v AS SELECT a FROM u")
    assert admin.execute(asked.format("u")).fetchall() == [(True, False, True, False)]


def test_grants_on_a_table_that_is_adopted_hold_for_its_view(
    con: Connection, admin: psycopg.Connection[Any], reader: str
) -> None:
    admin.execute("CREATE TABLE plain (a integer PRIMARY KEY, b text)")
    admin.execute(f"GRANT SELECT ON plain TO {reader}")
    adopt(con.session, "plain", (), ("_journal", "version_number", "subsequent_version_number"),
          run=True)  # fmt: skip
    con.execute("INSERT INTO plain VALUES (1, 'one')")
    admin.execute(f"SET ROLE {reader}")
    assert admin.execute("SELECT * FROM plain").fetchall() == [(1, "one")]


def test_views_of_others_go_on_reading_what_changes(
    filled: Connection, admin: psycopg.Connection[Any]
) -> None:
    """As over a plain table, but for columns that go, which no view can lose."""
    admin.execute("CREATE VIEW theirs AS SELECT a, b FROM t")
    admin.execute("CREATE VIEW above AS SELECT a, b FROM v")
    for sql in (
        "ALTER TABLE t ADD COLUMN c INTEGER DEFAULT 5",
        "ALTER TABLE t ALTER COLUMN b SET DEFAULT 'new'",
        "ALTER TABLE t ALTER COLUMN a SET NOT NULL",
        "ALTER TABLE t ADD UNIQUE (b)",
        "COMMENT ON COLUMN t.a IS 'the key'",
        "ALTER TABLE t SET TBLPROPERTIES ('erasure' = 'b')",
        "CREATE TABLE other (a INTEGER)",
        "CREATE OR REPLACE VIEW v AS SELECT a, b, 'more' AS c FROM t",
        "DROP TABLE other",
        "ALTER TABLE t RENAME COLUMN c TO d",
        "OPTIMIZE t",
    ):
        filled.execute(sql)
    filled.execute("INSERT INTO t (a) VALUES (3)")
    rows = [(1, "one"), (2, "two"), (3, "new")]
    assert admin.execute("SELECT * FROM theirs ORDER BY a").fetchall() == rows
    assert admin.execute("SELECT * FROM above ORDER BY a").fetchall() == rows
    for sql, state in (
        ("ALTER TABLE t DROP COLUMN b", "2BP01"),
        ("ALTER TABLE t ALTER COLUMN d TYPE BIGINT", "0A000"),
        ("CREATE OR REPLACE VIEW v AS SELECT b FROM t", "2BP01"),
        ("DROP VIEW v", "2BP01"),
    ):
        with pytest.raises(gateway.Error) as raised:
            filled.execute(sql)
        assert raised.value.sqlstate == state, sql
    admin.execute("DROP VIEW above")
    filled.execute("DROP VIEW v")
    filled.execute("ALTER TABLE t RENAME TO u")
    filled.execute("UPDATE u SET b = upper(b)")
    upper = [(1, "ONE"), (2, "TWO"), (3, "NEW")]
    assert admin.execute("SELECT * FROM theirs ORDER BY a").fetchall() == upper
    assert admin.execute("SELECT a, d FROM u ORDER BY a").fetchall() == [(1, 5), (2, 5), (3, 5)]
    assert admin.execute("SELECT count(*) FROM u_journal").fetchall() != [(0,)]
    with pytest.raises(gateway.Error, match="outside the gateway"):
        filled.execute("DROP TABLE u")
    admin.execute("DROP VIEW theirs")
    filled.execute("ALTER TABLE u ALTER COLUMN d TYPE BIGINT")
    filled.execute("DROP TABLE u")


def test_views_of_clients_follow_too(filled: Connection, admin: psycopg.Connection[Any]) -> None:
    filled.execute("CREATE VIEW w AS SELECT * FROM v")
    filled.execute("ALTER TABLE t ADD COLUMN c INTEGER")
    filled.execute("CREATE OR REPLACE VIEW v AS SELECT b, a FROM t")
    for con in (filled, admin):
        assert con.execute("SELECT b, a FROM v ORDER BY a").fetchall() == [("one", 1), ("two", 2)]
    filled.execute("ALTER TABLE t ALTER COLUMN c TYPE BIGINT")
    filled.execute("ALTER TABLE t RENAME COLUMN c TO d")
    assert admin.execute("SELECT * FROM v ORDER BY a").fetchall() == [("one", 1), ("two", 2)]
    filled.execute("DROP VIEW w")
    filled.execute("CREATE OR REPLACE VIEW v AS SELECT a FROM t FOR SYSTEM_TIME AS OF now()")
    assert admin.execute("SELECT to_regclass('v')").fetchall() == [(None,)]
