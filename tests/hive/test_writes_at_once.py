"""Statements that write many rows to one table at once: Spark keeps all rows of each."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from gateway.dbapi.connection import Connection

_WRITERS, _ROUNDS, _ROWS = 4, 3, 30_000


@pytest.mark.stores
def test_every_row_arrives(connect: Callable[..., Connection]) -> None:
    con = connect(memory_rows=1000)
    con.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, x VARCHAR)")
    con.execute("CREATE TABLE source (id BIGINT PRIMARY KEY, x VARCHAR)")
    con.execute(f"INSERT INTO source SELECT i, 'x' || i FROM range({_ROWS}) r(i)")
    counts: list[int] = []
    errors: list[BaseException] = []

    def write(number: int) -> None:
        try:
            own = connect(memory_rows=1000)
            for turn in range(_ROUNDS):
                first = (number * _ROUNDS + turn) * 1_000_000
                cursor = own.cursor()
                cursor.execute(f"INSERT INTO t SELECT {first} + id, x FROM source")
                counts.append(cursor.rowcount)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(_WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert counts == [_ROWS] * (_WRITERS * _ROUNDS)
    assert con.execute("SELECT count(*) FROM t").fetchall() == [(_ROWS * _WRITERS * _ROUNDS,)]
    assert con.session.executor.upkeep.verify().is_clean
