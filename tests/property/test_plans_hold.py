"""What a dry run promises, the job that follows at once does: on the embedded store."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.client import Client
from tests.support.promised import JOBS, WRITES, Step, follow, random_steps, step

MODES = ("major", "minor")
_numbers = st.integers(0, 10**6)
_write = st.builds(step, st.sampled_from(WRITES), _numbers)
_job = st.builds(step, st.sampled_from(JOBS), _numbers)
_steps = st.lists(st.one_of(_write, _write, _job), min_size=4, max_size=16)


def _follow(steps: list[Step]) -> dict[str, int]:
    folder = Path(tempfile.mkdtemp())
    client = Client(folder / "warehouse")
    try:
        return follow(client.connection, steps, MODES)
    finally:
        client.close()
        shutil.rmtree(folder)


@pytest.mark.slow
def test_each_job_does_what_it_planned() -> None:
    did = _follow([*random_steps(7, 120), step("vacuum", 2)])
    assert set(did) == set(JOBS)
    assert all(did.values()), did


@pytest.mark.long
@settings(max_examples=8)
@given(_steps)
def test_what_is_planned_is_done(steps: list[Step]) -> None:
    _follow(steps)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(max_examples=200)
@given(_steps)
def test_what_is_planned_is_done_in_many_histories(steps: list[Step]) -> None:
    _follow(steps)
