"""kill -9 at each step of an erasure that takes dependents along: a rerun ends it everywhere."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from gateway.procedures.procedures import embedded
from journal.stores.embedded.recovery import unlisted_files
from tests.support.client import Client
from tests.support.dependents import SETUP, Stage
from tests.support.dependents_killed import (
    check_that_a_rerun_finishes,
    die_at,
    die_at_any_moment,
    made,
)
from tests.support.killed_eraser import BY_TABLE, ONCE
from tests.support.traces import holders

# Between two tables, and at the end of all: the rest takes its time.
FAST = {("swapped", 1)}
STEPS = [(step, 1) for step in ONCE] + [(step, n) for step in BY_TABLE for n in (1, 2, 3, 4)]


@pytest.fixture
def told(tmp_path: Path) -> list[object]:
    """What is told of others; nobody has the warehouse open afterwards."""
    run = Client(tmp_path / "warehouse")
    for sql in SETUP:
        run(sql)
    found = made(run, tmp_path / "away")
    run.close()
    return found


def _check(folder: Path, told: list[object]) -> None:
    root = folder / "warehouse"
    run = Client(root)
    journal = embedded(run.connection.session, "the test")
    assert unlisted_files(journal) == []
    stage = Stage(run, partial(Client, root), partial(holders, root), "main")
    check_that_a_rerun_finishes(stage, folder / "away", told)
    assert unlisted_files(journal) == []
    run.close()


@pytest.mark.long
@pytest.mark.parametrize(
    ("step", "times"),
    [pytest.param(*s, marks=() if s in FAST else pytest.mark.slow) for s in STEPS],
)
def test_killed_at_any_step(tmp_path: Path, told: list[object], step: str, times: int) -> None:
    die_at(tmp_path / "warehouse", step, times)
    _check(tmp_path, told)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(12))
def test_killed_at_any_moment(tmp_path: Path, told: list[object], seed: int) -> None:
    die_at_any_moment(tmp_path / "warehouse", seed)
    _check(tmp_path, told)
