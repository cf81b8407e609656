"""What every test shares: the root, their order, hypothesis' profile, and a Ctrl-C that is heard.

Fixtures that one folder needs live in that folder; nothing here opens a store.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.order import arranged

ROOT = Path(__file__).resolve().parent.parent

settings.register_profile(
    "shared-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("shared-machine")

# A run in the background of a script ignores SIGINT, and so would every program that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give workers what takes long before the rest."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers > 1:
        items[:] = arranged([(_folder(item), _longest_s(item), item) for item in items], workers)


def _folder(item: pytest.Item) -> str:
    return item.path.relative_to(ROOT / "tests").parts[0]


def _longest_s(item: pytest.Item) -> float:
    """How long a test may take, where it says so."""
    mark = item.get_closest_marker("timeout")
    return 0.0 if mark is None else float(mark.args[0])


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the repository."""
    return ROOT
