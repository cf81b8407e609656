"""What ``information_schema`` lists to clients of the server, as PostgreSQL does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import Connection

from tests.servers.conftest import Server

MADE = (
    (
        "CREATE TABLE info_a (id SERIAL PRIMARY KEY, big BIGSERIAL, name VARCHAR(80) NOT NULL"
        " DEFAULT 'x', code CHAR(3), price NUMERIC(9, 2), ratio DOUBLE PRECISION, day DATE,"
        " at TIMESTAMP, since TIMESTAMPTZ, tags TEXT[], extra JSONB, u UUID, ok BOOLEAN,"
        " n INTEGER CHECK (n > 0), small SMALLINT, pic BYTEA, gap INTERVAL,"
        " CONSTRAINT info_u UNIQUE (name, n))"
    ),
    (
        "CREATE TABLE info_b (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a INTEGER,"
        " name VARCHAR(80), n INTEGER, twice INTEGER GENERATED ALWAYS AS (n * 2) STORED,"
        " CONSTRAINT info_f FOREIGN KEY (a) REFERENCES info_a (id) ON DELETE CASCADE,"
        " CONSTRAINT info_g FOREIGN KEY (n, name) REFERENCES info_a (n, name)"
        " ON UPDATE SET NULL DEFERRABLE INITIALLY DEFERRED)"
    ),
    "CREATE VIEW info_v AS SELECT id, name, price FROM info_a",
    "CREATE SEQUENCE info_s START 5 INCREMENT 2",
    "CREATE TABLE info_c (id BIGINT PRIMARY KEY DEFAULT nextval('info_s'))",
    (
        "CREATE TABLE info_d (a TEXT DEFAULT 'it''s', b VARCHAR(10) DEFAULT '', c CHAR(3) DEFAULT"
        " 'abc', d BOOLEAN DEFAULT TRUE, e INT DEFAULT -1, f NUMERIC(10, 2) DEFAULT 0.5, g DATE"
        " DEFAULT '2020-01-01', h TIMESTAMPTZ DEFAULT now(), i UUID DEFAULT gen_random_uuid(),"
        " j JSONB DEFAULT '{}', k TEXT[] DEFAULT '{}', l INTERVAL DEFAULT '1 day', m TEXT DEFAULT"
        " NULL, n INT DEFAULT (1 + 2) * 3, o INT[] DEFAULT ARRAY[1, 2], p JSON DEFAULT '[]'::json,"
        ' q TIMESTAMP(3), r VARCHAR(5), "order" INT GENERATED ALWAYS AS (e * 2) STORED,'
        " CONSTRAINT info_d1 CHECK (e > 9), CONSTRAINT info_d2 CHECK (d OR NOT e > 1))"
    ),
    "ALTER TABLE info_d RENAME COLUMN d TO renamed",
    'CREATE INDEX info_d3 ON info_d (lower(a), "order") WHERE renamed',
    "CREATE UNIQUE INDEX info_d4 ON info_d ((e + 1), b) WHERE e > 3 AND renamed",
    "CREATE VIEW info_w AS SELECT a, e FROM info_d WHERE renamed",
)
GONE = (
    "DROP VIEW info_w",
    "DROP TABLE info_d",
    "DROP TABLE info_c",
    "DROP VIEW info_v",
    "DROP TABLE info_b",
    "DROP TABLE info_a",
    "DROP SEQUENCE info_s",
)
QUESTIONS = (
    (
        "SELECT * FROM information_schema.tables WHERE table_name LIKE 'info\\__'"
        " AND table_type <> 'VIEW' ORDER BY table_name"
    ),
    (
        "SELECT * FROM information_schema.columns WHERE table_name = 'info_b'"
        " AND column_name <> 'twice' ORDER BY ordinal_position"
    ),
    (
        "SELECT column_name, column_default, is_nullable, data_type, character_maximum_length,"
        " character_octet_length, numeric_precision, numeric_precision_radix, numeric_scale,"
        " datetime_precision, udt_name, is_identity, is_generated, is_updatable"
        " FROM information_schema.columns WHERE table_name = 'info_a' AND column_name <> 'name'"
        " ORDER BY ordinal_position"
    ),
    # Without what only PostgreSQL's relation has, as Knex asks.
    (
        "SELECT column_name, data_type, character_maximum_length, is_nullable"
        " FROM information_schema.columns WHERE table_name = 'info_a' AND table_schema ="
        " current_schema() ORDER BY ordinal_position"
    ),
    (
        "SELECT * FROM information_schema.table_constraints WHERE table_name LIKE 'info\\_%'"
        " AND constraint_name NOT LIKE '%not_null' ORDER BY constraint_name"
    ),
    (
        "SELECT count(*) FROM information_schema.check_constraints"
        " WHERE constraint_name LIKE 'info\\_%'"
    ),
    (
        "SELECT * FROM information_schema.key_column_usage WHERE table_name LIKE 'info\\_%'"
        " ORDER BY constraint_name, ordinal_position"
    ),
    (
        "SELECT * FROM information_schema.referential_constraints"
        " WHERE constraint_name LIKE 'info\\_%' ORDER BY constraint_name"
    ),
    (
        "SELECT * FROM information_schema.constraint_column_usage WHERE table_name LIKE 'info\\_%'"
        " ORDER BY constraint_name, column_name"
    ),
    "SELECT * FROM information_schema.sequences WHERE sequence_name LIKE 'info\\_%' ORDER BY 3",
    "SELECT table_name FROM information_schema.views WHERE table_name LIKE 'info\\__'",
    (
        "SELECT schema_name FROM information_schema.schemata"
        " WHERE schema_name IN ('public', 'main', 'pg_catalog')"
    ),
    "SELECT current_schema(), current_schemas(false), pg_get_serial_sequence('info_a', 'id')",
    (
        "SELECT 'public.info_a'::regclass::text, pg_get_serial_sequence('public.info_a', 'big'),"
        " has_schema_privilege('public', 'usage')"
    ),
    (
        "SELECT 'info_a'::regclass || '!', concat('info_b'::regclass, 1),"
        " upper(('info_a'::regclass)::text)"
    ),
    (
        "SELECT oid::regclass || ' of ' || relnamespace::regnamespace FROM pg_class"
        " WHERE relname = 'info_a' AND relnamespace = 'public'::regnamespace"
    ),
    "SELECT schemaname, viewname FROM pg_views WHERE viewname LIKE 'info\\_%'",
    "SELECT schemaname, tablename, indexname FROM pg_indexes WHERE tablename = 'info_b'",
    "SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'info_c'::regclass",
    (
        "SELECT attname, atthasdef, pg_get_expr(adbin, adrelid) FROM pg_attribute LEFT JOIN"
        " pg_attrdef ON adrelid = attrelid AND adnum = attnum"
        " WHERE attrelid = 'info_d'::regclass AND attnum > 0 ORDER BY attnum"
    ),
    (
        "SELECT pg_get_constraintdef(oid) FROM pg_constraint"
        " WHERE conrelid = 'info_d'::regclass ORDER BY conname"
    ),
    (
        "SELECT pg_get_indexdef(indexrelid), pg_get_indexdef(indexrelid, 1, true) FROM pg_index"
        " WHERE indrelid = 'info_d'::regclass ORDER BY 1"
    ),
    # Sequelize's describeTable, which asks pg_catalog too.
    (
        "SELECT pk.constraint_type, c.column_name, c.is_nullable, (SELECT count(e.enumlabel)"
        " FROM pg_catalog.pg_type t JOIN pg_catalog.pg_enum e ON t.oid = e.enumtypid"
        " WHERE t.typname = c.udt_name) AS special FROM information_schema.columns c LEFT JOIN"
        " (SELECT tc.table_schema, tc.table_name, cu.column_name, tc.constraint_type"
        " FROM information_schema.TABLE_CONSTRAINTS tc JOIN information_schema.KEY_COLUMN_USAGE cu"
        " ON tc.table_schema = cu.table_schema AND tc.table_name = cu.table_name"
        " AND tc.constraint_name = cu.constraint_name AND tc.constraint_type = 'PRIMARY KEY') pk"
        " ON pk.table_schema = c.table_schema AND pk.table_name = c.table_name"
        " AND pk.column_name = c.column_name WHERE c.table_name = 'info_a' ORDER BY 2"
    ),
    # Sequences of SERIAL, as tools that reset them find them.
    "SELECT pg_get_serial_sequence('info_a', 'id') IS NOT NULL",
    (
        "SELECT attname, attidentity, atthasdef FROM pg_attribute"
        " WHERE attrelid = 'info_a'::regclass AND attnum BETWEEN 1 AND 3 ORDER BY attnum"
    ),
    (
        "SELECT sequencename, data_type, start_value, increment_by FROM pg_sequences"
        " WHERE sequencename LIKE 'info\\_%' ORDER BY 1"
    ),
)
_NAMES = {"postgres": "palimpsest"}


@pytest.fixture(scope="module")
def both(server: Server, postgres: Connection) -> Iterator[tuple[Connection, Connection]]:
    with psycopg.connect(server.dsn, autocommit=True) as ours:
        for con in (ours, postgres):
            for sql in MADE:
                con.execute(sql)
        yield ours, postgres
        for con in (ours, postgres):
            for sql in GONE:
                con.execute(sql)


@pytest.mark.parametrize("question", QUESTIONS)
def test_it_lists_what_postgresql_lists(both: tuple[Connection, Connection], question: str) -> None:
    ours, theirs = (con.execute(question) for con in both)
    assert [c.name for c in ours.description or ()] == [c.name for c in theirs.description or ()]
    assert ours.fetchall() == [tuple(map(_ours, row)) for row in theirs.fetchall()]


def test_names_are_of_their_own_type(both: tuple[Connection, Connection]) -> None:
    question = (
        "SELECT c.relname, array_agg(a.attname ORDER BY attnum), relname::text, max(attnum),"
        " ARRAY(SELECT attname FROM pg_attribute WHERE attrelid = c.oid AND attnum = 2), ("
        "SELECT nspname FROM pg_namespace n WHERE n.oid = c.relnamespace) FROM pg_class c"
        " JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.relname = 'info_b' AND a.attnum > 0"
        " GROUP BY c.oid, c.relname, c.relnamespace"
    )
    ours, theirs = (con.execute(question) for con in both)
    for cursor in (ours, theirs):
        assert [c.type_code for c in cursor.description or ()] == [19, 1003, 25, 21, 1003, 19]
    assert ours.fetchall() == theirs.fetchall()


def test_it_lists_the_relations_of_the_gateway(server: Server) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as con:
        found = con.execute(
            "SELECT data_type FROM information_schema.columns"
            " WHERE table_schema = 'system' AND table_name = 'sessions' AND column_name = 'id'"
        )
        assert found.fetchall() == [("bigint",)]
        found = con.execute(
            "SELECT table_type FROM information_schema.tables"
            " WHERE table_schema = 'system' AND table_name = 'sessions'"
        )
        assert found.fetchall() == [("VIEW",)]


def _ours(value: Any) -> Any:
    return _NAMES.get(value, value) if isinstance(value, str) else value
