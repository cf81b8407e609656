"""No test is lost when workers are given them, and each block begins with what takes long."""

from __future__ import annotations

import pytest

from tests.support.order import HEAVY, arranged, blocks


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 9])
def test_each_test_is_given_once(workers: int) -> None:
    folders = [*HEAVY, "journal", "gateway"]
    tests = [(folders[i % 8], float(i % 5), i) for i in range(103)]
    assert sorted(arranged(tests, workers)) == list(range(103))
    assert arranged([], workers) == []


def test_blocks_begin_with_what_takes_long() -> None:
    counts = {"hive": 10, "spark_compaction": 12, "elsewhere": 8, "database": 20, "journal": 50}
    tests = [
        (folder, float(i % 3), (folder, i % 3)) for folder, n in counts.items() for i in range(n)
    ]
    found = arranged(tests, 4)
    sizes = blocks(100, 4)
    assert sizes == [25, 25, 25, 25]
    begun = [found[place] for place in (0, 25, 50, 75)]
    assert begun == [("hive", 2), ("spark_compaction", 2), ("elsewhere", 2), ("database", 2)]
    assert {found[place - 1][0] for place in (25, 50, 75, 100)} == {"journal"}
