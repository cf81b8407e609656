"""Runs every logic file on the oracle and, in every configuration, on the gateway."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.engine import Engine
from tests.support.gateway_engine import GatewayEngine
from tests.support.logic.records import parse_file
from tests.support.logic.runner import CONFIGURATIONS, run_records
from tests.support.oracle import Oracle
from tests.support.positions import AtOnce

FOLDER = Path(__file__).parents[1] / "fixtures" / "logic"
FILES = sorted(FOLDER.rglob("*.slt"))
IDS = [path.relative_to(FOLDER).with_suffix("").as_posix() for path in FILES]


_REOPENED = frozenset({"tx_interleaved", "write_names"})
"""Files that `make test-long` runs with sealing and opening anew between their statements: rows
that end, keys that change, and transactions. Each opens a warehouse a hundred times.
"""


def _tier(path: Path, config: str) -> Sequence[pytest.MarkDecorator]:
    if config == "plain":
        return ()
    is_reopened = config == "flush_and_restart" and path.stem in _REOPENED
    return [pytest.mark.long if is_reopened else pytest.mark.slow]


_DISTURBED = [
    pytest.param(
        path,
        config,
        marks=_tier(path, config),
        id=f"{name}-{config}",
    )
    for path, name in zip(FILES, IDS, strict=True)
    for config in CONFIGURATIONS
]


def _mismatches(path: Path, engine: Engine, config: str) -> list[str]:
    try:
        found = run_records(parse_file(path), engine, CONFIGURATIONS[config])
        return [str(mismatch) for mismatch in found]
    finally:
        engine.close()


@pytest.mark.parametrize("path", FILES, ids=IDS)
def test_oracle(path: Path) -> None:
    assert _mismatches(path, Oracle(), "plain") == []


_ON_ROWS = frozenset(
    {"key_lives", "select_aggregates_of_changes", "select_core"} | {"write_delete", "write_merge"}
)
"""Files that `make test-long` runs by position: one for each way in which reads leave out rows."""
_BY_POSITION = [
    pytest.param(
        path, marks=pytest.mark.long if path.stem in _ON_ROWS else pytest.mark.slow, id=name
    )
    for path, name in zip(FILES, IDS, strict=True)
]


@pytest.mark.parametrize("path", _BY_POSITION)
@pytest.mark.timeout(120)
def test_gateway_by_position(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("journal.stores.embedded.journal.PositionKeeper", AtOnce)
    assert _mismatches(path, GatewayEngine(tmp_path / "warehouse"), "flush") == []


@pytest.mark.parametrize(("path", "config"), _DISTURBED)
@pytest.mark.timeout(120)
def test_gateway(path: Path, config: str, tmp_path: Path) -> None:
    assert _mismatches(path, GatewayEngine(tmp_path / "warehouse"), config) == []
