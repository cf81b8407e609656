"""Errors name the constraint, the table and the values that they are about, as PostgreSQL does."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import Connection

MADE = (
    (
        "CREATE TABLE named_a (a INTEGER PRIMARY KEY, b TEXT NOT NULL, c INTEGER CHECK (c > 0),"
        " d INTEGER, e INTEGER, CONSTRAINT twice UNIQUE (d, e))"
    ),
    (
        'CREATE TABLE "named.b c" (a INTEGER CONSTRAINT refers REFERENCES named_a (a),'
        ' "x y" TEXT UNIQUE)'
    ),
    "INSERT INTO named_a VALUES (1, 'x', 1, 1, 2)",
    "INSERT INTO \"named.b c\" VALUES (1, 'p q')",
)
GONE = ('DROP TABLE "named.b c"', "DROP TABLE named_a")
REFUSED = (
    "INSERT INTO named_a VALUES (1, 'x', 1, 3, 4)",
    "INSERT INTO named_a VALUES (2, NULL, 1, 3, 4)",
    "INSERT INTO named_a VALUES (2, 'x', -1, 3, 4)",
    "INSERT INTO named_a VALUES (2, 'x', 1, 1, 2)",
    "UPDATE named_a SET b = NULL",
    'INSERT INTO "named.b c" VALUES (5)',
    "INSERT INTO \"named.b c\" VALUES (1, 'p q')",
    "DELETE FROM named_a WHERE a = 1",
)


@pytest.fixture
def both(gateway: Connection, postgres: Connection) -> Iterator[tuple[Connection, Connection]]:
    for con in (gateway, postgres):
        for sql in MADE:
            con.execute(sql)
    yield gateway, postgres
    for con in (gateway, postgres):
        for sql in GONE:
            con.execute(sql)


def test_errors_name_what_is_violated(both: tuple[Connection, Connection]) -> None:
    for sql in REFUSED:
        found, wanted = (_names(con, sql) for con in both)
        assert found == wanted, sql


def _names(con: Connection, sql: str) -> tuple[object, ...]:
    with pytest.raises(psycopg.IntegrityError) as caught:
        con.execute(sql)
    said = caught.value.diag
    detail = said.message_detail or ""
    return (
        *(said.sqlstate, said.table_name, said.column_name, said.constraint_name),
        # Of the whole row nothing is said.
        "" if detail.startswith("Failing row") else detail,
    )
