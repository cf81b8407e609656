"""CSV of long results is made by DuckDB: the same text as cell by cell, errors and Ctrl-C too."""

from __future__ import annotations

import datetime as dt
import io
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gateway
from gateway.dbapi.connection import Connection
from gateway.shell.csv_format import write_csv
from gateway.shell.exports import export_rows
from gateway.shell.result import FETCH_ROWS, ShownResult
from gateway.shell.table import Style

VALUES = {
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "DOUBLE": st.floats(),
    "FLOAT": st.floats(width=32),
    "DECIMAL(18,3)": st.decimals(
        Decimal(-(10**14)), Decimal(10**14), places=3, allow_nan=False, allow_infinity=False
    ),
    "BOOLEAN": st.booleans(),
    "VARCHAR": st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    "BLOB": st.binary(max_size=8),
    "DATE": st.dates(),
    "TIMESTAMP": st.datetimes(),
    "TIMESTAMP WITH TIME ZONE": st.datetimes(
        min_value=dt.datetime.fromisoformat("1900-01-01"),
        max_value=dt.datetime.fromisoformat("9000-01-01"),
        timezones=st.just(dt.UTC),
    ),
    "TIME": st.times(),
    "UUID": st.uuids(),
    "INTEGER[]": st.lists(st.integers(0, 9), max_size=3),
}


def lines_of(connection: Connection, sql: str, delimiter: str = ",") -> str:
    out = io.StringIO()
    result = ShownResult.of(connection.execute(sql), connection)
    assert write_csv(result, out, Style(), delimiter) >= 0
    return out.getvalue()


@pytest.fixture(scope="module")
def connection() -> Connection:
    return gateway.connect("palimpsest://", autocommit=True)


@pytest.mark.parametrize("kind", VALUES)
def test_all_ways_write_the_same_text(connection: Connection, kind: str, tmp_path: Path) -> None:
    @settings(max_examples=1, suppress_health_check=list(HealthCheck), deadline=None)
    @given(st.lists(st.none() | VALUES[kind], min_size=200, max_size=300))
    def check(values: list[object]) -> None:
        connection.execute(f"CREATE OR REPLACE TABLE v (n INTEGER, v {kind})")
        connection.cursor().executemany("INSERT INTO v VALUES (?, ?)", list(enumerate(values)))
        short = lines_of(connection, "SELECT v FROM v ORDER BY n").partition("\n")[2]
        filler = f"SELECT NULL::{kind} AS v, -1 AS n FROM range({FETCH_ROWS})"
        long = lines_of(
            connection, f"SELECT v FROM ({filler} UNION ALL SELECT v, n FROM v) ORDER BY n"
        )
        assert long.partition("\n")[2] == "\n" * FETCH_ROWS + short
        file = tmp_path / "exported.csv"
        assert export_rows(connection, "SELECT v FROM v ORDER BY n", file) == len(values)
        assert file.read_text("utf-8").partition("\n")[2] == short

    check()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1 AS a, 2 AS b",
        'SELECT 1 AS "a,b", \'x\' AS "q""q"',
        "SELECT 1 AS a, 2 AS a",
        "SELECT '' AS a, NULL AS b, ' ' AS c, '#' AS d",
        "SELECT * FROM (VALUES (1, TIMESTAMPTZ '2024-01-01 00:00:00+02')) AS r(a, b)",
        "SELECT range AS a FROM range(3) WHERE range > 5",
    ],
)
@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_an_export_has_the_text_that_a_query_prints(
    connection: Connection, query: str, ending: str, tmp_path: Path
) -> None:
    file = tmp_path / f"exported.{ending}"
    export_rows(connection, query, file)
    expected = lines_of(connection, query, "," if ending == "csv" else "\t")
    assert file.read_text("utf-8") == expected


def test_an_export_reads_the_dialect_of_its_session(tmp_path: Path) -> None:
    with gateway.connect("palimpsest://", autocommit=True, dialect="postgres") as connection:
        connection.execute("CREATE TABLE t (a DOUBLE PRECISION, b BYTEA, c NUMERIC(5, 2))")
        connection.execute("INSERT INTO t VALUES ('NaN', '\\x01ff', 1.5), (NULL, NULL, NULL)")
        for source in ("t", "SELECT a, b, c::text || '' AS c FROM t"):
            file = tmp_path / "exported.csv"
            assert export_rows(connection, source, file) == 2
            assert file.read_text("utf-8") == "a,b,c\nnan,\\x01ff,1.50\n,,\n"


@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_a_long_result_is_whole_and_in_order(connection: Connection, delimiter: str) -> None:
    found = lines_of(
        connection, "SELECT x AS a, 'n' || x AS b FROM range(50000) AS r(x)", delimiter
    )
    assert found.splitlines() == [
        f"a{delimiter}b",
        *(f"{n}{delimiter}n{n}" for n in range(50000)),
    ]


def test_an_error_in_the_middle_is_that_of_the_statement(connection: Connection) -> None:
    with pytest.raises(gateway.Error) as caught:
        lines_of(
            connection,
            "SELECT CAST(CASE WHEN x = 900000 THEN 'x' ELSE '1' END AS INTEGER)"
            " FROM range(1000000) AS r(x)",
        )
    assert caught.value.sqlstate.startswith("22")


@pytest.mark.long
def test_a_reader_that_leaves_early_ends_the_command(tmp_path: Path) -> None:
    warehouse = str(tmp_path / "w")
    gateway.connect(f"palimpsest:///{warehouse}").close()
    query = [
        sys.executable,
        "-m",
        "gateway.cli",
        "query",
        "-w",
        warehouse,
        "-t",
        "csv",
        "SELECT * FROM range(30000000)",
    ]
    with subprocess.Popen(query, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.read(100_000).startswith(b"range\n0\n1\n")
        running.stdout.close()
        assert running.wait(60) == 0
        assert running.stderr.read() == b""
