"""Roles that do not come through the gateway read what they were granted, and change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from gateway.adopting import adopt
from gateway.dbapi.connection import Connection
from tests.support.postgres import Cluster


@pytest.fixture
def admin(cluster: Cluster, database: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection of the views' owner that knows nothing of the gateway."""
    with psycopg.connect(cluster.conninfo(database), autocommit=True) as found:
        yield found


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
    assert filled.session.executor.sealer.verify().is_clean


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
