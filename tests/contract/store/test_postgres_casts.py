"""Casts, functions and refusals of PostgreSQL that stores lack, on every kind of store."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pytest

import gateway
from tests.support.stores.store import Store

pytestmark = pytest.mark.timeout(900)

VALUES: tuple[tuple[str, Any], ...] = (
    ("'on'::text::boolean", True),
    ("s::boolean", False),
    ("pg_size_pretty(100000::bigint)", "98 kB"),
    ("pg_size_pretty(-123456789012::bigint)", "-115 GB"),
    ("pg_size_pretty(10239::bigint)", "10239 bytes"),
    # Constants with an exponent are exact.
    ("1e13::numeric = 10000000000000", True),
    ("2.5e-3::numeric = 0.0025", True),
    ("-123456789012345e3::bigint", -123456789012345000),
    ("unistr('d\\0061t\\+000061')", "data"),
)
CLOCKS: tuple[tuple[str, Any], ...] = (
    ("(t::interval)::text", "10:20:00"),
    ("i::time", time(2, 0)),
    ("(INTERVAL '-1 hour')::time", time(23, 0)),
    ("'P1DT2H'::text::interval::text", "1 day 02:00:00"),
)


def test_values_are_cast_and_computed(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, s VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, 'of')")
    for query, wanted in VALUES:
        assert con.execute(f"SELECT {query} FROM t").fetchall() == [(wanted,)], query


@pytest.mark.drifts(toy="it has no intervals", hive="it has no times of day")
def test_times_of_day_and_intervals_are_cast(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, t TIME, i INTERVAL)")
    con.execute("INSERT INTO t VALUES (1, '10:20', '26:00')")
    for query, wanted in CLOCKS:
        assert con.execute(f"SELECT {query} FROM t").fetchall() == [(wanted,)], query
    con.execute("INSERT INTO t (k, t, i) SELECT 2, i, t FROM t")
    found = con.execute("SELECT t, i::text FROM t WHERE k = 2").fetchall()
    assert found == [(time(2, 0), "10:20:00")]
    assert con.execute("SELECT normalize('e\u0301') = 'é'").fetchall() == [(True,)]


FLOATS = (
    *((1.5, "1.5"), (1e20, "1e+20"), (1e15, "1e+15"), (1e-5, "1e-05"), (123456789.25,) * 2),
    *((0.00012345, "0.00012345"), (-1.5e-7, "-1.5e-07"), (1e7, "10000000"), (-1e300, "-1e+300")),
    *((999999999999999.9, "999999999999999.9"), (float("inf"), "Infinity"), (None, None)),
)


@pytest.mark.drifts(toy="it has other texts of numbers")
def test_floating_point_numbers_have_the_texts_of_postgresql(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, f DOUBLE PRECISION)")
    with con.cursor() as cursor:
        rows = [(place, value) for place, (value, _) in enumerate(FLOATS)]
        cursor.executemany("INSERT INTO t VALUES (%s, %s)", rows)
    wanted = [None if text is None else str(text) for _, text in FLOATS]
    found = con.execute("SELECT f::text, 'x' || f FROM t ORDER BY k").fetchall()
    assert [row[0] for row in found] == wanted
    assert [row[1] for row in found] == [text and f"x{text}" for text in wanted]
    found = con.execute("SELECT (f * 2)::text FROM t WHERE k IN (0, 1) ORDER BY k").fetchall()
    assert found == [("3",), ("2e+20",)]


@pytest.mark.drifts(toy="it has other moments and lists")
def test_spans_depths_and_divisions_are_those_of_postgresql(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, p TIMESTAMP, a INT[])")
    con.execute(
        "INSERT INTO t VALUES (1, '2024-01-03 10:00', '{1,2}'), (2, '2023-12-30 23:59:58.5', NULL)"
    )
    query = "SELECT p - timestamp '2024-01-01', array_ndims(a) FROM t ORDER BY k"
    before = -timedelta(days=1, seconds=1.5)
    assert con.execute(query).fetchall() == [(timedelta(days=2, hours=10), 1), (before, None)]
    for division in ("1 / 0.0", "1.5::float8 / 0", "k / 0.0 FROM t"):
        with pytest.raises(gateway.Error) as raised:
            con.execute(f"SELECT {division}").fetchall()
        assert raised.value.sqlstate == "22012", division


@pytest.mark.drifts(toy="it has no lists", hive="it has no such functions of lists")
def test_columns_may_be_named_as_what_a_list_consists_of(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE e (k INTEGER PRIMARY KEY, e INT, i INT, a INT[], j JSONB, t TEXT)")
    con.execute("""INSERT INTO e VALUES (1, 2, 1, '{1,2,3}', '{"a":1,"b":[1,2]}', 'a')""")
    for query, wanted in (
        ("array_remove(a, e.e)", [1, 3]),
        ("array_replace(a, e.e, i)", [1, 1, 3]),
        ("array_fill(e.e, ARRAY[i])", [2]),
        ("(j - t) = '{\"b\":[1,2]}'", True),
        ("jsonb_set(j, '{b,0}', to_jsonb(e.e)) = '{\"a\":1,\"b\":[2,2]}'", True),
        ("((j -> 'b') - i) = '[1]'", True),
    ):
        assert con.execute(f"SELECT {query} FROM e").fetchall() == [(wanted,)], query
    assert con.execute("SELECT to_char(1234.5 + e, 'FM9,999.00') FROM e").fetchall() == [
        ("1,236.50",)
    ]


@pytest.mark.drifts(toy="it has no dates")
def test_days_are_counted_by_computed_numbers(store: Store) -> None:
    con = store.connect(dialect="postgres")
    for query, wanted in (
        ("SELECT DATE '2020-01-01' + i FROM generate_series(1, 2) i", [date(2020, 1, 2)]),
        ("SELECT DATE '2020-01-04' - s.i FROM generate_series(1, 2) AS s(i)", [date(2020, 1, 3)]),
        ("SELECT DATE '2020-01-01' + length('abc')", [date(2020, 1, 4)]),
        ("SELECT length('a') + DATE '2020-01-01'", [date(2020, 1, 2)]),
        ("SELECT DATE '2020-01-01' - TIME '10:00'", [datetime.fromisoformat("2019-12-31 14:00")]),
    ):
        assert [row[0] for row in con.execute(query).fetchall()][:1] == wanted, query


@pytest.mark.drifts(toy="it takes any value for a column")
def test_constants_that_are_selected_are_read_as_those_of_values(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, b BOOLEAN, d DATE)")
    con.execute("INSERT INTO t SELECT 1, 'off', '8-Jan-99'")
    con.execute("INSERT INTO t (d, b, k) SELECT '1/8/1999', 'ye', 2 UNION ALL SELECT NULL, 'n', 3")
    rows = con.execute("SELECT k, b, d::text FROM t ORDER BY k").fetchall()
    assert rows == [(1, False, "1999-01-08"), (2, True, "1999-01-08"), (3, False, None)]
    with pytest.raises(gateway.Error):
        con.execute("INSERT INTO t (k, b) SELECT 4, 'o'")


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE t SET n = (SELECT '7.7')",
        "UPDATE t SET (n, s) = (SELECT '7.7', 'a')",
        "INSERT INTO t (k, n) SELECT 2, x FROM (SELECT '7.7' AS x) q",
        "WITH q(x) AS (SELECT '7') INSERT INTO t (k, n) SELECT 2, x FROM q",
    ],
)
def test_a_constant_that_a_subquery_gives_is_a_text(store: Store, sql: str) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, n INTEGER, s VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, 5, 'x')")
    with pytest.raises(gateway.ProgrammingError, match=r"of type integer but .* of type text"):
        con.execute(sql)
    con.execute("UPDATE t SET (n, s) = (SELECT 6, 'b')")
    con.execute("INSERT INTO t (k, s) SELECT 2, x FROM (SELECT 'c' AS x) q")
    assert con.execute("SELECT * FROM t ORDER BY k").fetchall() == [(1, 6, "b"), (2, None, "c")]


@pytest.mark.drifts(toy="it has no numbers of a type")
def test_results_have_the_types_of_postgresql(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, s VARCHAR, n NUMERIC(9, 2), f FLOAT)")
    con.execute("INSERT INTO t VALUES (1, 'abc', 1.5, 0.5), (2, 'd', 2.25, 1.5)")
    cursor = con.execute("SELECT avg(k), avg(n) AS m, avg(f) FROM t")
    assert cursor.fetchall() == [(Decimal("1.5"), Decimal("1.875"), 1.0)]
    assert [column[0] for column in cursor.description or ()] == ["avg", "m", "avg"]
    cursor = con.execute("SELECT length(s), ntile(2) OVER (ORDER BY k) FROM t ORDER BY k")
    assert cursor.fetchall() == [(3, 1), (1, 2)]
    assert [column[1] for column in cursor.description or ()] == ["INTEGER", "INTEGER"]
    assert con.execute("SELECT avg(k) * 2, round(avg(n), 2) FROM t").fetchall() == [
        (3, Decimal("1.88"))
    ]


@pytest.mark.parametrize("clause", ["GROUP BY 2", "ORDER BY 2"])
@pytest.mark.drifts(toy="it has errors of its own")
def test_a_place_without_an_output_is_refused(store: Store, clause: str) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    with pytest.raises(gateway.Error) as raised:
        con.execute(f"SELECT k FROM t {clause}").fetchall()
    assert raised.value.sqlstate == "42P10"


def test_a_generated_column_reads_no_other_one(store: Store) -> None:
    generated = "b INTEGER GENERATED ALWAYS AS (a + 1) STORED"
    another = "c INTEGER GENERATED ALWAYS AS (b + 1) STORED"
    definition = f"CREATE TABLE g (a INTEGER, {generated}, {another})"
    with pytest.raises(gateway.Error) as raised:
        store.connect(dialect="postgres").execute(definition)
    assert raised.value.sqlstate == "42P17"
    store.connect(dialect="duckdb").execute(definition)
    with pytest.raises(gateway.Error, match="multiple generation clauses"):
        store.connect(dialect="postgres").execute(
            "CREATE TABLE h (a INTEGER, b INTEGER GENERATED ALWAYS AS (a) STORED"
            " GENERATED ALWAYS AS (a + 1) STORED)"
        )


@pytest.mark.drifts(toy="it has no dates")
def test_dates_are_made_of_years_that_there_are(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, y INTEGER)")
    con.execute("INSERT INTO t VALUES (1, 2024), (2, 0), (3, -44), (4, NULL)")
    query = "SELECT make_date(y, 2, 29) FROM t WHERE k IN (1, 4) ORDER BY k"
    assert con.execute(query).fetchall() == [(date(2024, 2, 29),), (None,)]
    # The year before 44 BC is 45 BC, and that before the year 1 is 1 BC.
    query = "SELECT make_date(y, 12, 31) = make_date(-45, 12, 31) + 365 FROM t WHERE k = 3"
    assert con.execute(query).fetchall() == [(True,)]
    query = "SELECT make_date(-1, 12, 31) + 1 = make_date(1, 1, 1) FROM t WHERE k = 1"
    assert con.execute(query).fetchall() == [(True,)]
    for made in ("make_date(0, 1, 1)", "make_date(y, 1, 1)", "make_timestamp(y, 1, 1, 0, 0, 0)"):
        with pytest.raises(gateway.Error, match="date field value out of range: 0-01-01") as raised:
            con.execute(f"SELECT {made} FROM t WHERE k = 2").fetchall()
        assert raised.value.sqlstate == "22008", made


@pytest.mark.drifts(toy="it has no regular expressions")
@pytest.mark.parametrize("pattern", ["(", "[a", "a**", "a{2,1}", "*"])
def test_patterns_that_are_none_are_named_so(store: Store, pattern: str) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, s TEXT)")
    con.execute("INSERT INTO t VALUES (1, %s)", [pattern])
    for condition in (f"s ~ '{pattern}'", "'a' ~ s", f"regexp_replace(s, '{pattern}', '') = ''"):
        with pytest.raises(gateway.Error) as raised:
            con.execute(f"SELECT k FROM t WHERE {condition}").fetchall()
        assert raised.value.sqlstate == "2201B", condition


@pytest.mark.drifts(toy="it has other texts of numbers")
def test_floats_that_are_given_become_texts_of_postgresql(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT, f DOUBLE PRECISION)")
    con.execute("INSERT INTO t VALUES (0, %s, %s)", [1.0, 1.0])
    with con.cursor() as cursor:
        rows = [(place, float(place) / 2, 1.5) for place in range(1, 101)]
        cursor.executemany("INSERT INTO t VALUES (%s, %s, %s)", rows)
    con.execute("UPDATE t SET v = %s WHERE f = %s AND k = %s", [250.0, 1.5, 3])
    query = "SELECT v FROM t WHERE k IN (0, 1, 2, 3, 100) ORDER BY k"
    assert con.execute(query).fetchall() == [("1",), ("0.5",), ("1",), ("250",), ("50",)]
    found = con.execute("SELECT 'a' || %s::float8, concat('b', %s::float8)", [2.0, 2.5]).fetchall()
    assert found == [("a2", "b2.5")]
    with pytest.raises(gateway.Error) as raised:
        con.execute("SELECT k FROM t WHERE v = %s", [1.0]).fetchall()
    assert raised.value.sqlstate == "42883"


@pytest.mark.drifts(toy="it has no numbers of a type")
def test_sums_of_real_are_real(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, r REAL)")
    con.execute("INSERT INTO t VALUES (1, 1.1), (2, 2.2), (3, NULL)")
    query = "SELECT sum(r)::text, pg_typeof(sum(r))::text, pg_typeof(avg(r))::text FROM t"
    assert con.execute(query).fetchall() == [("3.3000002", "real", "double precision")]
    query = "SELECT (sum(r) OVER (ORDER BY k))::text FROM t ORDER BY k"
    assert con.execute(query).fetchall() == [("1.1",), ("3.3000002",), ("3.3000002",)]
    con.execute("CREATE TABLE u AS SELECT sum(r) AS s FROM t")
    assert con.execute("SELECT pg_typeof(s)::text FROM u").fetchall() == [("real",)]
