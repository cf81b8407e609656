"""Names that a query on the catalog makes of others, names with quotes, and texts of checks.

Also what the next session finds in a catalog that another one has left.
"""

from __future__ import annotations

import psycopg
from psycopg import Connection

from gateway.servers.pg_catalog.database import IdleDatabases, PgCatalogDatabase

SETUP = (
    "CREATE SCHEMA named",
    "CREATE TYPE named.\"Mood\" AS ENUM ('sad', 'ok')",
    'CREATE TABLE named."Odd" (id SERIAL PRIMARY KEY, "Select" SERIAL, m named."Mood")',
    "CREATE TABLE named.plain (id SERIAL PRIMARY KEY, n INTEGER CHECK (n > 0))",
    "CREATE INDEX plain_n ON named.plain (n DESC, id NULLS FIRST)",
    'CREATE TABLE "Home" (id SERIAL PRIMARY KEY)',
    "ALTER TABLE named.plain ALTER COLUMN id TYPE BIGINT",
    "CREATE INDEX plain_with ON named.plain (n) INCLUDE (id)",
    'CREATE TABLE named.texts (t VARCHAR(5) COLLATE "sv-x-icu", u VARCHAR(5), v TEXT)',
    'ALTER TABLE named.texts ALTER COLUMN u TYPE VARCHAR(7) COLLATE "de-x-icu"',
    'ALTER TABLE named.texts ALTER COLUMN t TYPE VARCHAR(6) COLLATE "en-US-x-icu"',
)
_TABLES = "information_schema.tables WHERE table_schema = 'named' ORDER BY table_name"
QUESTIONS = (
    (
        "SELECT indkey::text, indnkeyatts, indnatts, pg_get_indexdef(indexrelid),"
        " array_length(indclass, 1) FROM pg_index WHERE indexrelid = 'named.plain_with'::regclass"
    ),
    "SELECT attname FROM pg_attribute WHERE attrelid = 'named.plain_with'::regclass ORDER BY 1",
    (
        "SELECT column_name, collation_schema, collation_name, character_maximum_length"
        " FROM information_schema.columns WHERE table_name = 'texts' ORDER BY column_name"
    ),
    (
        "SELECT attname, collname FROM pg_attribute JOIN pg_collation c ON c.oid = attcollation"
        " WHERE attrelid = 'named.texts'::regclass ORDER BY attnum"
    ),
    # MikroORM: the comment of each table.
    (
        "SELECT table_name, (SELECT obj_description(c.oid) FROM pg_class c WHERE c.oid ="
        " (SELECT ('\"' || table_schema || '\".\"' || table_name || '\"')::regclass::oid)"
        f" AND c.relname = table_name) FROM {_TABLES}"
    ),
    f"SELECT (table_schema || '.' || quote_ident(table_name))::regclass FROM {_TABLES}",
    f"SELECT format('%I.%I', table_schema, table_name)::regclass::oid::regclass FROM {_TABLES}",
    f"SELECT pg_table_is_visible(format('%s.%I', 'named', table_name)::regclass) FROM {_TABLES}",
    f"SELECT pg_catalog.format('%2$I of %1$L', table_schema, table_name) FROM {_TABLES}",
    f"SELECT concat(table_schema, '.plain')::regclass::oid IS NULL FROM {_TABLES}",
    "SELECT quote_ident(relname)::regclass FROM pg_class WHERE relname = 'Home'",
    "SELECT ('named.' || tablename)::regclass FROM pg_tables WHERE tablename = 'plain'",
    (
        "SELECT oid::regclass, quote_ident(relname) FROM pg_class"
        " WHERE relname IN ('Home', 'Odd') ORDER BY relname"
    ),
    "SELECT pg_get_serial_sequence('named.\"Odd\"', 'Select')",
    "SELECT pg_get_serial_sequence('named.\"Odd\"', 'Select')::regclass",
    "SELECT format_type(atttypid, -1) FROM pg_attribute WHERE attname = 'm' AND attnum = 3",
    "SELECT quote_ident('order'), quote_ident('a b'), quote_ident('plain')",
    # Prisma: the columns of relations whose rows are of a type.
    (
        "SELECT relname, t.typname, t.typtype, t.typrelid = c.oid, reltype > 0 FROM pg_class c"
        " LEFT JOIN pg_type t ON t.oid = c.reltype WHERE relkind IN ('r', 'S')"
        " AND relnamespace = 'named'::regnamespace ORDER BY relname"
    ),
    # DBD::Pg's statistics_info: how an index orders its columns.
    (
        "SELECT array_agg(pg_index_column_has_property('named.plain_n'::regclass, n, p)"
        " ORDER BY n, p)"
        " FROM (VALUES ('asc'), ('desc'), ('nulls_first'), ('nulls_last'), ('orderable'),"
        " ('distance_orderable'), ('returnable'), ('search_array'), ('search_nulls'), ('no'))"
        " AS v(p), (VALUES (1), (2), (3)) AS w(n)"
    ),
    # What was SERIAL stays so when its type is changed.
    (
        "SELECT column_name, column_default, is_identity, data_type"
        " FROM information_schema.columns WHERE table_name = 'plain' ORDER BY 1"
    ),
    (
        "SELECT conname, pg_get_expr(conbin, conrelid), pg_get_constraintdef(oid)"
        " FROM pg_constraint WHERE conrelid = 'named.plain'::regclass ORDER BY 1"
    ),
    (
        "SELECT check_clause FROM information_schema.check_constraints"
        " WHERE constraint_name = 'plain_n_check'"
    ),
)


def test_names_are_those_of_postgresql(gateway: Connection, postgres: Connection) -> None:
    for con in (gateway, postgres):
        for statement in SETUP:
            con.execute(statement)
    try:
        for question in QUESTIONS:
            found = gateway.execute(question).fetchall()
            assert found == postgres.execute(question).fetchall(), question
    finally:
        for con in (gateway, postgres):
            con.execute("DROP SCHEMA named CASCADE")
            con.execute('DROP TABLE "Home"')


CHECKS = (
    *("kind IN ('a', 'b')", "kind IN ('a')", "kind NOT IN ('it''s', 'b')", "'a' <> kind"),
    *("code IN ('x', 'y') AND code <> 'z'", "code NOT LIKE '%z'", "pad IN ('aa', 'bb')"),
    *("n IN (1, 2)", "n > -1", "n BETWEEN 1 AND 5", "n NOT BETWEEN 1 AND 5", "b IN (1, -2)"),
    *("NOT (n = 3)", "p >= 0", "p > 0.5 AND p <> -2", "f BETWEEN -1 AND 1.5", "d > '2020-01-01'"),
    *("u <> '00000000-0000-0000-0000-000000000000'", "mood IN ('sad')", "mood IN ('sad', 'ok')"),
    *("kind LIKE 'a%' OR NOT (kind ILIKE '%q')", "(kind = 'a') = (n = 1)", '"Odd" <> 0'),
)


def test_checks_are_spelled_by_the_types_of_their_columns(
    gateway: Connection, postgres: Connection
) -> None:
    """As MikroORM and migrations compare them with what they would declare."""
    found = []
    for con in (gateway, postgres):
        con.execute("CREATE TYPE checked_mood AS ENUM ('sad', 'ok')")
        checks = ", ".join(f"CONSTRAINT c{n:02} CHECK ({c})" for n, c in enumerate(CHECKS))
        con.execute(
            "CREATE TABLE checked (kind TEXT, code VARCHAR(9), pad CHAR(2), n INTEGER, b BIGINT,"
            ' p NUMERIC(9, 2), f FLOAT, d DATE, u UUID, mood checked_mood, "Odd" INTEGER,'
            f" {checks})"
        )
        con.execute("CREATE INDEX checked_some ON checked (n) WHERE kind = 'a' AND p > 0")
        query = (
            "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint"
            " WHERE conrelid = 'checked'::regclass AND contype = 'c' UNION ALL"
            " SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'checked' ORDER BY 1"
        )
        found.append(con.execute(query).fetchall())
        con.execute("DROP TABLE checked")
        con.execute("DROP TYPE checked_mood")
    assert found[0] == found[1]


def test_the_database_is_called_as_the_client_calls_it(gateway: Connection) -> None:
    """MikroORM looks for its database among them, and would make it."""
    question = (
        "SELECT current_database(), (SELECT datname FROM pg_database),"
        " (SELECT DISTINCT catalog_name FROM information_schema.schemata)"
    )
    assert gateway.execute(question).fetchall() == [("palimpsest",) * 3]
    with psycopg.connect(gateway.info.dsn, dbname="elsewhere") as other:
        (named,) = other.execute(question).fetchall()
    assert len(set(named)) == 1
    assert "elsewhere" not in named


def test_views_name_functions_of_the_home_schema_alone(gateway: Connection) -> None:
    for sql in (
        "CREATE SCHEMA away",
        "CREATE FUNCTION one() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE FUNCTION away.one() RETURNS int LANGUAGE sql AS 'SELECT 2'",
        "CREATE VIEW away.ones AS SELECT one() AS a, away.one() AS b",
    ):
        gateway.execute(sql)
    try:
        asked = gateway.execute("SELECT pg_get_viewdef('away.ones'::regclass)")
        assert asked.fetchone() == (" SELECT one() AS a, away.one() AS b;",)
    finally:
        gateway.execute("DROP SCHEMA away CASCADE")
        gateway.execute("DROP FUNCTION one()")


def test_a_catalog_that_is_left_shows_the_next_session_its_own() -> None:
    def rows(name: str) -> dict[str, list[dict[str, object]]]:
        schema = {"oid": 1, "nspname": f"of_{name}"}
        of = {"oid": 7, "relname": name, "relnamespace": 1, "relkind": "r", "relpersistence": "p"}
        return {"pg_namespace": [schema], "pg_class": [of]}

    def shown(database: PgCatalogDatabase, name: str) -> list[object]:
        database.fill(rows(name), {"database": f"db_{name}"})
        query = "SELECT table_catalog || '.' || table_name FROM pgc.standard_tables"
        tables = "SELECT schemaname || '.' || tablename FROM pgc.pg_tables"
        queries = (f"{query} WHERE table_schema <> 'system' AND table_name NOT LIKE 'pg_%'", tables)
        return [
            value for sql in queries for value in database.query(sql, [])[1].column(0).to_pylist()
        ]

    idle = IdleDatabases()
    first = idle.take()
    assert shown(first, "a") == shown(first, "a")
    idle.leave(first)
    second = idle.take()
    assert second is first
    assert shown(second, "b")[-1] == "of_b.b"
    assert "db_b.b" in shown(second, "b")
    assert not any(str(value).endswith(".a") for value in shown(second, "b"))
    second.close()


TYPES = (
    *("int", "INT4", "numeric(10, 2)", "varchar(10)", "character varying (3)", "char(3)", "int[]"),
    *("timestamp(3) with time zone", "time(3)", "numeric(10,2)[]", "interval day to second"),
    *("float(10)", "float", "double precision", "_text", "bit varying(4)", 'pg_catalog."char"'),
    *("nono", "public.nono", "varying", "serial"),
)


def test_types_are_named_or_do_not_exist(gateway: Connection, postgres: Connection) -> None:
    for name in TYPES:
        found: list[object] = []
        for connection in (gateway, postgres):
            try:
                found.append(connection.execute(f"SELECT '{name}'::regtype::text").fetchall())
            except psycopg.Error as error:
                found.append(error.sqlstate)
        assert found[0] == found[1], name
