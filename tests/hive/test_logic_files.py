"""Runs the logic files on a Hive store: what they say holds there too, as far as it goes.

With ``held`` small journals are read in the gateway, and only commits go to Spark; with ``spark``
every read goes there, too, which takes minutes for each file. What a store does not have the files
themselves say (``skipif hive``, ``skipif spark``).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.gateway_engine import GatewayEngine
from tests.support.logic.records import parse_file
from tests.support.logic.runner import CONFIGURATIONS, run_records

FOLDER = Path(__file__).parents[1] / "fixtures" / "logic"
FILES = sorted(FOLDER.rglob("*.slt"))
QUICK = {"held": frozenset({"read_grouping", "write_cte"}), "spark": frozenset({"write_delete"})}
RUNS = [
    pytest.param(
        path,
        mode,
        id=f"{path.relative_to(FOLDER).with_suffix('').as_posix()}-{mode}",
        marks=[] if path.stem in QUICK[mode] else [pytest.mark.slow],
    )
    for mode in QUICK
    for path in FILES
]


@pytest.mark.parametrize(("path", "mode"), RUNS)
@pytest.mark.timeout(1800)
def test_hive(path: Path, mode: str, url: str) -> None:
    engine = GatewayEngine(f"{url}&held_rows=100000" if mode == "held" else url)
    try:
        found = run_records(parse_file(path), engine, CONFIGURATIONS["plain"])
        assert [str(mismatch) for mismatch in found] == []
    finally:
        engine.close()
