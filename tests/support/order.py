"""The order in which workers get tests: those that share a server together, long ones first.

Workers are given blocks of one length, and who is done takes from the end of another's; so a block
begins with what takes long or needs a server, and ends with what anybody does quickly.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TypeVar

HEAVY = (
    *("hive", "spark_compaction", "elsewhere", "database", "simulation", "contract", "docs"),
    "architecture",
)
"""Folders of tests that take long, most of it first; one worker begins with each.

The last one reads every file of the code, once in each worker that has some of its tests."""

T = TypeVar("T")


def blocks(tests: int, workers: int) -> list[int]:
    """How many tests each worker is given at first."""
    found: list[int] = []
    for left in range(workers, 0, -1):
        found.append((tests - sum(found)) // left)
    return found


def arranged(tests: Sequence[tuple[str, float, T]], workers: int) -> list[T]:
    """Tests in a new order, given the folder of each and how long it may take."""
    sizes = blocks(len(tests), workers)
    heads: list[list[T]] = [[] for _ in sizes]
    for folder in HEAVY:
        own = sorted((t for t in tests if t[0] == folder), key=lambda t: -t[1])
        place = max(range(workers), key=lambda w: sizes[w] - len(heads[w]))
        heads[place] += [test for _, _, test in own]
    light = iter([test for folder, _, test in tests if folder not in HEAVY])
    found: list[T] = []
    for size, head in zip(sizes, heads, strict=True):
        found += [*head, *islice(light, max(size - len(head), 0))]
    return [*found, *light]
