"""SQLAlchemy's own dialect compliance suite passes, but for what is excluded with a reason."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.contract.sqlalchemy_suite.exclusions import EXCLUDED, reason_against
from tests.contract.sqlalchemy_suite.running import run_suite

PASSED_MIN = 1_300
EXCLUDED_MAX = 40


@pytest.fixture(scope="module")
def report(root: Path, tmp_path_factory: pytest.TempPathFactory) -> ElementTree.Element:
    """The suite's result on an embedded warehouse."""
    folder = tmp_path_factory.mktemp("suite")
    return run_suite(root, folder, f"palimpsest:///{folder / 'warehouse'}")


def test_nearly_all_of_it_runs_and_passes(report: ElementTree.Element) -> None:
    tests, skipped = int(report.attrib["tests"]), int(report.attrib["skipped"])
    reasons = [node.attrib.get("message", "") for node in report.iter("skipped")]
    excluded = sum(reason.startswith("excluded: ") for reason in reasons)
    assert tests - skipped >= PASSED_MIN
    assert excluded <= EXCLUDED_MAX


def test_no_exclusion_is_stale(report: ElementTree.Element) -> None:
    used = set()
    for case in report.iter("testcase"):
        owner = re.split(r"\.|_palimpsest", case.attrib["classname"].split("suite.")[-1])[0]
        bare = case.attrib["name"].split("[")[0]
        used |= {owner, f"{owner}.{bare}", f"{owner}.{case.attrib['name']}"} & set(EXCLUDED)
    assert used == set(EXCLUDED)
    assert all(EXCLUDED.values())
    assert reason_against("Nothing", "at_all") is None
