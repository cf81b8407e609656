"""Lineage names every column whose change execution shows in a result, and hardly any other."""

from __future__ import annotations

import pytest

from tests.rewriter.lineage.provenance import Tally, compare

_HIDDEN_MAX = 0.03


@pytest.mark.parametrize("first", [0, 20])
def test_no_source_is_missed(first: int) -> None:
    tally = Tally()
    for seed in range(first, first + 20):
        compare(seed, tally)
    assert tally.missed == []
    assert tally.shown > 0


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_no_source_of_two_thousand_queries_is_missed_and_few_are_too_many() -> None:
    tally = Tally()
    for seed in range(2000):
        compare(seed, tally)
    assert tally.missed == []
    assert len(tally.hidden) < _HIDDEN_MAX * tally.named
