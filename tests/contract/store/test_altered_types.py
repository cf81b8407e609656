"""Columns that take another type: every present value becomes what a cast makes of it."""

from __future__ import annotations

import pytest

from tests.support.stores.store import Store

pytestmark = pytest.mark.timeout(900)


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="its numbers and truths are SQLite's")
def test_numbers_and_truths_become_other_ones(store: Store) -> None:
    con = store.connect()
    con.execute(
        "CREATE TABLE t (k INTEGER PRIMARY KEY, d DOUBLE, f REAL, b BOOLEAN, n DECIMAL(10, 4))"
    )
    con.execute("INSERT INTO t VALUES (1, 4.0, 3.0, true, 1.5), (2, -7.0, 2.0, false, 2.0)")
    con.execute("INSERT INTO t VALUES (3, NULL, NULL, NULL, NULL)")
    for column, kind in (
        ("d", "BIGINT"),
        ("f", "SMALLINT"),
        ("b", "INTEGER"),
        ("n", "DECIMAL(8, 1)"),
    ):
        con.execute(f"ALTER TABLE t ALTER {column} TYPE {kind}")
    rows = con.execute("SELECT k, d, f, b, CAST(n * 10 AS INTEGER) FROM t ORDER BY k").fetchall()
    assert rows == [(1, 4, 3, 1, 15), (2, -7, 2, 0, 20), (3, None, None, None, None)]
    con.execute("UPDATE t SET d = 5 WHERE b = 1")
    con.execute("ALTER TABLE t ALTER b TYPE BOOLEAN")
    assert con.execute("SELECT k FROM t WHERE b AND d = 5").fetchall() == [(1,)]
    assert con.execute("SELECT k FROM t WHERE NOT b AND d = -7").fetchall() == [(2,)]


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="its numbers are SQLite's")
@pytest.mark.parametrize(
    ("dialect", "kind", "texts"),
    [
        ("duckdb", "VARCHAR", ("1.0", "7.8", "-2.5")),
        ("postgres", "TEXT", ("1", "7.8", "-2.5")),
    ],
)
def test_numbers_become_texts_as_the_dialect_writes_them(
    store: Store, dialect: str, kind: str, texts: tuple[str, ...]
) -> None:
    con = store.connect(dialect=dialect)
    con.execute(
        "CREATE TABLE t (k INTEGER PRIMARY KEY, d DOUBLE PRECISION, f REAL, e DOUBLE PRECISION)"
    )
    con.execute("INSERT INTO t VALUES (1, 1.0, 7.8, -2.5), (2, NULL, NULL, NULL)")
    for column in ("d", "f"):
        con.execute(f"ALTER TABLE t ALTER {column} TYPE {kind}")
    con.execute(f"ALTER TABLE t ALTER e TYPE {kind} USING e::{kind}")
    assert con.execute("SELECT d, f, e FROM t ORDER BY k").fetchall() == [texts, (None,) * 3]
