"""Random grants and statements: what PostgreSQL allows the gateway allows, and nothing else.

PostgreSQL names a table that a role has no privilege on, and the gateway says that there is none.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import gateway
from tests.support.postgres import running
from tests.support.tiers import in_tiers

SETUP = (
    "CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER, c INTEGER)",
    "CREATE TABLE s (a INTEGER, d INTEGER)",
    "CREATE TABLE u (a INTEGER PRIMARY KEY, b INTEGER)",
    "INSERT INTO t VALUES (1, 2, 3), (2, 3, 4)",
    "INSERT INTO s VALUES (1, 5), (2, 6)",
    "INSERT INTO u VALUES (1, 1)",
    "CREATE ROLE boss",
    "CREATE ROLE staff",
    "CREATE ROLE ann IN ROLE staff",
    "CREATE ROLE bob NOINHERIT IN ROLE staff",
    "CREATE VIEW v AS SELECT a, b FROM t",
    "CREATE VIEW w AS SELECT a, d FROM s",
    "ALTER VIEW w OWNER TO boss",
    "CREATE SCHEMA hr",
    "CREATE TABLE hr.p (a INTEGER, b INTEGER)",
)
ROLES = ("ann", "bob", "staff", "boss", "PUBLIC")
ACTORS = ("ann", "bob", "staff", "boss")
TABLES = {"t": "abc", "s": "ad", "u": "ab", "v": "ab", "w": "ad", "hr.p": "ab"}
STATEMENTS = (
    "SELECT * FROM {t}",
    "SELECT {c} FROM {t}",
    "SELECT x.{c} FROM {t} x WHERE x.{e} > 0",
    "SELECT count(*) FROM {t}",
    "SELECT 1 FROM {t}",
    "SELECT {c} FROM {t} ORDER BY {e}",
    "SELECT sum({c}) FROM {t} GROUP BY {e}",
    "SELECT x.{c}, y.{g} FROM {t} x JOIN {o} y ON x.a = y.a",
    "SELECT x.{c} FROM {t} x JOIN {o} y USING (a)",
    "SELECT {c} FROM {t} WHERE a IN (SELECT a FROM {o})",
    "SELECT {c} FROM {t} x WHERE EXISTS (SELECT 1 FROM {o} y WHERE y.{g} = x.{e})",
    "SELECT (SELECT max({g}) FROM {o}) FROM {t}",
    "WITH q AS (SELECT {c} FROM {t}) SELECT 1 FROM q",
    "WITH q AS (SELECT * FROM {t}) SELECT a FROM q",
    "SELECT a FROM {t} UNION ALL SELECT a FROM {o}",
    "SELECT z.a FROM (SELECT a FROM {t}) z",
    "SELECT row_number() OVER (ORDER BY {c}) FROM {t}",
    "SELECT {f} FROM {b} FOR UPDATE",
    "SELECT {t1} FROM {t}",
    "INSERT INTO {b} (a) VALUES (77)",
    "INSERT INTO {b} (a, {f}) VALUES (78, 1)",
    "INSERT INTO {b} (a) VALUES (79) RETURNING a",
    "INSERT INTO {b} (a) VALUES (80) RETURNING *",
    "INSERT INTO {b} (a) SELECT a + 100 FROM {o}",
    "INSERT INTO u (a) VALUES (1) ON CONFLICT DO NOTHING",
    "INSERT INTO u (a) VALUES (1) ON CONFLICT (a) DO NOTHING",
    "INSERT INTO u (a, b) VALUES (1, 2) ON CONFLICT (a) DO UPDATE SET b = 3",
    "INSERT INTO u (a, b) VALUES (1, 2) ON CONFLICT (a) DO UPDATE SET b = excluded.b",
    "INSERT INTO u (a, b) VALUES (1, 2) ON CONFLICT (a) DO UPDATE SET b = u.b + 1",
    "UPDATE {b} SET {f} = 1",
    "UPDATE {b} SET {f} = {h} + 1",
    "UPDATE {b} SET {f} = 1 WHERE {h} = 1",
    "UPDATE {b} SET {f} = 1 WHERE a = 1 RETURNING {h}",
    "UPDATE {b} SET {f} = y.a FROM {o} y WHERE y.a = {b}.a",
    "DELETE FROM {b}",
    "DELETE FROM {b} WHERE {h} = 100",
    "DELETE FROM {b} USING {o} y WHERE y.a = {b}.a",
    "DELETE FROM {b} WHERE a = 1 RETURNING {f}",
    "TRUNCATE {b}",
    "WITH q AS (DELETE FROM {b} WHERE a = 99 RETURNING a) SELECT * FROM q",
    "WITH q AS (UPDATE {b} SET {f} = 1) SELECT 1",
    "MERGE INTO {b} USING {o} y ON {b}.a = y.a WHEN MATCHED THEN UPDATE SET {f} = 1",
    "MERGE INTO {b} USING {o} y ON {b}.a = y.a WHEN MATCHED THEN DELETE",
    "MERGE INTO {b} USING {o} y ON {b}.a = y.a WHEN NOT MATCHED THEN INSERT (a) VALUES (y.a)",
    "CREATE TABLE made (a INTEGER)",
    "CREATE TABLE hr.made (a INTEGER)",
    "CREATE TABLE made (a INTEGER REFERENCES {k} (a))",
    "CREATE TABLE made AS SELECT {c} FROM {t}",
    "CREATE TEMPORARY TABLE mine (a INTEGER)",
    "CREATE TEMPORARY TABLE mine AS SELECT {c} FROM {t}",
    "CREATE VIEW made AS SELECT 1 AS a",
    "CREATE SCHEMA made",
    "CREATE INDEX made ON {b} (a)",
    "DROP TABLE {b}",
    "DROP VIEW w",
    "ALTER TABLE {b} ADD COLUMN z INTEGER",
    "COMMENT ON TABLE {b} IS 'x'",
    "EXPLAIN SELECT {c} FROM {t}",
)  # fmt: skip
REFUSED = frozenset({"42501", "42P01"})
ROUNDS, STATEMENTS_A_ROUND = 12, 30


def _privilege(rng: random.Random, name: str, columns: str) -> str:
    found = rng.choice(("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "ALL"))
    if found in {"SELECT", "INSERT", "UPDATE", "REFERENCES"} and rng.random() < 0.5:
        chosen = rng.sample(columns, rng.randint(1, len(columns)))
        return f"{found} ({', '.join(chosen)})"
    return found


def _grant(rng: random.Random, owners: dict[str, str]) -> str:
    """A GRANT or its like; what owners have is never revoked, which only PostgreSQL takes."""
    role, what = rng.choice(ROLES), rng.random()
    if what < 0.12:
        verb = rng.choice(("GRANT USAGE ON SCHEMA hr TO", "REVOKE ALL ON SCHEMA hr FROM"))
        return f"{verb} {role}"
    if what < 0.18:
        schema = rng.choice(("hr", "{home}"))
        return f"GRANT CREATE ON SCHEMA {schema} TO {role}"
    if what < 0.24:
        return rng.choice(("GRANT staff TO bob", "REVOKE staff FROM ann", "GRANT boss TO staff"))
    if what < 0.3:
        name = rng.choice(("t", "s", "u"))
        owners[name] = rng.choice(ACTORS)
        return f"ALTER TABLE {name} OWNER TO {owners[name]}"
    name, columns = rng.choice(list(TABLES.items()))
    revokes = rng.random() < 0.2 and owners.get(name) != role
    verb, word = ("REVOKE", "FROM") if revokes else ("GRANT", "TO")
    return f"{verb} {_privilege(rng, name, columns)} ON {name} {word} {role}"


def _statement(rng: random.Random) -> str:
    t, b, o = rng.choice(list(TABLES)), rng.choice(("t", "s", "u", "hr.p")), rng.choice("tsuvw")
    pick = rng.choice
    return pick(STATEMENTS).format(
        t=t, t1=t.rpartition(".")[2], b=b, o=o, k=pick("tu"),
        c=pick(TABLES[t]), e=pick(TABLES[t]), g=pick(TABLES[o]), f=pick(TABLES[b][1:]),
        h=pick(TABLES[b]),
    )  # fmt: skip


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """A server, and where it is."""
    with running() as cluster:
        yield cluster.conninfo("postgres")


@pytest.mark.long
@pytest.mark.parametrize("seed", in_tiers(range(4), {0}))
def test_the_same_is_allowed(seed: int, postgres: str, tmp_path: Path) -> None:
    rng = random.Random(seed)
    name = f"privileges{seed}"
    with psycopg.connect(postgres, autocommit=True) as maker:
        maker.execute(f"CREATE DATABASE {name}")
    place = psycopg.conninfo.make_conninfo(postgres, dbname=name)
    with (
        psycopg.connect(place, autocommit=True) as theirs,
        gateway.connect(f"palimpsest:///{tmp_path}/w", dialect="postgres") as ours,
    ):
        ours.autocommit = True
        try:
            for sql in SETUP:
                theirs.execute(sql)
                ours.execute(sql)
            _compare(rng, theirs, ours)
        finally:
            theirs.execute("RESET ROLE")
            theirs.execute("DROP OWNED BY ann, bob, staff, boss CASCADE")
            theirs.execute("DROP ROLE ann, bob, staff, boss")


def _compare(rng: random.Random, theirs: psycopg.Connection, ours: gateway.Connection) -> None:
    compared = refused = 0
    owners, grants = {"w": "boss"}, list[str]()
    for _ in range(ROUNDS):
        for _ in range(6):
            grant = _grant(rng, owners)
            grants.append(grant)
            assert _state(theirs, grant.format(home="public")) == "", grant
            assert _state(ours, grant.format(home="main")) == "", grant
        role = rng.choice(ACTORS)
        for _ in range(STATEMENTS_A_ROUND):
            sql = _statement(rng)
            wanted, found = _alone(theirs, role, sql), _alone(ours, role, sql)
            if wanted == "42501" or found in REFUSED:
                told = "; ".join([role, sql, wanted, found, *grants])
                assert (wanted == "42501") == (found in REFUSED), told
                refused += 1
            compared += wanted in ("", "42501")
    assert compared > ROUNDS * STATEMENTS_A_ROUND // 2
    assert refused > ROUNDS


def _alone(connection: psycopg.Connection | gateway.Connection, role: str, sql: str) -> str:
    """How a statement of a role ends, which leaves nothing behind."""
    for begin in ("BEGIN", f"SET LOCAL ROLE {role}"):
        connection.execute(begin)
    found = _state(connection, sql)
    connection.execute("ROLLBACK")
    return found


def _state(connection: psycopg.Connection | gateway.Connection, sql: str) -> str:
    try:
        connection.execute(sql)
    except (psycopg.Error, gateway.Error) as error:
        return str(error.sqlstate)
    return ""
