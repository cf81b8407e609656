"""Writers of one row all get on: a statement that came second a few times takes its turn."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import pytest

import gateway
from tests.support.kept import rows
from tests.support.stores.store import Capability, Store

pytestmark = pytest.mark.timeout(300)
SECONDS = 2.0
QUICK = "UPDATE hot SET n = n + 1 WHERE k < 2"
"""Not by key alone, so that it reads first and commits later."""
SLOW = f"{QUICK} AND (SELECT sum(a.i * b.i) FROM some a, some b, some c) > 0"


def _made(store: Store, statements: Sequence[str]) -> list[int]:
    """How often each statement succeeded that one of several writers repeats for a while."""
    con = store.connect()
    con.execute("CREATE TABLE hot (k INTEGER PRIMARY KEY, n BIGINT)")
    con.execute("INSERT INTO hot VALUES (1, 0), (2, 0)")
    con.execute("CREATE TABLE some (i INTEGER PRIMARY KEY)")
    con.execute("INSERT INTO some SELECT i FROM range(120) r(i)")
    made = [0] * len(statements)
    failed: list[gateway.Error] = []
    ready = threading.Barrier(len(statements))
    writers = [store.connect() for _ in statements]
    for writer, sql in zip(writers, statements, strict=True):
        writer.execute(sql)

    def write(place: int) -> None:
        ready.wait()
        until = time.monotonic() + SECONDS
        try:
            while time.monotonic() < until:
                writers[place].execute(statements[place])
                made[place] += 1
        except gateway.Error as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(i,)) for i in range(len(statements))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    changed = sum(made) + len(statements)
    assert rows(con, "SELECT n FROM hot ORDER BY k") == [(changed,), (0,)]
    return made


@pytest.mark.needs(Capability.TURNS_OF_WRITERS)
def test_two_writers_of_one_row_each_make_a_fair_share(store: Store) -> None:
    made = _made(store, [QUICK, QUICK])
    assert min(made) * 10 >= max(made), made


@pytest.mark.long
@pytest.mark.also_on("postgres")
@pytest.mark.needs(Capability.TURNS_OF_WRITERS)
def test_a_slow_writer_comes_second_to_a_quick_one_a_few_times(store: Store) -> None:
    made = _made(store, [QUICK, SLOW])
    assert min(made) > 0, made
