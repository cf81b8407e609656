"""Random transactions on three connections at once: whatever commits, every reference holds."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import gateway


class Run(Protocol):
    """A connection: runs a statement, and gives its rows."""

    def __call__(self, sql: str) -> Any:
        """Rows, or how many were written."""


SETUP = (
    "CREATE TABLE p (a INTEGER, b INTEGER, n INTEGER DEFAULT 0, PRIMARY KEY (a, b))",
    "CREATE TABLE u (id INTEGER, code VARCHAR UNIQUE)",
    "CREATE TABLE c (k INT PRIMARY KEY, x INT, y INT, code TEXT REFERENCES u (code) {0})",
    "ALTER TABLE c ADD FOREIGN KEY (x, y) REFERENCES p {1}",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, up INTEGER REFERENCES t {2})",
)
ACTIONS = (
    "",
    "ON DELETE CASCADE ON UPDATE CASCADE",
    "ON DELETE SET NULL ON UPDATE CASCADE",
    "ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED",
    "DEFERRABLE INITIALLY DEFERRED",
)
DANGLING = (
    "SELECT * FROM c ANTI JOIN p ON p.a = c.x AND p.b = c.y WHERE x + y IS NOT NULL",
    "SELECT * FROM c ANTI JOIN u ON u.code = c.code WHERE code IS NOT NULL",
    "SELECT * FROM t ANTI JOIN t AS o ON o.id = t.up WHERE up IS NOT NULL",
)
FAILURES = {"23503", "23505", "40001"}
CONNECTIONS, TURNS = 3, 150


def _statement(rng: random.Random) -> str:
    a, b, k, i = (rng.randrange(4) for _ in range(4))
    code = rng.choice(["NULL", "'r'", "'s'", "'t'"])
    statements = [
        f"INSERT INTO p VALUES ({a}, {b}, 1)",
        f"INSERT INTO p SELECT i % 4, i // 4, 2 FROM range(16) r(i) WHERE i % 3 = {b % 3}",
        f"DELETE FROM p WHERE a = {a} AND b = {b}",
        f"DELETE FROM p WHERE a = {a}",
        f"UPDATE p SET n = n + 1 WHERE a = {a}",
        f"UPDATE p SET b = {b} WHERE a = {a} AND b = {k}",
        f"INSERT INTO p VALUES ({a}, {b}, 3) ON CONFLICT DO UPDATE SET n = 9",
        f"INSERT INTO u VALUES ({a}, {code})",
        f"DELETE FROM u WHERE code = {code}",
        f"UPDATE u SET code = {code} WHERE id = {a}",
        f"INSERT INTO c VALUES ({k}, {a}, {b}, {code})",
        f"INSERT INTO c SELECT 10 + i, {a}, {b}, NULL FROM range(40) r(i)",
        f"INSERT INTO c VALUES ({k}, NULL, {b}, {code}) ON CONFLICT (k) DO UPDATE SET x = {a}",
        f"UPDATE c SET x = {a}, y = {b} WHERE k = {k}",
        f"UPDATE c SET code = {code} WHERE k > {k}",
        f"DELETE FROM c WHERE x = {a} OR code = {code}",
        "DELETE FROM c",
        f"INSERT INTO t VALUES ({i}, {k})",
        f"INSERT INTO t VALUES ({i}, NULL), ({i + 4}, {i})",
        f"UPDATE t SET up = {k} WHERE id = {i}",
        f"DELETE FROM t WHERE id = {i}",
        f"DELETE FROM t WHERE id = {i} OR up = {i}",
    ]
    return rng.choice(statements)


def check_references_at_random(
    connect: Callable[[], Run], seed: int, home: str
) -> Mapping[str, int]:
    """Run transactions against each other, and look at every reference after each statement.

    Returns how many COMMITs ended how. With some seeds all succeed: then no two have met.
    """
    rng = random.Random(seed)
    reader = connect()
    actions = [rng.choice(ACTIONS) if seed else "" for _ in range(3)]
    waits = any("DEFERRED" in action for action in actions)
    for statement in SETUP:
        reader(statement.format(*actions))
    clients = [connect() for _ in range(CONNECTIONS)]
    for client in clients:
        # Some statements are written as files at once, the others are held in memory.
        client("SET memory_rows = 20")
    inside = [False] * CONNECTIONS
    ends: dict[str, int] = {}
    for turn in range(TURNS):
        who = rng.randrange(CONNECTIONS)
        run = clients[who]
        if inside[who] and rng.random() < 0.3:
            statement, inside[who] = "COMMIT", False
        elif not inside[who] and rng.random() < 0.5:
            statement, inside[who] = "BEGIN", True
        else:
            statement = _statement(rng)
            if inside[who]:
                run("SAVEPOINT before")
        try:
            run(statement)
            end = "ok"
        except gateway.Error as error:
            end = str(error.sqlstate)
            if inside[who]:
                run("ROLLBACK TO before")
        assert end in FAILURES | {"ok"}, (turn, statement)
        if statement == "COMMIT":
            ends[end] = ends.get(end, 0) + 1
        if turn % 50 == 49:
            for table in ("p", "c", "t"):
                reader(f"CALL system.flush('{home}.{table}')")
        for query in DANGLING:
            assert reader(query) == [], (turn, statement)
            if inside[who] and not waits:
                assert run(query) == [], (turn, statement)
    assert ends["ok"] > 5
    return ends
