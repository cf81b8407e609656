"""Hive's JDBC drivers and beeline, of 2.3, 3.1 and 4.0, over a server in a process of its own."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.conftest import Server, launch

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None, reason="Java is not installed"),
    pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="no PySpark"),
]
_JARS = "hadoop-client* slf4j-api* commons-logging* log4j-*"
_ROW = (
    '1|Ada|12.30|2020-01-02 03:04:05.678|[1,2]|{"k":1}|{"x":1,"y":"z"}|raw|2020-02-29|true|1.1'
    "|2.5|3|4|5"
)
_LINES = [
    "product Palimpsest",
    (
        "types int string decimal timestamp array map struct binary date boolean float double"
        " tinyint smallint bigint"
    ),
    f"row|{_ROW}",
    "row|2|Grace" + "|null" * 13,
    "prepared Ada 13.30",
    "rows 25000 sum 312487500",
    "schemas main",
    "tables hs2",
    "columns id name amount seen tags map part raw day yes f g tiny small big",
    (
        "types INT STRING DECIMAL(10,2) TIMESTAMP array<int> map<string,int> struct<x:int,y:string>"
        " BINARY DATE BOOLEAN FLOAT DOUBLE TINYINT SMALLINT BIGINT"
    ),
    "kinds MATERIALIZED_VIEW TABLE VIEW",
    "key id",
    "catalogs",
    "type info 16",
    "error 42S02 10001",
    "error 42601 101",
    "cancelled true",
    "timed out",
]


def spark_jars() -> Path:
    """Where PySpark keeps its libraries, among them Hive's driver and beeline of 2.3."""
    found = importlib.util.find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "jars"


def _class_path(version: str, tmp_path: Path) -> str:
    jars = spark_jars()
    if version == "2.3":
        return f"{jars}/*"
    if shutil.which("mvn") is None:
        pytest.skip("Maven, which brings the driver, is not installed")
    artifact = f"org.apache.hive:hive-jdbc:{version}:jar:standalone"
    done = subprocess.run(
        ["mvn", "-q", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={tmp_path}"],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    if done.returncode:
        pytest.skip(f"the driver {version} cannot be had: {done.stdout[-200:]}")
    others = [str(path) for pattern in _JARS.split() for path in jars.glob(f"{pattern}.jar")]
    return ":".join([f"{tmp_path}/*", *others])


@pytest.fixture(scope="module")
def hive_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    found = launch(
        tmp_path_factory.mktemp("hive"), "--hive", "127.0.0.1:0", "--hive-http", "127.0.0.1:0"
    )
    yield found
    found.end()


@pytest.mark.parametrize("version", ["2.3", "3.1.3", "4.0.1"])
@pytest.mark.parametrize("way", ["sasl", "nosasl", "http"])
def test_what_a_tool_does_at_connect_and_after(
    hive_server: Server, version: str, way: str, tmp_path: Path
) -> None:
    source = Path(__file__).with_name("HiveJdbcClient.java")
    path = _class_path(version, tmp_path)
    url = hive_server.lines[way == "http"] + (";auth=noSasl" if way == "nosasl" else "")
    done = subprocess.run(
        ["java", "-cp", path, str(source), url],
        check=False,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == _LINES


def test_beeline_shows_tables_and_rows(hive_server: Server) -> None:
    script = (
        "CREATE TABLE bees (id INT, name STRING);\n"
        "INSERT INTO bees VALUES (1, 'Maja'), (2, 'Willi');\n"
        "UPDATE bees SET name = 'Cassandra' WHERE id = 2;\n"
        "SELECT * FROM bees ORDER BY id;\n!tables\n!columns bees\nSHOW TABLES;\nDESCRIBE bees;\n"
        "SELECT * FROM nothing;\n!quit\n"
    )
    done = subprocess.run(
        ["java", "-cp", f"{spark_jars()}/*", "org.apache.hive.beeline.BeeLine",
         "-u", hive_server.lines[0], "-n", "me", "--outputformat=csv2", "--force=true"],
        check=False, capture_output=True, text=True, input=script, timeout=200,
    )  # fmt: skip
    assert "Connected to: Palimpsest" in done.stderr
    assert "2,Cassandra" in done.stdout
    assert "id,int," in done.stdout
    assert ",main,bees,TABLE" in done.stdout
    assert "Table not found main.nothing" in done.stderr
