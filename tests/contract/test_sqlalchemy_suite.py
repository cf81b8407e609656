"""SQLAlchemy's own dialect compliance suite passes, but for what is excluded with a reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.contract.sqlalchemy_suite.exclusions import EXCLUDED, reason_against
from tests.contract.sqlalchemy_suite.running import run_suite
from tests.sharing.programs import Program
from tests.support.served import serving
from tests.support.urls import url_of_folder

pytestmark = pytest.mark.timeout(1200)
PASSED_MIN = {1: 1_600, 4: 850}
"""By the share of its matrices that is run."""
EXCLUDED_MAX = 40


_SLOW = [pytest.param(way, marks=pytest.mark.slow) for way in ("own", "shared", "server")]


@pytest.fixture(scope="module", params=[pytest.param("quick", marks=pytest.mark.stores), *_SLOW])
def report(
    root: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[ElementTree.Element]:
    """The suite's result on an embedded warehouse; ``shared``: another program has it open.

    ``server``: this process serves it; ``quick``: with a fourth of the suite's matrices.
    """
    folder = tmp_path_factory.mktemp("suite")
    place = folder / "warehouse"
    url = url_of_folder(place)
    with ExitStack() as stack:
        if request.param == "shared":
            stack.enter_context(Program(place))
        if request.param == "server":
            url = stack.enter_context(serving(url))
        found = run_suite(root, folder, url, share := 4 if request.param == "quick" else 1)
        found.attrib["share"] = str(share)
        yield found


def test_nearly_all_of_it_runs_and_passes(report: ElementTree.Element) -> None:
    tests, skipped = int(report.attrib["tests"]), int(report.attrib["skipped"])
    reasons = [node.attrib.get("message", "") for node in report.iter("skipped")]
    excluded = sum(reason.startswith("excluded: ") for reason in reasons)
    assert tests - skipped >= PASSED_MIN[int(report.attrib["share"])]
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
