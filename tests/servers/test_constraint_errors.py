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
        (said.message_primary or "").partition(" (PAL-")[0],
        # Of the whole row nothing is said.
        "" if detail.startswith("Failing row") else detail,
    )


EXPECTED = (
    "SELECT * FROM named_none",
    "SELECT * FROM s_named.none",
    "INSERT INTO named_none VALUES (1)",
    "ALTER TABLE named_none ADD COLUMN a INTEGER",
    "CREATE TABLE named_a (a INTEGER)",
    "CREATE SCHEMA s_named",
    "DROP SCHEMA s_none",
    "SELECT named_a.none FROM named_a",
    "SELECT none FROM named_a",
    "SELECT zz.a FROM named_a",
    "UPDATE named_a SET none = 1",
    "SELECT nextval('named_none')",
    "SELECT 1::positive",
)
"""What programs that make tables expect, and know by its message."""


def test_messages_that_programs_look_for_are_postgresqls(
    both: tuple[Connection, Connection],
) -> None:
    made = ("CREATE SCHEMA s_named", "CREATE DOMAIN positive AS INTEGER CHECK (value > 1)")
    for con in both:
        for sql in made:
            con.execute(sql)
    for sql in EXPECTED:
        found, wanted = (_message(con, sql) for con in both)
        assert found == wanted, sql
    for con in both:
        con.execute("DROP SCHEMA s_named")
        con.execute("DROP DOMAIN positive")


def _message(con: Connection, sql: str) -> str:
    with pytest.raises(psycopg.Error) as caught:
        con.execute(sql)
    return (caught.value.diag.message_primary or "").partition(" (PAL-")[0]
