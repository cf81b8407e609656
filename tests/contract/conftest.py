"""A temporary warehouse per test, and connections to it that are closed afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gateway.dbapi.connection import Connection
from tests.support.connections import opening

collect_ignore = ["sqlalchemy_suite"]


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A warehouse of this test alone."""
    return f"palimpsest:///{tmp_path / 'warehouse'}"


@pytest.fixture
def connect(url: str) -> Iterator[Callable[..., Connection]]:
    """Makes connections to the test's warehouse."""
    with opening(url) as open_connection:
        yield open_connection


@pytest.fixture
def con(connect: Callable[..., Connection]) -> Connection:
    """One connection in PEP 249's default mode."""
    return connect()
