"""What PostgreSQL's drivers and frameworks write, on every kind of store."""

from __future__ import annotations

import pytest

import gateway
from tests.support.stores.store import Store

pytestmark = pytest.mark.timeout(900)


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="its lists are texts")
def test_texts_of_arrays_are_arrays(store: Store) -> None:
    con = store.connect(dialect="postgres")
    query = "SELECT '{1,2,NULL}'::integer[] AS a, ('{x,\"y z\",NULL}')::varchar(9)[] AS b"
    assert con.execute(query).fetchall() == [([1, 2, None], ["x", "y z", None])]
    with pytest.raises(gateway.DataError, match="PAL-310"):
        con.execute("SELECT '{1'::integer[]")


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has no lists")
def test_several_arrays_become_rows_side_by_side(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR(9), c FLOAT(53), d FLOAT(24))")
    con.execute(
        "INSERT INTO t SELECT * FROM UNNEST(('{1,2}')::integer[], ('{x,\"y z\"}')::varchar(9)[],"
        " ('{1.5,2.5}')::float[], ('{0.5,NULL}')::real[])"
    )
    rows = con.execute("SELECT * FROM t ORDER BY a").fetchall()
    assert rows == [(1, "x", 1.5, 0.5), (2, "y z", 2.5, None)]
    query = "SELECT x, y FROM UNNEST(ARRAY[1, 2], ARRAY['p']) AS r(x, y) ORDER BY x"
    assert con.execute(query).fetchall() == [(1, "p"), (2, None)]
