"""Logic files and random programs on Apache Hive, beside what they give elsewhere.

With ``held`` small journals are read in the gateway, and Hive takes the commits; with ``hive`` it
answers every query that it answers alike, and the gateway refuses the others.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.differential.fuzzer import HIVE_LACKS, Fuzzer
from tests.hive.test_logic_files import FILES, FOLDER
from tests.support.gateway_engine import GatewayEngine
from tests.support.logic.records import parse_file
from tests.support.logic.runner import CONFIGURATIONS, Disturbance, run_records
from tests.support.thrift_server import ThriftServer

pytestmark = pytest.mark.timeout(3600)
QUICK = frozenset({"ddl_schema", "write_cte"})
HELD_ROWS = {"held": "100000", "hive": "0"}


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path,
            id=path.relative_to(FOLDER).with_suffix("").as_posix(),
            marks=[] if path.stem in QUICK else [pytest.mark.slow],
        )
        for path in FILES
    ],
)
def test_logic_file(path: Path, apache: ThriftServer, tmp_path: Path) -> None:
    engine = GatewayEngine(apache.new_store(tmp_path, held_rows=HELD_ROWS["held"]))
    try:
        found = run_records(parse_file(path), engine, CONFIGURATIONS["plain"])
        assert [str(mismatch) for mismatch in found] == []
    finally:
        engine.close()


@pytest.mark.parametrize("mode", HELD_ROWS)
@pytest.mark.parametrize(
    "seeds", [range(2, 3), pytest.param(range(3, 20), marks=pytest.mark.slow)], ids=["one", "more"]
)
def test_random_programs(apache: ThriftServer, tmp_path: Path, mode: str, seeds: range) -> None:
    fuzzer = Fuzzer(
        tmp_path,
        Disturbance(),
        new_url=lambda: apache.new_store(tmp_path, held_rows=HELD_ROWS[mode]),
        lacks=HIVE_LACKS,
        length=14,
    )
    try:
        assert [str(finding) for finding in fuzzer.run(seeds)] == []
    finally:
        fuzzer.close()
