"""Random statements of roles under random policies: what PostgreSQL gives, the gateway gives.

A row policy is PostgreSQL's own there, a mask a view over the table. Rows, counts, classes of
errors and what the tables hold afterwards are the same.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import gateway
from tests.differential.role_outcomes import outcome
from tests.support.postgres import running

ROWS = (
    "r = 'n'",
    "r <> 's'",
    "r = 'n' OR o = current_user",
    "a % 2 = 0",
    "b > 2 OR {staff}",
    "o = current_user OR {staff}",
    "NOT (a = 3 AND r = 's')",
    "coalesce(b, 0) < 4",
)
MASKS = (
    "0",
    "b % 3",
    "CASE WHEN {staff} THEN b ELSE -b END",
    "CASE WHEN o = current_user THEN b END",
)
OURS, THEIRS = "is_role('staff')", "pg_has_role(current_user, 'staff', 'USAGE')"
COLUMNS = "a INTEGER PRIMARY KEY, b INTEGER, r VARCHAR(9), o VARCHAR(9)"
FIRST = """
    (1, 1, 'n', 'ann'), (2, 2, 's', 'bob'), (3, 3, 's', 'ann'),
    (4, NULL, 'n', 'x'), (5, 5, NULL, 'bob'), (6, 6, '7', NULL)
"""
READS = (
    "SELECT * FROM {t}",
    "SELECT a, b FROM {t} WHERE {p}",
    "SELECT count(*), sum(b), min(b), max(r) FROM {t}",
    "SELECT count(*) FROM {t} WHERE {p}",
    "SELECT r, count(*), sum(b) FROM {t} GROUP BY r",
    "SELECT b, count(*) FROM {t} GROUP BY b HAVING count(*) > 1",
    "SELECT * FROM {t} WHERE a = {k}",
    "SELECT x.a, y.a FROM {t} x JOIN {u} y ON x.b = y.b",
    "SELECT x.a, y.b FROM {t} x LEFT JOIN {u} y ON x.a = y.b",
    "SELECT a FROM {t} x WHERE EXISTS (SELECT 1 FROM {u} y WHERE y.b = x.a AND {p})",
    "SELECT a FROM {t} WHERE b IN (SELECT b FROM {u})",
    "SELECT a, (SELECT max(y.b) FROM {u} y WHERE y.a <= x.a) FROM {t} x",
    "WITH q AS (SELECT * FROM {t} WHERE {p}) SELECT * FROM q",
    "SELECT a FROM {t} UNION ALL SELECT b FROM {u}",
    "SELECT a, row_number() OVER (ORDER BY b, a) FROM {t}",
    "SELECT a FROM {t} ORDER BY b DESC NULLS LAST, a LIMIT 2",
    "SELECT a FROM {t} WHERE CAST(r AS INTEGER) = 7",
    "SELECT a FROM {t} WHERE CAST(coalesce(o, 'none') AS INTEGER) = 7",
    "SELECT DISTINCT r FROM {t}",
    "SELECT * FROM v WHERE {p}",
    "SELECT sum(b), count(*) FROM v",
)
WRITES = (
    "UPDATE {t} SET o = '{n}' WHERE {p}",
    "UPDATE {t} SET r = '{r}' WHERE {p} RETURNING *",
    "UPDATE {t} SET r = '{r}' WHERE a = {k}",
    "UPDATE {t} SET o = r, r = CASE WHEN b > 2 THEN 'n' ELSE r END RETURNING a, b, r",
    "UPDATE {t} SET o = CAST(b AS VARCHAR) WHERE a = {k} RETURNING o",
    "UPDATE {t} SET o = 'u' FROM {u} y WHERE y.b = {t}.a",
    "DELETE FROM {t} WHERE {p} AND a > 3 RETURNING *",
    "DELETE FROM {t} WHERE a = {k}",
    "DELETE FROM {t} USING {u} y WHERE y.a = {t}.b AND {t}.a > 3",
    "UPDATE t SET b = b + 1 WHERE {p} RETURNING b",
    "UPDATE t SET b = {k}, a = a + 100 WHERE a = {k}",
    "INSERT INTO t VALUES ({k}, {k}, '{r}', '{n}') RETURNING *",
    "INSERT INTO t SELECT a + 10, b, r, o FROM {t} WHERE {p}",
    "INSERT INTO {t} (a, r, o) VALUES ({k}, '{r}', '{n}') RETURNING a, b",
    "INSERT INTO t VALUES ({k}, 1, '{r}', '{n}') ON CONFLICT DO NOTHING",
    "INSERT INTO t VALUES ({k}, 1, '{r}', '{n}') ON CONFLICT (a) DO NOTHING RETURNING a",
    "INSERT INTO t VALUES ({k}, 9, '{r}', '{n}') ON CONFLICT (a) DO UPDATE SET b = t.b + 1",
    "INSERT INTO t VALUES ({k}, 9, '{r}', 'z') ON CONFLICT (a) DO UPDATE SET r = excluded.r",
    "INSERT INTO t VALUES ({k}, 9, 'n', 'z') ON CONFLICT (a) DO UPDATE SET o = 'c' RETURNING *",
    "MERGE INTO t USING {u} y ON t.a = y.b WHEN MATCHED AND {q} THEN UPDATE SET o = y.r",
    "MERGE INTO t USING {u} y ON t.a = y.a WHEN MATCHED AND y.b > 3 THEN DELETE",
    "MERGE INTO t USING {u} y ON t.a = y.b WHEN NOT MATCHED THEN INSERT (a) VALUES (y.a + 9)",
    "WITH q AS (DELETE FROM t WHERE {p} AND a > 4 RETURNING *) SELECT * FROM q",
)  # fmt: skip
ROUNDS, STATEMENTS = 3, 40


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """A server, and where it is."""
    with running() as cluster:
        yield cluster.conninfo("postgres")


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 12))]


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
def test_rows_are_the_same(seed: int, postgres: str, tmp_path: Path) -> None:
    rng = random.Random(seed)
    with psycopg.connect(postgres, autocommit=True) as maker:
        maker.execute(f"CREATE DATABASE policies{seed}")
    place = psycopg.conninfo.make_conninfo(postgres, dbname=f"policies{seed}")
    with (
        psycopg.connect(place, autocommit=True) as theirs,
        gateway.connect(f"palimpsest:///{tmp_path}/w", dialect="postgres") as ours,
    ):
        ours.autocommit = True
        for sql in ("CREATE ROLE staff", "CREATE ROLE ann IN ROLE staff", "CREATE ROLE bob"):
            theirs.execute(sql)
            ours.execute(sql)
        try:
            compared = sum(_round(rng, theirs, ours) for _ in range(ROUNDS))
        finally:
            theirs.execute("RESET ROLE")
            theirs.execute("DROP OWNED BY ann, bob, staff CASCADE")
            theirs.execute("DROP ROLE ann, bob, staff")
    assert compared > ROUNDS * STATEMENTS // 2


def _round(rng: random.Random, theirs: psycopg.Connection, ours: gateway.Connection) -> int:
    """Compare statements under policies; how many were taken."""
    seen, masked_rows, mask = rng.choice(ROWS), rng.choice((*ROWS, "true")), rng.choice(MASKS)
    for sql in _theirs(seen, masked_rows, mask):
        theirs.execute(sql.replace("{staff}", THEIRS))
    for sql in _ours(seen, masked_rows, mask):
        ours.execute(sql.replace("{staff}", OURS))
    taken, told = 0, [seen, masked_rows, mask]
    for _ in range(STATEMENTS):
        role, sql = rng.choice(("ann", "bob")), _statement(rng)
        told.append(f"{role}: {sql}")
        wanted, found = outcome(theirs, role, sql), outcome(ours, role, sql)
        assert found == wanted, told
        taken += wanted[0] == ""
        for name, kept in (("t", "t"), ("m", "m_base")):
            there = theirs.execute(f"SELECT * FROM {kept} ORDER BY a").fetchall()
            assert ours.execute(f"SELECT * FROM {name} ORDER BY a").fetchall() == there, told
    return taken


def _theirs(seen: str, masked_rows: str, mask: str) -> list[str]:
    return [
        "DROP TABLE IF EXISTS t, m_base CASCADE",
        f"CREATE TABLE t ({COLUMNS})",
        f"CREATE TABLE m_base ({COLUMNS})",
        f"INSERT INTO t VALUES {FIRST}",
        f"INSERT INTO m_base VALUES {FIRST}",
        f"CREATE POLICY seen ON t USING ({seen})",
        f"CREATE POLICY seen ON m_base USING ({masked_rows})",
        "ALTER TABLE t ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE m_base ENABLE ROW LEVEL SECURITY",
        f"CREATE VIEW m WITH (security_invoker) AS SELECT a, ({mask}) AS b, r, o FROM m_base",
        "CREATE VIEW v WITH (security_invoker) AS SELECT a, b, r FROM m",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON t, m_base, m, v TO ann, bob",
    ]


def _ours(seen: str, masked_rows: str, mask: str) -> list[str]:
    return [
        "DROP VIEW IF EXISTS v",
        "DROP TABLE IF EXISTS t",
        "DROP TABLE IF EXISTS m",
        f"CREATE TABLE t ({COLUMNS})",
        f"CREATE TABLE m ({COLUMNS})",
        f"INSERT INTO t VALUES {FIRST}",
        f"INSERT INTO m VALUES {FIRST}",
        f"ALTER TABLE t SET ROW POLICY ({seen})",
        f"ALTER TABLE m SET ROW POLICY ({masked_rows})",
        f"ALTER TABLE m ALTER COLUMN b SET MASKING POLICY ({mask})",
        "CREATE VIEW v AS SELECT a, b, r FROM m",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON t, m TO ann, bob",
        "GRANT SELECT ON v TO ann, bob",
    ]


def _statement(rng: random.Random) -> str:
    pick = rng.choice
    return pick(READS if rng.random() < 0.6 else WRITES).format(
        t=pick("tm"), u=pick("tm"), k=rng.randint(1, 9), r=pick("nsx"), n=pick(("ann", "bob", "z")),
        p=pick(("b > 2", "b IS NULL", "r = 'n'", "b % 2 = 0", "a + b > 5", "true")),
        q=pick(("t.b > 2", "y.r = 's'")),
    )  # fmt: skip
