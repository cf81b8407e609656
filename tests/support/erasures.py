"""The erasures of a test's store, as programs over its backend."""

from __future__ import annotations

from gateway.dbapi.connection import Connection
from gateway.procedures.erasure_program import erasure_backend
from spark_compaction.erasure.backend import ErasureBackend
from tests.support.client import Client


def backend_of(client: Client | Connection) -> ErasureBackend:
    """What the client's store does for erasures."""
    connection = client.connection if isinstance(client, Client) else client
    return erasure_backend(connection.session)
