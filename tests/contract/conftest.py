"""A temporary warehouse per test, and connections to it that are closed afterwards.

The contract of PEP 249 holds three times: where this process has the warehouse open, where another
program has it open and this one is its client, and across a network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gateway.dbapi.connection import Connection
from gateway.sharing.remote_session import RemoteSession
from tests.sharing.programs import Program
from tests.support.connections import opening
from tests.support.served import serving
from tests.support.urls import url_of_folder

collect_ignore = ["sqlalchemy_suite"]
_EVERY_WAY = ("test_pep249", "test_parameters", "test_values")
_KEEP = "import __main__; __main__.kept = gateway.connect({!r})"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the modules about PEP 249 through a socket and a server as well."""
    if "url" in metafunc.fixturenames and metafunc.module.__name__.endswith(_EVERY_WAY):
        given = [m.args[0] for m in metafunc.definition.iter_markers("parametrize")]
        if "url" in given:
            return
        # Parameters are the session's, wherever they come from; tests/servers shows values.
        repeated = {"test_parameters": {"shared", "server"}, "test_values": {"server"}}
        slow = repeated.get(metafunc.module.__name__.rpartition(".")[2], set())
        ways = [
            pytest.param(way, marks=[pytest.mark.slow] if way in slow else [])
            for way in ("own", "shared", "server")
        ]
        metafunc.parametrize("url", ways, indirect=True)


@pytest.fixture(scope="session")
def other_program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """A program that has open what a test tells it to."""
    with Program(tmp_path_factory.mktemp("other") / "warehouse") as program:
        yield program


@pytest.fixture
def url(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """A warehouse of this test alone; ``shared``: another program has it open; or a ``server``."""
    place, way = tmp_path / "warehouse", getattr(request, "param", "own")
    if way == "server":
        with serving(url_of_folder(place)) as found:
            yield found
        return
    if way == "shared":
        program: Program = request.getfixturevalue("other_program")
        program.ask("python", _KEEP.format(url_of_folder(place)))
    yield url_of_folder(place)


@pytest.fixture
def connect(url: str) -> Iterator[Callable[..., Connection]]:
    """Makes connections to the test's warehouse."""
    with opening(url) as open_connection:
        yield open_connection


@pytest.fixture
def con(connect: Callable[..., Connection], request: pytest.FixtureRequest) -> Connection:
    """One connection in PEP 249's default mode."""
    connection = connect()
    way = request.node.callspec.id if hasattr(request.node, "callspec") else "own"
    is_remote = "shared" in way or "server" in way
    assert isinstance(connection.client_session, RemoteSession) == is_remote
    return connection
