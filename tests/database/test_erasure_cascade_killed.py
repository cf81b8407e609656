"""kill -9 at each step of an erasure of a database that takes dependents along, and a rerun."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.dependents import Stage
from tests.support.dependents_killed import (
    check_that_a_rerun_finishes,
    die_at,
    die_at_any_moment,
    made,
)
from tests.support.killed_eraser import BY_TABLE_OF_DATABASE, ONCE_IN_DATABASE

pytestmark = pytest.mark.stores

# Between two tables, in the transaction of a swap, and at the end of all: the rest takes its time.
FAST = {("accepted", 1), ("swapped", 2), ("recorded", 3), ("reaped", 1)}
STEPS = [(step, 1) for step in ONCE_IN_DATABASE]
STEPS += [(step, n) for step in BY_TABLE_OF_DATABASE for n in (1, 2, 3, 4)]


@pytest.mark.parametrize(
    ("step", "times"),
    [pytest.param(*s, marks=() if s in FAST else pytest.mark.slow) for s in STEPS],
)
def test_killed_at_any_step(stage: Stage, url: str, tmp_path: Path, step: str, times: int) -> None:
    told = made(stage.run, tmp_path)
    die_at(url, step, times)
    check_that_a_rerun_finishes(stage, tmp_path, told)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(12))
def test_killed_at_any_moment(stage: Stage, url: str, tmp_path: Path, seed: int) -> None:
    told = made(stage.run, tmp_path)
    die_at_any_moment(url, seed)
    check_that_a_rerun_finishes(stage, tmp_path, told)
