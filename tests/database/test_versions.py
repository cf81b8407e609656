"""Versions of PostgreSQL, for a store or a catalog: the oldest and newest taken, and older ones.

Servers of other versions than the installed one are fetched where that was asked for; those of
Greenplum 6 and HAWQ cannot be had, so what they say of themselves is said by ``old_server``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import gateway
from journal.model.errors import Code, PalimpsestError
from journal.stores.hive.catalog_db.engine import CatalogDatabase
from tests.support.old_server import OldServer
from tests.support.postgres import Cluster, running

ASKED = "PALIMPSEST_POSTGRES_VERSIONS"
OLD = (
    ("PostgreSQL 9.4.26 (Greenplum Database 6.27.1 build commit:1)", 90_426, "tcp_user_timeout"),
    ("PostgreSQL 8.2.15 (Greenplum Database 4.2.0) (HAWQ 2.4.0.0)", 80_215, "IntervalStyle"),
)
"""What Greenplum 6 and HAWQ call themselves, and the first of our settings that is new to them."""


@pytest.fixture
def other(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A server of the version that the parameter names."""
    if not os.environ.get(ASKED):
        pytest.skip(f"other versions were not asked for: {ASKED}=1 fetches some 15 MB for each")
    with running(request.param) as found:
        yield found


def _assert_refused(url: str, version: str) -> None:
    with pytest.raises(gateway.NotSupportedError, match="older than PostgreSQL 12") as raised:
        gateway.connect(url)
    assert (raised.value.code, raised.value.sqlstate) == ("PAL-110", "0A000")
    assert version in str(raised.value)
    assert "use PostgreSQL 12 or later, or Greenplum 7" in str(raised.value)


@pytest.mark.parametrize(("version", "number", "unknown"), OLD)
def test_what_says_that_it_is_too_old_is_refused(version: str, number: int, unknown: str) -> None:
    """Also where it refuses a setting of the gateway's before it can be asked for its version."""
    with OldServer(version, number, unknown, distributes=True) as server:
        _assert_refused(f"palimpsest+postgresql://tester@127.0.0.1:{server.port}/x", version)
        assert server.refused == 1


def _assert_refused_for_a_catalog(where: str, version: str) -> None:
    catalog = CatalogDatabase(where)
    with pytest.raises(PalimpsestError, match="older than PostgreSQL 12") as raised:
        with catalog.writing():
            pass
    catalog.close()
    assert raised.value.code is Code.NOT_SUPPORTED
    assert version in str(raised.value)
    assert "sqlite:///file" in str(raised.value)


@pytest.mark.parametrize(("version", "number", "unknown"), OLD)
def test_a_catalog_is_not_kept_where_it_is_too_old(version: str, number: int, unknown: str) -> None:
    with OldServer(version, number, unknown, distributes=True) as server:
        url = f"postgresql+psycopg://tester@127.0.0.1:{server.port}/x"
        _assert_refused_for_a_catalog(url, version.split()[1])


@pytest.mark.timeout(600)
@pytest.mark.parametrize("other", ["9.6", "11"], indirect=True)
def test_a_server_that_is_too_old_is_refused(other: Cluster) -> None:
    _assert_refused(other.url("postgres"), "PostgreSQL ")
    where = other.url("postgres").removeprefix("palimpsest+")
    _assert_refused_for_a_catalog(where.replace("postgresql:", "postgresql+psycopg:"), ".")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("other", ["12", "13", "16", "17", "18"], indirect=True)
def test_a_table_through_its_life(other: Cluster) -> None:
    with gateway.connect(other.url(other.database()), autocommit=True) as con:
        con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
        con.execute("INSERT INTO t SELECT i, 'b' || i FROM range(100) r(i)")
        con.execute("UPDATE t SET b = 'changed' WHERE a < 10")
        con.execute("DELETE FROM t WHERE a >= 90")
        before = con.execute("SELECT * FROM t ORDER BY a").fetchall()
        con.execute("OPTIMIZE t")
        assert con.execute("SELECT * FROM t ORDER BY a").fetchall() == before
        con.execute("ERASE FROM t WHERE a = 5")
        ever = "SELECT count(*) FROM t FOR SYSTEM_TIME ALL WHERE a = 5"
        assert con.execute(ever).fetchall() == [(0,)]
        assert con.session.executor.upkeep.verify().is_clean
