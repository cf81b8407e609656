"""What drivers are told of columns and settings, beside a real PostgreSQL.

They change rows in place by the number of a table and its column, and read times in the zone that
they heard of last.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from psycopg import Connection

TABLES = """
    CREATE TABLE made (id INTEGER PRIMARY KEY, short VARCHAR(7), fixed CHAR(4), free VARCHAR,
        amount NUMERIC(8, 2), x INTEGER);
    CREATE VIEW seen AS SELECT short, id FROM made;
"""


@pytest.fixture(scope="module")
def both(gateway: Connection, postgres: Connection) -> Iterator[tuple[Connection, Connection]]:
    """The gateway and the oracle, each with the tables."""
    for con in (gateway, postgres):
        con.execute("DROP VIEW IF EXISTS seen")
        con.execute("DROP TABLE IF EXISTS made")
        con.execute(TABLES)
    yield gateway, postgres
    for con in (gateway, postgres):
        con.execute("DROP VIEW seen")
        con.execute("DROP TABLE made")


def _told(con: Connection, query: str, *, prepared: bool) -> list[tuple[object, ...]]:
    """Of each column: its table and place in it, its type and the type's modifier."""
    found = con.execute("SELECT relname, oid FROM pg_class WHERE relname IN ('made', 'seen')")
    names = {oid: name for name, oid in found.fetchall()} | {0: None}
    with con.transaction(force_rollback=True), con.cursor() as cursor:
        rows = cursor.execute(query, () if prepared else None, prepare=prepared).pgresult
        assert rows is not None
        return [
            (names[rows.ftable(n)], rows.ftablecol(n), rows.ftype(n), rows.fmod(n))
            for n in range(rows.nfields)
        ]


@pytest.mark.parametrize("prepared", [False, True])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM made",
        "SELECT short AS s, x + 1, fixed, x FROM public.made WHERE id = 1",
        "SELECT t.*, id FROM made t",
        "INSERT INTO made (id) VALUES (1) RETURNING *, id + 1 AS more",
        "UPDATE made AS m SET short = 'a' RETURNING m.id, short",
        "DELETE FROM made RETURNING id",
        "WITH w (a) AS (SELECT id, free FROM made) SELECT * FROM w",
        "SELECT i.s, j.id FROM (SELECT short AS s FROM made) i CROSS JOIN made j",
        "SELECT a.short, b.* FROM made a LEFT JOIN made b USING (id)",
        "SELECT * FROM made a JOIN (SELECT id, x AS y FROM made) b USING (id)",
        "SELECT * FROM made RIGHT JOIN (SELECT 1 AS id) b USING (id)",
        "SELECT * FROM made NATURAL JOIN (SELECT 1 AS id, 2 AS z) b",
        "SELECT id FROM made FULL JOIN (SELECT 1 AS id) b USING (id)",
        "SELECT DISTINCT id, x FROM made ORDER BY x",
        "SELECT x, count(*) FROM made GROUP BY x",
        "SELECT x FROM made UNION SELECT 1",
        "SELECT id, g FROM made, generate_series(1::bigint, 2) g",
        "SELECT m.amount, (SELECT max(x) FROM made) AS most FROM made m",
    ],
)
def test_columns_say_which_column_of_which_table_they_are(
    both: tuple[Connection, Connection], query: str, prepared: bool
) -> None:
    gateway, postgres = (_told(con, query, prepared=prepared) for con in both)
    assert gateway == postgres


def test_columns_of_views_are_the_views(both: tuple[Connection, Connection]) -> None:
    query = "SELECT id, short FROM seen"
    gateway, postgres = ([row[:2] for row in _told(con, query, prepared=False)] for con in both)
    assert gateway == postgres == [("seen", 2), ("seen", 1)]


def test_enums_are_of_their_type(both: tuple[Connection, Connection]) -> None:
    for con in both:
        con.execute("CREATE TYPE mood AS ENUM ('sad', 'glad')")
        con.execute("CREATE TABLE moody (id INTEGER PRIMARY KEY, m mood)")
        rows = con.execute("SELECT m FROM moody").pgresult
        (number,) = con.execute("SELECT 'mood'::regtype::oid").fetchone() or ()
        assert rows is not None
        assert rows.ftype(0) == number
        con.execute("DROP TABLE moody")
        con.execute("DROP TYPE mood")


def test_clients_hear_of_settings_that_change(both: tuple[Connection, Connection]) -> None:
    heard: list[list[str | None]] = []
    for con in both:
        told: list[str | None] = []

        def tell(con: Connection = con, told: list[str | None] = told) -> None:
            names = ("TimeZone", "application_name", "default_transaction_read_only")
            told.extend(con.info.parameter_status(name) for name in names)

        con.execute("SET TIME ZONE 'Asia/Tokyo'")
        con.execute("SET application_name = 'mine'")
        tell()
        with con.transaction():
            con.execute("SET LOCAL timezone = 'America/New_York'")
            tell()
        tell()
        con.execute("SET default_transaction_read_only = on")
        tell()
        con.execute("SET default_transaction_read_only = off")
        con.execute("RESET application_name")
        con.execute("SET TIME ZONE 'Europe/Berlin'")
        tell()
        heard.append(told)
    assert heard[0] == heard[1]
