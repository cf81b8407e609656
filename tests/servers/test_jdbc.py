"""PostgreSQL's JDBC driver: batches, cursors, metadata."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.servers.conftest import Server

JAR = Path("/usr/share/java/postgresql.jar")
pytestmark = [
    pytest.mark.skipif(not JAR.exists(), reason="the JDBC driver is not installed"),
    pytest.mark.skipif(shutil.which("java") is None, reason="Java is not installed"),
]


def test_what_a_tool_does_at_connect_and_after(server: Server) -> None:
    source = Path(__file__).with_name("JdbcClient.java")
    url = f"jdbc:postgresql://127.0.0.1:{server.port}/palimpsest"
    done = subprocess.run(
        ["java", "-cp", str(JAR), str(source), url],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "product PostgreSQL",
        "batch 1000",
        "rows 1000 sum 4995.00",
        "of jdbc auto false null 01",
        "edited 1 edited, 3 name 3, 5000 added",
        "table public.jdbc",
        "column id int4 0",
        "column name text 1",
        "column amount numeric 1",
        "column seen timestamptz 1",
        "key id",
        "index jdbc_pkey id",
        "schema information_schema",
        "schema pg_catalog",
        "schema public",
        "error 42P01",
    ]
