"""What every test shares: the root, servers, order, durations, hypothesis' profile, log, Ctrl-C.

Fixtures that one folder needs live in that folder; nothing here opens a store.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from gateway.activity import log_settings
from tests.support import warm_python
from tests.support.order import arranged
from tests.support.servers import apache, cluster, commands, server
from tests.support.tiers import mark_later_cases

__all__ = ["apache", "cluster", "commands", "server"]

ROOT = Path(__file__).resolve().parent.parent
_GARBAGE = (20_000, 10, 10)
"""Thresholds of Python's collector: so many objects are made before it looks for cycles. Trees of
SQL are cycles, and a look among all tests that pytest has collected takes up to a second."""
_FILES_TOLD = 40
"""How many files the end of a run names, those that took longest."""

settings.register_profile(
    "shared-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("shared-machine")

# A run in the background of a script ignores SIGINT, and so would every program that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _log_as_before() -> Iterator[None]:
    """Take back what a test has chosen for the log of its process."""
    logger, chosen = logging.getLogger("palimpsest"), log_settings._Chosen
    level, before = logger.level, (logger.propagate, logger.handlers[:], chosen.slow_s)
    yield
    logger.setLevel(level)
    logger.propagate, logger.handlers[:], chosen.slow_s = before


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for no garbage meanwhile: tests and modules stay, and a look takes longer with each."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Say which cases run in which tier; of those that run, give workers first what takes long."""
    mark_later_cases(items)
    yield
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers > 1:
        items[:] = arranged([(_folder(item), _longest_s(item), item) for item in items], workers)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Collect garbage less often, and not among tests and modules, which live until the end.

    What tests make is collected as ever, so one that looks for a leak by ``gc.collect`` finds it.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GARBAGE)


def pytest_sessionfinish() -> None:
    """End a warm Python, and let the collector have all again.

    DuckDB's bindings warn at exit of objects that are left.
    """
    warm_python.stop()
    gc.unfreeze()


def _folder(item: pytest.Item) -> str:
    return item.path.relative_to(ROOT / "tests").parts[0]


def _longest_s(item: pytest.Item) -> float:
    """How long a test may take, where it says so."""
    mark = item.get_closest_marker("timeout")
    return 0.0 if mark is None else float(mark.args[0])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many seconds tests took, by folder and by file, those of all workers added up."""
    spent: defaultdict[str, float] = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                file = report.nodeid.partition("::")[0]
                spent[file] += report.duration
                spent["/".join(file.split("/")[:2])] += report.duration
    longest = sorted(spent.items(), key=lambda item: -item[1])
    for title, is_file, most in (("folder", False, 99), ("file", True, _FILES_TOLD)):
        found = [(name, s) for name, s in longest if name.endswith(".py") is is_file][:most]
        if found:
            terminalreporter.section(f"seconds by {title}")
        for name, seconds in found:
            terminalreporter.write_line(f"{seconds:8.1f}  {name}")


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the repository."""
    return ROOT
