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
    query = "SELECT '{{1,2},{3,4}}'::integer[] AS a, 33 = ANY ('{1,33}') AS b"
    assert con.execute(query).fetchall() == [([[1, 2], [3, 4]], True)]
    with pytest.raises(gateway.DataError, match="PAL-310"):
        con.execute("SELECT '{1'::integer[]")


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has other functions")
def test_bytes_are_encoded_and_decoded(store: Store) -> None:
    con = store.connect(dialect="postgres")
    coded = "encode('\\xff0a'::bytea, 'hex'), encode('abc'::bytea, 'base64')"
    assert con.execute(f"SELECT {coded}").fetchall() == [("ff0a", "YWJj")]
    plain = "decode('ff0a', 'hex'), decode('YWJj', 'base64')"
    assert con.execute(f"SELECT {plain}").fetchall() == [(b"\xff\x0a", b"abc")]


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


@pytest.mark.also_on("hive")
def test_what_a_view_reads_goes_with_it_or_stays(store: Store) -> None:
    con = store.connect(dialect="postgres")
    for sql in (
        "CREATE TABLE t (a INTEGER PRIMARY KEY)",
        "CREATE VIEW v AS SELECT a FROM t",
        "CREATE VIEW w AS WITH u AS (SELECT a FROM v) SELECT a FROM u",
        "CREATE VIEW x AS WITH t AS (SELECT 1 AS a) SELECT a FROM t",
    ):
        con.execute(sql)
    for sql in ("DROP TABLE t", "DROP VIEW v"):
        with pytest.raises(gateway.Error) as raised:
            con.execute(sql)
        assert raised.value.sqlstate == "2BP01"
    con.execute("DROP VIEW w, v")
    con.execute("CREATE VIEW v AS SELECT a FROM t")
    con.execute("DROP TABLE t CASCADE")
    assert con.execute("SELECT a FROM x").fetchall() == [(1,)]
    names = "SELECT table_name FROM information_schema.tables WHERE table_name IN ('t', 'v', 'x')"
    assert con.execute(names).fetchall() == [("x",)]
