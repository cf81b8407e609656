"""SQLAlchemy's own dialect compliance suite passes, but for what is excluded with a reason."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.contract.sqlalchemy_suite.exclusions import EXCLUDED, reason_against

HERE = Path("tests") / "contract" / "sqlalchemy_suite"
PASSED_MIN = 1_300
EXCLUDED_MAX = 40


@pytest.fixture(scope="module")
def report(root: Path, tmp_path_factory: pytest.TempPathFactory) -> ElementTree.Element:
    """The suite's result as JUnit XML; it runs apart, since its plugin rules a whole process."""
    folder = tmp_path_factory.mktemp("suite")
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", str(HERE / "suite.py"),
            "-c", str(HERE / "setup.cfg"), "--rootdir", str(HERE),
            "-p", "tests.contract.sqlalchemy_suite.plugin",
            "-p", "no:randomly", "-p", "no:xdist", "-p", "no:cacheprovider", "-p", "no:warnings",
            "--dburi", f"palimpsest:///{folder / 'warehouse'}",
            "--junitxml", str(folder / "report.xml"), "-q", "--tb=short",
        ],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    if done.returncode != 0:
        pytest.fail("\n".join(done.stdout.splitlines()[-60:]) + done.stderr[-2000:])
    suite = ElementTree.parse(folder / "report.xml").getroot().find("testsuite")  # noqa: S314
    assert suite is not None
    return suite


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
