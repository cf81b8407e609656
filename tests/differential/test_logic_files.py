"""Runs every logic file on the oracle and, in every configuration, on the gateway."""

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
"""Files that `make test` runs with sealing and opening anew between their statements as well: rows
that end, keys that change, and transactions. Each opens a warehouse a hundred times.
"""


def _is_in_every_run(path: Path, config: str) -> bool:
    return config == "plain" or (config == "flush_and_restart" and path.stem in _REOPENED)


_DISTURBED = [
    pytest.param(
        path,
        config,
        marks=() if _is_in_every_run(path, config) else pytest.mark.slow,
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
"""Files that `make test` runs by position: one for each way in which a read leaves versions out."""
_BY_POSITION = [
    pytest.param(path, marks=() if path.stem in _ON_ROWS else pytest.mark.slow, id=name)
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
