"""Enums, domains and macros in the catalog, as PostgreSQL shows them, and tools that read them."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import psycopg
import pytest
import sqlalchemy as sa

from tests.servers.conftest import Server
from tests.support.postgres import running

_OID = 26
MAKE = (
    "CREATE SCHEMA kinds",
    "CREATE TYPE kinds.mood AS ENUM ('sad', 'ok', 'it''s fine')",
    "CREATE DOMAIN kinds.price AS numeric(10,2) NOT NULL CHECK (value > 0)",
    (
        "CREATE FUNCTION kinds.area(w int, h numeric DEFAULT 2) RETURNS numeric LANGUAGE sql"
        " AS 'SELECT w * h'"
    ),
    "CREATE FUNCTION kinds.ones(int) RETURNS SETOF int LANGUAGE sql AS 'SELECT 1'",
    "CREATE TABLE kinds.t (id integer PRIMARY KEY, m kinds.mood, ms kinds.mood[], p kinds.price)",
)
QUESTIONS = (
    (
        "SELECT proname, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid),"
        " pg_get_function_identity_arguments(p.oid), pronargs, proretset, prorettype, proargnames"
        " FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace"
        " WHERE nspname = 'kinds' AND proname IN ('area', 'ones') ORDER BY proname"
    ),
    (
        "SELECT t.typname, e.enumlabel, e.enumsortorder FROM pg_enum e"
        " JOIN pg_type t ON t.oid = e.enumtypid ORDER BY 1, 3"
    ),
    (
        "SELECT t.typname, t.typtype, t.typlen, t.typnotnull,"
        " format_type(t.typbasetype, t.typtypmod) FROM pg_type t"
        " JOIN pg_namespace n ON n.oid = t.typnamespace"
        " WHERE n.nspname = 'kinds' AND t.typtype IN ('e', 'd') ORDER BY 1"
    ),
    (
        "SELECT t.typname, a.typname, a.typcategory FROM pg_type t JOIN pg_type a"
        " ON a.oid = t.typarray WHERE t.typname = 'mood' AND a.typelem = t.oid"
    ),
    (
        "SELECT a.attname, format_type(a.atttypid, a.atttypmod), t.typtype FROM pg_attribute a"
        " JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace"
        " JOIN pg_type t ON t.oid = a.atttypid"
        " WHERE n.nspname = 'kinds' AND c.relname = 't' AND a.attnum > 0 ORDER BY a.attnum"
    ),
)


@pytest.fixture(scope="module")
def both(server: Server) -> Iterator[tuple[psycopg.Connection, psycopg.Connection]]:
    with running() as cluster, psycopg.connect(cluster.conninfo("postgres")) as theirs:
        with psycopg.connect(server.dsn, autocommit=True) as ours:
            for sql in MAKE:
                ours.execute(sql)
                theirs.execute(sql)
            yield ours, theirs
            ours.execute("DROP SCHEMA kinds CASCADE")


@pytest.mark.parametrize("question", QUESTIONS)
def test_types_are_shown_as_postgresql_shows_them(
    both: tuple[psycopg.Connection, psycopg.Connection], question: str
) -> None:
    ours, theirs = both
    found = ours.execute(question).fetchall()
    assert found
    assert found == theirs.execute(question).fetchall()


def test_tools_read_enums_and_list_macros(
    server: Server, both: tuple[psycopg.Connection, psycopg.Connection]
) -> None:
    ours, _ = both
    engine = sa.create_engine(f"postgresql+psycopg://me@127.0.0.1:{server.port}/palimpsest")
    with engine.connect() as con:
        table = sa.Table("t", sa.MetaData(), schema="kinds", autoload_with=con)
        kind = table.c.m.type
        assert isinstance(kind, sa.Enum)
        assert kind.enums == ["sad", "ok", "it's fine"]
        con.execute(table.insert(), {"id": 1, "m": "ok", "p": 1.5})
        assert con.execute(sa.select(table.c.m)).scalar() == "ok"
        (found,) = sa.inspect(con).get_enums(schema="kinds")
        assert found["labels"] == ["sad", "ok", "it's fine"]
    engine.dispose()
    info = psycopg.types.enum.EnumInfo.fetch(ours, "kinds.mood")
    assert info is not None
    assert list(info.labels) == ["sad", "ok", "it's fine"]
    ours.execute("CREATE MACRO kinds.twice(x) AS x * 2")
    found = ours.execute(
        "SELECT p.proname, p.pronargs, p.proargnames FROM pg_proc p"
        " JOIN pg_namespace n ON n.oid = p.pronamespace WHERE proname = 'twice'"
    ).fetchall()
    assert found == [("twice", 1, ["x"])]


def test_labels_come_in_binary_under_the_number_of_their_type(
    both: tuple[psycopg.Connection, psycopg.Connection],
) -> None:
    """As sqlx sends them, which asks for the number by the name."""
    asked = b"SELECT $1::regtype::oid"
    by_text = "SELECT %s::text::regtype::oid = '_int4'::text::regtype::oid, 'int8'::text::regtype"
    for con in both:
        assert con.execute(by_text, ("integer[]",)).fetchall() == [(True, "bigint")]
        found = con.pgconn.exec_params(asked, [b"kinds.mood"])
        told = con.pgconn.exec_params(asked, [b"kinds.mood[]"]).get_value(0, 0)
        assert found.ftype(0) == _OID
        kind, kinds = int(found.get_value(0, 0) or 0), int(told or 0)
        labels = struct.pack("!iiIii", 1, 0, kind, 1, 1) + struct.pack("!i", 2) + b"ok"
        taken = con.pgconn.exec_params(
            b"SELECT $1::kinds.mood::text, $2::kinds.mood[]::text",
            [b"sad", labels],
            [kind, kinds],
            [1, 1],
        )
        assert taken.status == psycopg.pq.ExecStatus.TUPLES_OK, taken.error_message
        assert (taken.get_value(0, 0), taken.get_value(0, 1)) == (b"sad", b"{ok}")


def test_a_cast_tells_its_enum(both: tuple[psycopg.Connection, psycopg.Connection]) -> None:
    for query, values in (
        ("SELECT 'sad'::kinds.mood", ()),
        ("SELECT %s::kinds.mood", ("ok",)),
    ):
        told = []
        for con in both:
            ((name, number, *_),) = con.execute(query, values).description or ()
            found = con.execute("SELECT typname FROM pg_type WHERE oid = %s", (number,)).fetchone()
            told.append((name, found))
        assert told[0] == told[1], query
