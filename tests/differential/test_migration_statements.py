"""Statements and expressions that programs send: what PostgreSQL says, and the gateway."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.migration_scripts import Script, differences, read_scripts
from tests.support.postgres import Cluster, running

FIXTURES = Path(__file__).parents[1] / "fixtures"
_FILES = {
    "expressions": 1000,
    "forms": 2000,
    "json_paths": 3000,
    "key_migrations": 4000,
    "triggers": 5000,
    "migrations": 0,
}
_LONG = frozenset({"migrations", "forms", "expressions", "triggers", "json_paths"})
"""The files of many statements; `make test` shows those that are soon through."""
SCRIPTS = [
    pytest.param(
        first,
        read_scripts(FIXTURES / f"{name}.sql"),
        id=name,
        marks=[pytest.mark.long] if name in _LONG else [],
    )
    for name, first in _FILES.items()
]
"""The scripts of each file, and the number of its first one."""

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def server() -> Iterator[Cluster]:
    """A server of plain tables, and of the gateway's."""
    with running() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def theirs(server: Cluster) -> Iterator[psycopg.Connection]:
    """A database that knows nothing of the gateway."""
    url = server.conninfo(server.database())
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def ours(
    request: pytest.FixtureRequest, server: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Connection]:
    """One store for all scripts, each of which has a schema of its own in it."""
    url = f"palimpsest:///{tmp_path_factory.mktemp('store')}/w"
    if request.param == "postgres":
        url = server.url(server.database())
    with gateway.connect(url, autocommit=True, dialect="postgres") as connection:
        yield connection


@pytest.mark.parametrize(
    "ours", ["embedded", pytest.param("postgres", marks=pytest.mark.stores)], indirect=True
)
@pytest.mark.parametrize(("first", "scripts"), SCRIPTS)
def test_outcomes_are_those_of_postgresql(
    first: int, scripts: list[Script], theirs: psycopg.Connection, ours: Connection
) -> None:
    found: list[str] = []
    for number, script in enumerate(scripts, first):
        found += [f"{script.title}: {each}" for each in differences(script, number, theirs, ours)]
        theirs.execute(f"DROP SCHEMA script_{number} CASCADE; DISCARD TEMP")
    assert found == []
