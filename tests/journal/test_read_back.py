"""Filters are the same whether Arrow or DuckDB reads the values of a new file back."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from journal.files.filters.bloom import Bloom
from journal.files.filters.read_back import take_in
from journal.files.filters.sidecar import KEY, FilterBuilder, identifier_hashes, read_sidecar
from journal.identity.descriptor import FPP_DEFAULT, DescriptorEntry
from journal.identity.normalisers import LOWER
from journal.identity.paths import parse_path

PLAIN = {
    "VARCHAR": "nullif('name ' || i, 'name 7')",
    "VARCHAR, all NULL": "NULL",
    "VARCHAR, few": "nullif('name ' || i % 7, 'name 3')",
    "VARCHAR, of one length": "md5(i || '')",
    "VARCHAR, long": "repeat(i || 'é', CAST(i % 50 AS INTEGER))",
    "VARCHAR, empty": "''",
    "BLOB": "encode('b' || i)",
    "BLOB, few": "encode('b' || i % 3)",
    "TINYINT": "i % 100",
    "BIGINT": "i * 7919 - 5000",
    "UBIGINT": "i + 18446744073709540000::UBIGINT",
    "INTEGER": "nullif(i, 9)",
    "DATE": "DATE '2020-01-01' + CAST(i AS INTEGER)",
    "BOOLEAN": "i % 2 = 0",
    "ENUM('a', 'b')": "['a', 'b'][1 + CAST(i AS INTEGER) % 2]",
}
OTHERS = {
    "UUID": "CAST(md5(i || '') AS UUID)",
    "VARCHAR[]": "['x' || i]",
    "TIMESTAMP": "TIMESTAMP '2020-01-01'",
    "DECIMAL(9,2)": "i",
    "STRUCT(a VARCHAR)": "{'a': 'x' || i}",
}


def _written(folder: Path, kind: str, value: str, version: str, rows: int = 9000) -> Path:
    path = folder / "rows.parquet"
    kind = kind.partition(", ")[0] if kind not in PLAIN or "ENUM" not in kind else kind
    query = f'SELECT CAST({value} AS {kind}) AS v, i AS k, i % 3 AS "a.b" FROM range({rows}) r(i)'
    options = f"FORMAT parquet, COMPRESSION lz4_raw, PARQUET_VERSION {version}, ROW_GROUP_SIZE 4096"
    duckdb.execute(f"COPY ({query}) TO '{path}' ({options})")
    return path


def _identities(kind: str) -> tuple[DescriptorEntry, ...]:
    entries = ["v[]" if kind.endswith("]") else "v.a" if kind.startswith("STRUCT") else "v"]
    found = [
        DescriptorEntry(parse_path(e), "v", distinct=50 if "few" in kind else None) for e in entries
    ]
    if kind.startswith("VARCHAR") and "[" not in kind:
        found.append(DescriptorEntry(parse_path("v"), "v", LOWER))
    return tuple(found)


def _rows(path: Path) -> Callable[[Sequence[str]], pa.RecordBatchReader]:
    def rows(columns: Sequence[str]) -> pa.RecordBatchReader:
        names = ", ".join(f'"{c}"' for c in columns)
        return duckdb.connect().sql(f"SELECT {names} FROM '{path}'").to_arrow_reader(300)

    return rows


def _asked_of_duckdb(
    path: Path, identities: Sequence[DescriptorEntry], key: Sequence[str]
) -> object:
    builder = FilterBuilder(tuple(identities), tuple(key))
    for batch in _rows(path)(builder.columns):
        builder.add(batch)
    return builder.finish()


def _read_back(
    path: Path, identities: Sequence[DescriptorEntry], key: Sequence[str]
) -> dict[str, Bloom]:
    builder = FilterBuilder(tuple(identities), tuple(key))
    take_in(builder, path, builder.columns, _rows(path))
    return builder.finish()


@pytest.mark.first(10)
@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("kind", {**PLAIN, **OTHERS})
def test_filters_are_the_same(tmp_path: Path, kind: str, version: str) -> None:
    path = _written(tmp_path, kind, {**PLAIN, **OTHERS}[kind], version)
    identities = _identities(kind)
    for key in (("k",), ("k", "a.b"), ("v",), ()):
        expected = _asked_of_duckdb(path, identities, key)
        assert _read_back(path, identities, key) == expected


@pytest.fixture
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


TEXTS = st.one_of(st.none(), st.text(max_size=60), st.sampled_from(["", "x", "same " * 9, "\0\0"]))


@pytest.mark.long
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(TEXTS, min_size=1, max_size=30), st.integers(1, 400), st.integers(0, 3))
def test_any_text_is_found_in_its_filter(
    scratch: Path, values: list[str | None], times: int, unlike: int
) -> None:
    path = scratch / "rows.parquet"
    # Unlike each other they get no dictionary; their lengths vary, or not.
    made = [
        v if v is None or not unlike else f"{v}{i * 7919 % 10**6:0{unlike * 3}}"
        for i, v in enumerate(values * times)
    ]
    held = pa.table({"v": pa.array(made, pa.string())})  # noqa: F841
    options = "FORMAT parquet, COMPRESSION lz4_raw, PARQUET_VERSION v2, ROW_GROUP_SIZE 2048"
    duckdb.execute(f"COPY held TO '{path}' ({options})")
    identities = (
        DescriptorEntry(parse_path("v"), "v"),
        DescriptorEntry(parse_path("v"), "v", LOWER),
    )
    found = _read_back(path, identities, ())
    assert found == _asked_of_duckdb(path, identities, ())
    for identity in identities:
        hashes = identifier_hashes(pa.array(made, pa.string()), identity)
        assert hashes is not None
        assert found[identity.id].may_hold(hashes).all()


def test_filters_of_earlier_versions_are_read_and_built_alike(tmp_path: Path, root: Path) -> None:
    """The sidecar was written when all was numpy over batches of Arrow rows."""
    shutil.copy(root / "tests" / "fixtures" / "filters" / "filters.bloom", tmp_path)
    (held,) = read_sidecar(tmp_path).values()
    identities = [
        DescriptorEntry(parse_path("email"), "email", LOWER),
        *(DescriptorEntry(parse_path(p), p) for p in ("st.mail", "tags{}[]", "tags{keys}")),
        DescriptorEntry(parse_path("contacts[].mail"), "mail", fpp=0.0001),
    ]
    assert FPP_DEFAULT == 0.001
    path = tmp_path / "rows.parquet"
    duckdb.execute(
        "COPY (SELECT i::INTEGER AS id, 'p' || i % 3 AS part,"
        " CASE WHEN i % 7 > 0 THEN ' U' || i || '@x' END AS email,"
        " {'mail': 's' || i, 'n': i} AS st, [{'mail': 'c' || i}, {'mail': NULL}] AS contacts,"
        f" MAP {{'k' || i: [i, i + 1]}} AS tags FROM range(200) r(i)) TO '{path}'"
    )
    assert KEY in held
    assert _read_back(path, identities, ("id", "part")) == held
