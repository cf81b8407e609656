"""Writers of children beside erasures of their parents: whoever comes late, no child is left."""

from __future__ import annotations

import random
import threading

import gateway
from tests.support.client import Client
from tests.support.dependents import Stage

PARENTS, GOING = 12, 3
SETUP = (
    "CREATE TABLE a (id INT PRIMARY KEY)",
    "CREATE TABLE b (id INT PRIMARY KEY, x INT REFERENCES a)",
    "CREATE TABLE c (id INT PRIMARY KEY, x INT REFERENCES b)",
    f"INSERT INTO a SELECT i FROM range({PARENTS}) r(i)",
)
DANGLING = (
    "SELECT * FROM b ANTI JOIN a ON a.id = b.x",
    "SELECT * FROM c ANTI JOIN b ON b.id = c.x",
)
FAILURES = {"23503", "23001", "40001"}
_PATIENCE_S = 60


def _write(
    client: Client, dice: random.Random, numbers: range, ended: threading.Event, ends: list[str]
) -> None:
    """Add children and grandchildren, some in transactions of their own, until told to stop."""
    for number in numbers:
        if ended.is_set():
            break
        try:
            client("BEGIN")
            client(f"INSERT INTO b VALUES ({number}, {dice.randrange(PARENTS)})")
            client(f"INSERT INTO c VALUES ({number}, {dice.choice(numbers[: number % 50 + 1])})")
            client("COMMIT")
            ends.append("ok")
        except gateway.Error as error:
            ends.append(str(error.sqlstate))
            client("ROLLBACK")


def check_that_no_child_is_left(stage: Stage) -> None:
    """Parents go one by one, with all that is written beside."""
    run = stage.run
    for sql in SETUP:
        run(sql)
    ended = threading.Event()
    ends: list[list[str]] = [[], []]
    clients = [stage.open() for _ in ends]
    threads = [
        threading.Thread(
            target=_write,
            args=(client, random.Random(i), range(i * 10_000, (i + 1) * 10_000), ended, ends[i]),
        )
        for i, client in enumerate(clients)
    ]
    for thread in threads:
        thread.start()
    try:
        for parent in range(GOING):
            run(f"ERASE FROM a WHERE id = {parent} ON DEPENDENTS CASCADE")
    finally:
        ended.set()
        for thread in threads:
            thread.join(_PATIENCE_S)
    for client in clients:
        client.close()
    found = {end for part in ends for end in part}
    assert found <= FAILURES | {"ok"}, found
    assert "ok" in found
    for sql in DANGLING:
        assert run(sql) == [], sql
    assert run("SELECT count(*) FROM a") == [(PARENTS - GOING,)]
