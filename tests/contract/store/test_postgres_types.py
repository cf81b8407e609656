"""What PostgreSQL refuses to compare, bring together or replace, in its dialect on every store."""

from __future__ import annotations

from datetime import time, timedelta

import pytest

import gateway
from tests.support.stores.store import Capability, Store

pytestmark = pytest.mark.timeout(900)


@pytest.mark.also_on("hive")
def test_values_are_compared_with_those_of_their_kind_alone(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, s VARCHAR, d DATE, b BOOLEAN, n NUMERIC)")
    con.execute("INSERT INTO t VALUES (1, '1', DATE '2024-05-17', true, 1.5)")
    for condition, state in (
        ("k = 'abc'", "22P02"),
        ("k = '1.5'", "22P02"),
        ("k IN ('1', 'x')", "22P02"),
        ("k BETWEEN '1' AND 'z'", "22P02"),
        ("n > 'many'", "22P02"),
        ("b = 'maybe'", "22P02"),
        ("d = 'abc'", "22007"),
        ("k = s", "42883"),
        ("s = 1", "42883"),
        ("d = s", "42883"),
        ("b = 1", "42883"),
        ("d < k", "42883"),
        ("k = coalesce(s, 'x')", "42883"),
    ):
        with pytest.raises(gateway.DatabaseError) as raised:
            con.execute(f"SELECT k FROM t WHERE {condition}").fetchall()
        assert raised.value.sqlstate == state, condition
    for condition in ("k = '1'", "k IN ('1', '2')", "n > '1e0'", "d > '2024-01-01'"):
        found = con.execute(f"SELECT k FROM t WHERE {condition}").fetchall()
        assert found == [(1,)], condition


@pytest.mark.also_on("hive")
def test_queries_are_united_by_the_types_of_their_columns(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, s VARCHAR, d DATE)")
    con.execute("INSERT INTO t VALUES (1, '1', DATE '2024-05-17')")
    for query, state in (
        ("SELECT k FROM t UNION SELECT s FROM t", "42804"),
        ("SELECT 1 UNION SELECT d FROM t", "42804"),
        ("SELECT k FROM t INTERSECT SELECT d FROM t", "42804"),
        ("SELECT 'a' UNION SELECT 'b' UNION SELECT k FROM t", "42804"),
        ("SELECT k FROM t UNION SELECT 'x'", "22P02"),
        ("SELECT k FROM t UNION SELECT k, s FROM t", "42601"),
    ):
        with pytest.raises(gateway.DatabaseError) as raised:
            con.execute(query).fetchall()
        assert raised.value.sqlstate == state, query
    found = con.execute("SELECT k FROM t UNION ALL SELECT '2' ORDER BY 1").fetchall()
    assert found == [(1,), (2,)]


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it does not tell the types of a query's columns")
def test_a_view_that_is_replaced_keeps_its_columns(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, s VARCHAR)")
    con.execute("CREATE VIEW v AS SELECT k, s FROM t")
    for query in ("SELECT k FROM t", "SELECT s AS k, s FROM t", "SELECT k AS x, s FROM t"):
        with pytest.raises(gateway.ProgrammingError, match="view") as raised:
            con.execute(f"CREATE OR REPLACE VIEW v AS {query}")
        assert raised.value.sqlstate == "42P16", query
    con.execute("CREATE OR REPLACE VIEW v AS SELECT k, upper(s) AS s, 1 AS one FROM t")
    con.execute("INSERT INTO t VALUES (1, 'a')")
    assert con.execute("SELECT * FROM v").fetchall() == [(1, "A", 1)]


@pytest.mark.needs(Capability.FOREIGN_KEYS)
def test_tables_that_others_refer_to_are_truncated_with_these(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE p (k INTEGER PRIMARY KEY)")
    con.execute("CREATE TABLE c (k INTEGER PRIMARY KEY, p INTEGER REFERENCES p)")
    con.execute("INSERT INTO p VALUES (1)")
    with pytest.raises(gateway.NotSupportedError, match="refers to it"):
        con.execute("TRUNCATE p")
    con.execute("TRUNCATE p, c")
    con.execute("INSERT INTO p VALUES (1)")
    con.execute("TRUNCATE p CASCADE")
    assert con.execute("SELECT count(*) FROM p").fetchone() == (0,)


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has no moments", hive="it keeps all digits")
def test_columns_have_as_many_digits_of_seconds_as_their_types_say(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute(
        "CREATE TABLE t (k INTEGER PRIMARY KEY, z TIMESTAMPTZ(2), h TIME(1), p TIMESTAMP(4))"
    )
    shown = "SELECT z - '2024-01-01 00:00:00+00', h, p - '2024-01-01' FROM t WHERE k = {}"
    moment = "2024-01-01 00:00:00.123456"
    row = f"'{moment}+00', '10:00:00.987654', '{moment}'"
    rounded = (timedelta(seconds=0.12), time(10, 0, 1), timedelta(seconds=0.1235))
    con.execute(f"INSERT INTO t VALUES (1, {row})")
    con.execute(
        "INSERT INTO t VALUES (%s, %s, %s, %s)", (2, f"{moment}+00", time(10, 0, 1), moment)
    )
    con.execute("INSERT INTO t SELECT k + 2, z, h, p FROM t WHERE k = 1")
    con.execute("INSERT INTO t (k) VALUES (4), (5)")
    con.execute(f"UPDATE t SET (z, h, p) = ({row}) WHERE k = 4")
    con.execute(
        f"INSERT INTO t VALUES (5, {row}) ON CONFLICT (k) DO UPDATE SET z = excluded.z,"
        f" h = '10:00:00.987654', p = '{moment}'"
    )
    for key in range(1, 6):
        assert con.execute(shown.format(key)).fetchall() == [rounded], key
    con.execute("INSERT INTO t (k, z) VALUES (6, 'infinity')")
    assert con.execute("SELECT k FROM t WHERE z > '9999-01-01'").fetchall() == [(6,)]


@pytest.mark.drifts(toy="it has no moments", hive="it keeps all digits")
def test_keys_are_compared_by_the_digits_that_they_have(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (p TIMESTAMP(1) PRIMARY KEY, a INTEGER)")
    con.execute("INSERT INTO t VALUES ('2024-01-01 00:00:00.44', 1)")
    for text in ("2024-01-01 00:00:00.41", "2024-01-01 00:00:00.4"):
        with pytest.raises(gateway.IntegrityError):
            con.execute("INSERT INTO t VALUES (%s, 2)", (text,))
    con.execute("INSERT INTO t VALUES ('2024-01-01 00:00:00.38', 3) ON CONFLICT (p) DO NOTHING")
    assert con.execute("SELECT count(*) FROM t").fetchone() == (1,)


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="its intervals are texts", hive="it has no intervals")
def test_constants_of_truth_and_spans_are_read_as_postgresql_reads_them(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE told (k INTEGER PRIMARY KEY, b BOOLEAN DEFAULT 'off', i INTERVAL)")
    con.execute("INSERT INTO told VALUES (1, 'on', 'P1DT2H'), (2, 'ye', 'P2W'), (3, 'n', NULL)")
    con.execute("INSERT INTO told (k) VALUES (4)")
    con.execute("UPDATE told SET b = 'of' WHERE b = 'on' OR i = 'P14D'")
    found = con.execute("SELECT k, b, i FROM told ORDER BY k").fetchall()
    assert found == [
        (1, False, timedelta(days=1, hours=2)),
        (2, False, timedelta(days=14)),
        (3, False, None),
        (4, False, None),
    ]
    assert con.execute("SELECT k FROM told WHERE b IN ('on', 'yes')").fetchall() == []
    for text in ("o", "onn", ""):
        with pytest.raises(gateway.DatabaseError) as raised:
            con.execute(f"INSERT INTO told VALUES (9, '{text}')")
        assert raised.value.sqlstate == "22P02", text


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it keeps no zeros of other numbers")
def test_numbers_without_digits_are_written_without_zeros(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, n NUMERIC, d NUMERIC(9, 2))")
    con.execute("INSERT INTO t VALUES (1, 12.5, 3), (2, 100, 4.5)")
    con.execute("CREATE VIEW v AS SELECT * FROM t")
    for query, wanted in (
        ("SELECT n::text, d::text FROM t ORDER BY k", [("12.5", "3.00"), ("100", "4.50")]),
        ("SELECT n || '', concat(n, '|') FROM t WHERE k = 2", [("100", "100|")]),
        (
            "SELECT (n + 1)::text, (3 * n)::text, (-n)::text FROM t WHERE k = 1",
            [("13.5", "37.5", "-12.5")],
        ),
        ("SELECT sum(n)::text, coalesce(max(n), 0)::text FROM t", [("112.5", "100")]),
        ("SELECT n::text FROM v WHERE n::text = '12.5'", [("12.5",)]),
        ("WITH r(a, b, c) AS (SELECT * FROM t) SELECT b::text FROM r WHERE a = 2", [("100",)]),
        ("SELECT b::text FROM (SELECT * FROM t) AS r(a, b, c) WHERE a = 2", [("100",)]),
    ):
        assert con.execute(query).fetchall() == wanted, query


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has no arrays")
def test_elements_of_arrays_are_as_short_as_their_type_says(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, a VARCHAR(3)[], c CHAR(2)[])")
    con.execute("INSERT INTO t VALUES (1, '{abc,NULL}', '{ab}'), (2, NULL, '{}')")
    for sql in (
        "INSERT INTO t (k, a) VALUES (3, '{abcd}')",
        "INSERT INTO t (k, a) VALUES (3, ARRAY['a', 'abcd'])",
        "INSERT INTO t (k, c) VALUES (3, ARRAY['abc'])",
        "UPDATE t SET a = ARRAY['abcd'] WHERE k = 1",
        "ALTER TABLE t ALTER COLUMN a TYPE VARCHAR(2)[]",
    ):
        with pytest.raises(gateway.DatabaseError) as raised:
            con.execute(sql)
        assert raised.value.sqlstate == "22001", sql
    con.execute("INSERT INTO t (k, a) VALUES (3, ARRAY['abcd', 'e', NULL]::VARCHAR(3)[])")
    con.execute("ALTER TABLE t ALTER COLUMN a TYPE VARCHAR(4)[]")
    con.execute("UPDATE t SET a = '{abcd}' WHERE k = 2")
    assert con.execute("SELECT a, a::VARCHAR(1)[] FROM t ORDER BY k").fetchall() == [
        (["abc", None], ["a", None]),
        (["abcd"], ["a"]),
        (["abc", "e", None], ["a", "e", None]),
    ]


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="its SQLite has one type of whole numbers")
def test_a_constant_beside_a_smallint_is_an_integer(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, a SMALLINT)")
    con.execute("INSERT INTO t VALUES (1, 32767)")
    cursor = con.execute("SELECT a + 1, a * 2, -2 - a, a / 2, a % 5 FROM t")
    assert [column[1] for column in cursor.description or ()][:3] == ["INTEGER"] * 3
    assert cursor.fetchall() == [(32768, 65534, -32769, 16383, 2)]
    with pytest.raises(gateway.DataError):
        con.execute("UPDATE t SET a = a + 1")
