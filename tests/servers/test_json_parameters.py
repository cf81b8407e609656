"""What drivers ask of columns of jsonb with parameters, beside a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from psycopg import Connection
from psycopg.types.json import Json, Jsonb

ROWS = ('{"a":9,"l":[1,2]}', '{"a":10,"b/c":null}', '{"l":["x","y z"],"a":9}', None, "5", '"x"')


@pytest.fixture(scope="module")
def both(gateway: Connection, postgres: Connection) -> Iterator[tuple[Connection, Connection]]:
    """The gateway and the oracle, each with a table."""
    for con in (gateway, postgres):
        con.execute("DROP TABLE IF EXISTS held")
        con.execute("CREATE TABLE held (id INTEGER PRIMARY KEY, j JSONB)")
        for row in enumerate(ROWS):
            con.execute("INSERT INTO held VALUES (%s, %s)", row)
    yield gateway, postgres
    for con in (gateway, postgres):
        con.execute("DROP TABLE held")


@pytest.mark.parametrize(
    ("query", "values"),
    [
        ("SELECT j ->> %s FROM held WHERE j ->> 'a' = %s ORDER BY id", ("a", "9")),
        ("SELECT j -> %s FROM held ORDER BY id", ("l",)),
        ("SELECT id FROM held WHERE j ? %s ORDER BY id", ("b/c",)),
        ("SELECT id FROM held WHERE j ?| %s ORDER BY id", (["b/c", "l"],)),
        ("SELECT id FROM held WHERE j ?& %s ORDER BY id", (["a", "l"],)),
        ("SELECT id FROM held WHERE j @? %s ORDER BY id", ("$.l",)),
        ("SELECT id FROM held WHERE j @@ %s ORDER BY id", ("$.a > 9",)),
        ("SELECT jsonb_path_query_array(j, %s, %s) FROM held", ("$.l[*] ? (@ > $x)", '{"x":1}')),
        ("SELECT jsonb_path_query_first(j, %s) FROM held ORDER BY id", (None,)),
        ("SELECT j #>> %s FROM held ORDER BY id", (["l", "1"],)),
        ("SELECT j #>> %s FROM held ORDER BY id", ("{l,0}",)),
        ("SELECT j #> %s FROM held ORDER BY id", (["b/c"],)),
        ("SELECT j #> %s FROM held ORDER BY id", (["a", "no"],)),
        ("SELECT id FROM held WHERE j -> 'a' = %s ORDER BY id", (Jsonb(9),)),
        ("SELECT id FROM held WHERE j -> 'a' = '9' ORDER BY id", ()),
        ("SELECT id FROM held WHERE (j -> 'a') IN ('9', '11') ORDER BY id", ()),
        ("SELECT id FROM held WHERE j -> 'a' <> %s::jsonb ORDER BY id", ("9",)),
        ("SELECT id FROM held WHERE j = '5' ORDER BY id", ()),
        ("SELECT id FROM held WHERE j -> 'a' IS DISTINCT FROM '9' ORDER BY id", ()),
    ],
)
def test_keys_and_paths_and_values_are_parameters(
    both: tuple[Connection, Connection], query: str, values: tuple[Any, ...]
) -> None:
    gateway, postgres = (con.execute(query, values).fetchall() for con in both)
    assert gateway == postgres


@pytest.mark.parametrize(
    "query",
    [
        'SELECT id FROM held WHERE j = \'{"l": [1, 2], "a": 9.0}\' ORDER BY id',
        "SELECT id FROM held WHERE j -> 'a' > '9' ORDER BY id",
        "SELECT id FROM held ORDER BY j -> 'a' DESC NULLS LAST, id",
        "SELECT id, j, j::text FROM held ORDER BY id",
    ],
)
def test_values_are_equal_and_in_order(both: tuple[Connection, Connection], query: str) -> None:
    gateway, postgres = (con.execute(query).fetchall() for con in both)
    assert gateway == postgres


def test_stores_with_jsonb_have_its_order_of_objects(
    store: str, both: tuple[Connection, Connection]
) -> None:
    if store == "folder":
        pytest.skip("objects of the same size are ordered there as their texts are")
    gateway, postgres = (
        con.execute("SELECT id FROM held ORDER BY j, id").fetchall() for con in both
    )
    assert gateway == postgres


def test_values_that_are_sent_are_spelled_as_jsonb(both: tuple[Connection, Connection]) -> None:
    sent = (Jsonb({"bb": 1, "a": [1.5, None]}), Json({"b": 1}), '{"x":1,  "a":2}')
    answers = []
    for con in both:
        con.execute("DROP TABLE IF EXISTS sent")
        con.execute("CREATE TABLE sent (id INTEGER PRIMARY KEY, j JSONB, k JSON)")
        con.execute("INSERT INTO sent VALUES (1, %s, %s)", sent[:2])
        con.execute("INSERT INTO sent VALUES (2, %s, %s)", (sent[2], sent[2]))
        found = con.execute("SELECT id, j::text, k::text FROM sent ORDER BY id").fetchall()
        equal = con.execute("SELECT id FROM sent WHERE j = %s", sent[:1]).fetchall()
        answers.append((found, equal))
        con.execute("DROP TABLE sent")
    assert answers[0] == answers[1]
