"""Runs SQLAlchemy's suite apart, since its plugin rules a whole process."""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

HERE = Path("tests") / "contract" / "sqlalchemy_suite"


def run_suite(root: Path, folder: Path, url: str, share: int = 1) -> ElementTree.Element:
    """Return the suite's result on a store as JUnit XML; fail the test if any of it failed.

    With a ``share`` of 4 only each fourth test of its matrices is run.
    """
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", str(HERE / "suite.py"),
            "-c", str(HERE / "setup.cfg"), "--rootdir", str(HERE),
            "-p", "tests.contract.sqlalchemy_suite.plugin",
            "-p", "no:randomly", "-p", "no:xdist", "-p", "no:cacheprovider", "-p", "no:warnings",
            "--dburi", url,
            "--junitxml", str(folder / "report.xml"), "-q", "--tb=short",
        ],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root), "PALIMPSEST_SUITE_SHARE": str(share)},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    if done.returncode != 0:
        pytest.fail("\n".join(done.stdout.splitlines()[-60:]) + done.stderr[-2000:])
    suite = ElementTree.parse(folder / "report.xml").getroot().find("testsuite")  # noqa: S314
    assert suite is not None
    return suite
