"""The gateway's own work for a statement grows as the statement does, and not as its square.

Long chains of OR are said in other words, which find the same rows. Counted are the lines of Python
that run, which are the same on every machine.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

import gateway

SHAPES = {
    "columns": lambda n: (
        f"CREATE TABLE w{n} (id INT PRIMARY KEY, " + ", ".join(f"c{i} INT" for i in range(n)) + ")"
    ),
    "branches": lambda n: " UNION ALL ".join(f"SELECT a FROM t WHERE id = {i}" for i in range(n)),
    "branches of CTEs": lambda n: (
        "WITH c AS (SELECT a FROM t) " + " UNION ALL ".join(["SELECT a FROM c WHERE a > 1"] * n)
    ),
}
SIZES = (40, 80, 160)
SLACK = 1.1


class LinesCounted:
    """Counts the lines that run in this thread within a block."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> LinesCounted:
        self.before = sys.gettrace()
        sys.settrace(self.step)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self.before)

    def step(self, frame: FrameType, event: str, argument: object) -> Any:
        self.count += 1
        return self.step


@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_statement_is_twice_the_work(shape: str) -> None:
    counts = []
    with gateway.connect("palimpsest://") as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, c VARCHAR)")
        connection.execute("INSERT INTO t VALUES (1, 1, 'a'), (2, 3, 'b')")
        for size in (1, *SIZES):
            with LinesCounted() as lines:
                cursor = connection.execute(SHAPES[shape](size))
            if cursor.description is not None:
                cursor.fetchall()
            counts.append(lines.count)
    _, few, more, most = counts
    assert most - more < 2 * (more - few) * SLACK, counts


def _chain(rows: list[tuple[str, ...]], names: str) -> str:
    return " OR ".join(
        "(" + " AND ".join(f"{n} = {v}" for n, v in zip(names.split(), row, strict=True)) + ")"
        for row in rows
    )


CHAINS = {
    "numbers": _chain([(str(i), str(i % 7 - 3)) for i in range(90)], "a b"),
    "turned around": " OR ".join(f"{i} = w.a AND (b = {i % 7 - 3})" for i in range(90)),
    "texts": _chain([(str(i), f"'x{i % 5}'") for i in range(90)], "a c"),
    "NULL among constants": _chain([*[(str(i), "1") for i in range(90)], ("NULL", "1")], "a b"),
    "two kinds": _chain([*[(str(i), "1") for i in range(90)], ("2.5", "1e0")], "b a"),
    "a number and a text": _chain([(str(i), str(i % 5)) for i in range(90)], "a d"),
    "other columns": _chain([(str(i), "1") for i in range(90)], "a b") + " OR (a = 1 AND id = 8)",
    "beside others": "b < 2 AND (" + _chain([(str(i), "1") for i in range(90)], "a b") + ")",
}


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("word", ["", "NOT "])
def test_long_chains_find_the_rows_that_they_say(word: str, chain: str) -> None:
    condition = f"{word}({CHAINS[chain]})"
    with gateway.connect("palimpsest://") as connection:
        connection.execute(
            "CREATE TABLE w (id INT PRIMARY KEY, a SMALLINT, b BIGINT, c TEXT, d TEXT)"
        )
        connection.execute(
            "INSERT INTO w SELECT i, CASE WHEN i % 11 > 0 THEN i % 95 END,"
            " CASE WHEN i % 13 > 0 THEN i % 7 - 3 END, 'x' || (i % 6), (i % 6)::VARCHAR"
            " FROM range(400) r(i)"
        )
        # The truth of a condition is asked of each row as it is written.
        wanted = f"SELECT id FROM w WHERE ({condition}) IS TRUE ORDER BY id"
        expected = connection.execute(wanted).fetchall()
        found = connection.execute(f"SELECT id FROM w WHERE {condition} ORDER BY id").fetchall()
        assert found == expected
        assert expected or not word
        changed = connection.execute(f"UPDATE w SET c = 'changed' WHERE {condition}").rowcount
        assert changed == len(expected)


def test_long_chains_take_parameters() -> None:
    with gateway.connect("palimpsest://") as connection:
        connection.execute("CREATE TABLE w (a INT, b INT, PRIMARY KEY (a, b))")
        connection.execute("INSERT INTO w SELECT i, i % 7 FROM range(200) r(i)")
        chain = " OR ".join(["a = ? AND b = ?"] * 80)
        query, rows = f"SELECT count(*) FROM w WHERE {chain}", [(i, i % 9) for i in range(80)]
        expected = sum(i % 7 == b for i, b in rows)
        for first in (0, 0.0, None, 2**70, 0):
            values = [first, *[value for row in rows for value in row][1:]]
            wanted = expected if first == 0 else expected - 1
            assert connection.execute(query, values).fetchone() == (wanted,)
