"""What PostgreSQL means by the types of values, in its dialect on every kind of store."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal

import pytest

import gateway
from tests.support.stores.store import Store

pytestmark = pytest.mark.timeout(900)


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has other functions and lists")
def test_conditions_with_lists_and_patterns(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, s VARCHAR, tags VARCHAR[])")
    con.execute(
        "INSERT INTO t VALUES (1, 'a_b', ARRAY['x', 'y']), (2, 'axb', ARRAY['z']), (3, 'C', NULL)"
    )
    for query, wanted in (
        ("SELECT k, 'x' = ANY(tags), 'x' <> ALL(tags)", [(1, 1, 0), (2, 0, 1), (3, None, None)]),
        ("SELECT k FROM t WHERE NOT 'x' = ANY(tags)", [(2,)]),
        ("SELECT k FROM t WHERE 'x' <> ALL(tags)", [(2,)]),
        ("SELECT k FROM t WHERE 'x' = ANY(tags) OR k = 3", [(1,), (3,)]),
        ("SELECT k FROM t WHERE s LIKE 'a\\_%'", [(1,)]),
        ("SELECT k FROM t WHERE s LIKE ANY (ARRAY['a\\_%', 'C'])", [(1,), (3,)]),
        ("SELECT k FROM t WHERE s LIKE ANY ('{a%,C}')", [(1,), (2,), (3,)]),
        ("SELECT k FROM t WHERE s NOT LIKE ALL (ARRAY['a%', '%z'])", [(3,)]),
        ("SELECT k FROM t WHERE s SIMILAR TO 'a!_(b|c)' ESCAPE '!'", [(1,)]),
        ("SELECT substring(s, 0), substring(s, -1, 3) FROM t WHERE k = 1", [("a_b", "a")]),
        ("SELECT k, '{1,2}'::_int4 FROM t WHERE k = 1", [(1, [1, 2])]),
    ):
        text = query if "FROM" in query else f"{query} FROM t"
        assert con.execute(f"{text} ORDER BY 1").fetchall() == wanted, query
    with pytest.raises(gateway.ProgrammingError, match="trailing junk"):
        con.execute("SELECT 123abc FROM t")


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has other functions")
def test_parts_of_moments_and_numbers_are_exact(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, p TIMESTAMP, r REAL, n NUMERIC(12, 2))")
    con.execute("INSERT INTO t VALUES (1, '2024-01-16 08:15:30.25', 0.25, 1000000.01)")
    con.execute("INSERT INTO t VALUES (2, '2024-02-17 18:45:00', 0.5, 2.68)")
    for query, wanted in (
        ("EXTRACT(SECOND FROM p), date_part('milliseconds', p)", [(30.25, 30250), (0, 0)]),
        ("n * r, r * 2", [(250000.0025, 0.5), (1.34, 1)]),
        ("(p, p + interval '1 day') OVERLAPS ('2024-01-17', '2024-01-18')", [(1,), (0,)]),
    ):
        found = con.execute(f"SELECT {query} FROM t ORDER BY k").fetchall()
        assert [tuple(map(float, row)) for row in found] == wanted, query
    query = "SELECT round(avg(n) / 1, 2), round(2.675 / 1, 2) FROM t"
    assert con.execute(query).fetchall() == [(Decimal("500001.35"), Decimal("2.68"))]
    query = "SELECT corr(r, k), regr_slope(r, k) FROM t WHERE k = 1"
    assert con.execute(query).fetchall() == [(None, None)]
    query = "SELECT to_date('2024-01-15 10:20', 'YYYY-MM-DD') FROM t WHERE k = 1"
    assert con.execute(query).fetchall() == [(date(2024, 1, 15),)]
    template = "to_timestamp('17 Feb 2024 18:45', 'DD Mon YYYY HH24:MI')"
    query = f"SELECT k, pg_typeof({template}) FROM t WHERE p = {template}"


@pytest.mark.long
@pytest.mark.drifts(toy="it has other functions", hive="it has no intervals or other texts of them")
def test_values_are_written_as_postgresql_writes_them(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute(
        "CREATE TABLE t (k INTEGER PRIMARY KEY, d INTERVAL, f DOUBLE PRECISION, b BOOLEAN,"
        " a VARCHAR[], p TIMESTAMP, h TIME)"
    )
    con.execute(
        "INSERT INTO t VALUES (1, '1 mon -2 days 03:04:05.5', 100, true, ARRAY['a b', NULL, ''],"
        " '2024-01-16 08:15:30', '08:15:30')"
    )
    for query, wanted in (
        ("d::text, f::text, a::text", ("1 mon -2 days +03:04:05.5", "100", '{"a b",NULL,""}')),
        ("concat(f, b, a), f || ''", ('100t{"a b",NULL,""}', "100")),
        ("format('%s %s %s', b, f, d)", ("t 100 1 mon -2 days +03:04:05.5",)),
        ("ARRAY(SELECT k FROM t)::text, array_agg(k)::text", ("{1}", "{1}")),
        (
            "array_agg(upper(a[1]))::text, 'x' || ARRAY[left('b,c', 2)]::text",
            ('{"A B"}', 'x{"b,"}'),
        ),
        (
            "num_nulls(VARIADIC ARRAY(SELECT k FROM t)), num_nonnulls(VARIADIC '{1,NULL}'::int[])",
            (0, 1),
        ),
        (
            "justify_hours('36 hours')::text, justify_days('-35 days')::text",
            ("1 day 12:00:00", "-1 mons -5 days"),
        ),
        ("justify_interval('1 mon -1 hour')::text", ("29 days 23:00:00",)),
        (
            "interval '1 month - 1 day'::text, '1-2'::interval::text",
            ("1 mon -1 days", "1 year 2 mons"),
        ),
        (
            "'P1Y2M3DT4H'::interval::text, '@ 1 day ago'::interval::text",
            ("1 year 2 mons 3 days 04:00:00", "-1 days"),
        ),
        ("to_char(d, 'MM DD HH24:MI'), to_char(h, 'HH12:MI AM')", ("01 -2 03:04", "08:15 AM")),
        ("to_char(p, 'FMDDth Mon'), to_char(p, 'J W SSSS')", ("16th Jan", "2460326 3 29730")),
        ("to_char(0.000123, '9.99EEEE')", (" 1.23e-04",)),
        ("trunc(2.675 / 1, 2)", (Decimal("2.67"),)),
        (
            "to_hex(255), octet_length('é'), encode('\\xdead', 'hex'), scale(1.50)",
            ("ff", 2, "dead", 2),
        ),
        (
            "pg_typeof(k), pg_typeof(f), pg_typeof(sum(k) OVER ()), pg_typeof(NULL)",
            ("integer", "double precision", "bigint", "unknown"),
        ),
        ("date_bin('15 minutes', p, '2001-01-01')::text", ("2024-01-16 08:15:00",)),
        ("'today'::date = current_date, 'epoch'::timestamp::text", (True, "1970-01-01 00:00:00")),
        ("(p + '1 hour')::text, k + '2'", ("2024-01-16 09:15:30", 3)),
        ("a @> '{a b}', a && '{x}', 'foo bar' ~ '\\mbar\\M'", (True, False, True)),
        ("convert_from(convert_to('é', 'UTF8'), 'UTF8')", ("é",)),
        ("current_time IS NULL", (False,)),
    ):
        grouped = " GROUP BY k, d, f, b, a, p, h" if "agg(" in query else ""
        assert con.execute(f"SELECT {query} FROM t{grouped}").fetchall() == [wanted], query
    assert con.execute(
        "SELECT '2024-01-16'::timestamp - '2024-01-15' < interval '2 days'"
    ).fetchall() == [(True,)]
    with pytest.raises(gateway.Error, match="months or years"):
        con.execute("SELECT date_bin('5 months', p, p) FROM t").fetchall()
    with pytest.raises(gateway.Error, match="between 0 and 100"):
        con.execute("SELECT k FROM t TABLESAMPLE BERNOULLI (200)").fetchall()


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has no lists")
def test_texts_that_rows_compute_become_arrays(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, s VARCHAR)")
    quoted = '{a b , "q\\"x\\\\,", NULL, "NULL", it\'s }'
    con.execute(
        "INSERT INTO t VALUES (1, '{1, -2,NULL}'), (2, '{}'), (3, %s), (4, NULL)", (quoted,)
    )
    for query, wanted in (
        ("SELECT s::int[] FROM t WHERE k <= 2 OR k = 4 ORDER BY k", [[1, -2, None], [], None]),
        ("SELECT s::text[] FROM t WHERE k = 3", [["a b", 'q"x\\,', None, "NULL", "it's"]]),
        ("SELECT ('{' || k || ',5}')::bigint[] FROM t WHERE k = 2", [[2, 5]]),
        ("SELECT s::varchar(2)[] FROM t WHERE k = 1", [["1", "-2", None]]),
        ("SELECT ('{abc,' || k || '}')::varchar(2)[] FROM t WHERE k = 1", [["ab", "1"]]),
    ):
        assert [values for (values,) in con.execute(query).fetchall()] == wanted, query
    for cast in (
        "s::int[]",
        "('{1.5' || '}')::int[]",
        "('{1' || ',}')::int[]",
        "('x' || s)::text[]",
    ):
        with pytest.raises(gateway.DataError):
            con.execute(f"SELECT {cast} FROM t WHERE k = 3").fetchall()


@pytest.mark.drifts(toy="it has other functions", hive="its JSON has other words")
def test_json_of_rows_and_pairs(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, s VARCHAR, p TIMESTAMP)")
    con.execute("INSERT INTO t VALUES (1, 'x', '2024-01-16 08:15:30'), (2, NULL, NULL)")
    for query, wanted in (
        ("SELECT jsonb_object_agg(k, s ORDER BY k) FROM t", {"1": "x", "2": None}),
        ("SELECT json_object_agg(k, s) FILTER (WHERE k = 1) FROM t", {"1": "x"}),
        ("SELECT json_object_agg(k, s) FROM t WHERE k > 9", None),
        ("SELECT json_object_agg(s, k) FILTER (WHERE s IS NOT NULL) FROM t", {"x": 1}),
        ("SELECT row_to_json(ROW(k, s)) FROM t WHERE k = 1", {"f1": 1, "f2": "x"}),
        ("SELECT json_build_object('p', p) FROM t WHERE k = 1", {"p": "2024-01-16T08:15:30"}),
        ('SELECT jsonb_strip_nulls(\'{"a": 1, "b": null}\')', {"a": 1}),
        ("SELECT '2.5'::jsonb::int - '-0.5'::jsonb::smallint * 2", 5),
        ("SELECT ('[9007199254740993]'::jsonb -> 0)::bigint", 9007199254740993),
    ):
        found = con.execute(query).fetchall()[0][0]
        assert (json.loads(found) if isinstance(found, str) else found) == wanted, query
    with pytest.raises(gateway.DataError, match="field name must not be null"):
        con.execute("SELECT jsonb_object_agg(s, k) FROM t").fetchall()
    path = 'SELECT \'{"a": [1, {"b": 2}]}\'::jsonb'
    query = f"{path} #>> ARRAY['a', '1', 'b'], ({path} #> ARRAY['a', '0'])::text"
    assert con.execute(query).fetchall() == [("2", "1")]
    query = "SELECT e->>'x', e.value->>'x' FROM jsonb_array_elements('[{\"x\": 1}]') e"
    assert con.execute(query).fetchall() == [("1", "1")]


@pytest.mark.drifts(toy="it has no roles", hive="it has no intervals")
def test_words_of_moments_are_values_and_stars_have_all_names(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, p TIMESTAMP, d INTERVAL, b DATE)")
    con.execute("INSERT INTO t VALUES (1, 'now', '1-2', 'epoch')")
    query = "SELECT p <= now(), d = interval '14 months', b FROM t WHERE p > 'yesterday'"
    assert con.execute(query).fetchall() == [(True, True, date(1970, 1, 1))]
    con.execute("CREATE VIEW v AS SELECT * FROM (t JOIN (SELECT 1 AS k, 2 AS z) u USING (k)) AS y")
    assert con.execute("SELECT z, k FROM v").fetchall() == [(2, 1)]
    found = con.execute("SELECT * FROM unnest(ARRAY[5]) WITH ORDINALITY AS r(v, n)")
    assert [column[0] for column in found.description] == ["v", "n"]
    assert found.fetchall() == [(5, 1)]


@pytest.mark.drifts(toy="it has no roles")
def test_grants_of_what_everybody_may_use_say_so(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE ROLE reader_of_words")
    for sql in (
        "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO reader_of_words",
        "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT EXECUTE ON FUNCTIONS TO reader_of_words",
        "ALTER DEFAULT PRIVILEGES GRANT USAGE ON TYPES TO reader_of_words",
        "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO reader_of_words",
    ):
        con.execute(sql)
    with pytest.raises(gateway.ProgrammingError, match="PAL-101"):
        con.execute("REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA public FROM reader_of_words")
    con.execute(
        "ALTER DEFAULT PRIVILEGES IN SCHEMA public REVOKE ALL ON TABLES FROM reader_of_words"
    )
    con.execute("DROP ROLE reader_of_words")


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has other types")
def test_constants_are_read_as_postgresql_reads_them(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute(
        "CREATE TABLE t (k INTEGER PRIMARY KEY, p TIMESTAMP, z TIMESTAMPTZ, r REAL, u UUID)"
    )
    plain = "3f3e3c3b-3a30-3938-3736-353433a2313e"
    con.execute(
        "INSERT INTO t VALUES (1, 'Mon Feb 10 5:32PM 1997 PST', '2001-06-03 04:05:06 PST', '1e-30',"
        f" '{{{plain.replace('-', '').upper()}}}')"
    )
    for query, wanted in (
        ("p = TIMESTAMP '1997-02-10 17:32:00', z = '2001-06-03 12:05:06+00'", (True, True)),
        ("z = '20010603 120506 zulu', z = '2001-06-03 20:05:06 GMT-8'", (True, True)),
        ("p = '1997-02-10 05:32 PM', '2001-06-03 12:05 AM'::timestamp < '2001-06-03 1:00'", (1, 1)),
    ):
        assert con.execute(f"SELECT {query} FROM t").fetchall() == [wanted], query
    assert str(con.execute("SELECT u FROM t").fetchall()[0][0]) == plain
    for value, code in (
        ("'1e40'::real", "PAL-311"),
        ("'1e-400'::float8", "PAL-311"),
        ("'3f3e3c3-b3a30-3938-3736-353433a2313e'::uuid", "PAL-310"),
        ("'Feb 30 10:00 1997'::timestamp", "PAL-316"),
    ):
        with pytest.raises(gateway.DataError, match=code):
            con.execute(f"SELECT {value}")
    for column, value in (("r", "1e-70"), ("u", "111-11111-1111-1111-1111-111111111111")):
        with pytest.raises(gateway.DataError, match=f"{value}"):
            con.execute(f"UPDATE t SET {column} = '{value}'")


def test_numbers_that_are_copied_keep_their_digits(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER, n NUMERIC)")
    for options in ("", ", ON_ERROR ignore"):
        copy = f"COPY t FROM STDIN (FORMAT csv{options})"
        with con.cursor() as cursor, cursor.copy(copy) as rows:
            rows.write("1,0.1234567891\n2,-1\n")
    con.execute("CREATE TEMPORARY TABLE u AS SELECT n FROM t")
    for table in ("t", "u"):
        found = con.execute(f"SELECT n FROM {table} ORDER BY n").fetchall()
        assert found == [(-1,), (-1,), (Decimal("0.1234567891"),), (Decimal("0.1234567891"),)]
    with pytest.raises(gateway.DataError, match="PAL-310"):
        with con.cursor() as cursor, cursor.copy("COPY t FROM STDIN (FORMAT csv)") as rows:
            rows.write("1,abc\n")


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has no lists")
def test_places_in_arrays_count_from_one_and_not_from_the_end(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, l INTEGER[], j INTEGER)")
    con.execute("INSERT INTO t VALUES (1, '{10,20,30}', 2), (2, '{1}', -1), (3, NULL, NULL)")
    for value, wanted in (
        ("l[-1]", [None, None, None]),
        ("l[j]", [20, None, None]),
        ("l[j + 0]", [20, None, None]),
        ("l[(SELECT max(j) FROM t)]", [20, None, None]),
        ("(ARRAY[5, 6, 7])[j]", [6, None, None]),
        ("(string_to_array('a,b', ','))[j]", ["b", None, None]),
        ("l[-1:1]", [[10], [1], None]),
        ("array_cat(l, NULL)", [[10, 20, 30], [1], None]),
    ):
        found = con.execute(f"SELECT {value} FROM t ORDER BY k").fetchall()
        assert [row[0] for row in found] == wanted, value
    query = "SELECT ARRAY[:n, :m] FROM t WHERE k = 1"
    assert con.execute(query, {"n": 2, "m": 3}).fetchall() == [([2, 3],)]


@pytest.mark.also_on("hive")
def test_rows_that_are_partly_null_and_small_numbers(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, j INTEGER)")
    con.execute("INSERT INTO t VALUES (1, -1), (2, NULL)")
    for condition, wanted in (
        ("(k, j) IS NOT NULL", [1]),
        ("NOT (k, j) IS NULL", [1, 2]),
        ("ROW(NULL, j) IS NULL", [2]),
    ):
        found = con.execute(f"SELECT k FROM t WHERE {condition} ORDER BY k").fetchall()
        assert [k for (k,) in found] == wanted, condition


@pytest.mark.drifts(toy="it has no lists", hive="Spark has other functions")
def test_places_that_calls_give_and_numbers_of_few_bytes(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, l INTEGER[])")
    con.execute("INSERT INTO t VALUES (-1, '{10,20,30}')")
    query = "SELECT l[array_upper(l, 1)], l[cardinality(l)], l[:n], l[n:k] FROM t, (SELECT 2 AS n)"
    assert con.execute(f"{query} AS q").fetchall() == [(30, 30, [10, 20], [])]
    query = "SELECT to_hex(k), to_hex(-1), length('\\x6162'::bytea) FROM t"
    assert con.execute(query).fetchall() == [("ffffffff", "ffffffff", 2)]


@pytest.mark.drifts(toy="it has no intervals", hive="it has no intervals")
def test_intervals_with_signs_and_of_computed_parts(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    con.execute("INSERT INTO t VALUES (2)")
    query = "SELECT '-1 mons +3 days -04:05:06'::interval::text FROM t"
    assert con.execute(query).fetchall() == [("-1 mons +3 days -04:05:06",)]
    query = "SELECT make_interval(days => k, hours => 1)::text FROM t"
    assert con.execute(query).fetchall() == [("2 days 01:00:00",)]


@pytest.mark.also_on("hive")
def test_rows_are_assigned_and_stars_return_other_relations(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, n INTEGER, s VARCHAR)")
    con.execute("CREATE TABLE u (j INTEGER PRIMARY KEY, v INTEGER)")
    con.execute("INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b')")
    con.execute("INSERT INTO u VALUES (1, 10)")
    con.execute("UPDATE t SET (n, s) = (n + 4, s || 'z') WHERE k = 1")
    upsert = "ON CONFLICT (k) DO UPDATE SET (n, s) = (excluded.n, t.s || '!')"
    con.execute(f"INSERT INTO t VALUES (2, 9, 'c') {upsert}")
    assert con.execute("SELECT * FROM t ORDER BY k").fetchall() == [(1, 5, "az"), (2, 9, "b!")]
    for sql, names, row in (
        (
            "UPDATE t SET n = u.v FROM u WHERE u.j = t.k RETURNING *",
            "k n s j v",
            (1, 10, "az", 1, 10),
        ),
        ("UPDATE t SET n = 3 FROM u q WHERE q.j = t.k RETURNING q.*, n", "j v n", (1, 10, 3)),
        ("DELETE FROM t USING u WHERE u.j = t.k RETURNING *", "k n s j v", (1, 3, "az", 1, 10)),
    ):
        found = con.execute(sql)
        assert [column[0] for column in found.description] == names.split(), sql
        assert found.fetchall() == [row], sql


@pytest.mark.drifts(toy="its numbers have fewer digits")
def test_products_have_all_digits_of_their_factors(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute(
        "CREATE TABLE t (k INTEGER PRIMARY KEY, n NUMERIC(15, 2), m NUMERIC(12, 3), j INTEGER)"
    )
    con.execute("INSERT INTO t VALUES (1, 9999999999999.99, 123456789.123, 2147483647)")
    query = "SELECT n * m, sum(n * (1 - m)), n * j FROM t GROUP BY n, m, j"
    assert con.execute(query).fetchall() == [
        (
            Decimal("1234567891229998765432.10877"),
            Decimal("-1234567881229998765432.11877"),
            Decimal("21474836469999978525163.53"),
        )
    ]
    # Nobody told the digits of what a subquery computes.
    for computed, product in (("k / 4.0", 0.75), ("k * 0.1", 0.3), ("coalesce(k / 4.0, 0)", 0.75)):
        query = f"SELECT c * 3, 1.0 * c * 3 FROM (SELECT {computed} AS c FROM t) AS x"
        assert [float(v) for v in con.execute(query).fetchone()] == [product] * 2, computed


@pytest.mark.drifts(toy="it has no ordered-set aggregates", hive="views of them cannot be read")
def test_views_keep_what_texts_of_another_dialect_would_lose(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, f FLOAT8, b BYTEA)")
    con.execute("INSERT INTO t VALUES (1, 1.5, '\\x000100'), (2, 2.5, '\\x0002'), (3, 2.5, NULL)")
    for place, output in enumerate(
        (
            "mode() WITHIN GROUP (ORDER BY f)",
            "percentile_cont(0.25) WITHIN GROUP (ORDER BY f DESC)",
            "percentile_disc(0.5) WITHIN GROUP (ORDER BY k)",
            "count(trim('\\x00'::bytea FROM b))",
            "min(encode(btrim(b, '\\x00'::bytea), 'hex'))",
        )
    ):
        con.execute(f"CREATE VIEW v{place} AS SELECT {output} AS o FROM t")
        (found,) = con.execute(f"SELECT {output} AS o FROM t").fetchall()
        assert con.execute(f"SELECT o FROM v{place}").fetchall() == [found], output


@pytest.mark.also_on("hive")
def test_a_row_that_is_written_has_one_value_of_each_column(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, n INTEGER)")
    con.execute("INSERT INTO t VALUES (1, 1), (2, 2)")
    for sql in (
        "UPDATE t SET n = generate_series(1, 3)",
        "UPDATE t SET n = 3 RETURNING unnest(ARRAY[1, 2])",
        "UPDATE t SET n = regexp_split_to_table('1,2', ',')::int",
        "INSERT INTO t VALUES (1, 3) ON CONFLICT (k) DO UPDATE SET n = generate_series(1, 3)",
    ):
        with pytest.raises(gateway.NotSupportedError, match="PAL-110"):
            con.execute(sql)
    assert con.execute("SELECT * FROM t ORDER BY k").fetchall() == [(1, 1), (2, 2)]


@pytest.mark.also_on("hive")
def test_identities_are_whole_numbers_without_a_default(store: Store) -> None:
    con = store.connect(dialect="postgres")
    for column, why in (
        ("TEXT GENERATED ALWAYS AS IDENTITY", "no plain number"),
        ("NUMERIC(9, 2) GENERATED BY DEFAULT AS IDENTITY", "no plain number"),
        ("INTEGER DEFAULT 3 GENERATED ALWAYS AS IDENTITY", "a DEFAULT"),
        ("INTEGER NULL GENERATED ALWAYS AS IDENTITY", "may be NULL"),
        ("SERIAL GENERATED ALWAYS AS IDENTITY", "two identities"),
    ):
        with pytest.raises(gateway.ProgrammingError, match=why):
            con.execute(f"CREATE TABLE t (k INTEGER PRIMARY KEY, n {column})")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, n SMALLINT GENERATED ALWAYS AS IDENTITY)")


@pytest.mark.drifts(postgres="it has no bits", toy="it has no bits", hive="it has no bits")
def test_bits_have_the_length_of_their_column(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, b BIT(3))")
    con.execute("INSERT INTO t VALUES (1, B'101')")
    for sql in ("INSERT INTO t VALUES (2, B'10')", "UPDATE t SET b = '1011'"):
        with pytest.raises(gateway.IntegrityError, match="t_b_length"):
            con.execute(sql)
    con.execute("DELETE FROM t")
    con.execute("ALTER TABLE t ALTER b TYPE BIT(2)")
    con.execute("INSERT INTO t VALUES (2, B'10')")
    assert con.execute("SELECT b::text FROM t").fetchall() == [("10",)]
    query = "SELECT B'10101'::bit(3)::text, '101'::bit(5)::text, position(B'' IN B'')"
    assert con.execute(query).fetchall() == [("101", "10100", 0)]


@pytest.mark.also_on("hive")
def test_identities_take_their_next_number_and_others_where_a_statement_says_so(
    store: Store,
) -> None:
    con = store.connect(dialect="postgres")
    both = "n INTEGER GENERATED ALWAYS AS IDENTITY, m INTEGER GENERATED BY DEFAULT AS IDENTITY"
    con.execute(f"CREATE TABLE t (k INTEGER PRIMARY KEY, {both})")
    con.execute("INSERT INTO t (k) VALUES (1), (2)")
    con.execute("UPDATE t SET n = DEFAULT WHERE k = 1")
    con.execute("UPDATE t SET (n, m) = (DEFAULT, DEFAULT) WHERE k = 2")
    assert con.execute("SELECT * FROM t ORDER BY k").fetchall() == [(1, 3, 1), (2, 4, 3)]
    merge = "MERGE INTO t USING (VALUES (9, 50)) AS s(j, v) ON t.k = s.j"
    insert = "WHEN NOT MATCHED THEN INSERT (k, n)"
    con.execute(f"{merge} {insert} OVERRIDING SYSTEM VALUE VALUES (s.j, s.v)")
    con.execute(f"{merge.replace('9', '10')} {insert} OVERRIDING USER VALUE VALUES (s.j, s.v)")
    assert con.execute("SELECT k, n FROM t WHERE k > 2 ORDER BY k").fetchall() == [(9, 50), (10, 5)]
    con.execute("ALTER TABLE t ALTER n SET GENERATED BY DEFAULT SET INCREMENT BY 2 RESTART WITH 70")
    con.execute("INSERT INTO t (k) VALUES (20), (21)")
    con.execute("INSERT INTO t (k, n) VALUES (22, 7)")
    found = con.execute("SELECT n FROM t WHERE k >= 20 ORDER BY k").fetchall()
    assert found == [(70,), (72,), (7,)]


@pytest.mark.drifts(toy="it has other functions")
def test_errors_of_values_have_postgresqls_states(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, n NUMERIC(38, 5))")
    for sql, state in (
        ("SELECT DATE '2020-02-30'", "22008"),
        ("SELECT TIMESTAMP '2020-01-01 25:00'", "22008"),
        ("SELECT TIME '25:00'", "22008"),
        ("SELECT make_date(2020, 13, 1)", "22008"),
        ("SELECT DATE 'xyz'", "22007"),
        ("SELECT INTERVAL 'xyz'", "22007"),
        ("SELECT INTERVAL '1 foo'", "22007"),
        ("SELECT '\\xzz'::bytea", "22023"),
        ("SELECT decode('zz', 'hex')", "22023"),
        ("SELECT ln(0), 1", "2201E"),
        ("SELECT sqrt(-1)", "2201F"),
        ("SELECT power(0, -1)", "2201F"),
        ("SELECT width_bucket(1, 2, 2, 5)", "2201G"),
        ("SELECT substring('abc' FROM 1 FOR -1)", "22011"),
        ("SELECT 1 UNION SELECT 1, 2", "42601"),
        ("SELECT * FROM (VALUES (1), (1, 2)) AS v", "42601"),
        ("SELECT * FROM t AS a, t AS a", "42712"),
        ("INSERT INTO t VALUES (1, 1e33)", "22003"),
        ("SELECT 'abc'::int", "22P02"),
    ):
        with pytest.raises(gateway.DatabaseError) as raised:
            con.execute(sql)
        assert raised.value.sqlstate == state, sql


@pytest.mark.also_on("hive")
def test_the_clock_of_a_transaction_stands_still(store: Store) -> None:
    """As in PostgreSQL ``now()`` is when it began, and ``statement_timestamp()`` moves on."""
    con = store.connect(dialect="postgres", autocommit=True)
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, at TIMESTAMPTZ DEFAULT now())")
    con.execute("CREATE VIEW v AS SELECT now() AS n, CURRENT_TIMESTAMP AS c FROM t")
    con.execute("PREPARE p AS INSERT INTO t VALUES ($1, 'now')")
    con.execute("BEGIN")
    con.execute("INSERT INTO t (k) VALUES (1)")
    con.execute("EXECUTE p (2)")
    query = (
        "SELECT count(DISTINCT at), bool_and(at = transaction_timestamp()),"
        " max(at) < statement_timestamp(), max(at) < clock_timestamp(), max(n) = now(),"
        " max(c) = now() FROM t, v"
    )
    assert con.execute(query).fetchall() == [(1, True, True, True, True, True)]
    con.execute("COMMIT AND CHAIN")
    query = "SELECT max(at) < now(), max(q.now) = now() FROM t, (SELECT now()) AS q"
    assert con.execute(query).fetchall() == [(True, True)]
    con.execute("ROLLBACK")
    text = con.execute("SHOW CREATE TABLE v").fetchall()[0][-1].lower()
    assert text.count("now()") == text.count("current_timestamp") == 1


@pytest.mark.also_on("hive")
def test_names_that_differ_in_capitals_alone_are_not_mixed_up(store: Store) -> None:
    con = store.connect(dialect="postgres", autocommit=True)
    con.execute('CREATE TABLE t ("Id" INTEGER PRIMARY KEY, b INTEGER)')
    con.execute("INSERT INTO t VALUES (1, 2)")
    for statement, code in (
        ('CREATE TABLE u ("Id" INTEGER, "id" INTEGER)', "PAL-206"),
        ('SELECT (SELECT max("T".b) FROM t AS t WHERE t.b = 2) FROM (SELECT 7 AS b) AS "T"', "218"),
        ('SELECT "T".b, q.b FROM t AS "T", (SELECT 5 AS b) AS t, t AS q', "PAL-218"),
        ('WITH "T" AS (SELECT 7 AS b) SELECT b FROM t', "PAL-218"),
        ('SELECT x."A", x.a FROM (VALUES (1, 2)) AS x("A", a)', "PAL-203"),
    ):
        with pytest.raises(gateway.Error, match=code):
            con.execute(statement)
    query = 'WITH "T" AS (SELECT b FROM t) SELECT x.b, "T".b FROM t AS x, "T"'
    assert con.execute(query).fetchall() == [(2, 2)]


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has other functions")
def test_means_sums_and_quotients_are_numerics_to_drivers(store: Store) -> None:
    con = store.connect(dialect="postgres", autocommit=True)
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, n BIGINT, d NUMERIC(5, 2), r REAL)")
    con.execute("INSERT INTO t VALUES (1, 1, 1.50, 1), (2, 2, 2.50, 2)")
    query = "SELECT avg(n), avg(d), avg(k) OVER (), sum(n), avg(r) FROM t GROUP BY k ORDER BY k"
    found = con.execute(query).fetchall()[1]
    assert found == (Decimal(2), Decimal("2.5"), Decimal("1.5"), Decimal(2), 2.0)
    assert [type(value) for value in found] == [Decimal] * 4 + [float]
    for query, wanted in QUOTIENTS:
        found = con.execute(query).fetchall()[0]
        assert found == wanted, query
        assert [type(value) for value in found] == [type(value) for value in wanted], query
    con.execute("CREATE TABLE u AS SELECT d / n AS q FROM t WHERE k = 1")
    assert con.execute("SELECT q, pg_typeof(q) FROM u").fetchall() == [(Decimal("1.5"), "numeric")]


QUOTIENTS = (
    (
        "SELECT d / 4, n / 2, n / 2.0, d / r FROM t WHERE k = 1",
        (Decimal("0.375"), 0, Decimal("0.5"), 1.5),
    ),
    (
        "SELECT sum(d) / count(*), floor(d / 2) FROM t WHERE k = 1 GROUP BY d",
        (Decimal("1.5"), Decimal(0)),
    ),
    ("WITH s AS (SELECT avg(d) AS a FROM t) SELECT a, a * 2 FROM s", (Decimal(2), Decimal(4))),
    (
        "WITH s AS (SELECT avg(d) AS a, d / 5 FROM t GROUP BY d) SELECT * FROM s ORDER BY 1",
        (Decimal("1.5"), Decimal("0.3")),
    ),
    (
        "SELECT (SELECT avg(d) FROM t) / 2, coalesce(NULL, avg(n)) FROM t",
        (Decimal(1), Decimal("1.5")),
    ),
)
"""What queries give in the first row."""
