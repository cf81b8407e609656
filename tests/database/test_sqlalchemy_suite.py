"""SQLAlchemy's own suite on a database: what the embedded store passes holds there too."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.contract.sqlalchemy_suite.running import run_suite

pytestmark = pytest.mark.stores

PASSED_MIN = 1_200


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_nearly_all_of_it_runs_and_passes(root: Path, url: str, tmp_path: Path) -> None:
    if "palimpsest.postgresql" not in {e.name for e in entry_points(group="sqlalchemy.dialects")}:
        pytest.skip("the package was installed before it had this dialect: run make setup")
    report = run_suite(root, tmp_path, url)
    assert int(report.attrib["tests"]) - int(report.attrib["skipped"]) >= PASSED_MIN
