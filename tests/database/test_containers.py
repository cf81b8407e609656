"""The same store in containers: other versions of PostgreSQL, and Greenplum.

They run where the package testcontainers is installed and a container engine answers; else they are
skipped, with the reason.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gateway

IMAGES = {
    "postgres:17": ("POSTGRES_PASSWORD", 5432, "postgres"),
    "postgres:13": ("POSTGRES_PASSWORD", 5432, "postgres"),
    "woblerr/greenplum:7": ("GREENPLUM_PASSWORD", 5432, "gpadmin"),
}


@pytest.fixture(params=sorted(IMAGES))
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The gateway's URL of a database in a container."""
    if not os.environ.get("DOCKER_HOST") and not Path("/var/run/docker.sock").exists():
        pytest.skip("no container engine here: neither DOCKER_HOST nor /var/run/docker.sock")
    core = pytest.importorskip("testcontainers.core.container", reason="no testcontainers here")
    waiting = pytest.importorskip("testcontainers.core.waiting_utils")
    variable, port, user = IMAGES[request.param]
    container = core.DockerContainer(request.param).with_env(variable, "test")
    container.with_exposed_ports(port).start()
    try:
        waiting.wait_for_logs(container, "ready to accept connections|ready", timeout=300)
        host, mapped = container.get_container_host_ip(), container.get_exposed_port(port)
        yield f"palimpsest+postgresql://{user}:test@{host}:{mapped}/postgres?connect_timeout=60"
    finally:
        container.stop()


def _rows(con: Any, sql: str) -> list[Any]:
    return list(con.execute(sql).fetchall())


@pytest.mark.timeout(600)
def test_a_table_through_its_life(url: str) -> None:
    with gateway.connect(url, autocommit=True) as con:
        con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
        con.execute("INSERT INTO t SELECT i, 'b' || i FROM range(100) r(i)")
        con.execute("UPDATE t SET b = 'changed' WHERE a < 10")
        con.execute("DELETE FROM t WHERE a >= 90")
        before = _rows(con, "SELECT * FROM t ORDER BY a")
        con.execute("OPTIMIZE t")
        assert _rows(con, "SELECT * FROM t ORDER BY a") == before
        con.execute("ERASE FROM t WHERE a = 5")
        assert _rows(con, "SELECT count(*) FROM t FOR SYSTEM_TIME ALL WHERE a = 5") == [(0,)]
        assert con.session.executor.upkeep.verify().is_clean
