"""What PostgreSQL's drivers and frameworks write, on every kind of store."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

import gateway
from tests.support.stores.store import Capability, Store

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


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has no lists")
def test_arrays_are_joined_compared_and_asked(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, a INTEGER[])")
    con.execute("INSERT INTO t VALUES (1, '{1,2}'), (2, '{2,2}')")
    query = (
        "SELECT a || 3, 0 || a, a || '{7}', array_upper(a, 1), array_positions(a, 2) FROM t"
        " WHERE k <> ALL ('{3,2}')"
    )
    assert con.execute(query).fetchall() == [([1, 2, 3], [0, 1, 2], [1, 2, 7], 2, [2])]


@pytest.mark.also_on("hive")
def test_supposed_rows_are_ranked(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, x INTEGER)")
    con.execute("INSERT INTO t VALUES (1, 1), (2, 2), (3, 2), (4, 5)")
    query = (
        "SELECT rank(3) WITHIN GROUP (ORDER BY x), dense_rank(3) WITHIN GROUP (ORDER BY x),"
        " percent_rank(2) WITHIN GROUP (ORDER BY x), cume_dist(4) WITHIN GROUP (ORDER BY x) FROM t"
    )
    assert con.execute(query).fetchall() == [(4, 3, 0.25, 0.8)]


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has other functions of JSON")
def test_json_and_texts_become_rows(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR, j JSON)")
    con.execute(
        "INSERT INTO t SELECT * FROM json_populate_recordset(NULL::t, %s)",
        ('[{"id": 1, "name": "x", "j": {"a": 5}}, {"id": "2"}]',),
    )
    assert con.execute("SELECT id, name FROM t ORDER BY id").fetchall() == [(1, "x"), (2, None)]
    query = "SELECT t.id, e.a FROM t, json_to_record(t.j) AS e(a INTEGER) ORDER BY t.id"
    assert con.execute(query).fetchall() == [(1, 5), (2, None)]
    rows = con.execute("SELECT v FROM string_to_table('b,a', ',') AS g(v) ORDER BY v").fetchall()
    assert rows == [("a",), ("b",)]


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has other functions of JSON", hive="it reads JSON by constants alone")
def test_pairs_of_an_object_are_rows(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, j JSON)")
    con.execute("""INSERT INTO t VALUES (1, '{"a": 5}'), (2, NULL)""")
    pairs = "SELECT key, value FROM t CROSS JOIN LATERAL json_each_text(t.j) AS e"
    assert con.execute(pairs).fetchall() == [("a", "5")]


@pytest.mark.also_on("hive")
def test_a_dropped_column_takes_along_the_views_that_read_it(store: Store) -> None:
    con = store.connect(dialect="postgres")
    for sql in (
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER, c INTEGER)",
        "CREATE VIEW sums AS SELECT id, a + b AS total FROM t",
        "CREATE VIEW over_sums AS SELECT total FROM sums",
        "CREATE VIEW others AS SELECT x.id, x.a FROM t AS x",
    ):
        con.execute(sql)
    with pytest.raises(gateway.Error) as raised:
        con.execute("ALTER TABLE t DROP COLUMN b")
    assert raised.value.sqlstate == "2BP01"
    con.execute("ALTER TABLE t DROP COLUMN c")
    con.execute("ALTER TABLE t DROP COLUMN b CASCADE")
    assert con.execute("SELECT * FROM others").fetchall() == []
    for view in ("sums", "over_sums"):
        with pytest.raises(gateway.ProgrammingError, match="PAL-201"):
            con.execute(f"SELECT * FROM {view}")


@pytest.mark.also_on("hive")
@pytest.mark.needs(Capability.FOREIGN_KEYS)
def test_cascade_takes_foreign_keys_along(store: Store) -> None:
    con = store.connect(dialect="postgres")
    for sql in (
        "CREATE TABLE p (id INTEGER PRIMARY KEY)",
        "CREATE TABLE c (id INTEGER PRIMARY KEY, pid INTEGER REFERENCES p)",
        "CREATE SCHEMA s",
        "CREATE TABLE s.p (id INTEGER PRIMARY KEY)",
        "CREATE TABLE d (id INTEGER PRIMARY KEY, pid INTEGER REFERENCES s.p)",
    ):
        con.execute(sql)
    with pytest.raises(gateway.Error) as raised:
        con.execute("DROP TABLE p")
    assert raised.value.sqlstate == "2BP01"
    con.execute("DROP TABLE p CASCADE")
    con.execute("DROP SCHEMA s CASCADE")
    con.execute("INSERT INTO c VALUES (1, 7)")
    con.execute("INSERT INTO d VALUES (1, 7)")
    assert con.execute("SELECT c.pid, d.pid FROM c JOIN d ON c.id = d.id").fetchall() == [(7, 7)]


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="its CAST is another")
def test_texts_are_as_short_as_their_column_says(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a VARCHAR(3), b CHAR(2) DEFAULT 'x')")
    con.execute("INSERT INTO t VALUES (1, 'abc', 'y ')")

    def refuses(sql: str) -> None:
        with pytest.raises(gateway.DataError, match="PAL-315") as refused:
            con.execute(sql)
        assert refused.value.sqlstate == "22001"

    refuses("INSERT INTO t VALUES (2, 'abcd', 'y')")
    refuses("UPDATE t SET b = 'yyy'")
    con.execute("ALTER TABLE t RENAME COLUMN a TO c")
    con.execute("ALTER TABLE t ALTER COLUMN c TYPE VARCHAR(4), ADD COLUMN d VARCHAR(1)")
    con.execute("UPDATE t SET c = 'abcd'")
    refuses("UPDATE t SET c = 'abcde'")
    refuses("UPDATE t SET d = 'zz'")
    refuses("ALTER TABLE t ALTER COLUMN c TYPE VARCHAR(2)")
    con.execute("ALTER TABLE t ALTER COLUMN c TYPE TEXT")
    con.execute("UPDATE t SET c = 'abcdefgh'")
    assert con.execute("SELECT c::varchar(5) FROM t").fetchall() == [("abcde",)]


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has other functions")
def test_casts_templates_and_rounding_are_those_of_postgresql(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, f FLOAT8, m TIMESTAMP)")
    con.execute("INSERT INTO t VALUES (1, 2.5, '2020-01-05 13:04:05'), (2, -0.5, NULL)")
    query = (
        "SELECT round(f), to_char(m, 'FMDay HH12:MI AM'), to_char(k, 'FM000'), 'abc'::varchar(2)"
        " FROM t ORDER BY k"
    )
    rows = con.execute(query).fetchall()
    assert rows == [(2.0, "Sunday 01:04 PM", "001", "ab"), (0.0, None, "002", "ab")]


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has no lists", hive="it cuts lists at places that are written")
def test_an_element_of_an_array_is_assigned(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, a INTEGER[], b TEXT[])")
    con.execute("INSERT INTO t VALUES (1, '{1,2,3}', '{x}'), (2, NULL, NULL)")
    con.execute("UPDATE t SET a[1] = '9', b[2] = 'y' WHERE k = 1")
    con.execute("UPDATE t SET a[5] = a[1] + k WHERE k = 1")
    con.execute("UPDATE t SET a[1] = NULL, b[1] = 'z' WHERE k = 2")
    rows = con.execute("SELECT * FROM t ORDER BY k").fetchall()
    assert rows == [(1, [9, 2, 3, None, 10], ["x", "y"]), (2, [None], ["z"])]
    for assignment in ("a[0] = 1", "a[1:2] = '{1,2}'", "a[k] = 1", "k[1] = 1", "a[100000] = 1"):
        with pytest.raises(gateway.NotSupportedError, match="PAL-110"):
            con.execute(f"UPDATE t SET {assignment}")


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has other functions of JSON", hive="it has other functions of JSON")
def test_keys_of_json_are_looked_for(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, j JSONB)")
    con.execute(
        """INSERT INTO t VALUES (1, '{"a": 1}'), (2, '["a", "x"]'), (3, '"a"'), (4, NULL)"""
    )

    def keys(condition: str, *values: str) -> list[int]:
        rows = con.execute(f"SELECT k FROM t WHERE {condition} ORDER BY k", values).fetchall()
        return [k for (k,) in rows]

    assert keys("j ? 'a'") == keys("j ? %s", "a") == keys("jsonb_exists(j, 'a')") == [1, 2, 3]
    assert keys("j ?| ARRAY['b', 'x']") == keys("j ?& ARRAY['a', 'x']") == [2]
    assert keys("j ?| '{b,x}'") == keys("j ?& '{a,NULL,x}'") == [2]
    assert keys("j ?& '{}'") == [1, 2, 3]
    assert keys("j ?| '{}'") == []
    assert keys("j ? 'a' AND jsonb_typeof(j) = ?", "object") == [1]


@pytest.mark.also_on("hive")
def test_outputs_without_an_alias_are_ordered_by_and_named(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, s TEXT)")
    con.execute("INSERT INTO t VALUES (1, 'a'), (10, 'b'), (9, 'a')")
    query = "SELECT k::text FROM t ORDER BY k"
    assert con.execute(query).fetchall() == [("1",), ("10",), ("9",)]
    query = "SELECT s, count(*) FROM t GROUP BY s ORDER BY count"
    assert con.execute(query).fetchall() == [("b", 1), ("a", 2)]
    query = "SELECT q.max FROM (SELECT max(k) FROM t) q"
    assert con.execute(query).fetchall() == [(10,)]
    query = "SELECT column2 FROM (VALUES (1, 'x'), (2, 'y')) AS q WHERE column1 = 2"
    assert con.execute(query).fetchall() == [("y",)]


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has other functions")
def test_numbers_are_read_by_templates(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, s TEXT)")
    con.execute("INSERT INTO t VALUES (1, '1,000.5'), (2, '-22'), (3, NULL)")
    con.execute("CREATE VIEW v AS SELECT k, to_number(s, '9,999.9') AS n FROM t")
    rows = con.execute("SELECT n FROM v ORDER BY k").fetchall()
    assert rows == [(Decimal("1000.5"),), (Decimal(-22),), (None,)]


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="its CAST is another")
def test_char_alone_is_one_character(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, a CHAR, b CHARACTER DEFAULT 'y', c BPCHAR)")
    con.execute("INSERT INTO t (k, a, c) VALUES (1, 'x', 'long')")
    with pytest.raises(gateway.DataError, match="PAL-315"):
        con.execute("INSERT INTO t (k, a) VALUES (2, 'xy')")
    query = "SELECT a, b, c, 'abc'::char AS d, c::character AS e, c::varchar AS f FROM t"
    assert con.execute(query).fetchall() == [("x", "y", "long", "a", "l", "long")]


@pytest.mark.also_on("hive", "postgres")
def test_rows_are_checked_before_their_conflicts_are_looked_for(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, n INTEGER NOT NULL CHECK (n < 5))")
    con.execute("INSERT INTO t VALUES (1, 1)")
    for source, state in (
        ("(1, 9)", "23514"),
        ("(1, NULL)", "23502"),
        ("(2, 2), (1, 9)", "23514"),
        ("(2, 2), (2, NULL)", "23502"),
    ):
        for action in ("DO NOTHING", "(k) DO UPDATE SET n = 3"):
            with pytest.raises(gateway.IntegrityError) as raised:
                con.execute(f"INSERT INTO t VALUES {source} ON CONFLICT {action}")
            assert raised.value.sqlstate == state
    assert con.execute("SELECT k, n FROM t").fetchall() == [(1, 1)]
    con.execute("INSERT INTO t VALUES (1, 2) ON CONFLICT (k) DO UPDATE SET n = excluded.n")
    con.execute("INSERT INTO t VALUES (1, 3), (2, 2) ON CONFLICT DO NOTHING")
    lax = store.connect()
    lax.execute("INSERT INTO t VALUES (2, 9) ON CONFLICT DO NOTHING")
    assert con.execute("SELECT k, n FROM t ORDER BY k").fetchall() == [(1, 2), (2, 2)]


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has no enums")
def test_values_of_execute_are_read_as_what_they_stand_beside(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, m mood)")
    con.execute("PREPARE change AS UPDATE t SET m = $1 WHERE k = $2")
    con.execute("PREPARE find AS SELECT k FROM t WHERE m >= $1")
    for sql in ("EXECUTE change('gone', 1)", "EXECUTE change('ok', 'one')", "EXECUTE find('gone')"):
        with pytest.raises(gateway.DataError) as raised:
            con.execute(sql)
        assert raised.value.sqlstate == "22P02"
    con.execute("INSERT INTO t VALUES (1, 'sad')")
    con.execute("EXECUTE change('ok', '1')")
    assert con.execute("EXECUTE find('ok')").fetchall() == [(1,)]


@pytest.mark.also_on("hive")
def test_constants_of_dates_are_read_as_postgresql_reads_them(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, d DATE, m TIMESTAMP)")
    con.execute("INSERT INTO t VALUES (1, '01/02/03', 'Jan 2, 2003 12:30')")
    con.execute("INSERT INTO t (k, d) VALUES (2, '20040102')")
    con.execute("UPDATE t SET d = '2-Jan-2005' WHERE d = '1/2/04'")
    shown = "SELECT k, d::text, m::text FROM t WHERE d BETWEEN '1/1/03' AND '12/31/05' ORDER BY k"
    rows = con.execute(shown).fetchall()
    assert rows == [(1, "2003-01-02", "2003-01-02 12:30:00"), (2, "2005-01-02", None)]
    assert con.execute("SELECT (DATE 'January 8, 1999')::text").fetchall() == [("1999-01-08",)]
    with pytest.raises(gateway.DataError):
        con.execute("INSERT INTO t (k, d) VALUES (3, '13/13/1999')")
    with pytest.raises(gateway.Error, match="PAL-222"):
        con.execute("SET datestyle = 'ISO, YMD'")


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has other functions")
def test_format_pads_and_quotes(store: Store) -> None:
    con = store.connect(dialect="postgres")
    for call, text in {
        "format('>%6s|%-6s|%2s<', 'abc', 'abc', 'abc')": ">   abc|abc   |abc<",
        "format('>%*s|%2$*1$L|%-s<', 6, 'abc', NULL)": ">   abc| 'abc'|<",
        "format('>%1$*2$s<', 'abc', -6)": ">abc   <",
        "format('%I.%I %I %L', 'ab', 'select', 'a\"b', NULL)": 'ab."select" "a""b" NULL',
        "format('%s-%s', VARIADIC ARRAY[1, 2])": "1-2",
        "concat_ws(',', VARIADIC '{a,b}'::text[])": "a,b",
        "quote_ident('a b')": '"a b"',
    }.items():
        assert con.execute(f"SELECT {call}").fetchall() == [(text,)], call
    with pytest.raises(gateway.Error, match="null"):
        con.execute("SELECT format('%I', NULL::text)").fetchall()
    assert con.execute("SELECT min_scale(1.50), trim_scale(1.50) = 1.5").fetchall() == [(1, True)]


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has other functions")
def test_functions_of_patterns_give_rows(store: Store) -> None:
    con = store.connect(dialect="postgres")
    query = "SELECT m FROM regexp_matches('foobarbaz', 'b..', 'g') AS m ORDER BY 1"
    assert con.execute(query).fetchall() == [(["bar"],), (["baz"],)]


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it answers for itself")
def test_nothing_is_in_an_empty_list(store: Store) -> None:
    con = store.connect()
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, n INTEGER)")
    con.execute("INSERT INTO t VALUES (1, 1), (2, NULL)")
    rows = con.execute("SELECT k, n IN (), n NOT IN () FROM t ORDER BY k").fetchall()
    assert rows == [(1, False, True), (2, None, None)]
    assert con.execute("SELECT k FROM t WHERE n NOT IN ()").fetchall() == [(1,)]


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has other functions")
def test_numbers_outside_a_domain_fail(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, x DOUBLE PRECISION)")
    con.execute("INSERT INTO t VALUES (1, 0), (2, -1), (3, 1), (4, NULL)")
    for call in (
        *("ln(x)", "log(x)", "log(2.0, x::numeric)", "sqrt(x)", "acos(x + 2)", "power(x, -1.5)"),
        "width_bucket(x, 1.0, 2.0, 0)",
    ):
        with pytest.raises(gateway.DataError):
            con.execute(f"SELECT {call} FROM t").fetchall()
    query = "SELECT ln(x), sqrt(x), power(x, 0.5), acos(x) FROM t WHERE k > 2 ORDER BY k"
    assert con.execute(query).fetchall() == [(0, 1, 1, 0), (None, None, None, None)]
    query = "SELECT concat(k > 2, '/', TRUE), concat_ws(',', k, k < 0) FROM t WHERE k = 1"
    assert con.execute(query).fetchall() == [("f/t", "1,f")]


@pytest.mark.drifts(toy="it has no lists", hive="it cuts lists at places that are written")
def test_slices_of_arrays_are_assigned(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, a INTEGER[], b TEXT[])")
    con.execute(
        "INSERT INTO t VALUES (1, '{1,2,3,4}', '{a,b}'), (2, '{1}', NULL), (3, '{}', '{}'),"
        " (4, '{1,2,3}', '{x}')"
    )
    con.execute("UPDATE t SET a[2:3] = ARRAY[8, k] WHERE k <> 3")
    con.execute("UPDATE t SET a[1:2] = ARRAY[5, 6, 7], b[1:1] = ARRAY['z'] WHERE k IN (3, 4)")
    assert con.execute("SELECT a, b FROM t ORDER BY k").fetchall() == [
        ([1, 8, 1, 4], ["a", "b"]), ([1, 8, 2], None), ([5, 6], ["z"]), ([5, 6, 4], ["z"])
    ]  # fmt: skip
    with pytest.raises(gateway.DataError, match="PAL-660") as raised:
        con.execute("UPDATE t SET a[2:4] = ARRAY[8, 9]")
    assert raised.value.sqlstate == "2202E"
    with pytest.raises(gateway.NotSupportedError, match="PAL-110"):
        con.execute("UPDATE t SET a[2:] = ARRAY[8, 9]")


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has other functions")
def test_signs_of_numbers_stand_where_the_template_says(store: Store) -> None:
    con = store.connect(dialect="postgres")
    forms = ("S999", "999S", "999PR", "FM999PR", "FMS999", "999MI", "FM999MI", "L999", "S9,990.00")
    for value, wanted in (
        (12, ["+12", " 12+", "  12 ", "12", "+12", " 12 ", "12", "   12", "   +12.00"]),
        (-12, ["-12", " 12-", " <12>", "<12>", "-12", " 12-", "12-", "  -12", "   -12.00"]),
    ):
        query = ", ".join(f"to_char({value}, '{form}')" for form in forms)
        found = con.execute(f"SELECT {query}").fetchall()
        assert found == [(f" {wanted[0]}", *wanted[1:])]
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, n NUMERIC(9, 2))")
    con.execute("INSERT INTO t VALUES (1, 1234.5), (2, -0.4), (3, NULL)")
    forms = ("9,9 9 9", "FM9,999th", "SG999.9", "FMRN", "9,999.0")
    query = ", ".join(f"to_char(n, '{form}')" for form in forms)
    assert con.execute(f"SELECT {query} FROM t ORDER BY k").fetchall() == [
        (" 1,2 3 5", "1,235th", "+###.#", "MCCXXXV", " 1,234.5"),
        ("       0", "0th", "-   .4", "###############", "     -.4"),
        (None, None, None, None, None),
    ]


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has no lists")
def test_texts_beside_arrays_are_arrays(store: Store) -> None:
    con = store.connect(dialect="postgres")
    query = "SELECT '{1}'::int[] = '{1}' AS a, ARRAY[1, 2] < '{1,3}' AS b, '{a}' <> ARRAY['b'] AS c"
    assert con.execute(query).fetchall() == [(True, True, True)]
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, a INTEGER[], s TEXT)")
    con.execute("INSERT INTO t VALUES (1, '{1,2}', '{1,2}'), (2, '{3}', 'x')")
    query = "SELECT k FROM t WHERE a = '{1,2}' AND s = '{1,2}' AND a <> '{3}'"
    assert con.execute(query).fetchall() == [(1,)]
    with pytest.raises(gateway.DataError) as raised:
        con.execute("SELECT '{1}'::int[] = '{x}'")
    assert raised.value.sqlstate == "22P02"


def test_a_series_has_the_name_of_its_alias(store: Store) -> None:
    con = store.connect(dialect="postgres")
    for query, name in (
        ("SELECT * FROM generate_series(1, 3) g", "g"),
        ("SELECT g.* FROM generate_series(1, 3) AS g", "g"),
        ("SELECT * FROM generate_series(1, 3)", "generate_series"),
        ("SELECT * FROM generate_series(1, 3) AS g(x)", "x"),
    ):
        cursor = con.execute(f"{query} ORDER BY 1")
        assert [column[0] for column in cursor.description or ()] == [name]
        assert cursor.fetchall() == [(1,), (2,), (3,)]


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="SQLite leaves them where the first table has them")
def test_columns_that_are_joined_come_first(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE a (i INTEGER PRIMARY KEY, x INTEGER, p INTEGER)")
    con.execute("CREATE TABLE b (q INTEGER PRIMARY KEY, x INTEGER, i INTEGER)")
    con.execute("CREATE TABLE c (z INTEGER PRIMARY KEY, q INTEGER)")
    con.execute("INSERT INTO a VALUES (1, 10, 100), (2, 20, 200)")
    con.execute("INSERT INTO b VALUES (7, 10, 1), (8, 30, 3)")
    con.execute("INSERT INTO c VALUES (5, 7)")
    for query, names in (
        ("* FROM a JOIN b USING (x)", "x i p q i"),
        ("* FROM a JOIN b USING (x, i)", "x i p q"),
        ("* FROM a JOIN b USING (i)", "i x p q x"),
        ("* FROM a NATURAL JOIN b", "i x p q"),
        ("* FROM a JOIN b USING (x) JOIN c USING (q)", "q x i p i z"),
        ("*, q AS last FROM a LEFT JOIN b USING (x)", "x i p q i last"),
        ("* FROM a JOIN b USING (x) CROSS JOIN c", "x i p q i z q"),
        ("* FROM (SELECT * FROM a JOIN b USING (x, i)) s", "x i p q"),
    ):
        cursor = con.execute(f"SELECT {query}")
        assert " ".join(column[0] for column in cursor.description or ()) == names, query
    query = "SELECT * FROM a RIGHT JOIN b USING (x, i) ORDER BY x"
    assert con.execute(query).fetchall() == [(10, 1, 100, 7), (30, 3, None, 8)]


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has other numbers")
def test_div_gives_whole_quotients(store: Store) -> None:
    con = store.connect(dialect="postgres")
    query = "div(7.9, 2), div(-7.9, 2), div(-7, 2), div(7, 0.5), div(NULL, 2)"
    assert con.execute(f"SELECT {query}").fetchall() == [(3, -3, -3, 14, None)]
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, a NUMERIC(30, 2), b NUMERIC)")
    con.execute("INSERT INTO t VALUES (1, 99999999999999, 10), (2, 7.95, 2)")
    found = con.execute("SELECT div(a, b), div(k, 2) FROM t ORDER BY k").fetchall()
    assert found == [(9999999999999, 0), (3, 1)]
    for divided in ("5", "5.5"):
        with pytest.raises(gateway.DataError) as raised:
            con.execute(f"SELECT div({divided}, 0)")
        assert raised.value.sqlstate == "22012"


@pytest.mark.drifts(toy="it has other numbers", hive="its division gives a DOUBLE")
def test_quotients_of_many_digits_are_exact(store: Store) -> None:
    con = store.connect(dialect="postgres")
    query = "SELECT div(999999999999999999999::numeric, 10)"
    assert con.execute(query).fetchall() == [(Decimal("99999999999999999999"),)]


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has other functions")
def test_patterns_of_sql_match_whole_texts(store: Store) -> None:
    con = store.connect(dialect="postgres")
    for text, pattern, wanted in (
        ("whole", "w%", True),
        ("whole", "who", False),
        ("abc", "(a|x)_c", True),
        ("a.c", "a.c", True),
        ("axc", "a.c", False),
        ("aac", "a{2}[b-d]", True),
        ("50%", "50\\%", True),
        ("502", "50\\%", False),
        ("5", "\\d", True),
        ("a+", "a\\+", True),
    ):
        query = f"SELECT '{text}' SIMILAR TO '{pattern}', '{text}' NOT SIMILAR TO '{pattern}'"
        assert con.execute(query).fetchall() == [(wanted, not wanted)], query
    assert con.execute("SELECT 'a' SIMILAR TO NULL").fetchall() == [(None,)]


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has other functions")
def test_elements_of_json_are_arguments_of_calls(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, j JSONB)")
    con.execute("""INSERT INTO t VALUES (1, '{"b": [1, 2], "c": {"d": 1}}')""")
    query = "SELECT jsonb_array_length(j->'b'), coalesce(j->'b'->>0, 'none'), lower(j->>'c') FROM t"
    assert [row[:2] for row in con.execute(query).fetchall()] == [(2, "1")]


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has other functions")
def test_dates_are_read_by_names_of_months(store: Store) -> None:
    con = store.connect(dialect="postgres")
    query = "SELECT to_date('05 Dec 2000', 'DD Mon YYYY'), to_date('2000-12-05', 'YYYY-MM-DD')"
    assert con.execute(query).fetchall() == [(date(2000, 12, 5), date(2000, 12, 5))]


@pytest.mark.also_on("hive")
def test_whole_numbers_give_whole_quotients(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute(
        "CREATE TABLE t (k INTEGER PRIMARY KEY, a INTEGER, d INTEGER DEFAULT 7 / 2,"
        " g INTEGER GENERATED ALWAYS AS (a / 2) STORED, CHECK (a / 2 <> 5))"
    )
    con.execute("INSERT INTO t (k, a) VALUES (1, 7), (2, -7)")
    con.execute("CREATE VIEW v AS SELECT k, a / 2 AS h FROM t")
    query = "SELECT t.k, t.a / 2, g, d, h, t.a / 2.0 FROM t, v WHERE t.k = v.k ORDER BY 1"
    assert con.execute(query).fetchall() == [(1, 3, 3, 3, 3, 3.5), (2, -3, -3, 3, -3, -3.5)]
    with pytest.raises(gateway.IntegrityError, match="t_a_check"):
        con.execute("INSERT INTO t (k, a) VALUES (3, 11)")
