"""Compaction and purge of a database's journal on Spark through JDBC, with the real driver."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.jobs.engines import ENGINES, JDBC_JAR
from journal.erasure.erasure_spec import ErasureSpec
from journal.stores.postgres.journal import DatabaseJournal
from spark_compaction.backends.postgres.erasure import DatabaseErasure
from spark_compaction.backends.postgres.spark_filling import FUNCTION
from spark_compaction.engines.functions import load_function
from spark_compaction.engines.jdbc import fill
from spark_compaction.erasure.acceptance import accept
from tests.support.postgres import Cluster
from tests.support.spark import why_no_spark
from tests.support.traces import everything

pytestmark = pytest.mark.stores

TOKEN = "qz7-unmistakable-xk9"
_PLACES = ("/usr/share/java/postgresql.jar", "/usr/share/java/postgresql-jdbc4.jar")


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The jar that the environment names, or Debian's."""
    found = [p for p in (os.environ.get(JDBC_JAR, ""), *_PLACES) if p and Path(p).is_file()]
    if not found:
        pytest.skip(f"no JDBC driver: apt-get install libpostgresql-jdbc-java, or set {JDBC_JAR}")
    reason = why_no_spark()
    if reason is not None:
        pytest.skip(reason)
    monkeypatch.setenv(JDBC_JAR, found[0])
    yield found[0]
    ENGINES.close()


def _rows(con: Connection, sql: str) -> list[tuple[Any, ...]]:
    return list(con.execute(sql).fetchall())


@pytest.mark.timeout(300)
def test_a_compaction_on_spark_changes_no_answer(con: Connection, driver: str) -> None:
    con.execute(
        "CREATE TABLE t (a INTEGER, s VARCHAR, d DECIMAL(20, 6), f DOUBLE, ts TIMESTAMPTZ,"
        " day DATE, b BLOB, l INTEGER[], ok BOOLEAN, PRIMARY KEY (a, s))"
        " WITH (partitions = 'RANGE (day) BY MONTH')"
    )
    con.execute(
        "INSERT INTO t SELECT i, 'k''é ' || i, i / 7.0, i / 3.0,"
        " TIMESTAMPTZ '2024-01-01 00:00:00.123456+02' + i * INTERVAL '1' HOUR,"
        " CAST(DATE '2024-01-01' + i * INTERVAL '1' DAY AS DATE), 'ab', [i, NULL], i % 2 = 0"
        " FROM range(100) r(i)"
    )
    con.execute("INSERT INTO t (a, s) VALUES (1000, '')")
    con.execute("UPDATE t SET f = -0.0 WHERE a < 30")
    con.execute("DELETE FROM t WHERE a BETWEEN 20 AND 40")
    con.execute("ALTER TABLE t ADD COLUMN n INTEGER DEFAULT 7")
    con.execute("INSERT INTO t (a, s, n) VALUES (25, 'again', 9)")
    ever = "SELECT * FROM t FOR SYSTEM_TIME ALL ORDER BY a, s, version_number"
    asked = ("SELECT * FROM t ORDER BY a, s", ever)
    before = [_rows(con, sql) for sql in asked]
    con.execute("SET job_engine = 'spark'")
    for _ in range(2):
        assert _rows(con, "OPTIMIZE t")[0][3] == "SUCCEEDED"
        assert [_rows(con, sql) for sql in asked] == before
        con.execute("UPDATE t SET n = n WHERE a = 50")
        before = [_rows(con, sql) for sql in asked]
    assert con.session.executor.upkeep.verify().is_clean


@pytest.mark.timeout(300)
def test_a_purge_on_spark_leaves_nothing_and_others_as_they_were(
    con: Connection, driver: str, cluster: Cluster, database: str
) -> None:
    con.execute(
        "CREATE TABLE t (a INTEGER, s VARCHAR, d DECIMAL(20, 6), b BLOB, l INTEGER[],"
        " ts TIMESTAMPTZ, PRIMARY KEY (a, s)) WITH (erasure = 's')"
    )
    con.execute(
        "INSERT INTO t SELECT i, 'k''é ' || i, i / 7.0, 'ab', [i, NULL],"
        " TIMESTAMPTZ '2024-01-01 00:00:00.123456+02' + i * INTERVAL '1' HOUR FROM range(60) r(i)"
    )
    con.execute(f"INSERT INTO t (a, s) VALUES (1, '{TOKEN}'), (2, '{TOKEN}')")
    con.execute("CALL system.backup('t', name => 'good')")
    con.execute("UPDATE t SET d = 1 WHERE a < 30")
    con.execute("OPTIMIZE t")
    con.execute("ALTER TABLE t ADD COLUMN n INTEGER DEFAULT 7")
    con.execute(f"DELETE FROM t WHERE s = '{TOKEN}'")
    ever = f"SELECT * FROM t FOR SYSTEM_TIME ALL WHERE s <> '{TOKEN}' ORDER BY a, s, version_number"
    asked = ("SELECT * FROM t ORDER BY a, s", ever)
    before = [_rows(con, sql) for sql in asked]
    con.execute("SET job_engine = 'spark'")
    journal = con.session.journal
    assert isinstance(journal, DatabaseJournal)
    accept(DatabaseErasure(journal), ErasureSpec({"s": [TOKEN]}), "tester")
    (row,) = _rows(con, "CALL system.purge('t')")
    assert (row[3], row[6] > 0) == ("SUCCEEDED", True)
    assert TOKEN not in everything(cluster, database)
    assert [_rows(con, sql) for sql in asked] == before
    con.execute("SET job_engine = 'auto'")
    con.execute("DELETE FROM t")
    con.execute("CALL system.restore('t', backup => 'good')")
    assert _rows(con, "SELECT count(*) FROM t") == [(60,)]
    assert con.session.executor.upkeep.verify().is_clean


def test_the_worker_finds_the_functions() -> None:
    assert load_function(FUNCTION) is fill


def test_without_a_driver_it_says_what_to_do(
    con: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(JDBC_JAR, "/nowhere/postgresql.jar")
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    con.execute("INSERT INTO t VALUES (1)")
    con.execute("SET job_engine = 'spark'")
    with pytest.raises(gateway.Error, match="there is no JDBC driver"):
        con.execute("OPTIMIZE t")
