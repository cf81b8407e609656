"""What a dry run promises, the job that follows at once does."""

from __future__ import annotations

import pytest

from tests.support.promised import JOBS, follow, random_steps, step
from tests.support.stores.store import Capability, Store

CASES = [
    # Writes of all kinds, then each job, both compactions and both ways to retain among them.
    [*random_steps(3, 12), step("put", 1), step("backup", 0), step("compact", 1)]
    + [step("put", 1), step("retain", 36), step("put", 115), step("retain", 50)]
    + [step(kind, 2) for kind in JOBS],
    [*random_steps(0, 50), *(step(kind, 0) for kind in JOBS)],
    [*random_steps(1, 50), *(step(kind, 1) for kind in JOBS)],
]


@pytest.mark.timeout(1800)
@pytest.mark.needs(Capability.BACKUPS, Capability.ERASURE)
@pytest.mark.parametrize(
    "case",
    [
        0,
        *(pytest.param(n, marks=[pytest.mark.also_on("hive"), pytest.mark.stores]) for n in (1, 2)),
    ],
)
def test_each_job_does_what_it_planned(store: Store, case: int) -> None:
    has_minor = Capability.MINOR_COMPACTION in store.capabilities
    modes = ("major", "minor") if has_minor else ("major",)
    did = follow(store.connect(), CASES[case], modes)
    assert set(did) == set(JOBS)
    assert all(did[kind] for kind in ("compact", "retain", "backup", "purge")), did
