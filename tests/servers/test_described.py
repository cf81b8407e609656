"""What the extended protocol says of statements before they run, beside a real PostgreSQL.

Drivers of Java, Go and Python read rows by it, and stop where rows come that were not announced.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Iterator

import pytest
from psycopg import Connection

asyncpg = pytest.importorskip("asyncpg")

TABLE = "CREATE TABLE told (id INTEGER PRIMARY KEY, name TEXT)"
ZONED = dt.datetime(2024, 7, 1, 23, 30, tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=30)))


@pytest.fixture
def both(gateway: Connection, postgres: Connection) -> Iterator[tuple[Connection, Connection]]:
    """The gateway and the oracle, each with a table of two rows."""
    for con in (gateway, postgres):
        con.execute("DROP TABLE IF EXISTS told")
        con.execute(TABLE)
        con.execute("INSERT INTO told VALUES (1, 'a'), (2, 'b')")
    yield gateway, postgres
    for con in (gateway, postgres):
        con.execute("DROP TABLE IF EXISTS told")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, name FROM told WHERE id = %s FOR UPDATE",
        "SELECT t.name FROM told t WHERE id >= %s ORDER BY id LIMIT 1 FOR NO KEY UPDATE OF t",
        "WITH d AS (DELETE FROM told WHERE id = %s RETURNING *) SELECT count(*) AS n FROM d",
        "WITH u AS (UPDATE told SET name = 'c' WHERE id = %s RETURNING name, id) SELECT * FROM u",
        "WITH i AS (INSERT INTO told VALUES (%s + 7, 'x') RETURNING id) SELECT id AS made FROM i",
        (
            "WITH d AS (DELETE FROM told WHERE id = %s RETURNING id), i AS (INSERT INTO told"
            " SELECT id + 10, 'y' FROM d RETURNING id) SELECT d.id AS was, i.id AS now FROM d, i"
        ),
    ],
)
def test_rows_of_statements_that_also_write_are_announced(
    both: tuple[Connection, Connection], query: str
) -> None:
    found = []
    for con in both:
        with con.transaction(force_rollback=True), con.cursor() as cursor:
            rows = cursor.execute(query, (1,), prepare=True).fetchall()
            found.append(([c.name for c in cursor.description or ()], rows))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "outputs",
    [
        "version()",
        "current_database(), pg_backend_pid()",
        "count(*), max(relname), relname::text, 1 = 1 FROM pg_class GROUP BY 3",
        "'pg_class'::regclass, pg_catalog.format_type(23, NULL), n.* FROM pg_namespace n",
        "CASE WHEN relhasindex THEN 1 END, ARRAY[1], coalesce(relkind, 'x') FROM pg_class",
    ],
)
def test_outputs_of_the_catalog_are_called_as_postgresql_calls_them(
    gateway: Connection, postgres: Connection, outputs: str
) -> None:
    query = f"SELECT {outputs} LIMIT 1"
    found, wanted = (
        [c.name for c in con.execute(query).description or ()] for con in (gateway, postgres)
    )
    assert found == wanted


def test_digits_are_those_of_columns_and_casts(gateway: Connection, postgres: Connection) -> None:
    """ODBC and PDO tell programs the digits of a NUMERIC; one that is computed has none."""
    found = []
    for con in (gateway, postgres):
        con.execute("CREATE TABLE digits (n NUMERIC(10, 2), m NUMERIC)")
        query = (
            "SELECT n, m, n * 2, n + m, -n AS o, (n * n) AS p, sum(n), min(n), n::numeric(5, 1),"
            " round(n, 1), abs(n) FROM digits GROUP BY n, m"
        )
        told = con.execute(query).pgresult
        assert told is not None
        found.append([(told.ftype(c), told.fmod(c)) for c in range(told.nfields)])
        con.execute("DROP TABLE digits")
    assert found[0] == found[1]


@pytest.mark.first(18)
@pytest.mark.parametrize(
    "text",
    [
        *("1999-12-31 +01", "1999-12-31+05:30", "Jan 8, 1999", "0044-03-15 BC", "19990108"),
        *("2024-07-01 23:30:00 PST", "2024-07-01 23:30:00.5+02", "infinity", "2024-07-01T10:00Z"),
    ],
)
@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP", "TIMESTAMPTZ"])
def test_texts_of_moments_that_drivers_send_without_a_type(
    gateway: Connection, postgres: Connection, text: str, kind: str
) -> None:
    """JDBC sends dates and timestamps of Java so, each with the zone of the program."""
    found, table = [], f"moments_{kind.lower()}"
    for con in (gateway, postgres):
        con.execute(f"DROP TABLE IF EXISTS {table}")
        con.execute(f"CREATE TABLE {table} (at {kind})")
        for value in ("%s", f"('{text}')"):
            con.execute(f"INSERT INTO {table} VALUES ({value})", (text,) if "%" in value else None)
        own = f"SELECT count(*) FROM {table} WHERE at = %s AND at = %s"
        with con.cursor() as cursor:
            counted = cursor.execute(own, (text, text)).fetchall()
            shown = cursor.execute(f"SELECT at FROM {table}").pgresult
        assert shown is not None
        found.append((counted, [shown.get_value(row, 0) for row in range(shown.ntuples)]))
        con.execute(f"DROP TABLE {table}")
    assert found[0] == found[1]


@pytest.mark.parametrize("mark", ["%s", "%b", "%t"])
@pytest.mark.parametrize("kind", ["TIMESTAMP", "TIMESTAMPTZ", "DATE"])
def test_an_instant_for_a_column_without_zones_is_that_of_the_session(
    gateway: Connection, postgres: Connection, mark: str, kind: str
) -> None:
    """It lost its zone, and was stored as the clock of the place that it came from."""
    found, table = [], f"moments_{kind.lower()}"
    for con in (gateway, postgres):
        con.execute(f"DROP TABLE IF EXISTS {table}")
        con.execute(f"CREATE TABLE {table} (at {kind})")
        con.execute(f"INSERT INTO {table} VALUES ({mark})", (ZONED,))
        matches = f"SELECT at FROM {table} WHERE at = {mark}"
        (row,) = con.execute(f"SELECT at FROM {table}").fetchall()
        found.append((row, len(con.execute(matches, (ZONED,)).fetchall())))
        con.execute(f"DROP TABLE {table}")
    assert found[0] == found[1]


def test_jdbc_finds_foreign_keys_and_keywords(gateway: Connection, postgres: Connection) -> None:
    """Its driver joins the index of the parent, and reads how many columns an index may have."""
    keys = (
        "SELECT c.conname, i.relname FROM pg_catalog.pg_constraint c, pg_catalog.pg_class i"
        " WHERE c.contype = 'f' AND i.relkind = 'i' AND i.oid = c.conindid"
        " AND c.conrelid = 'below'::regclass ORDER BY 1"
    )
    words = "SELECT count(*) FROM pg_catalog.pg_get_keywords() WHERE word <> ALL ('{a}'::text[])"
    most = "SELECT setting FROM pg_catalog.pg_settings WHERE name = 'max_index_keys'"
    found = []
    for con in (gateway, postgres):
        con.execute("CREATE TABLE above (id INTEGER PRIMARY KEY, a TEXT, b TEXT, UNIQUE (a, b))")
        con.execute("CREATE UNIQUE INDEX above_b ON above (b)")
        con.execute(
            "CREATE TABLE below (id INTEGER REFERENCES above, a TEXT, b TEXT REFERENCES above (b),"
            " FOREIGN KEY (b, a) REFERENCES above (b, a))"
        )
        found.append((con.execute(keys).fetchall(), con.execute(most).fetchall()))
        assert con.execute("SELECT pg_sequence_last_value(NULL)").fetchall() == [(None,)]
        (count,) = con.execute(words).fetchone() or (0,)
        assert count > 300
        con.execute("DROP TABLE below, above")
    assert found[0] == found[1]
    assert len(found[0][0]) == 3


def test_drivers_prepare_a_statement_of_a_changed_table_again(
    both: tuple[Connection, Connection],
) -> None:
    """They know it by PostgreSQL's words, which stand alone in the message."""

    async def use(con: Connection) -> list[tuple[object, ...]]:
        info = con.info
        own = await asyncpg.connect(
            host=info.host, port=info.port, user=info.user, database=info.dbname
        )
        query = "SELECT * FROM told WHERE id = $1"
        before = await own.fetch(query, 1)
        con.execute("ALTER TABLE told ADD COLUMN more INTEGER DEFAULT 7")
        after = await own.fetch(query, 1)
        await own.close()
        return [tuple(row) for row in (*before, *after)]

    found, wanted = (asyncio.run(use(con)) for con in both)
    assert found == wanted == [(1, "a"), (1, "a", 7)]


@pytest.mark.parametrize("binary", [False, True])
def test_texts_of_a_length_are_filled_up_and_json_is_no_jsonb(
    gateway: Connection, postgres: Connection, *, binary: bool
) -> None:
    found = []
    for con in (gateway, postgres):
        con.execute("DROP TABLE IF EXISTS filled")
        con.execute("CREATE TABLE filled (k CHAR(5) PRIMARY KEY, j JSON, b JSONB)")
        con.execute("""INSERT INTO filled VALUES ('ab', '{"b": 1,"a":1}', '{"b": 1,"a":1}')""")
        cursor = con.execute("SELECT * FROM filled", binary=binary)
        types = [column.type_code for column in cursor.description or ()]
        found.append((types, cursor.fetchall()))
        con.execute("DROP TABLE filled")
    assert found[0] == found[1]


_BESIDE = "SELECT a.id, q.id FROM told a JOIN (SELECT x.id FROM told y LEFT JOIN told x ON true) q"


@pytest.mark.parametrize(
    ("query", "nullable"),
    [
        ("SELECT id, name FROM told WHERE id = $1", []),
        ("SELECT a.id, b.id FROM told a LEFT JOIN told b ON b.id = a.id + $1", [1]),
        ("SELECT id, 1 AS one FROM told a LEFT JOIN told b USING (id) WHERE id = $1", [0, 1]),
        (
            (
                "SELECT a.id, b.id, c.id FROM told a JOIN told c ON c.id = a.id"
                " RIGHT JOIN told b ON b.id = a.id + $1"
            ),
            [0, 2],
        ),
        (f"{_BESIDE} ON q.id = $1", [0, 1]),
    ],
)
def test_plans_name_the_outputs_of_prepared_statements(
    both: tuple[Connection, Connection], query: str, nullable: list[int]
) -> None:
    """sqlx asks for them, to see which columns an outer join may leave NULL."""
    found = []
    for con in both:
        con.pgconn.prepare(b"asked", query.encode())
        explain = "EXPLAIN (VERBOSE, FORMAT JSON) EXECUTE asked(NULL)"
        found.append(con.execute(explain.encode()).fetchall()[0][0][0]["Plan"])
        con.execute("DEALLOCATE asked")
    mine, wanted = found
    assert len(set(mine["Output"])) == len(wanted["Output"])
    inner = mine.get("Plans", [{"Output": []}])[0]["Output"]
    assert [mine["Output"].index(output) for output in inner] == nullable
