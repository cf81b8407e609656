"""Random transactions on three connections at once: whatever commits, every reference holds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.client import Client
from tests.support.references import check_references_at_random


@pytest.mark.long
@pytest.mark.parametrize(
    "seed", [159, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (0, 1, 2, 3, 161))]
)
def test_every_reference_holds(connect: Callable[..., Client], seed: int) -> None:
    ends = check_references_at_random(connect, seed, "main")
    assert ends.get("40001", 0) + ends.get("23503", 0) > 0
