"""Lineage names every column whose change execution shows in a result."""

from __future__ import annotations

import pytest

from tests.rewriter.lineage.provenance import Tally, compare


@pytest.mark.parametrize("first", [0, 5])
def test_no_source_is_missed(first: int) -> None:
    tally = Tally()
    for seed in range(first, first + 5):
        compare(seed, tally)
    assert tally.missed == []
    assert tally.shown > 0


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_no_source_is_missed_by_many_queries() -> None:
    tally = Tally()
    for seed in range(1000, 1400):
        compare(seed, tally)
    assert tally.missed == []
