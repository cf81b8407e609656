"""Random programs on journals in Hive and on the oracle; fuzz.py runs more of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.differential.fuzzer import HIVE_LACKS, Fuzzer
from tests.support.logic.runner import Disturbance
from tests.support.thrift_server import ThriftServer

pytestmark = pytest.mark.stores


@pytest.mark.parametrize(
    "seeds", [range(2, 3), pytest.param(range(3, 20), marks=pytest.mark.slow)], ids=["one", "more"]
)
@pytest.mark.timeout(3600)
def test_gateway_agrees_with_the_oracle(server: ThriftServer, tmp_path: Path, seeds: range) -> None:
    fuzzer = Fuzzer(
        tmp_path,
        Disturbance(),
        new_url=lambda: server.new_store(tmp_path),
        lacks=HIVE_LACKS,
        length=14,
    )
    try:
        assert [str(finding) for finding in fuzzer.run(seeds)] == []
    finally:
        fuzzer.close()
