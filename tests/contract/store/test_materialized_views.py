"""Materialised views on every store: stored rows, refreshes, refused writes, and erasures."""

from __future__ import annotations

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.erasure_program import erasure_of
from journal.erasure.erasure_spec import ErasureSpec
from tests.support.kept import rows
from tests.support.stores.store import Capability, Store

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def con(store: Store) -> Connection:
    """A connection to a store with a table and two materialised views, one of the other."""
    found = store.connect()
    erasure = " WITH (erasure = 'email')" if Capability.ERASURE in store.capabilities else ""
    found.execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, email VARCHAR, n INTEGER){erasure}")
    found.execute("INSERT INTO t VALUES (1, 'ann@x.org', 10), (2, 'bob@x.org', 20)")
    found.execute("CREATE MATERIALIZED VIEW m AS SELECT email, n FROM t")
    found.execute("CREATE MATERIALIZED VIEW s (total) AS SELECT CAST(sum(n) AS BIGINT) FROM m")
    return found


def _state(con: Connection, sql: str) -> str:
    with pytest.raises(gateway.Error) as raised:
        con.execute(sql).fetchall()
    return str(raised.value.sqlstate)


def test_rows_are_those_of_the_last_refresh(store: Store, con: Connection) -> None:
    con.execute("INSERT INTO t VALUES (3, 'cyd@x.org', 30)")
    assert rows(con, "SELECT n FROM m ORDER BY n") == [(10,), (20,)]
    assert con.execute("REFRESH MATERIALIZED VIEW m").rowcount == 3
    assert rows(con, "SELECT n FROM m ORDER BY n") == [(10,), (20,), (30,)]
    assert rows(con, "SELECT total FROM s") == [(30,)]
    con.execute("REFRESH MATERIALIZED VIEW s")
    assert rows(store.connect(), "SELECT total FROM s") == [(60,)]
    assert rows(con, "SELECT sum(n), count(*) FROM m WHERE n > 10") == [(50, 2)]
    con.execute("BEGIN")
    con.execute("DELETE FROM t")
    con.execute("REFRESH MATERIALIZED VIEW m")
    assert rows(con, "SELECT n FROM m") == []
    con.execute("ROLLBACK")
    assert rows(con, "SELECT count(*) FROM m") == [(3,)]


@pytest.mark.also_on("hive")
def test_a_transaction_sees_what_its_snapshot_has(store: Store, con: Connection) -> None:
    reader = store.connect()
    reader.execute("BEGIN")
    assert rows(reader, "SELECT count(*) FROM t") == [(2,)]
    con.execute("DELETE FROM t WHERE id = 1")
    con.execute("REFRESH MATERIALIZED VIEW m")
    assert rows(reader, "SELECT count(*) FROM m") == [(2,)]
    reader.execute("COMMIT")
    assert rows(reader, "SELECT count(*) FROM m") == [(1,)]
    con.execute("DROP MATERIALIZED VIEW m")
    con.execute("UNDROP TABLE m")
    assert _state(con, "SELECT * FROM m") == "55000"


@pytest.mark.also_on("hive")
def test_stars_and_unique_indexes_are_checked_by_a_refresh(con: Connection) -> None:
    con.execute("CREATE MATERIALIZED VIEW e AS SELECT * FROM t")
    con.execute("CREATE UNIQUE INDEX one_n ON e (n)")
    con.execute("ALTER TABLE t ADD COLUMN z INTEGER")
    con.execute("INSERT INTO t (id, email, n) VALUES (3, 'cyd@x.org', 20)")
    assert _state(con, "REFRESH MATERIALIZED VIEW e") == "23505"
    con.execute("UPDATE t SET n = 30 WHERE id = 3")
    con.execute("REFRESH MATERIALIZED VIEW e")
    assert rows(con, "SELECT * FROM e WHERE id = 3") == [(3, "cyd@x.org", 30)]
    con.execute("ALTER TABLE t RENAME COLUMN n TO amount")
    assert _state(con, "REFRESH MATERIALIZED VIEW e") == "42P16"
    assert rows(con, "SELECT count(*) FROM e") == [(3,)]


def test_only_a_refresh_writes(con: Connection) -> None:
    for sql, state in (
        ("INSERT INTO m VALUES ('x', 1)", "42809"),
        ("UPDATE m SET n = 1", "42809"),
        ("DELETE FROM m", "42809"),
        ("TRUNCATE m", "42809"),
        ("MERGE INTO m USING t ON m.n = t.n WHEN MATCHED THEN DELETE", "42809"),
        ("ALTER TABLE m ADD COLUMN x INTEGER", "42809"),
        ("DROP TABLE m", "42809"),
        ("DROP VIEW m", "42809"),
        ("DROP MATERIALIZED VIEW t", "42809"),
        ("REFRESH MATERIALIZED VIEW t", "42809"),
        ("REFRESH MATERIALIZED VIEW nowhere", "42P01"),
        ("REFRESH MATERIALIZED VIEW CONCURRENTLY m WITH NO DATA", "42601"),
        ("CREATE MATERIALIZED VIEW m AS SELECT 1 AS a", "42P07"),
        ("SELECT * FROM m FOR SYSTEM_TIME ALL", "42809"),
        ("SELECT * FROM table_history('m')", "42809"),
    ):
        assert _state(con, sql) == state, sql
    assert rows(con, "SELECT count(*) FROM m") == [(2,)]


@pytest.mark.also_on("hive")
def test_from_its_making_to_its_end(con: Connection) -> None:
    con.execute("CREATE MATERIALIZED VIEW IF NOT EXISTS m AS SELECT 1 AS a")
    con.execute("CREATE MATERIALIZED VIEW e AS SELECT id FROM t WITH NO DATA")
    assert _state(con, "SELECT * FROM e") == "55000"
    con.execute("REFRESH MATERIALIZED VIEW e WITH DATA")
    assert rows(con, "SELECT id FROM e ORDER BY id") == [(1,), (2,)]
    con.execute("REFRESH MATERIALIZED VIEW e WITH NO DATA")
    assert _state(con, "SELECT count(*) FROM e") == "55000"
    con.execute(
        "CREATE OR REPLACE MATERIALIZED VIEW e AS"
        " SELECT CAST(max(n) AS BIGINT) AS top FROM t WITH DATA"
    )
    assert rows(con, "SELECT top FROM e") == [(20,)]
    con.execute("ALTER MATERIALIZED VIEW e RENAME TO f")
    con.execute("UPDATE t SET n = 21 WHERE id = 2")
    con.execute("REFRESH MATERIALIZED VIEW f")
    assert rows(con, "SELECT top FROM f") == [(21,)]
    con.execute("DROP MATERIALIZED VIEW f")
    con.execute("DROP MATERIALIZED VIEW IF EXISTS f, s")
    assert _state(con, "SELECT * FROM s") == "42P01"


def test_a_job_refreshes(con: Connection) -> None:
    con.execute("ALTER MATERIALIZED VIEW m SET POLICY (SCHEDULE_refresh = '0 * * * *')")
    assert _state(con, "ALTER MATERIALIZED VIEW m SET POLICY (VERSIONS = 'x')") != "00000"
    assert _state(con, "ALTER MATERIALIZED VIEW m SET (erasure = 'email')") == "0A000"
    con.execute("INSERT INTO t VALUES (3, 'cyd@x.org', 30)")
    con.execute("CALL system.refresh('m')").fetchall()
    assert rows(con, "SELECT count(*) FROM m") == [(3,)]
    ((version, stale),) = rows(
        con, "SELECT refreshed_version, reads_query FROM system.materialized_views WHERE name = 'm'"
    )
    assert version is not None
    assert not stale


@pytest.mark.also_on("hive")
def test_the_past_is_that_of_its_query(con: Connection) -> None:
    ((before,),) = rows(con, "SELECT max(version) FROM system.transactions")
    con.execute("UPDATE t SET n = 11 WHERE id = 1")
    con.execute("REFRESH MATERIALIZED VIEW m")
    past = f"SELECT n FROM m FOR SYSTEM_VERSION AS OF {before} ORDER BY n"
    assert rows(con, past) == [(10,), (20,)]


@pytest.mark.long
@pytest.mark.needs(Capability.ERASURE)
def test_an_erasure_reaches_its_rows(store: Store, con: Connection) -> None:
    con.execute("ERASE FROM t WHERE email = 'ann@x.org' REASON 'asked'")
    other = store.connect()
    for reader in (con, other):
        assert rows(reader, "SELECT email FROM m") == [("bob@x.org",)]
        assert rows(reader, "SELECT total FROM s") == [(20,)]
    con.execute("CALL system.purge()").fetchall()
    assert rows(con, "SELECT DISTINCT state FROM system.erasures") == [("COMPLETED",)]
    assert rows(con, "SELECT DISTINCT email FROM m_journal") == [("bob@x.org",)]
    assert store.holders("ann@x.org") == []
    assert rows(other, "SELECT email FROM m") == [("bob@x.org",)]
    assert rows(other, "SELECT total FROM s") == [(20,)]


@pytest.mark.needs(Capability.ERASURE)
@pytest.mark.also_on("hive")
def test_what_cannot_be_refreshed_has_no_rows_from_then_on(con: Connection) -> None:
    con.execute("CREATE TABLE u (id INTEGER PRIMARY KEY)")
    con.execute("CREATE MATERIALIZED VIEW j AS SELECT t.email FROM t, u")
    con.execute("INSERT INTO u VALUES (7)")
    con.execute("REFRESH MATERIALIZED VIEW j")
    con.execute("DROP TABLE u")
    assert rows(con, "SELECT count(*) FROM j") == [(2,)]
    con.execute("ERASE FROM t WHERE email = 'ann@x.org' REASON 'asked'")
    assert _state(con, "SELECT * FROM j") == "55000"
    con.execute("UNDROP TABLE u")
    con.execute("REFRESH MATERIALIZED VIEW j")
    assert rows(con, "SELECT email FROM j") == [("bob@x.org",)]


@pytest.mark.needs(Capability.ERASURE)
@pytest.mark.also_on("hive")
def test_a_refresh_that_read_before_an_erasure_does_not_commit_after_it(
    store: Store, con: Connection
) -> None:
    con.execute("CREATE MATERIALIZED VIEW e AS SELECT email FROM t WITH NO DATA")
    late = store.connect()
    late.execute("BEGIN")
    late.execute("REFRESH MATERIALIZED VIEW e")
    con.execute("ERASE FROM t WHERE email = 'ann@x.org' REASON 'asked'")
    assert _state(late, "COMMIT") == "40001"
    assert _state(con, "SELECT * FROM e") == "55000"
    con.execute("REFRESH MATERIALIZED VIEW e")
    assert rows(con, "SELECT email FROM e") == [("bob@x.org",)]


@pytest.mark.long
@pytest.mark.needs(Capability.ERASURE)
@pytest.mark.also_on("hive")
def test_what_a_hold_keeps_is_not_stored_again(store: Store, con: Connection) -> None:
    con.execute("PLACE HOLD ON t WHERE id = 1 REASON 'a case'")
    ((hold,),) = rows(con, "SELECT id FROM system.holds")
    con.execute("ERASE FROM t WHERE email = 'ann@x.org' REASON 'asked'")
    assert rows(con, "SELECT email FROM m ORDER BY 1") == [("ann@x.org",), ("bob@x.org",)]
    assert _state(con, "REFRESH MATERIALIZED VIEW m") == "55000"
    con.execute(f"RELEASE HOLD '{hold}'")
    assert rows(con, "SELECT email FROM m") == [("bob@x.org",)]
    con.execute("CALL system.purge()").fetchall()
    assert rows(con, "SELECT email FROM m") == [("bob@x.org",)]
    assert rows(con, "SELECT DISTINCT email FROM m_journal") == [("bob@x.org",)]
    assert store.holders("ann@x.org") == []
    con.execute("REFRESH MATERIALIZED VIEW m")


@pytest.mark.long
@pytest.mark.needs(Capability.ERASURE)
@pytest.mark.also_on("hive")
def test_a_request_that_names_people_reaches_them_too(store: Store, con: Connection) -> None:
    wanted = ErasureSpec(subjects={"email": ["ann@x.org"]})
    program = erasure_of(con.session)
    con.execute("CALL system.backup('m', name => 'kept')").fetchall()
    request = program.accept(wanted, "test")
    assert rows(con, "SELECT total FROM s") == [(20,)]
    program.cancel(request, "test")
    assert rows(con, "SELECT email FROM m ORDER BY 1") == [("ann@x.org",), ("bob@x.org",)]
    assert rows(con, "SELECT total FROM s") == [(30,)]
    program.accept(wanted, "test")
    con.execute("CALL system.purge()").fetchall()
    assert rows(con, "SELECT email FROM m") == [("bob@x.org",)]
    assert store.holders("ann@x.org") == []
