"""Texts for parameters of no stated type, as Ruby and node-postgres send them: as PostgreSQL's."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from psycopg import Connection, pq

SETUP = (
    (
        "CREATE TABLE untyped (id INTEGER PRIMARY KEY, a INTEGER, p NUMERIC(9, 2), t TEXT,"
        " d DATE, j JSONB, l INTEGER[])"
    ),
    (
        "INSERT INTO untyped VALUES (1, 5, 9.50, 'abc', '2024-01-05', '{\"k\": 5}', '{1,2}'),"
        " (2, 10, 100.25, 'Abd', '2024-10-05', '{\"k\": 10}', '{10}'),"
        " (3, 100, 20, NULL, '2023-01-01', NULL, NULL)"
    ),
    "CREATE TABLE numbered (id SERIAL PRIMARY KEY)",
)
STATEMENTS: tuple[tuple[str, tuple[str | None, ...]], ...] = (
    ("SELECT id FROM untyped WHERE coalesce(a, 0) > $1 ORDER BY 1", ("9",)),
    ("SELECT id FROM untyped WHERE greatest(a, 7) > $1 ORDER BY 1", ("9",)),
    ("SELECT id FROM untyped WHERE (a, p) IN (($1, $2))", ("5", "9.5")),
    ("SELECT id FROM untyped WHERE (a, p) = ($1, $2)", ("5", "9.5")),
    ("SELECT id FROM untyped WHERE (a, d) > ($1, $2) ORDER BY 1", ("9", "2024-1-2")),
    ("SELECT id FROM untyped WHERE a > (SELECT min(a) + $1 FROM untyped)", ("9",)),
    ("SELECT id FROM untyped WHERE (SELECT max(a) FROM untyped) > $1 ORDER BY 1", ("9",)),
    ("SELECT d > '2024-01-01', sum(p) FROM untyped GROUP BY 1 HAVING max(a) > $1 ORDER BY 1", "9"),
    (
        "SELECT CASE WHEN p > $1 THEN $2 ELSE $3 END FROM untyped ORDER BY id",
        ("9.5", "hi", "lo"),
    ),
    ("SELECT CASE a WHEN $1 THEN id ELSE $2 END FROM untyped ORDER BY id", ("5", "7")),
    ("SELECT id FROM untyped WHERE extract(year FROM d) = $1 ORDER BY 1", ("2024",)),
    ("SELECT id FROM untyped WHERE j @> $1", ('{"k": 5}',)),
    ("SELECT id FROM untyped WHERE j @> $1", (None,)),
    ("SELECT id FROM untyped WHERE l @> $1", ("{1}",)),
    ("SELECT id, array_append(l, $1) FROM untyped ORDER BY 1", ("9",)),
    ("SELECT id, p * $1 FROM untyped ORDER BY 1", ("2.5",)),
    ("UPDATE untyped SET a = coalesce(a, 0) + $1 WHERE id = $2 RETURNING a", ("1", "1")),
    ("UPDATE untyped SET l = l || $1 WHERE id = $2 RETURNING l", ("{4}", "1")),
    ("SELECT nextval($1), 1 AS one", ("public.numbered_id_seq",)),
    ("SELECT CURRVAL($1)", ("numbered_id_seq",)),
    ("SELECT currval(pg_get_serial_sequence($1, $2))", ('"numbered"', "id")),
    ("SELECT setval($1::regclass, $2)", ("numbered_id_seq", "5")),
    ("SELECT setval(pg_get_serial_sequence($$numbered$$, $$id$$), $1)", ("7",)),
)


def _answer(con: Connection, statement: str, values: Sequence[str | None]) -> list[object]:
    given = [None if value is None else value.encode() for value in values]
    found = con.pgconn.exec_params(statement.encode(), given)
    assert found.status == pq.ExecStatus.TUPLES_OK, (statement, found.error_message)
    columns = range(found.nfields)
    rows = [[found.get_value(row, c) for c in columns] for row in range(found.ntuples)]
    return [[found.ftype(column) for column in columns], *rows]


def test_they_are_what_their_places_make_of_them(gateway: Connection, postgres: Connection) -> None:
    for con in (gateway, postgres):
        for statement in SETUP:
            con.execute(statement)
    for statement, values in STATEMENTS:
        found, wanted = (_answer(con, statement, values) for con in (gateway, postgres))
        assert found == wanted, (statement, values)
    for con in (gateway, postgres):
        con.execute("DROP TABLE untyped, numbered")


def test_those_of_a_merge_are_put_into_its_columns(
    gateway: Connection, postgres: Connection
) -> None:
    """As Kysely merges: the number beside a text is no reason to read it as one."""
    statements = (
        (
            "MERGE INTO merged AS t USING numbers AS s ON t.owner = s.id WHEN MATCHED"
            " AND t.name = $1 THEN UPDATE SET age = $2"
            " WHEN NOT MATCHED THEN INSERT (owner, name) VALUES (s.id, $3)"
        ),
        (
            "MERGE INTO merged USING numbers ON name = $1 WHEN NOT MATCHED THEN INSERT VALUES"
            " (7, $2, numbers.id)"
        ),
    )
    found: list[list[object]] = []
    for con in (gateway, postgres):
        con.execute("CREATE TABLE merged (owner INTEGER PRIMARY KEY, name TEXT, age INTEGER)")
        con.execute("CREATE TABLE numbers AS SELECT 1 AS id")
        told: list[object] = []
        for statement, values in zip(statements, ([b"a", b"5", b"new"], [b"x", b"y"]), strict=True):
            con.pgconn.prepare(b"merging", statement.encode())
            kinds = con.pgconn.describe_prepared(b"merging")
            told.append([kinds.param_type(place) for place in range(kinds.nparams)])
            done = con.pgconn.exec_prepared(b"merging", values)
            assert done.status == pq.ExecStatus.COMMAND_OK, done.error_message
            con.execute("DEALLOCATE merging")
        told += con.execute("SELECT * FROM merged ORDER BY owner").fetchall()
        con.execute("DROP TABLE merged, numbers")
        found.append(told)
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("explained", "values"),
    [
        ("SELECT 1 AS one WHERE 5 > $1", ("4",)),
        ("ANALYZE SELECT 1 AS one WHERE 5 > $1", ("4",)),
    ],
)
def test_what_is_explained_may_have_some(
    gateway: Connection, explained: str, values: tuple[str, ...]
) -> None:
    found = gateway.pgconn.exec_params(f"EXPLAIN {explained}".encode(), [values[0].encode()])
    assert found.status == pq.ExecStatus.TUPLES_OK, found.error_message
    assert (found.fname(0), found.ntuples > 0) == (b"explain_key", True)
