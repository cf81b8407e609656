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
    ("SELECT id FROM untyped WHERE j ->> 'k' = $1", ("5",)),
    (
        "SELECT d - $1, now() + $2 > now(), interval '1 day' * $3 FROM untyped ORDER BY 1",
        ("2024-1-1", "1 mon", "1.5"),
    ),
    (
        "SELECT date_part($1, d), date_bin($2, d, $3) FROM untyped ORDER BY 1, 2",
        ("year", "1 day", "2024-1-1"),
    ),
    (
        "SELECT date_part('year', $1::date) = 2024 AND $2 * interval '1 hour' > $3",
        ("2024-05-06", "2", "01:00"),
    ),
    ("SELECT nextval($1), 1 AS one", ("public.numbered_id_seq",)),
    ("SELECT CURRVAL($1)", ("numbered_id_seq",)),
    ("SELECT currval(pg_get_serial_sequence($1, $2))", ('"numbered"', "id")),
    ("SELECT setval($1::regclass, $2)", ("numbered_id_seq", "5")),
    ("SELECT setval(pg_get_serial_sequence($$numbered$$, $$id$$), $1)", ("7",)),
)


TYPED_SETUP = (
    "CREATE TABLE typed (a INTEGER, b BIGINT, n NUMERIC(9, 2), f DOUBLE PRECISION, j JSONB,"
    " l INTEGER[], w TEXT[], ts TIMESTAMP, tz TIMESTAMPTZ, d DATE, ti TIME, iv INTERVAL, t TEXT,"
    " by BYTEA, ok BOOLEAN)"
)
TYPED = (
    "tz > now() - interval '1 day' * $1 AND tz > now() + $2 AND ts > ts + $3",
    "tz - ts > $1 AND tz - $2 > iv AND d - $3 > 3 AND ti > ti + $4 AND iv + $5 > iv",
    "j ->> 'a' = $1 AND j ->> 'b' IN ($2) AND j ->> 'c' = ANY ($3) AND j #>> $4 = $5",
    "j -> 'a' = $1 AND j - $2 = '{}' AND jsonb_array_length(j) > $3 AND jsonb_typeof(j) = $4",
    "length(t) = $1 AND octet_length(by) = $2 AND position('a' IN t) = $3 AND by || $4 = by",
    "round(n, $1) = $2 AND floor(f) = $3 AND sqrt(f) > $4 AND power(n, $5) > 1 AND n > 1.5 + $6",
    "a + b > $1 AND a * n > $2 AND a + f > $3 AND (a > 1) = $4 AND (t IS NULL) = $5",
    (
        "$1 = ANY (l) AND l[1] = $2 AND w[$3] = $4 AND array_position(w, $5) > 0"
        " AND array_remove(l, $6) = $7 AND cardinality(w) > $8 AND array_length(l, $9) = 1"
    ),
    (
        "date_trunc('day', ts) = $1 AND extract(year FROM d) = $2 AND age(tz, $3) > iv"
        " AND now() = $4 AND current_date = $5 AND tz AT TIME ZONE 'UTC' = $6 AND ts::date = $7"
    ),
    "left(t, $1) = $2 AND lpad(t, $3, $4) = t AND split_part(t, $5, $6) = t",
    "a = (SELECT max(a) FROM typed HAVING sum(a) > $1 AND avg(n) > $2 AND avg(a) > $3)",
    "nullif(a, $1) = $2 AND greatest(a, $3) > 1 AND l = ARRAY[a, $4] AND coalesce(tz, $5) > tz",
    (
        "EXISTS (SELECT FROM (SELECT b AS x, t AS y, n * 2 AS z FROM typed) k"
        " WHERE x = $1 AND k.y = $2 AND z > $3)"
    ),
    "EXISTS (SELECT FROM generate_series(now(), $1, $2)) AND make_date($3, 1, 1) = d",
    "EXISTS (SELECT FROM jsonb_to_recordset($1) AS r (x INTEGER)) AND to_timestamp($2) > tz",
    "EXISTS (SELECT FROM (VALUES (1, 'x'), ($1, $2)) AS v(x, y))",
    "EXISTS (SELECT lag(a, $1, $2) OVER (), ntile($3) OVER (), sha256($4) FROM typed)",
    "EXISTS (SELECT a FROM typed UNION SELECT $1)",
)
TYPED_STATEMENTS = (
    *(f"SELECT 1 AS one FROM typed WHERE {condition}" for condition in TYPED),
    "INSERT INTO typed (a, tz) SELECT $1, $2",
    "UPDATE typed SET tz = coalesce($1, now()), f = f + $2, j = jsonb_set(j, '{a}', $3)",
    "SELECT percentile_cont($1) WITHIN GROUP (ORDER BY f), round($2, 1) FROM typed",
    "SELECT row_number() OVER () = 1, count(*) OVER () + 1, rank() OVER () > $1",
)


def test_they_have_the_types_of_their_places(gateway: Connection, postgres: Connection) -> None:
    """Drivers that encode by the types that a server names, such as pgx and asyncpg, need these."""
    for con in (gateway, postgres):
        con.execute(TYPED_SETUP)
    for statement in TYPED_STATEMENTS:
        found, wanted = (_described(con, statement) for con in (gateway, postgres))
        assert found == wanted, statement
    for con in (gateway, postgres):
        con.execute("DROP TABLE typed")


def _described(con: Connection, statement: str) -> list[object]:
    made = con.pgconn.prepare(b"", statement.encode())
    assert made.status == pq.ExecStatus.COMMAND_OK, (statement, made.error_message)
    found = con.pgconn.describe_prepared(b"")
    assert found.status == pq.ExecStatus.COMMAND_OK, (statement, found.error_message)
    names = [(found.fname(column), found.ftype(column)) for column in range(found.nfields)]
    return [[found.param_type(n) for n in range(found.nparams)], names]


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
    assert (found.fname(0), found.ntuples > 0) == (b"QUERY PLAN", True)
