"""Random programs on journals in PostgreSQL and on the oracle; fuzz.py runs more of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.differential.fuzzer import Fuzzer
from tests.support.logic.runner import Disturbance
from tests.support.postgres import Cluster
from tests.support.programs.upkeep import ALL_JOBS, LAYOUTS, Layout, Upkeep

pytestmark = pytest.mark.stores


@pytest.mark.timeout(300)
def test_gateway_agrees_with_the_oracle(cluster: Cluster, tmp_path: Path) -> None:
    fuzzer = Fuzzer(tmp_path, Disturbance(), new_url=lambda: cluster.url(cluster.database()))
    try:
        assert [str(finding) for finding in fuzzer.run(range(6))] == []
    finally:
        fuzzer.close()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.timeout(300)
def test_jobs_change_no_answer(cluster: Cluster, tmp_path: Path, layout: Layout) -> None:
    upkeep = Upkeep(("major", "auto"), ALL_JOBS, layout)
    fuzzer = Fuzzer(
        tmp_path, Disturbance(), new_url=lambda: cluster.url(cluster.database()), upkeep=upkeep
    )
    try:
        assert [str(finding) for finding in fuzzer.run(range(4))] == []
    finally:
        fuzzer.close()
