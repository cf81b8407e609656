"""A temporary warehouse per test, and connections to it that are closed afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection

collect_ignore = ["sqlalchemy_suite"]


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A warehouse of this test alone."""
    return f"palimpsest:///{tmp_path / 'warehouse'}"


@pytest.fixture
def connect(url: str) -> Iterator[Callable[..., Connection]]:
    """Makes connections to the test's warehouse."""
    made: list[Connection] = []

    def make(**options: Any) -> Connection:
        made.append(gateway.connect(url, **options))
        return made[-1]

    yield make
    for connection in made:
        connection.close()


@pytest.fixture
def con(connect: Callable[..., Connection]) -> Connection:
    """One connection in PEP 249's default mode."""
    return connect()
