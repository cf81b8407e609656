"""Lineage names every column whose change execution shows in a result, and hardly any other."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.rewriter.lineage.provenance import Tally, compare, compare_statement

_HIDDEN_MAX = 0.03


@pytest.mark.parametrize("first", [0, 20])
def test_no_source_is_missed(first: int) -> None:
    tally = Tally()
    for seed in range(first, first + 20):
        compare(seed, tally)
    assert tally.missed == []
    assert tally.shown > 0


def test_no_source_of_a_statement_that_writes_is_missed() -> None:
    tally = Tally()
    for seed in range(14):
        compare_statement(seed, tally)
    assert tally.missed == []
    assert tally.shown > 0


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("compared", [compare, compare_statement])
def test_no_source_of_two_thousand_is_missed_and_few_are_too_many(
    compared: Callable[[int, Tally], None],
) -> None:
    tally = Tally()
    for seed in range(2000):
        compared(seed, tally)
    assert tally.missed == []
    assert len(tally.hidden) < _HIDDEN_MAX * tally.named
