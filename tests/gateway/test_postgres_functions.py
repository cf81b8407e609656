"""Functions, operators and sources of rows that DuckDB lacks, or means otherwise.

The values are PostgreSQL's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

import gateway
from gateway.dbapi.cursor import Cursor


@pytest.fixture(scope="module")
def cursor() -> Iterator[Cursor]:
    with gateway.connect("palimpsest://", autocommit=True, dialect="postgres") as con:
        cursor = con.cursor()
        cursor.execute("CREATE TABLE nums (x INTEGER, b BIGINT, f FLOAT8, d INTERVAL)")
        cursor.execute(
            "INSERT INTO nums VALUES (1, 1, 0.5, '1 day'), (2, 2, 1.5, '2 days'),"
            " (3, NULL, 2.5, NULL), (3, NULL, NULL, NULL), (NULL, NULL, NULL, NULL)"
        )
        cursor.execute("CREATE TABLE lists (k INTEGER PRIMARY KEY, a INTEGER[])")
        cursor.execute("INSERT INTO lists VALUES (1, '{1,2}'), (2, NULL)")
        cursor.execute("CREATE TYPE pair AS (a TEXT, b INT)")
        cursor.execute("CREATE TABLE goods (id INTEGER, price NUMERIC(5, 2), more JSON)")
        yield cursor


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("gcd(12, 8) / 3", 1),
        ("acosh('infinity'::float8)", float("inf")),
        ("atanh(1)", float("inf")),
        ("var_pop('infinity'::float8)::text", "NaN"),
        ("json_object('{a,1}')::text", '{"a":"1"}'),
        ("string_to_array('', ',')", []),
        ("string_to_array('ab', NULL)", ["a", "b"]),
        ("string_to_array('ab', '')", ["ab"]),
        ("string_to_array('a,,b', ',', '')", ["a", None, "b"]),
        ("array_length('{}'::int[], 1)", None),
        ("array_length(ARRAY[[1, 2], [3, 4]], 2)", 2),
        ("array_upper(ARRAY[7, 8], 1)", 2),
        ("array_lower(ARRAY[7, 8], 1)", 1),
        ("array_ndims(ARRAY[[1], [2]])", 2),
        ("cardinality('{}'::int[])", 0),
        ("array_dims(ARRAY[1, 2])", "[1:2]"),
        ("array_remove(ARRAY[1, NULL, 2], 1)", [None, 2]),
        ("array_replace(ARRAY[1, NULL], NULL, 9)", [1, 9]),
        ("array_positions(ARRAY['a', 'b', 'a'], 'a')", [1, 3]),
        ("array_fill(1, ARRAY[2, 2])", [[1, 1], [1, 1]]),
        ("trim_array(ARRAY[1, 2, 3], 2)", [1]),
        ("ARRAY[1, 2] || 3", [1, 2, 3]),
        ("0 || ARRAY[1] || 2", [0, 1, 2]),
        ("ARRAY[1] || NULL", [1]),
        ("ARRAY[1] || '{7,8}'", [1, 7, 8]),
        ("ARRAY[[1]] || ARRAY[2]", [[1], [2]]),
        ("3 <> ALL ('{1,NULL}')", None),
        ("1 <> ALL ('{1,NULL}')", False),
        ("3 > ANY ('{9,1}')", True),
        ("NULL = ANY ('{}')", False),
        ("3 < ALL ('{}')", True),
        ("'abcdef'::varchar(3)", "abc"),
        ("CAST(123456 AS varchar(2))", "12"),
        ("format('%s-%s %% %2$s %L', 'a', NULL, 'it''s')", "a- %  'it''s'"),
        ("regexp_match('foobarbequebaz', '(bar)(beque)')", ["bar", "beque"]),
        ("regexp_match('abc', 'x')", None),
        ("substring('foobar' FROM 'o(.)b')", "o"),
        ("substring('abc' FROM 'x')", None),
        ("substring('abc' FROM 2)", "bc"),
        ("quote_literal('a\\b''c')", "E'a\\\\b''c'"),
        ("quote_nullable(NULL)", "NULL"),
        ("num_nulls(1, NULL, NULL)", 2),
        ("width_bucket(5.35, 0.024, 10.06, 5)", 3),
        ("width_bucket(9, 10, 1, 3)", 1),
        ("('{{1,2,3},{4,5,6}}'::int[])[1:2][2]", [[1, 2], [4, 5]]),
        ("('{{1,2,3},{4,5,6}}'::int[])[2][2:]", [[2, 3], [5, 6]]),
        ("('{{1,2,3},{4,5,6}}'::int[])[1:1][7:9]", []),
        ("'on'::boolean", True),
        ("bool ' F '", False),
        ("every(n > 0) FROM (VALUES (1), (2)) AS v(n)", True),
        ("make_interval(days := 3, secs => 1.5)::text", "3 days 00:00:01.5"),
        ("make_interval()::text", "00:00:00"),
        ("chr(x) FROM nums WHERE x = 1", "\x01"),
        ("lpad('hello', 2, '')", "he"),
        ("regexp_match('abc', '(B)(c)', 'i')", ["b", "c"]),
        ("regexp_match('abc', $re$(b)(c)$re$)", ["b", "c"]),
        ("sind(30), cosd(-120), tand(-45), cotd(45)", (0.5, -0.5, -1.0, 1.0)),
        ("tand(90), asind(-0.5), acosd(-0.5), atand(1)", (float("inf"), -30.0, 120.0, 45.0)),
        ("atan2d(-1, -1), sind(NULL)", (-135.0, None)),
        ("(-2147483648)::int4 % (-1)::int4, x % -1 FROM nums WHERE x = 2", (0, 0)),
        (
            "date_part('hour', DATE '2020-02-03'), date_part('year', DATE '2021-02-03') / 2",
            (0, 1010.5),
        ),
        ("date_part(u, DATE '2020-02-03') FROM (VALUES ('day')) v(u)", 3),
        (
            "date_trunc(u, '2202-02-16'::timestamp)::text FROM (VALUES ('century')) v(u)",
            "2201-01-01 00:00:00",
        ),
        (
            "date_trunc(u, date '2202-02-16', 'UTC')::text FROM (VALUES ('hour')) v(u)",
            "2202-02-16 00:00:00+00",
        ),
        (
            "date_trunc(u, INTERVAL '2333 years 4 months')::text FROM (VALUES ('century')) v(u)",
            "2300 years",
        ),
        ("extract(epoch FROM TIMESTAMPTZ '1970-01-01 00:00:10+00')", 10),
        ("extract(epoch FROM now()) > 0", True),
        ("extract(epoch FROM TIMETZ '13:30:25-04')", 63025),
        ("date_part('epoch', TIMETZ '2020-05-26 13:30:25-04')", 63025),
        ("extract(hour FROM TIMETZ '2020-05-26 13:30:25-04:30')", 13),
        ("extract(timezone FROM TIMETZ '2020-05-26 13:30:25-04:30')", -16200),
        (
            "string_agg(a, b ORDER BY a) FROM (VALUES ('x', '-'), ('y', NULL), ('z', '*')) v(a, b)",
            "xy*z",
        ),
        ("string_agg(a, a) FILTER (WHERE a > 'x') FROM (VALUES ('x'), ('y')) v(a)", "y"),
        ("string_agg(a, a || ',') FROM (VALUES ('x')) v(a) WHERE a = 'y'", None),
        ("regexp_instr('xaaayaab', 'a+', 1, 2)", 6),
        ("regexp_instr('xaaayaab', 'A+', 3, 2, 1, 'i')", 8),
        ("regexp_instr('xaaa', 'a+', 1, 2)", 0),
        ("regexp_replace('aXbxc', 'x', '-', 1, 2, 'i')", "aXb-c"),
        ("regexp_replace('aXbxc', 'x', '-', 3, 0, 'i')", "aXb-c"),
        ("'tomorrow 5:00'::timestamp - 'today'::timestamp", timedelta(hours=29)),
        ("current_date = current_date AS current_date", True),
        ("count(*) AS current_timestamp FROM nums WHERE now() = current_timestamp", 5),
    ],
)
def test_calls_give_what_they_give_in_postgresql(
    cursor: Cursor, expression: str, value: object
) -> None:
    row = value if isinstance(value, tuple) else (value,)
    assert cursor.execute(f"SELECT {expression}").fetchall() == [row]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("jsonb_build_object('a', 1, 'b', NULL)", {"a": 1, "b": None}),
        ("json_build_array(1, 'a')", [1, "a"]),
        ("to_jsonb('a'::text)", "a"),
        ("jsonb_agg(x ORDER BY x DESC) FROM nums WHERE x < 3", [2, 1]),
        ("json_agg(x) FILTER (WHERE x < 2) FROM nums", [1]),
        ("""'{"a":{"b":[10,20]}}'::jsonb #> '{a,b,1}'""", 20),
        ("""('{"a":{"b":[10,20]}}'::jsonb #>> '{a,b,-1}')""", 20),
        ("""jsonb_extract_path('{"a":{"b":"x"}}', 'a', 'b')""", "x"),
        ("""jsonb_set('{"a":1}', '{b}', '[2]')""", {"a": 1, "b": [2]}),
        ("""jsonb_set('{"a":1}', '{b,c}', '2')""", {"a": 1}),
        ("""jsonb_set('{"a":[1,2]}', '{a,-1}', '{"x":null}')""", {"a": [1, {"x": None}]}),
        ("""jsonb_set('[1,2]', '{7}', '3')""", [1, 2, 3]),
        ("""jsonb_set('[1,2]', '{7}', '3', false)""", [1, 2]),
        (
            """jsonb_set('{"a":[{"b":1}]}', ARRAY['a','0','b'], to_json(2))""",
            {"a": [{"b": 2}]},
        ),
        ("""jsonb_insert('[1,2]', '{1}', '9')""", [1, 9, 2]),
        ("""jsonb_insert('{"a":[1,2]}', '{a,-1}', '9', true)""", {"a": [1, 2, 9]}),
        ("""'{"a":{"b":[1,2,3]},"c":1}'::jsonb #- '{a,b,1}'""", {"a": {"b": [1, 3]}, "c": 1}),
        ("""'{"a":1,"1":2}'::jsonb #- '{1}' #- '{x,y}'""", {"a": 1}),
        ("""'{"a":1,"b":{"x":1}}'::jsonb || '{"b":{"y":2}}'""", {"a": 1, "b": {"y": 2}}),
        ("""'[1]'::jsonb || 'null'::jsonb || '{"a":1}'""", [1, None, {"a": 1}]),
        ("""'{"a":1,"b":2}'::jsonb - 'a'""", {"b": 2}),
        ("""'{"a":1,"b":2}'::jsonb - ARRAY['a','b']""", {}),
        ("""'["a",null,1]'::jsonb - 'a' - -1""", [None]),
        ("""to_json('{"a":{"b":[1,{"c":null}]}}'::jsonb @> '{"a":{"b":[{"c":null}]}}')""", True),
        ("""to_json('{"a":{"b":1}}'::jsonb @> '{"b":1}')""", False),
        ("""to_json('{"a":1}'::jsonb @> '{"b":null}')""", False),
        ("""to_json('{"b":1.0}'::jsonb <@ '{"a":1}')""", False),
        ("""to_json('["a",2]'::jsonb @> '"a"' AND '[1]' <@ '[2,1.0]'::jsonb)""", True),
    ],
)
def test_json_is_made_and_read(cursor: Cursor, expression: str, value: object) -> None:
    (found,) = cursor.execute(f"SELECT {expression}").fetchone() or (None,)
    assert json.loads(found) == value


@pytest.mark.parametrize(
    "expression",
    [
        """jsonb_set('[1]', '{a}', '1')""",
        """'{"a":[1]}'::jsonb #- '{a,b,c}'""",
        """jsonb_insert('{"a":1}', '{a}', '1')""",
    ],
)
def test_paths_that_lead_nowhere_are_refused(cursor: Cursor, expression: str) -> None:
    with pytest.raises(gateway.DataError):
        cursor.execute(f"SELECT {expression}").fetchall()


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("Day, DD Mon YYYY", "Sunday   , 05 Jan 2020"),
        ("FMDay, FMDD FMMonth YY", "Sunday, 5 January 20"),
        ('YYYY"W"IW', "2020W01"),
        ("HH12:MI AM, hh:mi:ss pm, HH24", "01:04 PM, 01:04:05 pm, 13"),
        ("MONTH|mon|DY|MS|US|DDD|D|Q|WW", "JANUARY  |jan|SUN|250|250000|005|1|1|01"),
        ("IW FMIW", "01 1"),
    ],
)
def test_moments_are_written_by_templates(cursor: Cursor, template: str, text: str) -> None:
    sql = f"SELECT to_char(TIMESTAMP '2020-01-05 13:04:05.25', '{template}')"
    assert cursor.execute(sql).fetchall() == [(text,)]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("to_char(125, '999')", " 125"),
        ("to_char(-125.8, '999D9')", "-125.8"),
        ("to_char(12, 'FM0000')", "0012"),
        ("to_char(1234567.891, 'FM999,999,990.00')", "1,234,567.89"),
        ("to_char(0.5, '9.99')", "  .50"),
        ("to_char(1.5, 'FM990.99')", "1.5"),
        ("to_char(1234, '999')", " ###"),
    ],
)
def test_numbers_are_written_by_templates(cursor: Cursor, call: str, text: str) -> None:
    assert cursor.execute(f"SELECT {call}").fetchall() == [(text,)]


@pytest.mark.parametrize(
    ("text", "template", "number"),
    [
        ("-34,338,492", "99G999G999", "-34338492"),
        ("1234.5", "9,999.99", "1234.5"),
        ("12.345", "99.9", "12.3"),
        ("<56.5>", "99.9PR", "-56.5"),
        ("5.01-", "FM9.99MI", "-5.01"),
        ("$1,234.56", "L99,999.99", "1234.56"),
        ("42nd", "99th", "42"),
        (" 12 ", "99", "12"),
        ("+12", "S99", "12"),
        (".01", "FM9.99", "0.01"),
    ],
)
def test_texts_are_read_by_templates(cursor: Cursor, text: str, template: str, number: str) -> None:
    sql = f"SELECT to_number('{text}', '{template}')"
    assert cursor.execute(sql).fetchall() == [(Decimal(number),)]
    assert cursor.description is not None
    assert cursor.description[0][0] == "to_number"


def test_texts_that_a_template_does_not_fit_are_refused(cursor: Cursor) -> None:
    for text, template in (("1,000", "9999"), ("12345", "999"), ("abc", "999")):
        with pytest.raises(gateway.DataError):
            cursor.execute(f"SELECT to_number('{text}', '{template}')").fetchall()
    with pytest.raises(gateway.NotSupportedError, match="PAL-110"):
        cursor.execute("SELECT to_number('1e5', '9EEEE')")


@pytest.mark.parametrize(
    ("query", "state"),
    [
        ("SELECT chr(0)", "22000"),
        ("SELECT sind('infinity')", "22003"),
        ("SELECT regexp_match('abc', 'b', 'ig')", "22023"),
        ("SELECT extract(timezone_hour FROM TIMESTAMP '2020-08-11 00:00')", "0A000"),
        ("SELECT asind(2)", "22003"),
        ("SELECT generate_series(1.5, 2, 0)", "22023"),
        ("SELECT extract(hour FROM DATE '2020-02-03')", "0A000"),
        ("SELECT jsonb_each('{}')", "0A000"),
        ("SELECT string_agg(DISTINCT a, a) FROM (VALUES ('x')) v(a)", "0A000"),
        ("SELECT ARRAY[[1], [2, 3]]", "2202E"),
        ("SELECT ARRAY[[[1]], [[2, 3]]]", "2202E"),
        ("SELECT '{{1},{2,3}}'::int[]", "22P02"),
        ("SELECT make_interval(minutes => 3)", "42883"),
        ("SELECT E'\\u061'", "42601"),
        ("SELECT E'\\udb99x'", "42601"),
        ("SELECT E'\\U002FFFFF'", "42601"),
        ("SELECT U&'\\061'", "42601"),
        ("SELECT U&'+0061' UESCAPE '+'", "42601"),
    ],
)
def test_what_is_no_value_is_refused(cursor: Cursor, query: str, state: str) -> None:
    with pytest.raises(gateway.DatabaseError) as raised:
        cursor.execute(query).fetchall()
    assert raised.value.sqlstate == state


def test_groups_of_all_matches_are_rows(cursor: Cursor) -> None:
    cursor.execute("SELECT regexp_matches('a1b2', '([a-z])([0-9])', 'g')")
    assert cursor.fetchall() == [(["a", "1"],), (["b", "2"],)]
    query = "SELECT U&'d\\0061t!', E'\\ud83d\\ude00', U&'d!0061t' UESCAPE '!', $$it's$$"
    assert cursor.execute(query).fetchall() == [("dat!", "\U0001f600", "dat", "it's")]


def test_types_of_json_have_names(cursor: Cursor) -> None:
    texts = ("[]", "{}", "null", '"a"', "1.5", "true")
    calls = ", ".join(f"jsonb_typeof('{text}')" for text in texts)
    rows = cursor.execute(f"SELECT {calls}").fetchall()
    assert rows == [("array", "object", "null", "string", "number", "boolean")]


def test_intervals_are_summed_by_their_parts(cursor: Cursor) -> None:
    cursor.execute("SELECT sum(d) FILTER (WHERE x > 9) FROM nums")
    assert cursor.fetchall() == [(None,)]
    between = "TIMESTAMP '2020-01-02' - '2020-01-01'::timestamp"
    cursor.execute(f"SELECT sum(d)::text, sum({between}) FROM nums")
    assert cursor.fetchall() == [("3 days", timedelta(days=5))]
    cursor.execute("SELECT x, sum(d) OVER (ORDER BY x)::text FROM nums WHERE x < 3 ORDER BY x")
    assert cursor.fetchall() == [(1, "1 day"), (2, "3 days")]


def test_arrays_of_tables_are_joined_by_their_types(cursor: Cursor) -> None:
    query = "SELECT a || 3, 0 || a, a || '{7}', a || a FROM lists ORDER BY k"
    rows = cursor.execute(query).fetchall()
    assert rows == [([1, 2, 3], [0, 1, 2], [1, 2, 7], [1, 2, 1, 2]), ([3], [0], [7], None)]


@pytest.mark.parametrize(
    ("source", "rows"),
    [
        ("string_to_table('a,,b', ',', '') AS g(v)", [("a",), (None,), ("b",)]),
        ("string_to_table('a,b', ',') WITH ORDINALITY", [("a", 1), ("b", 2)]),
        ("json_array_elements_text('[1, \"a\", null]')", [("1",), ("a",), (None,)]),
        ('json_object_keys(\'{"a": 1, "b": 2}\') AS k', [("a",), ("b",)]),
        ('jsonb_each_text(\'{"a": 1, "b": "x"}\') AS t(k, v)', [("a", "1"), ("b", "x")]),
        ("json_to_record('{\"a\": 1}') AS x(a INT, b TEXT)", [(1, None)]),
        ('jsonb_to_recordset(\'[{"a": 1}, {"a": "2"}]\') AS x(a INT)', [(1,), (2,)]),
        ("json_populate_record(NULL::goods, '{\"price\": 1.5}')", [(None, 1.5, None)]),
        ("json_populate_record(NULL::record, '{\"a\": 1}') AS (a INT, b TEXT)", [(1, None)]),
        ("json_populate_record(NULL::pair, '{\"b\": 2}')", [(None, 2)]),
        ("lists, jsonb_array_elements('[5]') AS e", [(1, [1, 2], "5"), (2, None, "5")]),
    ],
)
def test_functions_are_sources_of_rows(cursor: Cursor, source: str, rows: list[Any]) -> None:
    assert cursor.execute(f"SELECT * FROM {source}").fetchall() == rows


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ('(jsonb_each(\'{"a": 1, "b": 2}\')).*', [("a", "1"), ("b", "2")]),
        (
            """(json_each_text(j)).key, (json_each_text(j)).value
            FROM (VALUES ('{"a/~": "x"}'::json)) v(j)""",
            [("a/~", "x")],
        ),
        ("generate_series(1.5, 3)", [(Decimal("1.5"),), (Decimal("2.5"),)]),
        (
            "n, o FROM generate_series(5.0, 4, -0.5) WITH ORDINALITY AS g(n, o)",
            [(Decimal("5.0"), 1), (Decimal("4.5"), 2), (Decimal("4.0"), 3)],
        ),
        (
            "sum(g), count(*) FROM generate_series(0.001, 100, 0.001) g",
            [(Decimal("5000050.000"), 100000)],
        ),
        (
            "a, string_agg(a, b) OVER (ORDER BY a) FROM (VALUES ('x', '-'), ('y', '+')) v(a, b)",
            [("x", "x"), ("y", "x+y")],
        ),
    ],
)
def test_outputs_may_be_several_rows(cursor: Cursor, query: str, rows: list[Any]) -> None:
    assert cursor.execute(f"SELECT {query}").fetchall() == rows


def test_a_source_reads_what_stands_before_it(cursor: Cursor) -> None:
    cursor.execute(
        "INSERT INTO goods SELECT * FROM json_populate_recordset(NULL::goods, %s)",
        ('[{"id": 1, "more": [1, 2]}, {"id": 2, "more": null}]',),
    )
    query = "SELECT g.id, e.value FROM goods g CROSS JOIN LATERAL json_array_elements(g.more) AS e"
    assert cursor.execute(f"{query} ORDER BY 1, 2").fetchall() == [(1, "1"), (1, "2")]


@pytest.mark.parametrize(
    "source",
    [
        "generate_series(1, o) WITH ORDINALITY",
        "ROWS FROM (generate_series(1, o), unnest(ARRAY[1])) WITH ORDINALITY",
        "string_to_table(array_to_string(range(1, o + 1), ','), ',') WITH ORDINALITY",
    ],
)
def test_elements_beside_many_rows_keep_their_numbers(cursor: Cursor, source: str) -> None:
    size = 200 if "string" in source else 2000
    columns = "a, b, n" if "ROWS" in source else "a, n"
    query = f"SELECT count(*) FROM generate_series(1, {size}) o, {source} AS t({columns})"
    assert cursor.execute(f"{query} WHERE a::int <> n").fetchall() == [(0,)]


def test_rows_of_functions_are_numbered(cursor: Cursor) -> None:
    rows = "SELECT * FROM lists WHERE k >= $1 ORDER BY k DESC"
    cursor.execute(f"CREATE FUNCTION of_key(int) RETURNS SETOF lists AS '{rows}' LANGUAGE SQL")
    cursor.execute("CREATE FUNCTION following(int) RETURNS int AS 'SELECT $1 + 1' LANGUAGE SQL")
    query = "SELECT n, key FROM of_key(1) WITH ORDINALITY AS o(key, a, n) ORDER BY n"
    assert cursor.execute(query).fetchall() == [(1, 2), (2, 1)]
    with pytest.raises(gateway.NotSupportedError, match="PAL-110"):
        cursor.execute("SELECT * FROM lists l, of_key(l.k) WITH ORDINALITY AS o")
    cursor.execute("CREATE VIEW numbered AS SELECT * FROM following(1) WITH ORDINALITY AS t(v, n)")
    assert cursor.execute("SELECT * FROM numbered").fetchall() == [(2, 1)]
    query = "SELECT * FROM following(1) WITH ORDINALITY"
    assert cursor.execute(query).fetchall() == [(2, 1)]


def test_ranks_of_supposed_rows_are_counted(cursor: Cursor) -> None:
    query = (
        "SELECT rank(3) WITHIN GROUP (ORDER BY x), dense_rank(9) WITHIN GROUP (ORDER BY x),"
        " percent_rank(2) WITHIN GROUP (ORDER BY x), cume_dist(2) WITHIN GROUP (ORDER BY x),"
        " rank('3') WITHIN GROUP (ORDER BY x DESC) FILTER (WHERE x < 9),"
        " rank(NULL) WITHIN GROUP (ORDER BY x), rank(2, 1) WITHIN GROUP (ORDER BY x, b) FROM nums"
    )
    assert cursor.execute(query).fetchall() == [(3, 4, 0.2, 0.5, 1, 5, 2)]
    with pytest.raises(gateway.ProgrammingError, match="PAL-208"):
        cursor.execute("SELECT rank(1, 2) WITHIN GROUP (ORDER BY x) FROM nums")


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT s / 2 FROM (SELECT sum(b) AS s FROM nums) AS q", [(1.5,)]),
        ("WITH q AS (SELECT sum(b) AS s FROM nums) SELECT s / 2 FROM q", [(1.5,)]),
        ("SELECT s / 2 FROM (SELECT sum(x) AS s FROM nums) AS q", [(4,)]),
        ("SELECT s / 2 FROM (SELECT count(*) AS s FROM nums) AS q", [(2,)]),
        (
            "SELECT s / 2 FROM (SELECT sum(c) AS s FROM (SELECT count(*) AS c FROM nums)) q",
            [(2.5,)],
        ),
        (
            "SELECT extract(hour FROM i / 2) FROM (SELECT d AS i FROM nums WHERE x = 1) AS q",
            [(12,)],
        ),
        ("SELECT round(f) FROM nums WHERE f IS NOT NULL ORDER BY f", [(0,), (2,), (2,)]),
    ],
)
def test_types_are_known_out_of_subqueries(cursor: Cursor, query: str, rows: list[Any]) -> None:
    assert cursor.execute(query).fetchall() == rows


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 12345678901234567890123456789012345678901::numeric",
        "SELECT 12345678901234567890123456789012345678901",
        "SELECT '12345678901234567890123456789012345678901'::numeric",
        "CREATE TABLE large (n NUMERIC(50, 10))",
        "INSERT INTO goods (price) VALUES (12345678901234567890123456789012345678901)",
    ],
)
def test_numbers_of_more_digits_than_are_kept_are_refused(cursor: Cursor, statement: str) -> None:
    with pytest.raises(gateway.DataError, match=r"PAL-311.* more digits than the 38"):
        cursor.execute(statement)


@pytest.mark.parametrize(
    "expression",
    [
        "format(b::text, 1) FROM nums",
        "format('%5d', 1)",
        "regexp_match(b::text, b::text) FROM nums",
        "to_char(now(), 'TZ')",
        "to_char(1.5, 'FM9.9EEEE')",
        "to_char(now(), b::text) FROM nums",
    ],
)
def test_what_has_no_words_here_is_refused(cursor: Cursor, expression: str) -> None:
    with pytest.raises(gateway.NotSupportedError, match="PAL-110"):
        cursor.execute(f"SELECT {expression}")


@pytest.mark.parametrize("expression", ["lcm(2147483647, 2147483646)", "acosh(0.5)", "atanh(2)"])
def test_numbers_out_of_range_are_refused(cursor: Cursor, expression: str) -> None:
    with pytest.raises(gateway.DataError) as raised:
        cursor.execute(f"SELECT {expression}")
    assert raised.value.sqlstate == "22003"


@pytest.mark.parametrize(
    ("text", "template", "day"),
    [
        ("2024/01/15", "YYYY-MM-DD", "2024-01-15"),
        (" 5 Jan, 2024 ..", "DD/Mon/YYYY", "2024-01-05"),
        ("5January2024", "DDMonthYYYY", "2024-01-05"),
        ("2005 03 02", "YYYYMMDD", "2005-03-02"),
        ("Year: 2024, Day: 5", '"Year:" YYYY, "Day:" DDD', "2024-01-05"),
        ("2024x12x18", "YYYYxMMxDD", "2024-12-18"),
        ("200511", "YYYYMMDD", "2005-11-01"),
        ("20051", "YYYYMMDD", None),
        ("3 4 21 01", "W MM CC YY", "2001-04-15"),
        ("2458872", "J", "2020-01-23"),
        ("2016 366", "YYYY DDD", "2016-12-31"),
        ("2015 366", "YYYY DDD", None),
        ("2005527", "IYYYIWID", "2006-01-01"),
        ("1,582nd VIII 21", "Y,YYYth FMRM DD", "1582-08-21"),
        ("95-1116", "YY-MMDD", "1995-11-16"),
        ("97/Feb/16", "FXYY:Mon:DD", "1997-02-16"),
        ("97/Feb/16", "YYMonDD", None),
        ("2000 + + JUN", "YYYY   MON", "2000-06-01"),
        ("2011-123-01", "YYYY-MM-DD", None),
        ("2011-12-18", "YYYY-MM-DD HH24:MI", "2011-12-18"),
        ("2016-13-01", "YYYY-MM-DD", None),
    ],
)
def test_days_are_read_by_templates(
    cursor: Cursor, text: str, template: str, day: str | None
) -> None:
    query = f"SELECT to_date(%s, '{template}')::text"
    if day is None:
        with pytest.raises(gateway.DataError):
            cursor.execute(query, (text,)).fetchall()
    else:
        assert cursor.execute(query, (text,)).fetchall() == [(day,)]


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
def test_parts_of_instants_are_taken(dialect: str) -> None:
    with gateway.connect("palimpsest://", dialect=dialect) as con:
        con.execute("SET timezone = 'UTC'")
        query = "SELECT extract(hour FROM '2020-08-11 06:00+00'::timestamptz)"
        assert con.execute(query).fetchall() == [(6,)]


@pytest.mark.parametrize(
    ("text", "template", "moment"),
    [
        ("2011-12-18 11:38 -05:20", "YYYY-MM-DD HH12:MI TZH:TZM", "2011-12-18 16:58:00+00"),
        ("2000 -10", "YYYY  TZH", "1999-12-31 14:00:00+00"),
        ("2000 -10", "YYYY TZH", "2000-01-01 10:00:00+00"),
        ("2011-12-18 11:38 P.M.", "YYYY-MM-DD HH:MI A.M.", "2011-12-18 23:38:00+00"),
        ("2015-02-11 86000", "YYYY-MM-DD SSSS", "2015-02-11 23:53:20+00"),
        ("2018-11-02 12:34:56.025", "YYYY-MM-DD HH24:MI:SS.MS", "2018-11-02 12:34:56.025+00"),
        ("2018-11-02 12:34:56.12345", "YYYY-MM-DD HH24:MI:SS.FF4", "2018-11-02 12:34:56.1235+00"),
        ("2016-06-13 15:50", "YYYY-MM-DD HH:MI", None),
        ("2016-06-13 25:00", "YYYY-MM-DD HH24:MI", None),
        ("1997-11-Jan-16", "YYYY-MM-Mon-DD", None),
        ("2005527", "YYYYIWID", None),
    ],
)
def test_moments_are_read_by_templates(
    cursor: Cursor, text: str, template: str, moment: str | None
) -> None:
    cursor.execute("SET timezone = 'UTC'")
    query = f"SELECT to_timestamp(%s, '{template}')::text"
    if moment is not None:
        assert cursor.execute(query, (text,)).fetchall() == [(moment,)]
        return
    with pytest.raises(gateway.DataError) as raised:
        cursor.execute(query, (text,)).fetchall()
    assert raised.value.sqlstate in {"22007", "22008"}


def test_a_recursive_query_that_would_not_end_is_refused(cursor: Cursor) -> None:
    inner = (
        "WITH RECURSIVE x AS (SELECT 1 AS n UNION ALL (SELECT * FROM q UNION ALL SELECT * FROM x))"
    )
    query = (
        f"WITH RECURSIVE q AS (SELECT 1 AS n UNION ALL ({inner} SELECT * FROM x)) SELECT * FROM q"
    )
    with pytest.raises(gateway.NotSupportedError, match="recursive part of another one"):
        cursor.execute(f"{query} LIMIT 3").fetchall()
