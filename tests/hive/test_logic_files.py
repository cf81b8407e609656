"""Runs the logic files on a Hive store: what they say holds there too, as far as it goes.

With ``held`` small journals are read in the gateway, and only commits go to Spark; with ``spark``
every read goes there, too, which takes minutes for each file.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.gateway_engine import GatewayEngine
from tests.support.logic.records import parse_file
from tests.support.logic.runner import CONFIGURATIONS, run_records

FOLDER = Path(__file__).parents[1] / "fixtures" / "logic"
FILES = sorted(FOLDER.rglob("*.slt"))
IDS = [path.relative_to(FOLDER).with_suffix("").as_posix() for path in FILES]
QUICK = frozenset({"read_grouping", "write_cte"})


def _run(path: Path, url: str) -> list[str]:
    engine = GatewayEngine(url)
    try:
        found = run_records(parse_file(path), engine, CONFIGURATIONS["plain"])
        return [str(mismatch) for mismatch in found]
    finally:
        engine.close()


@pytest.mark.parametrize(
    "path",
    [p if p.stem in QUICK else pytest.param(p, marks=pytest.mark.slow) for p in FILES],
    ids=IDS,
)
@pytest.mark.timeout(1800)
def test_held(path: Path, url: str) -> None:
    assert _run(path, f"{url}&held_rows=100000") == []


READS = ("read_grouping", "select_core", "select_aggregates_of_changes")


@pytest.mark.slow
@pytest.mark.parametrize("name", READS)
@pytest.mark.timeout(1800)
def test_spark(name: str, url: str) -> None:
    assert _run(FOLDER / f"{name}.slt", url) == []
