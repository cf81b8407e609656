"""JSON and lists in queries of Spark: answers are those of DuckDB, and what is no JSON fails."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.thrift_server import ThriftServer

pytestmark = pytest.mark.stores

_ROWS = """
(1, '{"a": 1, "b": "x", "c": null, "d": [1, 2], "e": {"f": true}, "g": 1.5, "h": -3}', '{"a": ', [1, 2]),
(2, '[1, "z"]', 'nope', NULL), (3, 'null', '', []), (4, NULL, NULL, [NULL]),
(5, '"txt"', '{"a": 1}', [3]), (6, '{"a": {"b": "[7]", "c": [8]}}', '{"a": "q"} x', [1]),
(7, '{"a": 18446744073709551615, "b": 18446744073709551616, "g": -9223372036854775809}', '1 2', [2])
"""  # noqa: E501


def _fill(con: Connection | duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, j JSON, v VARCHAR, l INTEGER[])")
    con.execute(f"INSERT INTO t VALUES {_ROWS}")


@pytest.fixture(scope="module")
def table(server: ThriftServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """A store with a table of JSON, texts and lists."""
    with gateway.connect(server.new_store(tmp_path_factory.mktemp("j")), autocommit=True) as con:
        _fill(con)
        yield con


@pytest.mark.parametrize(
    "what",
    [
        "json_type(j), json_type(j, '$.a'), json_type(j, 'b'), json_type(j, '$.c')",
        "json_type(j -> 'd'), json_type(j -> 'g'), json_type(j, 'h'), json_type(j -> 'e' -> 'f')",
        "upper(j -> 'b'), coalesce(j -> 'a', '0'), length(j ->> 'b'), j -> 'c', j ->> 'c'",
        "j -> 'a' -> 'b' -> 0, (j -> 'a') -> 'c' -> 0, j -> 'a' ->> 'b', (j -> 'a' ->> 'c') -> 0",
        "json_array_length(j), json_array_length(j, '$.d'), json_array_length(j -> 'd')",
        "json_keys(j), json_keys(j, '$.e'), json_keys(j -> 'a')",
        "TRY_CAST(v AS JSON), TRY_CAST(v AS JSON) ->> 'a'",
        "list_contains(l, 1), list_contains([j -> 'a'], '1'), list_contains(l, NULL)",
        "list_concat(l, [9]), list_concat([9], l), list_concat(l, l), l || [9]",
        "l[1], l[2], l[-1], l[0], l[99], l[k], l[k - 1], l[-k], l[CAST(k AS INTEGER)], l[NULL]",
        "list_extract(l, 1), list_sort(l)[-1], [[1, 2], l][2][1], {'a': l}['a'][1]",
        "json_valid(j), json_valid(j -> 'd'), json_exists(j, '$.c'), json_exists(j, 'nope')",
        "json_exists(j, '$.e.f'), json_exists(j, '$'), json_exists(j -> 'a', 'c')",
        "list_transform(l, lambda x, i: i * 10 + k), list_apply(l, lambda x: [x, k])",
        "list_filter(l, lambda x, i: i = 1), list_filter(l, lambda x: x - 1)",
        "[x + i for x, i in l if i > 1], [x for x in l], len([x for x in l if x > 1])",
        "list_transform([[1], l], lambda x, i: list_transform(x, lambda y, i: i)), [i for i in l]",
        "list_sort(l, 'DESC'), list_sort(l, 'ASC', 'NULLS FIRST'), list_reverse_sort(l)",
        "list_reverse_sort(l, 'NULLS FIRST'), list_sort(l, 'DESC', 'NULLS FIRST')",
        "list_transform(list_filter(l, lambda k: k > 0), lambda k: list_contains(l, k))",
        "SELECT k, v -> 'a', CAST(v AS JSON) ->> 'a', json_type(v, 'a') FROM t WHERE k IN (4, 5)",
        "SELECT sum(CAST(j ->> 'h' AS INTEGER)) FROM t",
    ],
)
def test_answers_are_those_of_the_oracle(table: Connection, what: str) -> None:
    text = what if what.startswith("SELECT") else f"SELECT k, {what} FROM t ORDER BY k"
    with duckdb.connect() as oracle:
        _fill(oracle)
        expected = oracle.execute(text).fetchall()
    assert sorted(map(repr, table.execute(text).fetchall())) == sorted(map(repr, expected))


@pytest.mark.parametrize("k", [1, 2, 3, 6, 7])
@pytest.mark.parametrize(
    ("what", "code"),
    [
        ("v -> 'a'", "PAL-312"),
        ("v ->> 'a'", "PAL-312"),
        ("json_type(v)", "PAL-312"),
        ("json_keys(v)", "PAL-312"),
        ("json_array_length(v)", "PAL-312"),
        ("CAST(v AS JSON)", "PAL-310"),
        ("v::JSON -> 'a'", "PAL-310"),
    ],
)
def test_what_is_no_json_is_an_error(table: Connection, what: str, code: str, k: int) -> None:
    with pytest.raises(gateway.DataError, match="Malformed JSON") as raised:
        table.execute(f"SELECT {what} FROM t WHERE k = {k}")
    assert raised.value.code == code


def test_lists_are_not_cast_to_json(table: Connection) -> None:
    with pytest.raises(gateway.NotSupportedError) as raised:
        table.execute("SELECT CAST(l AS JSON) FROM t")
    assert raised.value.code == "PAL-110"


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("json_contains(j, '1')", "json_contains()"),
        ("json_structure(j)", "json_structure()"),
        ("json_object('a', k)", "json_object()"),
        ("json_valid(v)", "TRY_CAST"),
        ("json_exists(j, ['$.a', 'b'])", "json_exists()"),
        ("json_exists(j, '$.*')", "json_exists()"),
        ("list_reduce(l, lambda x, y: x + y)", "list_reduce()"),
        ("list_sort(l, v)", "sorted"),
        ("list_sort(l, 'NULLS FIRST')", "sorted"),
    ],
)
def test_what_spark_lacks_is_refused_by_its_name(table: Connection, what: str, said: str) -> None:
    with pytest.raises(gateway.NotSupportedError) as raised:
        table.execute(f"SELECT {what} FROM t")
    assert raised.value.code == "PAL-110"
    assert said in f"{raised.value} {raised.value.advice}"
    assert raised.value.advice
