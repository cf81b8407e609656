"""What a dry run promises, the job that follows at once does: on Spark behind a Thrift server."""

from __future__ import annotations

import pytest

from gateway.dbapi.connection import Connection
from tests.support.promised import JOBS, follow, random_steps, step


@pytest.mark.timeout(1800)
def test_each_job_does_what_it_planned(con: Connection) -> None:
    """Writes of all kinds, then each job, minor compaction and both ways to retain among them."""
    steps = [*random_steps(3, 12), step("put", 1), step("backup", 0), step("compact", 1)]
    steps += [step("put", 1), step("retain", 36), step("put", 115), step("retain", 50)]
    did = follow(con, [*steps, *(step(kind, 2) for kind in JOBS)], ("major", "minor"))
    assert set(did) == set(JOBS)
    assert all(did[kind] for kind in ("compact", "retain", "backup", "purge")), did
