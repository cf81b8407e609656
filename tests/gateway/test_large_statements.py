"""The gateway's own work for a statement grows as the statement does, and not as its square.

Counted are the lines of Python that run, which are the same on every machine.
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
