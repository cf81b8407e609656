"""The servers that pages speak of, each for the part of a page that does."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.docs import newcomer
from tests.docs.newcomer import Surroundings

Surround = Callable[[str], AbstractContextManager[Surroundings]]


@pytest.fixture
def surround(commands: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Surround:
    """Makes what a text needs: an empty folder, and the servers it names."""
    base = tmp_path_factory.getbasetemp()
    run = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    return lambda text: newcomer.surroundings(text, tmp_path, run, commands)
