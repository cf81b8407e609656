"""What a dry run promises, the job that follows at once does: on PostgreSQL."""

from __future__ import annotations

import pytest

from gateway.dbapi.connection import Connection
from tests.support.promised import JOBS, follow, random_steps, step


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.timeout(600)
def test_each_job_does_what_it_planned(con: Connection, seed: int) -> None:
    steps = [*random_steps(seed, 50), *(step(kind, seed) for kind in JOBS)]
    did = follow(con, steps, ("major",))
    assert set(did) == set(JOBS)
    assert all(did[kind] for kind in ("compact", "retain", "backup", "purge")), did
