"""Clauses, texts and names of the postgres dialect that parsers lose, on every kind of store."""

from __future__ import annotations

import json
from datetime import date

import pytest

import gateway
from tests.support.stores.store import Store

pytestmark = pytest.mark.timeout(900)


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has no grouping sets")
def test_group_by_distinct_leaves_out_grouping_sets_that_repeat(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, a INTEGER, b INTEGER)")
    con.execute("INSERT INTO t VALUES (1, 1, 2), (2, 1, 3), (3, 2, NULL)")
    for grouped, groups in (
        ("DISTINCT rollup(a), cube(a)", 3),
        ("ALL rollup(a), cube(a)", 7),
        ("DISTINCT rollup(a, b), rollup(a)", 6),
        ("DISTINCT a", 2),
        ("ALL a, b", 3),
    ):
        query = f"SELECT count(*) FROM (SELECT a, count(*) AS n FROM t GROUP BY {grouped}) AS g"
        assert con.execute(query).fetchall() == [(groups,)], grouped


@pytest.mark.drifts(toy="it has no U& texts")
def test_texts_with_escapes_are_texts(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, s VARCHAR)")
    con.execute(
        r"INSERT INTO t VALUES (1, E'\xC3\xA4\101\n'), (2, E'a\\000\\u0000'), (3, U&'\00e4')"
    )
    found = con.execute("SELECT s FROM t ORDER BY k").fetchall()
    assert found == [("äA\n",), (r"a\000\u0000",), ("ä",)]
    for text, state in (
        (r"E'a\u0000b'", "42601"),
        (r"U&'a\0000b'", "42601"),
        (r"E'\xFF'", "22021"),
        (r"E'a\000'", "22021"),
    ):
        with pytest.raises(gateway.DatabaseError) as raised:
            con.execute(f"INSERT INTO t VALUES (4, {text})")
        assert raised.value.sqlstate == state, text


def test_names_without_quotes_are_in_small_letters(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute('CREATE TABLE Orders (Id INTEGER PRIMARY KEY, "Kept" INTEGER, Ä INTEGER)')
    con.execute("INSERT INTO ORDERS VALUES (1, 2, 3)")
    con.execute("CREATE VIEW Seen AS SELECT ID AS Number FROM Orders")
    for query, names in (
        ("SELECT * FROM orders", ["id", "Kept", "Ä"]),
        ("SELECT O.ID AS Total FROM Orders AS O WHERE Id = %(Id)s", ["total"]),
        ('SELECT Number, Number AS "Quoted" FROM SEEN', ["number", "Quoted"]),
    ):
        found = con.execute(query, {"Id": 1})
        assert [column[0] for column in found.description or ()] == names, query
        assert found.fetchall() in ([(1, 2, 3)], [(1,)], [(1, 1)]), query
    tables = (
        "SELECT table_name FROM information_schema.tables WHERE table_name <> lower(table_name)"
    )
    assert con.execute(tables).fetchall() == []


def test_names_are_cut_as_postgresql_cuts_them(store: Store) -> None:
    con = store.connect(dialect="postgres")
    long, column = "n" * 70, "ä" * 40
    con.execute(f'CREATE TABLE {long} (k INTEGER PRIMARY KEY, "{column}" INTEGER)')
    con.execute(f'INSERT INTO {long} (k, "{column}") VALUES (1, 2)')
    assert con.execute(f"SELECT {'ä' * 31} FROM {'n' * 63}").fetchall() == [(2,)]
    query = f"SELECT k FROM {long} WHERE k = %({long})s"
    assert con.execute(query, {long: 1}).fetchall() == [(1,)]
    described = con.execute(f"SELECT k AS {long} FROM {long}").description
    assert [column[0] for column in described or ()] == ["n" * 63]


@pytest.mark.drifts(toy="it has other functions")
def test_views_are_refreshed_concurrently_by_a_unique_index(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, a INTEGER)")
    con.execute("CREATE MATERIALIZED VIEW v AS SELECT k, a FROM t")
    for index in ("", "CREATE INDEX ON v (a)", "CREATE UNIQUE INDEX ON v (k) WHERE k > 1"):
        if index:
            con.execute(index)
        with pytest.raises(gateway.DatabaseError, match="unique index") as raised:
            con.execute("REFRESH MATERIALIZED VIEW CONCURRENTLY v")
        assert raised.value.sqlstate == "55000"
    con.execute("CREATE UNIQUE INDEX ON v (k)")
    con.execute("REFRESH MATERIALIZED VIEW CONCURRENTLY v")


@pytest.mark.drifts(toy="it raises no errors in SQL", hive="it raises no errors in SQL")
def test_casts_to_domains_of_any_type_keep_to_them(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE DOMAIN recent AS DATE NOT NULL CHECK (date_part('year', VALUE) > 2000)")
    assert con.execute("SELECT '2020-01-01'::recent").fetchall() == [(date(2020, 1, 1),)]
    for value, state in (("'1999-01-01'", "23514"), ("NULL", "23502")):
        with pytest.raises(gateway.DatabaseError) as raised:
            con.execute(f"SELECT {value}::recent")
        assert raised.value.sqlstate == state


def test_numbers_of_identities_are_of_no_domain(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE DOMAIN small AS INTEGER CHECK (VALUE > 0)")
    with pytest.raises(gateway.ProgrammingError, match="domain"):
        con.execute("CREATE TABLE t (k small GENERATED ALWAYS AS IDENTITY, a INTEGER)")
    with pytest.raises(gateway.ProgrammingError, match="variadic"):
        con.execute("SELECT greatest(VARIADIC ARRAY[1, 2])")


@pytest.mark.also_on("hive")
def test_a_join_has_an_alias_for_the_columns_in_using(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER)")
    con.execute("CREATE TABLE u (a INTEGER PRIMARY KEY, c INTEGER)")
    con.execute("INSERT INTO t VALUES (1, 2), (2, 3)")
    con.execute("INSERT INTO u VALUES (1, 4), (3, 5)")
    joined = 'FROM t FULL JOIN u USING (a) AS "J"'
    assert con.execute(f'SELECT "J".a {joined} ORDER BY "J".a').fetchall() == [(1,), (2,), (3,)]
    found = con.execute(f'SELECT "J".*, b, c {joined} WHERE "J".a = 1').fetchall()
    assert found == [(1, 2, 4)]
    for query, code in (('SELECT "J".b', "PAL-202"), ('SELECT "J"', "PAL-110")):
        with pytest.raises(gateway.DatabaseError, match=code):
            con.execute(f"{query} {joined}")


@pytest.mark.drifts(toy="its SQLite has no OFFSET without LIMIT")
def test_a_security_barrier_asks_its_own_conditions_first(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, a INTEGER)")
    con.execute("INSERT INTO t VALUES (1, 0), (2, 5)")
    for options in ("security_barrier", "security_barrier = true", "security_barrier = false"):
        con.execute(f"CREATE OR REPLACE VIEW v WITH ({options}) AS SELECT * FROM t WHERE k > 1")
        assert con.execute("SELECT * FROM v").fetchall() == [(2, 5)]
    con.execute("CREATE OR REPLACE VIEW v WITH (security_barrier) AS SELECT * FROM t WHERE k > 1")
    assert con.execute("SELECT k FROM v WHERE 10 / a > 1").fetchall() == [(2,)]


@pytest.mark.drifts(toy="it has no intervals")
def test_intervals_have_the_fields_that_are_named(store: Store) -> None:
    con = store.connect(dialect="postgres")
    for text, wanted in (
        ("'1-2' YEAR TO MONTH", "14 months"),
        ("'1' YEAR TO MONTH", "1 month"),
        ("'1 2' DAY TO HOUR", "1 day 2 hours"),
        ("'1 2:03:04' DAY TO HOUR", "1 day 2 hours"),
        ("'1 2:03' HOUR TO MINUTE", "1 day 02:03"),
        ("'2:03' MINUTE TO SECOND", "00:02:03"),
        ("'1 2:03:04.567' DAY TO SECOND(2)", "1 day 02:03:04.57"),
        ("'1 2:03.4567'", "1 day 00:02:03.4567"),
        ("'1.26' SECOND(1)", "1.3 seconds"),
        ("'1.5' HOUR", "1 hour"),
        ("'1.5 hours'", "90 minutes"),
        ("(2) '1.256 s'", "1.26 seconds"),
        ("(0) '1 day 2 hours'", "1 day 2 hours"),
        ("'P0001-02-03T04:05:06'", "1 year 2 months 3 days 04:05:06"),
    ):
        query = f"SELECT INTERVAL {text} = INTERVAL '{wanted}'"
        assert con.execute(query).fetchall() == [(True,)], text
    query = (
        "SELECT '1.256 s'::INTERVAL(2) = INTERVAL '1.26 s', CAST('1-2' AS INTERVAL YEAR TO MONTH)"
        " = INTERVAL '14 months', 'P1DT1.26S'::INTERVAL(1) = INTERVAL '1 day 1.3 s'"
    )
    assert con.execute(query).fetchall() == [(True, True, True)]
    for text in ("'1 2' DAY TO MINUTE", "'123 11'", "'1 2:03 -2:04'"):
        with pytest.raises(gateway.DataError) as raised:
            con.execute(f"SELECT INTERVAL {text}")
        assert raised.value.sqlstate == "22007", text


@pytest.mark.drifts(toy="it has no intervals", hive="it has no columns of intervals")
def test_columns_of_intervals_keep_all_their_fields(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute(
        "CREATE TABLE t (k INT, a INTERVAL DAY TO SECOND, b INTERVAL SECOND, c INTERVAL(6))"
    )
    con.execute("INSERT INTO t VALUES (1, '1 mon 2 days 3 hours', '5', '1.5 s')")
    query = "SELECT a = '1 mon 2 days 3 hours', b = '5 s', c = '1.5 s' FROM t"
    assert con.execute(query).fetchall() == [(True, True, True)]
    for sql in (
        "CREATE TABLE u (a INTERVAL(2))",
        "CREATE TABLE u (a INTERVAL YEAR TO MONTH)",
        "ALTER TABLE t ADD COLUMN d INTERVAL HOUR",
        "SELECT a::INTERVAL(2) FROM t",
        "SELECT a::INTERVAL DAY TO MINUTE FROM t",
    ):
        with pytest.raises(gateway.NotSupportedError) as raised:
            con.execute(sql)
        assert raised.value.sqlstate == "0A000", sql


@pytest.mark.drifts(toy="it has no clock")
def test_the_clock_has_as_many_digits_as_are_asked_for(store: Store) -> None:
    con = store.connect(dialect="postgres")
    cursor = con.execute(
        "SELECT current_timestamp(0), current_time(1), localtime(0), localtimestamp(2)"
    )
    assert [column[0] for column in cursor.description or ()] == [
        *("current_timestamp", "current_time", "localtime", "localtimestamp")
    ]
    moment, time, local_time, local = cursor.fetchone() or ()
    assert (moment.microsecond, local_time.microsecond) == (0, 0)
    assert time.microsecond % 100_000 == 0
    assert local.microsecond % 10_000 == 0


@pytest.mark.parametrize(
    "term",
    [
        "SELECT count(*) FROM x",
        "SELECT n + 1 FROM x WHERE n IN (SELECT n FROM x)",
        "SELECT (SELECT n FROM x)",
        "SELECT x.n + 1 FROM (VALUES (1)) AS v(a) LEFT JOIN x ON x.n = v.a",
        "SELECT 1 EXCEPT SELECT n FROM x",
    ],
)
def test_a_recursive_query_names_itself_once_in_from(store: Store, term: str) -> None:
    con = store.connect(dialect="postgres")
    query = f"WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL ({term})) SELECT * FROM x"
    with pytest.raises(gateway.Error) as raised:
        con.execute(query).fetchall()
    assert raised.value.sqlstate == "42P19"


def test_recursive_queries_of_every_form(store: Store) -> None:
    con = store.connect(dialect="postgres")
    for term in (
        "SELECT n + 1 FROM x WHERE n < 3",
        "SELECT x.n + 1 FROM x JOIN (SELECT 3 AS top) AS t ON x.n < t.top",
    ):
        query = f"WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL {term}) SELECT max(n) FROM x"
        assert con.execute(query).fetchall() == [(3,)], term
    con.execute("CREATE TABLE b (n INTEGER PRIMARY KEY)")
    for parts in (
        "a AS (SELECT n FROM b), b AS (SELECT n + 1 AS n FROM c), c AS (SELECT 2 AS n)",
        "a AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM a WHERE n < (TABLE b)), b AS (SELECT 3)",
    ):
        query = f"WITH RECURSIVE {parts} SELECT n FROM a ORDER BY n USING > LIMIT 1"
        assert con.execute(query).fetchall() == [(3,)], parts


def test_what_postgresql_calls_ambiguous_or_its_own_is_refused(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, s VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, 'a')")
    doubled = "(SELECT 1 AS a, 2 AS a) AS q"
    for query, state in (
        (f"SELECT a FROM {doubled}", "42702"),
        (f"SELECT 1 FROM t WHERE EXISTS (SELECT 1 FROM {doubled} WHERE a = k)", "42702"),
        ("WITH q AS (SELECT 1 AS a, 2 AS a) SELECT q.a FROM q", "42702"),
        ("SELECT b FROM (SELECT * FROM t AS x(a, b), t AS y(c, b)) AS q", "42702"),
        ("SELECT t FROM t", "0A000"),
        ("UPDATE t SET s = 'b' RETURNING t::text", "0A000"),
        ("SELECT q::text FROM (SELECT 1 AS a) AS q", "0A000"),
        ("SELECT FROM t", "0A000"),
    ):
        with pytest.raises(gateway.DatabaseError) as raised:
            con.execute(query)
        assert raised.value.sqlstate == state, query
    for query, wanted in (
        (f"SELECT 5 AS a FROM {doubled} ORDER BY a", [(5,)]),
        ("SELECT x FROM (SELECT 1 AS a, 2 AS a) AS q(x, y)", [(1,)]),
        ("SELECT s FROM t AS s", [("a",)]),
        ("SELECT g FROM generate_series(1, 1) AS g", [(1,)]),
        ("SELECT EXISTS (SELECT FROM t)", [(True,)]),
    ):
        assert con.execute(query).fetchall() == wanted, query


def test_copy_leaves_generated_columns_out(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute(
        "CREATE TABLE t (k INTEGER PRIMARY KEY,"
        " d INTEGER GENERATED ALWAYS AS (k * 2) STORED, s TEXT)"
    )
    with con.cursor() as cursor:
        for rows in ("", "1\ta\n"):
            with cursor.copy("COPY t FROM STDIN") as copy:
                copy.write(rows)
        with cursor.copy("COPY t TO STDOUT (FORMAT csv, HEADER)") as copy:
            assert b"".join(map(bytes, copy)) == b"k,s\n1,a\n"
    assert con.execute("SELECT * FROM t").fetchall() == [(1, 2, "a")]
    with pytest.raises(gateway.DatabaseError, match="generated column"), con.cursor() as cursor:
        cursor.copy("COPY t (d) TO STDOUT").__enter__()


@pytest.mark.drifts(toy="SQLite has other functions of texts")
def test_blanks_at_the_end_of_char_say_nothing(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k CHAR(5) PRIMARY KEY, c CHAR(4), s TEXT)")
    con.execute("INSERT INTO t VALUES ('ab ', 'x  ', 'x'), ('cd', 'y', 'y ')")
    for insert in ("VALUES ('ab', 'z', 'z')", "SELECT 'cd   ', 'z', 'z'"):
        with pytest.raises(gateway.IntegrityError):
            con.execute(f"INSERT INTO t {insert}")
    con.execute("UPDATE t SET c = 'w ' WHERE k = %s", ("cd   ",))
    for condition, wanted in (
        ("k = 'ab   '", [("ab", "x")]),
        ("k = %(k)s", [("ab", "x")]),
        ("c = 'x'", [("ab", "x")]),
        ("c IN ('w  ', 'z')", [("cd", "w")]),
        ("c = s", [("ab", "x")]),
        ("s || ' ' = c", []),
        ("'ab '::char(5) = k", [("ab", "x")]),
    ):
        found = con.execute(f"SELECT k, c FROM t WHERE {condition}", {"k": "ab "}).fetchall()
        assert found == wanted, condition
    con.execute("DELETE FROM t WHERE k = 'cd '")
    con.execute("INSERT INTO t (k, c) VALUES (12, 34)")
    assert con.execute("SELECT k, c FROM t ORDER BY k").fetchall() == [("12", "34"), ("ab", "x")]


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has no rows as values")
def test_rows_of_tables_that_are_changed_have_their_columns_alone(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, b VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, 'x'), (2, NULL), (3, 'y')")
    con.execute("CREATE TABLE s AS SELECT k, CASE k WHEN 3 THEN 'z' ELSE b END AS b FROM t")
    merge = "MERGE INTO t USING s ON t.k = s.k AND s.k = 1 WHEN MATCHED THEN"
    upsert = "INSERT INTO t AS i VALUES (1, '{}') ON CONFLICT (k) DO UPDATE SET b = 'w' WHERE {}"
    for sql, count in (
        ("UPDATE t SET b = '!' FROM s WHERE t.k = s.k AND (t.*) IS NOT DISTINCT FROM s.*", 2),
        ("UPDATE t SET b = s.b FROM s WHERE t.k = s.k AND t IS DISTINCT FROM s", 3),
        ("MERGE INTO t USING s ON t.k = s.k WHEN MATCHED AND t.* <> s.* THEN DELETE", 0),
        (upsert.format("x", "i.* IS DISTINCT FROM excluded.*"), 0),
        (upsert.format("v", "i IS DISTINCT FROM excluded"), 1),
        ("UPDATE t SET b = 'full' WHERE t IS NOT NULL", 2),
        ("DELETE FROM t USING s WHERE t = s", 1),
        ("UPDATE t SET b = to_json(t.*)::text WHERE k = 3", 1),
        (f"{merge} UPDATE SET b = to_json(s)::text", 1),
    ):
        assert con.execute(sql).rowcount == count, sql
    texts = [json.loads(b) for (b,) in con.execute("SELECT b FROM t ORDER BY k").fetchall()]
    assert texts == [{"k": 1, "b": "x"}, {"k": 3, "b": "full"}]


@pytest.mark.also_on("hive")
def test_stars_of_views_mean_the_columns_that_there_were(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, s VARCHAR)")
    con.execute("CREATE TABLE u (k INTEGER PRIMARY KEY, w VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, 'x')")
    con.execute("INSERT INTO u VALUES (1, 'y'), (2, 'z')")
    views = (
        ("a", "SELECT *, 2 AS n FROM t", [(1, "x", 2)]),
        (
            "b",
            "SELECT b.*, t.s FROM t RIGHT JOIN u AS b USING (k)",
            [(1, "y", "x"), (2, "z", None)],
        ),
        ("c", "SELECT * FROM t JOIN u USING (k)", [(1, "x", "y")]),
        ("d", "WITH q AS (SELECT * FROM t) SELECT * FROM q", [(1, "x")]),
        ("e", "SELECT * FROM (SELECT * FROM a) AS i", [(1, "x", 2)]),
    )
    for name, query, _ in views:
        con.execute(f"CREATE VIEW {name} AS {query}")
    for table in ("t", "u"):
        con.execute(f"ALTER TABLE {table} ADD COLUMN later INTEGER")
    con.execute("CREATE OR REPLACE VIEW a AS SELECT k, s, 2 AS n, 4 AS more FROM t")
    for name, query, wanted in views[1:]:
        assert con.execute(f"SELECT * FROM {name} ORDER BY k").fetchall() == wanted, query


@pytest.mark.drifts(toy="it has other functions of JSON", hive="it reads no rows from json_each")
def test_views_read_rows_from_json(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, j JSON)")
    con.execute("""INSERT INTO t VALUES (1, '[{"a": 5}, {"a": 6}]')""")
    record = "SELECT k, r.a FROM t, json_to_recordset(t.j) AS r(a INT)"
    con.execute(f"CREATE VIEW v AS {record}")
    con.execute("""CREATE VIEW w AS SELECT * FROM json_each('{"b": 7}') AS e""")
    assert con.execute("SELECT * FROM v ORDER BY a").fetchall() == [(1, 5), (1, 6)]
    assert con.execute("SELECT key, value FROM w").fetchall() == [("b", "7")]


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has other functions and lists")
def test_any_and_all_of_an_array_of_rows_compare_with_the_rows(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    con.execute("INSERT INTO t VALUES (1), (2), (3)")
    con.execute("CREATE TABLE u (b INTEGER)")
    con.execute("INSERT INTO u VALUES (1), (2), (NULL)")
    for condition, wanted in (
        ("a = ANY(ARRAY(SELECT b FROM u))", [(1,), (2,)]),
        ("a <> ALL(ARRAY(SELECT b FROM u))", []),
        ("a <> ALL(ARRAY(SELECT b FROM u WHERE b IS NOT NULL))", [(3,)]),
        ("NOT a = ANY(ARRAY(SELECT b FROM u WHERE b > 1))", [(1,), (3,)]),
    ):
        found = con.execute(f"SELECT a FROM t WHERE {condition} ORDER BY a").fetchall()
        assert found == wanted, condition


@pytest.mark.also_on("hive")
def test_functions_in_sql_take_values(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE items (id INTEGER PRIMARY KEY, name VARCHAR)")
    con.execute("INSERT INTO items VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    for function in (
        "half(n int, int DEFAULT 2) RETURNS int LANGUAGE sql RETURN n / $2",
        "name_of(id int) RETURNS text LANGUAGE sql AS 'SELECT name FROM items WHERE id = $1'",
        "above(n int) RETURNS SETOF items LANGUAGE sql AS 'SELECT * FROM items WHERE id > n'",
    ):
        con.execute(f"CREATE FUNCTION {function}")
    con.execute("CREATE VIEW halves AS SELECT id, half(id) AS h FROM items")
    con.execute("DELETE FROM items WHERE id = half(3)")
    for query, rows in (
        ("SELECT half(7), half(7, 3), name_of(2), name_of(9)", [(3, 2, "b", None)]),
        ("SELECT id, half(id + 2) FROM items ORDER BY half(id), id", [(2, 2), (3, 2)]),
        ("SELECT a.name FROM above(half(5)) AS a", [("c",)]),
        ("SELECT id, h FROM halves ORDER BY id", [(2, 1), (3, 1)]),
    ):
        assert con.execute(query).fetchall() == rows, query


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="SQLite tells no types of a query's columns")
def test_views_compute_what_their_functions_say_now(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE items (id INTEGER PRIMARY KEY)")
    con.execute("INSERT INTO items VALUES (2), (3)")
    con.execute("CREATE FUNCTION half(n int, int DEFAULT 2) RETURNS int LANGUAGE sql RETURN n / $2")
    con.execute("CREATE VIEW halves AS SELECT id, half(id) AS h FROM items")
    con.execute("CREATE FUNCTION halved(n int) RETURNS int LANGUAGE sql RETURN half(n + 1)")
    con.execute("CREATE MATERIALIZED VIEW kept AS SELECT id, halved(id) AS h FROM items")
    changed = "half(n int, int DEFAULT 2) RETURNS int LANGUAGE sql RETURN n * $2"
    con.execute(f"CREATE OR REPLACE FUNCTION {changed}")
    assert con.execute("SELECT id, h FROM halves ORDER BY id").fetchall() == [(2, 4), (3, 6)]
    assert con.execute("SELECT id, h FROM kept ORDER BY id").fetchall() == [(2, 1), (3, 2)]
    con.execute("REFRESH MATERIALIZED VIEW kept")
    assert con.execute("SELECT id, h FROM kept ORDER BY id").fetchall() == [(2, 6), (3, 8)]
    with pytest.raises(gateway.Error, match="halves calls it") as error:
        con.execute("DROP FUNCTION half(int, int)")
    assert error.value.sqlstate == "2BP01"
    con.execute("DROP FUNCTION half(int, int) CASCADE")
    with pytest.raises(gateway.Error, match="halves does not exist"):
        con.execute("SELECT * FROM halves")


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it takes any column beside a group")
def test_a_grouped_key_determines_its_table(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR)")
    con.execute("CREATE TABLE u (tid INTEGER, k INTEGER, v INTEGER, PRIMARY KEY (tid, k))")
    con.execute("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    con.execute("INSERT INTO u VALUES (1, 1, 5), (1, 2, 6)")
    query = "SELECT {}, count(k) FROM t LEFT JOIN u ON tid = id GROUP BY {} ORDER BY name"
    for key in (("t.*", "t.id"), ("id AS i, name", "i"), ("t.id, name", "1")):
        assert con.execute(query.format(*key)).fetchall() == [(1, "x", 2), (2, "y", 0)]
    assert con.execute("SELECT v FROM u GROUP BY k, tid ORDER BY v").fetchall() == [(5,), (6,)]
    with pytest.raises(gateway.Error, match=r"GROUP BY|group by|aggregate"):
        con.execute("SELECT v FROM u GROUP BY tid")


@pytest.mark.drifts(hive="Spark refuses a subquery on the row beside a GROUP BY without it")
def test_a_grouped_key_determines_a_query_on_its_row(store: Store) -> None:
    con = store.connect(dialect="postgres")
    for table in ("t", "w"):
        con.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, name VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    con.execute("INSERT INTO w VALUES (2, 'z')")
    query = "SELECT (SELECT max(name) FROM w WHERE w.id = t.id), name FROM t GROUP BY t.id"
    assert con.execute(f"{query} ORDER BY name").fetchall() == [(None, "x"), ("z", "y")]


@pytest.mark.also_on("hive")
def test_null_in_rows_that_are_compared(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, a INTEGER, b INTEGER)")
    con.execute("INSERT INTO t VALUES (1, 1, 2), (2, 1, NULL), (3, NULL, 2), (4, 2, 1), (6, 0, 9)")

    def keys(condition: str, *values: int) -> list[int]:
        sql = f"SELECT k FROM t WHERE {condition} ORDER BY k"
        return [k for (k,) in con.execute(sql, values).fetchall()]

    assert keys("(a, b) = (1, 2)") == keys("(a, b) IN ((1, 2), (7, 7))") == [1]
    assert keys("(a, b) <> (1, 2)") == keys("NOT ROW(a, b) = (%s, %s)", 1, 2) == [4, 6]
    assert keys("(a, b) NOT IN ((1, 2), (2, 1))") == [6]
    assert keys("(a, b) IN ((1, NULL), (2, 1))") == keys("ROW(a, b) IN (ROW(2, 1))") == [4]
    assert keys("(a, b) IN ((1, NULL), (2, 1)) OR k = 3") == [3, 4]
    assert keys("((a, b) IN ((1, NULL), (2, 1))) IS NULL") == [1, 2, 3]
    assert keys("(a, b) < (1, 2)") == [6]
    assert keys("(a, b) >= (1, 2)") == [1, 4]
    assert keys("(k, a, b) > (2, 1, 1)") == [3, 4, 6]
    assert keys("(a, b) <> (SELECT 1, 2)") == keys("NOT (a, b) = (SELECT 1, 2)") == [4, 6]
    assert keys("(k, a) = (SELECT max(k), 0 FROM t)") == [6]
    assert con.execute("SELECT (1, NULL) = (1, 2) AS x").fetchall() == [(None,)]
    query = "SELECT (a, b) IN ((1, NULL), (2, 1)) FROM t ORDER BY k"
    assert [x for (x,) in con.execute(query)] == [None, None, None, True, False]
    assert con.execute("DELETE FROM t WHERE (k, a) <> (1, 1)").rowcount == 4


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has no moments")
def test_moments_are_cut_and_shown_by_the_clock_of_a_zone(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("SET timezone = 'UTC'")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, z TIMESTAMPTZ, m TIMESTAMP, d DATE)")
    con.execute(
        "INSERT INTO t VALUES (1, '2023-11-05 08:40+00', '2023-11-05 08:40', '2023-11-05'),"
        " (2, '2023-11-05 09:40+00', '2023-11-05 09:40', '2023-11-05')"
    )

    def cut(values: str) -> list[tuple[str, ...]]:
        columns = (f"to_char({value}, 'YYYY-MM-DD HH24:MI')" for value in values.split("; "))
        return con.execute(f"SELECT {', '.join(columns)} FROM t ORDER BY k").fetchall()

    # The clocks of California show each minute between 1 and 2 a second time.
    assert cut("date_trunc('hour', z, 'US/Pacific'); date_trunc('minute', m, 'US/Pacific')") == [
        ("2023-11-05 08:00", "2023-11-05 08:40"),
        ("2023-11-05 09:00", "2023-11-05 09:40"),
    ]
    assert (
        cut("date_trunc('day', m, 'US/Pacific'); date_trunc('day', d, 'Asia/Tokyo')")
        == [("2023-11-05 07:00", "2023-11-04 15:00")] * 2
    )


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has no moments", hive="it has other intervals")
def test_zones_are_distances_and_times_of_day_are_cut(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("SET timezone = 'Europe/Berlin'")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, p TIMESTAMPTZ, m TIMESTAMP, c TIME)")
    con.execute("INSERT INTO t VALUES (2, '2020-01-01 12:00+00', '2020-01-01 12:00', '10:11:12.3')")
    for zone, there, instant in (
        ("'UTC-05:00'", "17:00", "07:00"),
        ("'-05:30'", "17:30", "06:30"),
        ("'EST5'", "07:00", "17:00"),
        ("INTERVAL '-3 hours'", "09:00", "15:00"),
        ("'Asia/Tokyo'", "21:00", "03:00"),
    ):
        query = (
            f"SELECT to_char(p AT TIME ZONE {zone}, 'HH24:MI'), to_char(timezone({zone}, p),"
            f" 'HH24:MI'), to_char(m AT TIME ZONE {zone} AT TIME ZONE 'UTC', 'HH24:MI') FROM t"
        )
        assert con.execute(query).fetchall() == [(there, there, instant)], zone
    query = "SELECT to_char(date '2020-01-01' AT TIME ZONE 'UTC', 'DD HH24:MI') FROM t"
    assert con.execute(query).fetchall() == [("31 23:00",)]
    query = "SELECT date_trunc('minute', c)::time::text, lpad('x', k * 2, 'ab') FROM t"
    assert con.execute(query).fetchall() == [("10:11:00", "abax")]
    query = (
        "SELECT lpad('x', k * 2, ''), rpad('xy', 1, ''), lpad('x', k, substr('ab', k + 1)) FROM t"
    )
    assert con.execute(query).fetchall() == [("x", "x", "x")]
    query = "SELECT round((k + 0.126::float8)::numeric(1000, 15), 2)::text FROM t"
    assert con.execute(query).fetchall() == [("2.13",)]
