"""Warehouses that several programs use at once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support import warm_commands
from tests.support.urls import url_of_folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder of a warehouse with a table ``t`` of two rows, open nowhere."""
    place = tmp_path / "wh"
    with gateway.connect(url_of_folder(place), autocommit=True) as connection:
        connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
        connection.execute("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    return place


@pytest.fixture
def owner(root: Path) -> Iterator[Connection]:
    """A connection of this process, which owns the warehouse."""
    connection = gateway.connect(url_of_folder(root), autocommit=True)
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def commands() -> Iterator[None]:
    """Let ``palimpsest`` be a command each process of which is forked from one that is warm."""
    with warm_commands.running(dict(os.environ)) as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(folder), prepend=os.pathsep)
        yield
