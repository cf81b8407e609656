"""A database of the session's PostgreSQL server for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import psycopg
import pytest

from gateway.dbapi.connection import Connection
from gateway.procedures.adopting import adopt
from tests.support.client import Client
from tests.support.connections import opening
from tests.support.dependents import SETUP, Stage
from tests.support.postgres import Cluster
from tests.support.traces import everything

_NAMES = ("_journal", "version_number", "subsequent_version_number")


@pytest.fixture
def database(cluster: Cluster) -> str:
    """The name of a new, empty database."""
    return cluster.database()


@pytest.fixture
def url(cluster: Cluster, database: str) -> str:
    """The gateway's URL of that database."""
    return cluster.url(database)


@pytest.fixture
def connect(url: str) -> Iterator[Callable[..., Connection]]:
    """Opens connections to the database, in autocommit; closes those that are left open."""
    with opening(url, autocommit=True) as open_connection:
        yield open_connection


@pytest.fixture
def con(connect: Callable[..., Connection]) -> Connection:
    """One connection."""
    return connect()


@pytest.fixture
def admin(cluster: Cluster, database: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection of somebody who does not come through the gateway."""
    with psycopg.connect(cluster.conninfo(database), autocommit=True) as found:
        yield found


@pytest.fixture(params=["tiered", "adopted"])
def ten_rows(
    connect: Callable[..., Connection],
    admin: psycopg.Connection[Any],
    request: pytest.FixtureRequest,
) -> Connection:
    """A connection to a database with a table of ten rows."""
    con = connect()
    if request.param == "tiered":
        con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER CHECK (v < 100))")
        con.execute("INSERT INTO t SELECT i, i FROM range(10) AS r(i)")
        con.execute("CALL system.compact('t')")
    else:
        admin.execute(
            "CREATE TABLE t_journal AS SELECT i AS id, i AS v, TIMESTAMPTZ '2020-01-01' AS"
            " version_number, NULL::timestamptz AS subsequent_version_number"
            " FROM generate_series(0, 9) AS i"
        )
        admin.execute("CREATE UNIQUE INDEX ON t_journal (id, version_number)")
        adopt(con.session, "t", ("id",), _NAMES, run=True)
        con.execute("ALTER TABLE t ADD CHECK (v < 100)")
    return con


@pytest.fixture
def stage(url: str, cluster: Cluster, database: str) -> Iterator[Stage]:
    """The database with people, and tables that refer to them."""
    run = Client(url)
    for sql in SETUP:
        run(sql)

    def holders(text: str) -> list[str]:
        held = everything(cluster, database).lower()
        return [database] if text.lower() in held else []

    yield Stage(run, partial(Client, url), holders, "public")
    run.close()
