"""Runs the logic files on journals in PostgreSQL: what they say holds there too."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.gateway_engine import GatewayEngine
from tests.support.logic.records import parse_file
from tests.support.logic.runner import CONFIGURATIONS, run_records

FOLDER = Path(__file__).parents[1] / "fixtures" / "logic"
FILES = sorted(FOLDER.rglob("*.slt"))
IDS = [path.relative_to(FOLDER).with_suffix("").as_posix() for path in FILES]


_CONFIGURATIONS = [
    "plain",
    *(pytest.param(name, marks=pytest.mark.stores) for name in ("flush", "restart")),
]


@pytest.mark.parametrize("config", _CONFIGURATIONS)
@pytest.mark.parametrize("path", FILES, ids=IDS)
@pytest.mark.timeout(240)
def test_postgres(path: Path, config: str, url: str) -> None:
    engine = GatewayEngine(url)
    try:
        found = run_records(parse_file(path), engine, CONFIGURATIONS[config])
        assert [str(mismatch) for mismatch in found] == []
    finally:
        engine.close()
