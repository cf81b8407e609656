"""Random statements of roles under random policies with names: the same SQL here and on PostgreSQL.

MERGE and ON CONFLICT DO UPDATE are left out, which the gateway refuses where policies say other
things for reading and for writing.
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

CONDITIONS = (
    "o = current_user", "a % 2 = 0", "b > 2", "b < 4", "a > 1 OR o = current_user", "true",
    "a IN (SELECT k FROM chosen)", "b IS NULL OR b < 9",
)  # fmt: skip
STATEMENTS = (
    "SELECT * FROM t",
    "SELECT count(*), sum(b) FROM t",
    "SELECT * FROM t WHERE a = {k}",
    "SELECT x.a FROM t x JOIN t y ON x.a = y.b",
    "INSERT INTO t VALUES ({k} + 6, {n}, '{o}')",
    "INSERT INTO t VALUES ({k}, {n}, '{o}') RETURNING *",
    "INSERT INTO t VALUES ({k}, {n}, '{o}') ON CONFLICT (a) DO NOTHING",
    "INSERT INTO t SELECT a + 10, b, o FROM t WHERE b > {n}",
    "UPDATE t SET b = {n} WHERE a = {k}",
    "UPDATE t SET b = b + 1, o = '{o}' WHERE a > {k} RETURNING *",
    "UPDATE t SET a = a + 20 WHERE b = {n}",
    "DELETE FROM t WHERE a = {k}",
    "DELETE FROM t WHERE b > {n} RETURNING a",
)
CHANGES = (
    "ALTER POLICY p0 ON t USING ({c})",
    "ALTER POLICY p0 ON t TO bob, own",
    "ALTER POLICY p0 ON t RENAME TO p9",
    "DROP POLICY IF EXISTS p1 ON t",
    "ALTER TABLE t DISABLE ROW LEVEL SECURITY",
    "ALTER TABLE t ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE t FORCE ROW LEVEL SECURITY",
    "ALTER TABLE t NO FORCE ROW LEVEL SECURITY",
)
ROLES = ("ann", "bob", "own")
ROUNDS, LENGTH = 4, 40


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """A server, and where it is."""
    with running() as cluster:
        yield cluster.conninfo(cluster.database())


@pytest.mark.long
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 10))]
)
def test_rows_are_the_same(seed: int, postgres: str, tmp_path: Path) -> None:
    rng = random.Random(f"named policies {seed}")
    with (
        psycopg.connect(postgres, autocommit=True) as theirs,
        gateway.connect(f"palimpsest:///{tmp_path}/w", dialect="postgres") as ours,
    ):
        ours.autocommit = True
        both = (theirs, ours)
        try:
            for sql in (
                "CREATE ROLE staff", "CREATE ROLE ann IN ROLE staff", "CREATE ROLE bob",
                "CREATE ROLE own", "CREATE TABLE chosen (k INTEGER PRIMARY KEY)",
                "INSERT INTO chosen VALUES (1), (3), (4)", "GRANT SELECT ON chosen TO PUBLIC",
            ):  # fmt: skip
                _each(both, sql)
            taken = sum(_round(rng, theirs, ours) for _ in range(ROUNDS))
        finally:
            theirs.execute("RESET ROLE")
            theirs.execute("DROP TABLE IF EXISTS t, chosen")
            theirs.execute("DROP ROLE IF EXISTS ann, bob, own, staff")
    assert taken > ROUNDS * LENGTH // 3


def _each(both: tuple[psycopg.Connection, gateway.Connection], sql: str) -> None:
    for connection in both:
        connection.execute(sql)


def _round(rng: random.Random, theirs: psycopg.Connection, ours: gateway.Connection) -> int:
    """Compare statements under policies that change; how many were taken."""
    told = [_policy(rng, number) for number in range(rng.randrange(1, 5))]
    for sql in (
        "DROP TABLE IF EXISTS t",
        "CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER, o TEXT)",
        "INSERT INTO t VALUES (1, 1, 'ann'), (2, 2, 'bob'), (3, 3, 'own'), (4, NULL, 'ann')",
        "ALTER TABLE t OWNER TO own",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON t TO ann, bob",
        *told,
        "ALTER TABLE t ENABLE ROW LEVEL SECURITY",
    ):
        _each((theirs, ours), sql)
    taken = 0
    for _ in range(LENGTH):
        change = rng.random() < 0.15
        role = "own" if change else rng.choice(ROLES)
        sql = rng.choice(CHANGES if change else STATEMENTS).format(
            k=rng.randrange(1, 6), n=rng.choice(("NULL", *range(6))), o=rng.choice(ROLES),
            c=rng.choice(CONDITIONS),
        )  # fmt: skip
        told.append(f"{role}: {sql}")
        wanted, found = outcome(theirs, role, sql), outcome(ours, role, sql)
        assert found == wanted, told
        taken += wanted[0] == ""
        rows = "SELECT * FROM t ORDER BY a"
        assert ours.execute(rows).fetchall() == theirs.execute(rows).fetchall(), told
    return taken


def _policy(rng: random.Random, number: int) -> str:
    command = rng.choice(("ALL", "ALL", "SELECT", "SELECT", "INSERT", "UPDATE", "DELETE"))
    kind = rng.choice(("", "", " AS PERMISSIVE", " AS RESTRICTIVE"))
    roles = rng.choice(("", "", " TO PUBLIC", " TO staff", " TO ann, bob", " TO own"))
    using = "" if command == "INSERT" else f" USING ({rng.choice(CONDITIONS)})"
    check = ""
    if command in {"INSERT", "UPDATE", "ALL"} and (not using or rng.random() < 0.5):
        check = f" WITH CHECK ({rng.choice(CONDITIONS)})"
    return f"CREATE POLICY p{number} ON t{kind} FOR {command}{roles}{using}{check}"
