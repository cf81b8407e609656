"""Random programs over indexes, sequences, enums, foreign keys, temporary tables, prepared ones.

PostgreSQL's plain tables are the oracle; `python -m tests.differential.fuzz --objects` runs more.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.differential.fuzzer import Fuzzer
from tests.support.logic.runner import CONFIGURATIONS
from tests.support.postgres import Cluster

SHARE = 8
CASES = [
    pytest.param("embedded", "plain", range(10_000, 10_000 + SHARE)),
    pytest.param("embedded", "flush", range(10_100, 10_100 + SHARE // 2)),
    pytest.param("postgres", "plain", range(10_200, 10_200 + SHARE // 2), marks=pytest.mark.stores),
]


@pytest.mark.long
@pytest.mark.parametrize(("store", "config", "seeds"), CASES)
@pytest.mark.timeout(240)
def test_gateway_and_postgres_agree(
    cluster: Cluster, tmp_path: Path, store: str, config: str, seeds: range
) -> None:
    fuzzer = Fuzzer(
        tmp_path,
        CONFIGURATIONS[config],
        new_url=(lambda: cluster.url(cluster.database())) if store == "postgres" else None,
        postgres=cluster.conninfo(cluster.database()),
    )
    try:
        assert [str(finding) for finding in fuzzer.run(seeds)] == []
    finally:
        fuzzer.close()
