"""Settings that a URL names, and those of our own, are those of the server's session."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.opening.hive_servers import server_of
from journal.stores.hive.client.thrift_connection import ThriftConnection
from tests.support.thrift_server import ThriftServer

pytestmark = pytest.mark.stores


def test_settings_reach_the_session(server: ThriftServer, tmp_path: Path) -> None:
    name = "spark.sql.shuffle.partitions"
    url = server.new_store(tmp_path, **{f"conf.{name}": "3"})
    connection = ThriftConnection(server_of(url))
    try:
        assert connection.run(f"SET {name}") == [(name, "3")]
        ours = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
        assert connection.run(f"SET {ours}") == [(ours, "64")]
    finally:
        connection.close()
