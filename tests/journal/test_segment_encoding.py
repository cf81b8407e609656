"""Segments use the encodings that are read fastest, and none that Spark refuses."""

from __future__ import annotations

import pytest

from journal.model.schema import Column, Table, TableName
from journal.stores.embedded.warehouse import parquet_options


def _table(kind: str) -> Table:
    columns = (Column("k", "k", "BIGINT", not_null=True), Column("v", "v", kind))
    return Table(1, TableName("s", "t"), columns, ("k",))


@pytest.mark.parametrize("kind", ["VARCHAR", "DECIMAL(15,2)", "DATE", "BIGINT[]", "BOOLEAN"])
def test_exact_types_use_the_second_version(kind: str) -> None:
    assert parquet_options(_table(kind))["PARQUET_VERSION"] == "v2"


@pytest.mark.parametrize("kind", ["DOUBLE", "float", "REAL", "DOUBLE[]", "STRUCT(a FLOAT)"])
def test_floats_keep_the_first_version(kind: str) -> None:
    assert "PARQUET_VERSION" not in parquet_options(_table(kind))
