"""Infinite dates and timestamps come out of every store that keeps them as the same values."""

from __future__ import annotations

import datetime as dt

import pytest

from tests.support.stores.store import Store

pytestmark = [pytest.mark.timeout(900)]
HIVE = "it refuses moments that Spark cannot show"
TOY = "SQLite has no dates"
KINDS = {"a": "DATE", "b": "TIMESTAMP", "c": "TIMESTAMP WITH TIME ZONE"}
FIRST, LAST = dt.datetime.min, dt.datetime.max  # noqa: DTZ901
WANTED = [(1, dt.date.max, LAST, LAST), (2, dt.date.min, FIRST, FIRST)]


@pytest.mark.drifts(hive=HIVE, toy=TOY)
def test_infinities_are_the_ends_of_pythons_calendar(store: Store) -> None:
    columns = ", ".join(f"{name} {kind}" for name, kind in KINDS.items())
    with store.connect() as con:
        for table in ("t", "copied"):
            con.execute(f"CREATE TABLE {table} (k INTEGER PRIMARY KEY, {columns})")
        for k, end in ((1, "infinity"), (2, "-infinity")):
            values = ", ".join(f"CAST('{end}' AS {kind})" for kind in KINDS.values())
            con.execute(f"INSERT INTO t VALUES ({k}, {values})")
        con.execute("INSERT INTO copied SELECT * FROM t")
        con.execute("UPDATE copied SET a = a WHERE k = 1")
        for table in ("t", "copied"):
            assert con.execute(f"SELECT * FROM {table} ORDER BY k").fetchall() == WANTED
            texts = f"SELECT CAST(a AS VARCHAR), CAST(b AS VARCHAR) FROM {table} ORDER BY k"
            found = con.execute(texts).fetchall()
            assert found == [("infinity", "infinity"), ("-infinity", "-infinity")]
        arrow = con.execute("SELECT a, b, c FROM t ORDER BY k").fetch_arrow()
        for column, width in zip(arrow.columns, (32, 64, 64), strict=True):
            last = 2 ** (width - 1) - 1
            assert column.cast(f"int{width}").to_pylist() == [last, -last]


@pytest.mark.drifts(hive=HIVE, toy=TOY)
def test_years_before_the_first_come_as_numbers_and_texts(store: Store) -> None:
    with store.connect() as con:
        con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, day DATE)")
        con.execute("INSERT INTO t VALUES (1, DATE '0002-01-01' - 1000)")
        (days,) = con.execute("SELECT day FROM t").fetch_arrow().columns
        assert days.cast("int32").to_pylist() == [-719_797]
        found = con.execute("SELECT CAST(day AS VARCHAR) FROM t").fetchone()
        assert found is not None
        assert "BC" in found[0]
