"""What tools that migrate a database, and frameworks, ask and say: the answers of PostgreSQL."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import Connection

SETUP = (
    "CREATE SCHEMA asked",
    "CREATE TABLE asked.pairs (a INTEGER, b INTEGER, c TEXT, PRIMARY KEY (c, a))",
    "CREATE TABLE asked.counted (id BIGSERIAL PRIMARY KEY, a INTEGER)",
    "CREATE TYPE asked.mood AS ENUM ('sad', 'ok')",
    (
        "CREATE TABLE asked.sorted (a INTEGER PRIMARY KEY, t TEXT, m asked.mood,"
        " l INTEGER[], j JSONB DEFAULT '{}', p NUMERIC(9, 2))"
    ),
    "CREATE INDEX asked_up ON asked.sorted (a NULLS FIRST, t DESC, p DESC NULLS LAST)",
    "CREATE INDEX asked_kinds ON asked.sorted (m, l) WHERE a > 5",
    "CREATE INDEX asked_json ON asked.sorted USING gin (j)",
    "CREATE INDEX asked_made ON asked.sorted (lower(t), a)",
    (
        "CREATE TABLE asked.shown (a INTEGER, u UUID DEFAULT (gen_random_uuid()),"
        " n INTEGER DEFAULT (5), s INTEGER DEFAULT (1 + 2), since TIMESTAMPTZ DEFAULT (now()),"
        " CONSTRAINT one CHECK (a IS NOT NULL AND n IS NULL),"
        " CONSTRAINT two CHECK (NOT (a IS NULL)))"
    ),
    "CREATE INDEX asked_some ON asked.shown (a) WHERE a IS NOT NULL OR (n > 1) IS NOT TRUE",
    "CREATE VIEW asked.seen AS (SELECT a FROM asked.sorted)",
    "CREATE TABLE asked_here (id SERIAL PRIMARY KEY, a INTEGER)",
)
FUNCTIONS = (
    "SELECT proname, oidvectortypes(proargtypes) AS args FROM pg_proc INNER JOIN pg_namespace ns"
    " ON (pg_proc.pronamespace = ns.oid) LEFT JOIN pg_depend dep ON dep.objid = pg_proc.oid"
    " AND dep.deptype = 'e' WHERE ns.nspname = 'asked' AND dep.objid IS NULL"
)
_PAIRS = "'asked.pairs'::regclass"
QUESTIONS = (
    # Alembic: how expressions are spelled.
    (
        "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint"
        " WHERE conrelid = 'asked.shown'::regclass ORDER BY 1"
    ),
    "SELECT indexdef FROM pg_indexes WHERE indexname = 'asked_some'",
    (
        "SELECT column_name, column_default FROM information_schema.columns"
        " WHERE table_name = 'shown' ORDER BY ordinal_position"
    ),
    # Atlas, which migrates for ent: methods of indexes, what checks say, subqueries in branches.
    (
        "SELECT i.relname, amname, pg_get_indexdef(i.oid), reloptions FROM pg_class i JOIN pg_am m"
        " ON m.oid = i.relam WHERE i.relname IN ('asked_json', 'asked_up') ORDER BY 1"
    ),
    (
        "SELECT conname, connoinherit FROM pg_constraint WHERE conrelid = 'asked.shown'::regclass"
        " ORDER BY 1"
    ),
    (
        "SELECT CASE WHEN c.relname = 'none' THEN (SELECT attname FROM pg_attribute WHERE attrelid"
        " = c.oid) ELSE relname END FROM pg_class c WHERE c.oid = 'asked.pairs'::regclass"
    ),
    (
        "SELECT idx.ord, (CASE WHEN idx.indisexclusion THEN (SELECT conexclop[idx.ord]::regoper"
        " FROM pg_constraint WHERE conindid = idx.indexrelid) END) AS excoper FROM (SELECT *,"
        f" generate_series(1, array_length(indkey, 1)) AS ord FROM pg_index) AS idx"
        f" WHERE indrelid = {_PAIRS} ORDER BY 1"
    ),
    # ADBC, which appends to a table: names with blanks around the dot.
    (
        """SELECT attname, atttypid FROM pg_attribute WHERE attnum > 0 AND attrelid ="""
        """ '"asked" . "pairs"'::regclass::oid ORDER BY attnum"""
    ),
    # Rails: the columns of a primary key, in their order.
    (
        "SELECT a.attname FROM (SELECT indrelid, indkey, generate_subscripts(indkey, 1) idx"
        f" FROM pg_index WHERE indrelid = {_PAIRS} AND indisprimary) i JOIN pg_attribute a"
        " ON a.attrelid = i.indrelid AND a.attnum = i.indkey[i.idx] ORDER BY i.idx"
    ),
    f"SELECT indkey::varchar, (i.indoption)::text FROM pg_index i WHERE indrelid = {_PAIRS}",
    (
        f"SELECT pg_relation_is_updatable({_PAIRS}, true), pg_column_is_updatable({_PAIRS},"
        f" 1::int2, false), pg_column_is_updatable({_PAIRS}, (-1)::int2, true)"
    ),
    # Vectors are counted from 0.
    (
        "SELECT indkey[0], (i.indkey)[1], indkey[2], array_lower(indkey, 1), indoption[0],"
        " array_upper(indkey, 1), array_length(indkey, 1), array_position(indkey, 3::int2)"
        f" FROM pg_index i WHERE indrelid = {_PAIRS}"
    ),
    # jOOQ: columns by the names of their schemas, rows as arguments, what the catalog itself has.
    (
        "SELECT information_schema.columns.column_name, information_schema._pg_char_max_length("
        "information_schema._pg_truetypid(a.*, t.*), information_schema._pg_truetypmod(a.*, t.*)),"
        " (information_schema._pg_numeric_precision(a.atttypid, a.atttypmod))::integer,"
        " (information_schema._pg_numeric_scale(a.atttypid, a.atttypmod))::integer,"
        " CASE WHEN pg_catalog.pg_class.relname LIKE ANY (ARRAY['%ort%', 'x']) THEN 1 END"
        " FROM information_schema.columns JOIN pg_catalog.pg_class"
        " ON pg_catalog.pg_class.relname = information_schema.columns.table_name"
        " JOIN pg_attribute a ON a.attrelid = pg_catalog.pg_class.oid AND a.attname ="
        " information_schema.columns.column_name JOIN pg_type t ON t.oid = a.atttypid"
        " WHERE information_schema.columns.table_schema = 'asked' AND relkind = 'r'"
        " ORDER BY 1, 2, 3, 5"
    ),
    (
        "SELECT table_name, table_type FROM information_schema.tables WHERE (table_schema,"
        " table_name) IN (('pg_catalog', 'pg_enum'), ('pg_catalog', 'pg_roles'),"
        " ('information_schema', 'attributes')) ORDER BY 1"
    ),
    (
        "SELECT column_name, ordinal_position FROM information_schema.columns"
        " WHERE table_name = 'pg_enum' ORDER BY 2"
    ),
    # pgAdmin: properties.
    (
        "SELECT relname, substring(array_to_string(reloptions, ',') FROM 'fillfactor=([0-9]*)'),"
        " substring(relname FROM 'so.*'), quote_literal('it''s'), sl.label, rel.xmin IS NULL"
        " FROM pg_class rel LEFT JOIN pg_seclabels sl ON sl.objoid = rel.oid"
        " WHERE relname IN ('pairs', 'sorted') ORDER BY 1"
    ),
    "SELECT umid FROM pg_user_mappings UNION ALL SELECT 1 FROM pg_prepared_xacts",
    "SELECT udt_name FROM information_schema.attributes WHERE udt_schema = 'asked'",
    f"SELECT conkey[1], conkey[2] FROM pg_constraint WHERE conrelid = {_PAIRS}",
    # Flyway, before it drops what is in a schema.
    FUNCTIONS,
    # drizzle-kit: columns, with the names that SQL has for their types.
    (
        "SELECT a.attname, CASE WHEN a.atttypid = ANY ('{int,int8,int2}'::regtype[]) AND EXISTS"
        " (SELECT FROM pg_attrdef ad WHERE ad.adrelid = a.attrelid AND ad.adnum = a.attnum"
        " AND pg_get_expr(ad.adbin, ad.adrelid) = 'nextval('''"
        " || pg_get_serial_sequence(a.attrelid::regclass::text, a.attname)::regclass"
        " || '''::regclass)') THEN CASE a.atttypid WHEN 'int'::regtype THEN 'serial'"
        " WHEN 'int8'::regtype THEN 'bigserial' END"
        " ELSE format_type(a.atttypid, a.atttypmod) END,"
        " pg_get_serial_sequence('asked.counted', a.attname)::regclass"
        " FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid"
        " WHERE a.attnum > 0 AND c.relname = 'counted'; -- in their order"
    ),
    "SELECT column_default FROM information_schema.columns WHERE table_name = 'sorted' ORDER BY 1",
    "SELECT 'char'::regtype = 'bpchar'::regtype, 'decimal'::regtype, 'float'::regtype",
    # pgjdbc: the types that it does not know, the order of the columns of an index, arguments.
    (
        "SELECT typinput = 'pg_catalog.array_in'::regproc AS is_array, typtype, typname"
        " FROM pg_type LEFT JOIN (SELECT ns.oid AS nspoid, ns.nspname, r.r FROM pg_namespace ns"
        " JOIN (SELECT s.r, (current_schemas(false))[s.r] AS nspname FROM generate_series(1,"
        " array_upper(current_schemas(false), 1)) AS s(r)) AS r USING (nspname)) AS sp"
        " ON sp.nspoid = typnamespace WHERE typname IN ('interval', '_text', 'mood')"
        " ORDER BY sp.r, typname"
    ),
    (
        "SELECT typname FROM pg_type WHERE typname IN ('int4', '_int4')"
        " AND 'array_in'::regproc <> typinput"
    ),
    (
        "SELECT tmp.key, CASE WHEN tmp.i_indoption[tmp.key - 1] & 1::smallint = 1 THEN 'D'"
        " ELSE 'A' END FROM (SELECT (information_schema._pg_expandarray(i.indkey)).n AS key,"
        " i.indoption AS i_indoption FROM pg_index i WHERE indexrelid = 'asked.asked_up'::regclass)"
        " AS tmp ORDER BY 1"
    ),
    "SELECT getdatabaseencoding(), pg_client_encoding()",
    # Indexes, with their classes of operators and their order.
    (
        "SELECT DISTINCT ON (ic.relname, k.i) ic.relname, k.i, coalesce(a.attname,"
        " pg_get_indexdef(i.indexrelid, k.i, false)), pg_get_expr(i.indexprs, i.indrelid) IS NULL,"
        " i.indoption[k.i-1] & 1 = 1, i.indoption[k.i-1] & 2 = 2, opc.opcname,"
        " pg_get_expr(i.indpred, i.indrelid) FROM pg_index i JOIN pg_class ic"
        " ON ic.oid = i.indexrelid CROSS JOIN LATERAL (SELECT unnest(i.indkey),"
        " generate_subscripts(i.indkey, 1) + 1) AS k(attnum, i) LEFT JOIN pg_attribute AS a"
        " ON i.indrelid = a.attrelid AND k.attnum = a.attnum"
        " JOIN pg_opclass opc ON opc.oid = i.indclass[k.i - 1]"
        " WHERE ic.relname LIKE 'asked%' OR ic.relname LIKE 'sorted%' ORDER BY ic.relname, k.i"
    ),
    "SELECT indexdef FROM pg_indexes WHERE indexname LIKE 'asked%' ORDER BY indexname",
    (
        "SELECT idx.indexrelname, idx.relname, schemaname, idx_scan FROM pg_stat_user_indexes idx"
        " WHERE schemaname = 'asked' ORDER BY 1"
    ),
    "SELECT relname FROM pg_stat_user_tables WHERE schemaname = 'asked' ORDER BY 1",
    # Rails, Django and loads of data: generated numbers go on behind the highest.
    "INSERT INTO asked.counted (a) VALUES (1), (2) RETURNING id",
    "SELECT setval(pg_get_serial_sequence('asked.counted', 'id'), 200)",
    "INSERT INTO asked.counted (a) VALUES (3) RETURNING id",
    'SELECT setval(\'"public"."asked_here_id_seq"\', 8, true)',
    "INSERT INTO asked_here (a) VALUES (3) RETURNING id",
    (
        "SELECT setval(pg_get_serial_sequence('\"asked_here\"', 'id'), coalesce(max(\"id\"), 1),"
        ' max("id") IS NOT null) FROM "asked_here"'
    ),
    "SELECT currval(pg_get_serial_sequence('asked_here', 'id'))",
)
INTERVALS = (
    (
        "SELECT i FROM (VALUES (interval '0'), (interval '1 year 2 mons -3 days 04:05:06.789'),"
        " (interval '-1 day'), (interval '-0.5 sec'), (interval '1 mon -00:00:01'),"
        " (interval '100 hours 30 sec')) v(i)"
    ),
    "SELECT interval 'P1Y2M10DT2H30M', array[interval '1 day 3 sec'], 'P1DT5M'::interval",
)


def _texts(con: Connection, query: str) -> list[list[bytes | None]]:
    found = con.pgconn.exec_(query.encode())
    assert not found.error_message, (query, found.error_message)
    columns = range(found.nfields)
    return [[found.get_value(row, c) for c in columns] for row in range(found.ntuples)]


def test_they_are_answered_as_by_postgresql(gateway: Connection, postgres: Connection) -> None:
    for con in (gateway, postgres):
        for statement in SETUP:
            con.execute(statement)
    for question in QUESTIONS:
        assert _texts(gateway, question) == _texts(postgres, question), question
    gateway.execute("CREATE MACRO asked.twice(a, b) AS a * b")
    assert [row[-1] for row in _texts(gateway, FUNCTIONS)] == [b'"any", "any"']
    # sqlx: a type by its number, with kinds as single bytes, and texts for names.
    query = b"SELECT typname, typtype, typcategory FROM pg_catalog.pg_type WHERE typname = $1"
    for oid in (0, 19, 25):
        typed = [
            con.pgconn.exec_params(query, [b"mood"], [oid], result_format=1)
            for con in (gateway, postgres)
        ]
        found, wanted = ([(r.ftype(c), r.get_value(0, c)) for c in range(r.nfields)] for r in typed)
        assert found == wanted, oid
    for con in (gateway, postgres):
        query = "SELECT count(*) FROM pg_class WHERE relnamespace = %s::regnamespace"
        assert con.execute(query, ("asked",)).fetchone() == (14,)
        # asyncpg reads vectors, too.
        query = f"SELECT indkey, indclass FROM pg_index WHERE indrelid = {_PAIRS}"
        told = con.pgconn.exec_params(query.encode(), [], result_format=1)
        head = b"\0\0\0\1\0\0\0\0\0\0\0"
        keys = head + b"\x15\0\0\0\2\0\0\0\0\0\0\0\2\0\3\0\0\0\2\0\1"
        assert told.get_value(0, 0) == keys
        assert (told.get_value(0, 1) or b"")[:20] == head + b"\x1a" + keys[12:20]
        query = "SELECT pg_get_viewdef('asked.seen'::regclass)"
        assert str(con.execute(query).fetchall()[0][0]).strip().startswith("SELECT")
        con.execute("DROP SCHEMA asked CASCADE")
        con.execute("DROP TABLE asked_here")


@pytest.mark.parametrize("style", ["ISO_8601", "postgres"])
def test_intervals_are_written_in_the_style_that_is_set(
    gateway: Connection, postgres: Connection, style: str
) -> None:
    """Rails sets one as it connects."""
    for con in (gateway, postgres):
        con.execute(f"SET intervalstyle = '{style}'")
        assert con.info.parameter_status("IntervalStyle") == style.lower()
    for query in ("SHOW intervalstyle", *INTERVALS):
        assert _texts(gateway, query) == _texts(postgres, query), query
    for con in (gateway, postgres):
        con.execute("RESET intervalstyle")
        assert con.info.parameter_status("IntervalStyle") == "postgres"


def test_what_was_made_since_begin_is_seen(gateway: Connection) -> None:
    # The catalog tells the columns of a view, for which the server has it described.
    gateway.execute("CREATE TABLE made_before (a INTEGER)")
    gateway.execute("CREATE VIEW seen_before AS SELECT a FROM made_before")
    gateway.execute("BEGIN")
    gateway.execute("SELECT count(*) FROM pg_class")
    with psycopg.connect(gateway.info.dsn, autocommit=True) as other:
        other.execute("CREATE TABLE made_since (a INTEGER)")
    found = gateway.execute("SELECT 1 FROM pg_class WHERE relname = 'made_since'").fetchall()
    assert found == [(1,)]
    assert gateway.execute("SELECT a FROM made_since").fetchall() == []
    gateway.execute("DROP TABLE made_since")
    gateway.execute("COMMIT")
    gateway.execute("DROP TABLE made_before CASCADE")


def test_parameters_have_the_types_that_they_are_cast_to(
    gateway: Connection, postgres: Connection
) -> None:
    # SQLAlchemy's dialect for asyncpg lists tables so.
    query = (
        b"SELECT relname FROM pg_catalog.pg_class"
        b" WHERE relkind = ANY (ARRAY[$1::VARCHAR, $2::VARCHAR])"
        b' AND relpersistence != $3::CHAR AND relkind <> $4::"char" AND relkind <> $5::bpchar'
    )
    found = []
    for con in (gateway, postgres):
        con.pgconn.prepare(b"listing", query)
        told = con.pgconn.describe_prepared(b"listing")
        found.append([told.param_type(place) for place in range(told.nparams)])
    assert found[0] == found[1]
