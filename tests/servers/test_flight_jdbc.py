"""The Flight SQL JDBC driver: statements, batches, transactions, metadata."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.servers.conftest import launch

DRIVER = "org.apache.arrow:flight-sql-jdbc-driver:18.3.0"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None, reason="Java is not installed"),
    pytest.mark.skipif(shutil.which("mvn") is None, reason="Maven, which gets it, is missing"),
]


@pytest.fixture(scope="module")
def jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("driver")
    goal = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
    command = ["mvn", "-q", goal, f"-Dartifact={DRIVER}", f"-DoutputDirectory={folder}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    found = next(folder.glob("*.jar"), None)
    if found is None:
        pytest.skip(f"the driver cannot be had: {done.stdout[-200:]}")
    return found


def test_what_a_tool_does_at_connect_and_after(jar: Path, tmp_path: Path) -> None:
    server = launch(tmp_path, "--flight", "127.0.0.1:0", "--drain", "1")
    assert server.process.stdout is not None
    port = server.process.stdout.readline().strip().rpartition(":")[2]
    source = Path(__file__).with_name("FlightJdbcClient.java")
    url = f"jdbc:arrow-flight-sql://127.0.0.1:{port}/?useEncryption=false"
    opened = "--add-opens=java.base/java.nio=ALL-UNNAMED"
    done = subprocess.run(
        ["java", opened, "-cp", str(jar), str(source), url],
        capture_output=True,
        text=True,
        timeout=200,
    )
    server.end()
    assert done.stdout.splitlines() == [
        "product Palimpsest",
        "insert 1",
        "batch 1",  # The driver counts a batch as one.
        "rows 99 sum 49.50",
        "count 100",
        "table main.jdbc TABLE",
        "column id INT 0",
        "column name TEXT 1",
        "column amount DECIMAL(10, 2) 1",
        "column seen TIMESTAMPTZ 1",
        "key id",
        "schema main",
        "error true true",
        "sum 44999850000",
    ], done.stderr
