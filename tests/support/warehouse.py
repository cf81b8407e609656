"""Fixtures: one warehouse in a folder of its own, and clients of it. Opens no store by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.client import Client


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[Callable[..., Client]]:
    """Opens clients of one warehouse; closes those that are left open."""
    opened: list[Client] = []

    def open_client(**options: Any) -> Client:
        opened.append(Client(tmp_path / "warehouse", **options))
        return opened[-1]

    yield open_client
    for client in opened:
        client.close()


@pytest.fixture(scope="module")
def common(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """One client in autocommit for all tests of a module that leave its warehouse as it was."""
    client = Client(tmp_path_factory.mktemp("common") / "warehouse")
    yield client
    client.close()


@pytest.fixture
def run(connect: Callable[..., Client]) -> Client:
    """One client in autocommit."""
    return connect()
