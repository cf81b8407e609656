"""What tells whether rows are the same after a job: the least difference of a value shows in it."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from journal.stores.hive.store import HiveConnection
from spark_compaction.backends.hive.pieces import fingerprints

pytestmark = pytest.mark.stores

VALUES = [
    ("TIMESTAMP '2024-01-01 00:00:00.000001'", "TIMESTAMP '2024-01-01 00:00:00.000002'"),
    ("TIMESTAMPTZ '2024-01-01 00:00:00.000001+00'", "TIMESTAMPTZ '2024-01-01 00:00:00+00'"),
    ("[TIMESTAMP '2024-01-01 00:00:00.5']", "[TIMESTAMP '2024-01-01 00:00:00.500001']"),
    ("TIMESTAMP '0001-01-01 00:00:00'", "TIMESTAMP '9999-12-31 23:59:59.999999'"),
    ("NULL::VARCHAR", "''"),
    ("0.1::DOUBLE", "0.10000000000000002::DOUBLE"),
    ("1.10::DECIMAL(38, 20)", "1.10000000000000000001::DECIMAL(38, 20)"),
    ("'a'::BLOB", "'b'::BLOB"),
]


def _row(value: str) -> exp.Query:
    found = sqlglot.parse_one(f"SELECT {value} AS a, 1 AS b", dialect="duckdb")
    assert isinstance(found, exp.Query)
    return found


@pytest.mark.parametrize(("one", "other"), VALUES)
def test_a_small_difference_is_one(connection: HiveConnection, one: str, other: str) -> None:
    asked = [(_row(value), ("a", "b")) for value in (one, other, one)]
    first, second, again = fingerprints(connection, asked)
    assert first == again != second
