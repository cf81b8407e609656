"""The proof that keys are distinct: it may fail to prove, and must never prove what is not so."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from journal.local_engine.database_file import DuckDBStore
from journal.model.segment import SegmentFile
from journal.stores.embedded.distinct import proved_distinct

_TURNS = (
    "SELECT i // 4096 * 2048 + i % 2048 + CASE WHEN i // 2048 % 2 = 1 THEN 100000 ELSE 0 END AS a"
    " FROM range(40960) r(i)"
)


def _proved(tmp_path: Path, rows: str, *columns: str) -> bool:
    store = DuckDBStore(tmp_path / "x.duckdb", {})
    session = store.acquire()
    try:
        session.begin()
        session.text(f"COPY ({rows}) TO '{tmp_path}/f.parquet' (ROW_GROUP_SIZE 2048)")
        session.text(f"CREATE TEMP VIEW given_rows AS SELECT * FROM '{tmp_path}/f.parquet'")
        file = SegmentFile("f.parquet", 0, 0, 0)
        return proved_distinct(session, "given_rows", columns, [file])
    finally:
        session.rollback()
        store.close()


@pytest.mark.parametrize(
    ("rows", "proved"),
    [
        ("SELECT i AS a FROM range(10000) r(i)", True),
        ("SELECT i AS a FROM range(1) r(i)", True),
        ("SELECT i AS a FROM range(10) r(i) WHERE i < 0", True),
        ("SELECT 10000 - i AS a FROM range(10000) r(i)", True),
        ("SELECT i % 5000 AS a FROM range(10000) r(i)", False),
        ("SELECT i // 2 AS a FROM range(10000) r(i)", False),
        ("SELECT i + CASE WHEN i = 5000 THEN 1 ELSE 0 END AS a FROM range(10000) r(i)", False),
        ("SELECT CASE WHEN i = 9999 THEN 4000 ELSE i END AS a FROM range(10000) r(i)", False),
        ("SELECT CASE WHEN i = 0 THEN 9999 ELSE i END AS a FROM range(10000) r(i)", False),
        # Two threads that write row groups in turns: what one writes lies far above the other's.
        (_TURNS, True),
        ("SELECT NULL::INT AS a FROM range(10) r(i)", True),
        ("SELECT CASE WHEN i % 3 > 0 THEN i END AS a FROM range(10000) r(i)", True),
        ("SELECT 'key ' || lpad(i::text, 6, '0') AS a FROM range(10000) r(i)", True),
        ("SELECT 'nan'::double AS a FROM range(2) r(i)", False),
    ],
)  # fmt: skip
def test_one_column(tmp_path: Path, rows: str, proved: bool) -> None:
    assert _proved(tmp_path, rows, "a") is proved


@pytest.mark.parametrize(
    ("rows", "proved"),
    [
        ("SELECT i // 7 AS a, i % 7 AS b FROM range(10000) r(i)", True),
        ("SELECT i // 7 AS a, i % 6 AS b FROM range(10000) r(i)", False),
    ],
)
def test_keys_of_two_columns_are_proved_distinct(tmp_path: Path, rows: str, proved: bool) -> None:
    assert _proved(tmp_path, rows, "a", "b") is proved


@pytest.mark.parametrize("seed", range(30))
def test_never_proves_what_is_not_so(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    blocks = [list(range(n * 50, n * 50 + 50)) for n in range(8)]
    chance.shuffle(blocks)
    keys = [k for block in blocks for k in block]
    if seed % 3:
        keys[chance.randrange(len(keys))] = chance.choice(keys)
    rows = "SELECT unnest([" + ", ".join(map(str, keys)) + "]) AS a"
    if _proved(tmp_path, rows, "a"):
        assert len(set(keys)) == len(keys)
