"""Writes of a few rows find them by index: the server never reads a whole journal for them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

import gateway
from tests.support.postgres import Cluster

pytestmark = pytest.mark.stores

ROWS = 20_000
_MERGE = (
    "MERGE INTO t USING (VALUES (5, 1), (-6, 2)) s(k, v) ON t.a = s.k"
    " WHEN MATCHED THEN UPDATE SET c = s.v WHEN NOT MATCHED THEN INSERT VALUES (s.k, 0, s.v)"
)
WRITES = {
    "one row": "INSERT INTO t VALUES (-1, 1, 1)",
    "some rows": "INSERT INTO t VALUES (-1, 1, 1), (-2, 1, 1), (-3, 1, 1)",
    "rows of a query": "INSERT INTO t SELECT -a, b, c FROM t WHERE a IN (5, 7)",
    "a row with its result": "INSERT INTO t VALUES (-1, 1, 1) RETURNING a",
    "an update": "UPDATE t SET c = c + 1 WHERE a = 7",
    "an update of some": "UPDATE t SET c = c + 1 WHERE a IN (5, 7)",
    "an update with its result": "UPDATE t SET c = c + 1 WHERE a = 7 RETURNING c",
    "a delete": "DELETE FROM t WHERE a = 7",
    "an upsert": "INSERT INTO t VALUES (7, 1, 1), (-7, 1, 1) ON CONFLICT (a) DO UPDATE SET c = 0",
    "a merge": _MERGE,
    "a transaction": "BEGIN; UPDATE t SET c = c + 1 WHERE a = 7; INSERT INTO t VALUES (-1, 1, 1);"
    " UPDATE t SET c = c + 1 WHERE a IN (-1, 7, 9); COMMIT",
}
_READ = (
    "SELECT coalesce(sum(seq_tup_read), 0)::bigint FROM pg_stat_all_tables"
    " WHERE schemaname = '_palimpsest' AND relname LIKE 't%'"
)


@pytest.fixture(scope="module", params=["in the head", "compacted"])
def filled(cluster: Cluster, request: pytest.FixtureRequest) -> str:
    """A database with a table of many rows."""
    name = cluster.database()
    with gateway.connect(cluster.url(name), autocommit=True) as con:
        con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER, c BIGINT)")
        con.execute(f"INSERT INTO t SELECT i, i * 7, i FROM range({ROWS}) AS r(i)")
        if request.param == "compacted":
            con.execute("OPTIMIZE t")
    with psycopg.connect(cluster.conninfo(name), autocommit=True) as admin:
        admin.execute("ANALYZE")
    return name


@pytest.fixture
def admin(cluster: Cluster, filled: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection that does not come through the gateway."""
    with psycopg.connect(cluster.conninfo(filled), autocommit=True) as found:
        yield found


def _read(admin: psycopg.Connection[Any]) -> int:
    """Rows that were read by scans of whole tables, when all others have told theirs."""
    ours = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    deadline = time.monotonic() + 30
    while admin.execute(f"{ours} AND backend_type = 'client backend'").fetchall() != [(1,)]:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return int(admin.execute(_READ).fetchall()[0][0])


@pytest.mark.parametrize("name", WRITES)
def test_a_write_of_few_rows_reads_no_whole_journal(
    cluster: Cluster, filled: str, admin: psycopg.Connection[Any], name: str
) -> None:
    before = _read(admin)
    with gateway.connect(cluster.url(filled), autocommit=True) as con:
        for _ in range(2):
            for sql in WRITES[name].split("; "):
                con.execute(sql)
            con.execute("DELETE FROM t WHERE a IN (-1, -2, -3, -5, -6, -7)")
    assert _read(admin) - before < ROWS
