"""Values of jsonb are equal, in an order and spelled as in PostgreSQL, on every kind of store."""

from __future__ import annotations

from typing import Any

import pytest

import gateway
from tests.support.stores.store import Store

pytestmark = pytest.mark.timeout(900)

ROWS = (
    """INSERT INTO t VALUES (1, '{"b":1,"a": 2,"a":3}', '{"b":1,"a": 2}')""",
    """INSERT INTO t VALUES (2, '{"a":3,"b":1.0}', '[1,2]'), (3, NULL, NULL)""",
    """INSERT INTO t VALUES (4, 'null', NULL), (5, '[]', NULL), (6, '[2,1]', NULL)""",
    """INSERT INTO t VALUES (7, '"abc"', NULL), (8, '12.50', NULL), (9, 'true', NULL)""",
)
EQUAL = (
    ("""SELECT id FROM t WHERE j = '{"a":3,"b":1}'""", [1, 2]),
    ("""SELECT id FROM t WHERE j <> '{"a":3,"b":1}'""", [4, 5, 6, 7, 8, 9]),
    ("""SELECT id FROM t WHERE j IN ('{"b":1, "a":3}', '[]')""", [1, 2, 5]),
    ("""SELECT id FROM t WHERE j IN (SELECT '12.5'::jsonb)""", [8]),
    ("""SELECT id FROM t WHERE (j, id) = ('[2, 1]', 6)""", [6]),
    ("""SELECT id FROM t WHERE j IS NOT DISTINCT FROM '{"b":1.00,"a":3}'""", [1, 2]),
    ("""SELECT id FROM t WHERE nullif(j, '[ ]') IS NULL""", [3, 5]),
    ("""SELECT id FROM t WHERE CASE j WHEN '[2, 1]' THEN true ELSE false END""", [6]),
    ("SELECT a.id FROM t a JOIN t b ON a.j = b.j", [1, 1, 2, 2, 4, 5, 6, 7, 8, 9]),
    ("SELECT count(*) FROM t GROUP BY j", [1, 1, 1, 1, 1, 1, 1, 2]),
    ("SELECT count(*) FROM t GROUP BY j -> 'a'", [2, 7]),
    ("SELECT count(DISTINCT j) FROM t", [7]),
    ("SELECT count(*) FROM (SELECT DISTINCT j FROM t) d", [8]),
    ("SELECT count(*) FROM (SELECT j FROM t UNION SELECT j FROM t) u", [8]),
    ("SELECT count(*) OVER (PARTITION BY j) FROM t", [1, 1, 1, 1, 1, 1, 1, 2, 2]),
)
ORDERED = (
    ("SELECT id FROM t ORDER BY j, id", [5, 4, 7, 8, 9, 6, 1, 2, 3]),
    ("SELECT min(id) FROM t GROUP BY j ORDER BY j", [5, 4, 7, 8, 9, 6, 1, 3]),
    ("SELECT id FROM t WHERE j > '12.4' ORDER BY id", [1, 2, 6, 8, 9]),
    ("SELECT id FROM t WHERE j BETWEEN '1' AND 'true' ORDER BY id", [8, 9]),
)


@pytest.mark.drifts(toy="it has no functions of JSON", hive="JSON there is equal as its texts are")
def test_values_are_equal_whatever_their_texts_are(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, j JSONB, k JSON)")
    for row in ROWS:
        con.execute(row)
    for query, wanted in EQUAL:
        assert sorted(values_of(con, query)) == wanted, query
    for query, wanted in ORDERED:
        assert values_of(con, query) == wanted, query
    same = "SELECT DISTINCT d.*, 1 FROM (SELECT id, j FROM t) d WHERE id = 1"
    assert len(con.execute(same).fetchall()) == 1
    for query in (
        "SELECT id FROM t WHERE k = k",
        "SELECT DISTINCT t.*, 1 FROM t",
        "SELECT k FROM t ORDER BY k",
        "SELECT count(*) FROM t GROUP BY k",
        "SELECT '1'::json = '1'::json",
    ):
        with pytest.raises(gateway.ProgrammingError) as refused:
            con.execute(query)
        assert refused.value.sqlstate == "42883", query
    assert values_of(con, "SELECT count(*) FROM t WHERE k::jsonb = '[1, 2]'") == [1]
    with pytest.raises(gateway.Error, match="USING a column of jsonb"):
        con.execute("SELECT a.id FROM t a JOIN t b USING (j)")
    with pytest.raises(gateway.Error, match="invalid input syntax for type json"):
        con.execute("SELECT id FROM t WHERE j = '{'")
    con.execute("CREATE VIEW v AS SELECT j, count(*) AS n FROM t GROUP BY j")
    assert con.execute("SELECT max(n) FROM v").fetchall() == [(2,)]
    con.execute("""CREATE TABLE c (j JSONB CHECK (j <> '{"a": 1}'))""")
    with pytest.raises(gateway.Error) as raised:
        con.execute("""INSERT INTO c VALUES ('{"a":1.0}')""")
    assert raised.value.sqlstate == "23514"


def test_constants_are_written_as_postgresql_spells_them(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute(
        """CREATE TABLE t (id INTEGER PRIMARY KEY, j JSONB DEFAULT '{"bb":1,"a":2}', k JSON)"""
    )
    con.execute("""INSERT INTO t VALUES (1, '{"bb":1, "a":[1.50,1e2],"a":null}', '{"b":1}')""")
    con.execute("""INSERT INTO t (id, j) VALUES (2, '[1,2]'), (3, '"\\u0041"')""")
    con.execute("INSERT INTO t (id) VALUES (4)")
    con.execute("""UPDATE t SET j = '{"x":1,  "b":2}' WHERE id = 3""")
    rows = con.execute("SELECT id, j::text, k::text FROM t ORDER BY id").fetchall()
    assert rows == [
        (1, '{"a": null, "bb": 1}', '{"b":1}'),
        (2, "[1, 2]", None),
        (3, '{"b": 2, "x": 1}', None),
        (4, '{"a": 2, "bb": 1}', None),
    ]


CONTAINED = (
    ('{"a": 1, "b": [1, 2, {"c": null}]}', '{"b": [{"c": null}, 2.0]}', True),
    ('{"a": {"b": 1}}', '{"b": 1}', False),
    ('{"a": {"b": 1, "c": 2}}', '{"a": {"c": 2}}', True),
    ("[1, [2, 3]]", "[[3]]", True),
    ("[1, [2, 3]]", "3", False),
    ("[1, null]", "null", True),
    ("[]", "{}", False),
    ("1", "[1]", False),
    ('{"q\\"": "a.0]"}', '{"q\\"": "a]"}', False),
    ("[1]", None, None),
)


@pytest.mark.drifts(toy="it has no functions of JSON", hive="it looks for constants alone")
def test_values_contain_what_columns_and_parameters_say(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, j JSONB, k JSONB)")
    for place, (whole, part, wanted) in enumerate(CONTAINED):
        con.execute("INSERT INTO t VALUES (%s, %s, %s)", (place, whole, part))
        found = con.execute("SELECT j @> k, k <@ j FROM t WHERE id = %s", (place,)).fetchall()
        assert found == [(wanted, wanted)], (whole, part)
    query = "SELECT id FROM t WHERE j @> %s::jsonb ORDER BY id"
    assert [row[0] for row in con.execute(query, ("[1.0]",)).fetchall()] == [3, 4, 5, 9]


@pytest.mark.drifts(
    **dict.fromkeys(("toy", "hive"), "it looks for constants alone"), postgres="it has no limit"
)
def test_what_lies_too_deep_is_refused(store: Store) -> None:
    con = store.connect(dialect="postgres")
    with pytest.raises(gateway.Error, match="at most 3"):
        con.execute("SELECT '[[[[1]]]]'::jsonb @> %s::jsonb", ("[[[[1]]]]",)).fetchall()


CHOICES = (
    ("""SELECT coalesce(j, '{"z":1}'::jsonb)""", ["[2]", '{"z": 1}']),
    ("""SELECT coalesce(j, '{"z":1}')""", ["[2]", '{"z": 1}']),
    ("SELECT coalesce(j, NULL, to_jsonb(1))", ["[2]", "1"]),
    ("SELECT CASE WHEN id = 1 THEN j ELSE '[ ]'::jsonb END", ["[2]", "[]"]),
    ("SELECT coalesce(j -> 0, jsonb_build_array())", ["2", "[]"]),
    ("SELECT jsonb_array_length(coalesce(j, '[]') || '[3]'::jsonb)", [2, 1]),
    ("SELECT jsonb_array_length(coalesce(j, '[]'::jsonb))", [1, 0]),
    ("SELECT coalesce(k, '{}'::json)", ["[ 1]", "{}"]),
)


@pytest.mark.drifts(toy="it has no functions of JSON", hive="its functions make texts")
def test_choices_are_of_one_type(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, j JSONB, k JSON)")
    con.execute("INSERT INTO t VALUES (1, '[2]', '[ 1]'), (2, NULL, NULL)")
    for query, wanted in CHOICES:
        assert values_of(con, f"{query} FROM t ORDER BY id") == wanted, query
    con.execute("UPDATE t SET j = coalesce(j, '[]'::jsonb) || to_jsonb(id)")
    con.execute(
        "INSERT INTO t (id, j) VALUES (2, '[4]') ON CONFLICT (id)"
        " DO UPDATE SET j = coalesce(excluded.j, '{}'::jsonb)"
    )
    con.execute("INSERT INTO t (id, j) SELECT id + 2, coalesce(k, '5'::json) FROM t WHERE id = 2")
    texts = values_of(con, "SELECT replace(j::text, ' ', '') FROM t ORDER BY id")
    assert texts == ["[2,1]", "[4]", "5"]


CAST_VALUES = (
    ("(j -> 'b')::boolean", [True, False, None]),
    ("(j -> 'n')::int", [2, None, -3]),
    ("(j -> 'n')::float8", [1.5, None, -3.0]),
    ("CASE WHEN (j -> 'b')::boolean THEN 'yes' ELSE 'no' END", ["yes", "no", "no"]),
)


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has no functions of JSON")
def test_values_are_cast_to_what_they_are(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, j JSONB)")
    con.execute(
        """INSERT INTO t VALUES (1, '{"b": true, "n": 1.5, "s": "5", "z": null}'),"""
        """ (2, '{"b": false}'), (3, '{"n": -3}')"""
    )
    for value, wanted in CAST_VALUES:
        assert values_of(con, f"SELECT {value} FROM t ORDER BY id") == wanted, value
    for key, kind in (("s", "boolean"), ("n", "boolean"), ("b", "int"), ("s", "int"), ("z", "int")):
        with pytest.raises(gateway.Error, match="cannot cast jsonb") as refused:
            con.execute(f"SELECT (j -> '{key}')::{kind} FROM t WHERE id = 1").fetchall()
        assert refused.value.sqlstate == "22023", (key, kind)


def values_of(con: gateway.Connection, query: str) -> list[Any]:
    """The first column of a query's rows."""
    return [row[0] for row in con.execute(query).fetchall()]


@pytest.mark.drifts(toy="it has other functions of JSON", hive="its keys are constants")
def test_keys_are_no_paths(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, j JSONB, k TEXT)")
    keys = ("a", "$.a", "/a", "x y", "0")
    values = ", ".join(f'"{key}": {place}' for place, key in enumerate(keys))
    for place, key in enumerate(keys):
        con.execute("INSERT INTO t VALUES (%s, %s, %s)", (place, f"{{{values}}}", key))
    con.execute("INSERT INTO t VALUES (9, '[7, 8]', '0')")
    wanted = [*((place, str(place)) for place in range(len(keys))), (9, None)]
    assert con.execute("SELECT id, j ->> k FROM t ORDER BY id").fetchall() == wanted
    for key, value in (("$.a", "1"), ("0", "4"), ("b", None), (0, None)):
        query = "SELECT j ->> %s FROM t WHERE id = 0"
        assert con.execute(query, (key,)).fetchall() == [(value,)], key
    assert con.execute("SELECT j -> %s FROM t WHERE id = 9", (1,)).fetchall() == [("8",)]


@pytest.mark.drifts(toy="it has other functions of JSON", hive="its keys are constants")
def test_keys_may_be_empty_or_a_star(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k TEXT PRIMARY KEY, j JSONB)")
    con.execute("""INSERT INTO t VALUES ('', '{"": 1, "*": {"": 2}}'), ('*', '{"*": 3, "b": 4}')""")
    query = "SELECT k, j ->> k, j ->> '', j -> '*' ->> '', j #>> '{*,\"\"}' FROM t ORDER BY k"
    wanted = [("", "1", "1", "2", "2"), ("*", "3", None, None, None)]
    assert con.execute(query).fetchall() == wanted


@pytest.mark.drifts(toy="it has other functions of JSON", hive="its keys are constants")
def test_computed_steps_lead_on(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k TEXT PRIMARY KEY, j JSONB, n INTEGER)")
    con.execute("""INSERT INTO t VALUES ('1', '[[7, 8], {"": 9, "1": 5}]', 1)""")
    query = (
        "SELECT j -> 0 ->> n, j -> 1 ->> k, j -> 1 ->> '', j #>> ARRAY['0', k],"
        " jsonb_extract_path_text(j, k, k), jsonb_extract_path_text(j, '0', k) FROM t"
    )
    assert con.execute(query).fetchall() == [("8", "5", "9", "8", "5", "8")]
    # Prisma: a path of parameters.
    query = (
        "SELECT j #>> ARRAY[?, ?]::text[], (j #> ARRAY[k]::text[])::jsonb @> '[8]',"
        " j #>> string_to_array('0,0', ',') FROM t"
    )
    assert con.execute(query, ("0", "1")).fetchall() == [("8", False, "7")]
    query = """SELECT j -> 1 @> '{"": 9}', '{"a\\\\b": 1}'::jsonb @> '{"a\\\\b": 1}' FROM t"""
    assert con.execute(query).fetchall() == [(True, True)]


PATHS_REFUSED = (
    ("jsonb_path_exists(j, p::jsonpath)", "a JSON path that is no constant"),
    ("j @? p::jsonpath", "a JSON path that is no constant"),
    ("jsonb_path_query_array(j, '$.a.datetime()')", "datetime"),
    ("jsonb_path_query_array(j, '$.a.keyvalue()')", "keyvalue"),
    ("jsonb_path_exists(j, '$.**.double() ? (@ > 1)', silent => true)", "may fail"),
    ("jsonb_path_exists(j, '$', silent => k > 0)", "silent"),
)


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has no functions of JSON")
def test_paths_give_rows_or_are_refused(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, j JSONB, p TEXT)")
    con.execute("""INSERT INTO t VALUES (1, '{"a": [1, 2]}', '$.a')""")
    query = "SELECT v FROM t, jsonb_path_query(j, '$.a[*] ? (@ < $x)', %s) v ORDER BY 1"
    if store.url.startswith("palimpsest+hive"):
        for asked in (query.replace("%s", "'{}'"), "SELECT j @? '$.a' FROM t"):
            with pytest.raises(gateway.Error, match="a JSON path on this store"):
                con.execute(asked)
        return
    assert con.execute(query, ('{"x": 3}',)).fetchall() == [("1",), ("2",)]
    if store.url.startswith("palimpsest+postgresql"):
        assert con.execute("SELECT j @? p::jsonpath FROM t").fetchall() == [(True,)]
        return
    for path, wanted in (("$.a[0]", "1"), ("$.a[1]", "2"), ("$.b", None), (None, None)):
        asked = "SELECT jsonb_path_query_first(j, %s::jsonpath)::text, j @? %s FROM t"
        exists = None if path is None else wanted is not None
        assert con.execute(asked, (path, path)).fetchall() == [(wanted, exists)], path
    con.execute("PREPARE p AS SELECT k FROM t WHERE jsonb_path_exists(j, $1)")
    assert con.execute("EXECUTE p('$.a')").fetchall() == [(1,)]
    assert con.execute("EXECUTE p('$.b')").fetchall() == []
    with con.cursor() as cursor:
        filled = "INSERT INTO t SELECT %s, jsonb_path_query_first('[1, 2]', %s)"
        cursor.executemany(filled, [(2, "$[0]"), (3, "$[1]")])
    assert con.execute("SELECT j FROM t WHERE k > 1 ORDER BY k").fetchall() == [("1",), ("2",)]
    con.execute("DELETE FROM t WHERE k > 1")
    for value, said in PATHS_REFUSED:
        with pytest.raises(gateway.Error, match=said) as refused:
            con.execute(f"SELECT {value} FROM t")
        assert refused.value.sqlstate == "0A000", value


OF_ANOTHER_KIND: tuple[tuple[str, int, str], ...] = (
    *(("jsonb_array_length(j)", k, "cannot get array length of a") for k in (2, 3, 4)),
    *(("json_array_length(k)", k, "cannot get array length of a") for k in (2, 3, 4)),
    ("jsonb_object_keys(j)", 1, "cannot call jsonb_object_keys on an array"),
    ("json_object_keys(k)", 3, "cannot call json_object_keys on a scalar"),
)
ELEMENTS_OF_ANOTHER_KIND = (
    ("jsonb_array_elements(j)", 2, "cannot extract elements from an object"),
    *(("jsonb_array_elements_text(j)", k, "elements from a scalar") for k in (3, 4)),
    ("json_array_elements(k)", 2, "cannot call json_array_elements on a non-array"),
    ("json_array_elements_text(k)", 3, "json_array_elements_text on a scalar"),
)
PAIRS_OF_ANOTHER_KIND = (("jsonb_each(j)", 1), ("jsonb_each_text(j)", 4), ("json_each(k)", 3))


@pytest.mark.drifts(toy="it has no functions of JSON")
def test_functions_fail_at_values_of_another_kind(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, j JSONB, k JSON)")
    for place, text in enumerate(('[1,"a",null]', '{"a":1,"b":null}', "5", "null"), 1):
        con.execute("INSERT INTO t VALUES (%s, %s, %s)", [place, text, text])
    con.execute("INSERT INTO t VALUES (5, NULL, NULL)")
    for call, place, message in OF_ANOTHER_KIND:
        with pytest.raises(gateway.Error, match=message) as raised:
            con.execute(f"SELECT {call} FROM t WHERE id = {place}").fetchall()
        assert raised.value.sqlstate == "22023", call
    for query, wanted in (
        ("SELECT jsonb_array_length(j) FROM t WHERE id IN (1, 5)", {3, None}),
        ("SELECT json_array_length(k) FROM t WHERE id = 1", {3}),
        ("SELECT json_object_keys(k) FROM t WHERE id IN (2, 5)", {"a", "b"}),
    ):
        assert set(values_of(con, query)) == wanted, query


@pytest.mark.drifts(toy="it has no functions of JSON", hive="its keys are constants")
def test_pairs_and_elements_are_of_values_of_one_kind(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, j JSONB, k JSON)")
    for place, text in enumerate(('[1,"a",null]', '{"a":1,"b":null}', "5", "null"), 1):
        con.execute("INSERT INTO t VALUES (%s, %s, %s)", [place, text, text])
    for call, place, message in ELEMENTS_OF_ANOTHER_KIND:
        with pytest.raises(gateway.Error, match=message) as raised:
            con.execute(f"SELECT {call} FROM t WHERE id = {place}").fetchall()
        assert raised.value.sqlstate == "22023", call
    query = "SELECT jsonb_array_elements_text(j) FROM t WHERE id = 1"
    assert set(values_of(con, query)) == {"1", "a", None}
    for call, place in PAIRS_OF_ANOTHER_KIND:
        with pytest.raises(gateway.Error, match=r"non-object|deconstruct|_object_keys") as raised:
            con.execute(f"SELECT e.key FROM t, {call} e WHERE id = {place}").fetchall()
        assert raised.value.sqlstate == "22023", call
    query = "SELECT e.key FROM t, jsonb_each(j) e WHERE id = 2 ORDER BY 1"
    assert values_of(con, query) == ["a", "b"]
    # A null of JSON is a value.
    query = "SELECT e IS NULL FROM t, jsonb_array_elements(j) e WHERE id = 1"
    assert values_of(con, query) == [False, False, False]
