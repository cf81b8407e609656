"""Materialised views beside PostgreSQL's own: the same statements, the same rows and errors.

What depends on what is dropped is left out: views of the gateway hold nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.engine import Engine
from tests.support.gateway_engine import GatewayEngine
from tests.support.outcome import comparable, describe, difference
from tests.support.postgres import Cluster
from tests.support.postgres_oracle import PostgresOracle

pytestmark = pytest.mark.timeout(240)

SCRIPT = """
CREATE TABLE t (k INTEGER PRIMARY KEY, g VARCHAR(9), v INTEGER)
INSERT INTO t VALUES (1, 'a', 10), (2, 'b', 20), (3, 'a', 30), (4, NULL, NULL)
CREATE MATERIALIZED VIEW sums AS SELECT g, sum(v) AS total, count(*) AS n FROM t GROUP BY g
SELECT g, total, n FROM sums
INSERT INTO t VALUES (5, 'c', 50)
UPDATE t SET v = 11 WHERE k = 1
SELECT g, total, n FROM sums
REFRESH MATERIALIZED VIEW sums
SELECT g, total, n FROM sums
CREATE MATERIALIZED VIEW sums AS SELECT 1 AS one
CREATE MATERIALIZED VIEW IF NOT EXISTS sums AS SELECT 1 AS one
SELECT g, total FROM sums WHERE n > 1
INSERT INTO sums VALUES ('d', 1, 1)
UPDATE sums SET total = 0
DELETE FROM sums
CREATE MATERIALIZED VIEW later AS SELECT k, v FROM t WHERE v > 15 WITH NO DATA
SELECT k FROM later
REFRESH MATERIALIZED VIEW later
SELECT k, v FROM later
REFRESH MATERIALIZED VIEW later WITH NO DATA
SELECT k FROM later
REFRESH MATERIALIZED VIEW later
CREATE MATERIALIZED VIEW named (a, b) AS SELECT k, g FROM t WHERE g = 'a'
SELECT a, b FROM named
SELECT k FROM named
CREATE VIEW over_it AS SELECT total FROM sums WHERE g = 'a'
SELECT total FROM over_it
DELETE FROM t WHERE k = 3
SELECT total FROM over_it
REFRESH MATERIALIZED VIEW sums
SELECT total FROM over_it
BEGIN
INSERT INTO t VALUES (6, 'a', 60)
REFRESH MATERIALIZED VIEW sums
SELECT total FROM over_it
ROLLBACK
SELECT total FROM over_it
ALTER MATERIALIZED VIEW sums RENAME TO totals
SELECT g, n FROM totals
SELECT g FROM sums
REFRESH MATERIALIZED VIEW sums
SELECT t.k, totals.total FROM t JOIN totals ON t.g = totals.g
DROP VIEW over_it
DROP TABLE totals
DROP MATERIALIZED VIEW t
DROP MATERIALIZED VIEW totals
DROP MATERIALIZED VIEW totals
DROP MATERIALIZED VIEW IF EXISTS totals
SELECT g FROM totals
"""


@pytest.fixture(params=["embedded", "postgres"])
def engine(request: pytest.FixtureRequest, tmp_path: Path, url: str) -> Iterator[Engine]:
    """The gateway over an empty store."""
    place = tmp_path / "warehouse" if request.param == "embedded" else url
    with closing(GatewayEngine(place, dialect="postgres")) as made:
        yield made


def test_materialized_views_are_postgresqls(engine: Engine, cluster: Cluster) -> None:
    found = []
    with closing(PostgresOracle(cluster.conninfo(cluster.database()))) as oracle:
        theirs, ours = oracle.session("one"), engine.session("one")
        for sql in SCRIPT.strip().split("\n"):
            expected, got = comparable(theirs.run(sql)), comparable(ours.run(sql))
            why = difference(expected, got)
            if why is not None:
                found.append(f"{sql}: {why}\n{describe(expected)}\n--\n{describe(got)}")
    assert "\n\n".join(found) == ""
