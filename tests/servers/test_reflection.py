"""SQLAlchemy's own PostgreSQL dialect reads the catalog of the server."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy.dialects import postgresql

from tests.servers.conftest import Server
from tests.support.postgres import Cluster


def test_queries_on_the_catalog_are_prepared_in_sql(server: Server) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as con:
        con.execute("PREPARE named(pg_catalog.oid) AS SELECT typname FROM pg_type WHERE oid = $1")
        assert con.execute("EXECUTE named('23')").fetchall() == [("int4",)]
        assert con.execute("EXECUTE named('int8'::regtype)").fetchall() == [("int8",)]
        with pytest.raises(psycopg.errors.DuplicatePreparedStatement):
            con.execute("PREPARE named AS SELECT 1")
        with pytest.raises(psycopg.Error, match="takes 1 values, not 2"):
            con.execute("EXECUTE named(1, 2)")
        con.execute("PREPARE untyped AS SELECT typname FROM pg_type WHERE oid = $1")
        assert con.execute("EXECUTE untyped(23)").fetchall() == [("int4",)]
        with pytest.raises(psycopg.Error, match="takes 1 values, not 0"):
            con.execute("EXECUTE untyped")
        con.execute("DEALLOCATE named")
        with pytest.raises(psycopg.errors.InvalidSqlStatementName):
            con.execute("EXECUTE named('23')")
        con.execute("PREPARE named AS SELECT 1")
        assert con.execute("EXECUTE named").fetchall() == [(1,)]


def test_functions_are_shown_by_their_names(server: Server) -> None:
    shown = "SELECT pg_get_functiondef('{}'::pg_catalog.regproc::pg_catalog.oid)"
    with psycopg.connect(server.dsn, autocommit=True) as con:
        con.execute("CREATE FUNCTION r_half(x int) RETURNS int LANGUAGE sql AS 'SELECT x - 2'")
        con.execute(
            "CREATE FUNCTION r_touch() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN NEW.a := 1; RETURN NEW; END $$"
        )
        for name, language in (("r_half", "sql"), ("r_touch", "plpgsql")):
            ((text,),) = con.execute(shown.format(name)).fetchall()
            assert text.startswith(f"CREATE OR REPLACE FUNCTION public.{name}(")
            assert f"\n LANGUAGE {language}\nAS $function$" in text
            con.execute(text)
        with pytest.raises(psycopg.Error, match="does not exist"):
            con.execute(shown.format("r_nowhere"))
        con.execute("DROP FUNCTION r_half(int), r_touch()")


@pytest.mark.long
def test_tables_are_reflected(server: Server) -> None:
    engine = sa.create_engine(f"postgresql+psycopg://me@127.0.0.1:{server.port}/palimpsest")
    metadata = sa.MetaData()
    parent = sa.Table(
        "r_parent",
        metadata,
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("name", sa.Text, nullable=False),
    )
    sa.Table(
        "r_child",
        metadata,
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("parent", sa.ForeignKey("r_parent.id", name="to_parent")),
        sa.Column("amount", sa.Numeric(10, 2), sa.CheckConstraint("amount > 0", name="positive")),
        sa.UniqueConstraint("parent", "amount", name="once"),
    )
    metadata.create_all(engine)
    try:
        with engine.begin() as connection:
            connection.execute(sa.insert(parent), [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])
            assert connection.scalar(sa.select(sa.func.count()).select_from(parent)) == 2
        found = sa.MetaData()
        found.reflect(engine, only=["r_parent", "r_child"])
        child = found.tables["r_child"]
        assert [c.name for c in child.primary_key] == ["id"]
        assert isinstance(child.c.id.type, sa.BigInteger)
        assert (child.c.amount.type.precision, child.c.amount.type.scale) == (10, 2)
        assert not found.tables["r_parent"].c.name.nullable
        (key,) = child.foreign_key_constraints
        assert (key.name, key.referred_table.name) == ("to_parent", "r_parent")
        names = {c.name for c in child.constraints}
        assert {"once", "positive"} <= names
        with engine.begin() as connection:
            connection.execute(sa.text("CREATE MATERIALIZED VIEW r_m AS SELECT id FROM r_parent"))
        inspector = sa.inspect(engine)
        assert "r_m" in inspector.get_materialized_view_names()
        assert "r_m" not in inspector.get_table_names()
        assert [c["name"] for c in inspector.get_columns("r_m")] == ["id"]
        with engine.begin() as connection:
            connection.execute(sa.text("DROP MATERIALIZED VIEW r_m"))
        assert inspector.has_table("r_child")
        assert not inspector.has_table("nothing")
    finally:
        metadata.drop_all(engine)
        engine.dispose()


@pytest.mark.long
def test_lengths_of_texts_are_those_of_the_types(server: Server) -> None:
    """Tools that compare a model with the database find nothing to change."""
    engine = sa.create_engine(f"postgresql+psycopg://me@127.0.0.1:{server.port}/palimpsest")
    metadata = sa.MetaData()
    sa.Table(
        "r_texts",
        metadata,
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("name", sa.String(20), sa.CheckConstraint("name <> ''", name="some")),
        sa.Column("code", sa.CHAR(3)),
    )
    metadata.create_all(engine)
    try:
        with engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"compare_type": True})
            found = compare_metadata(context, metadata)
            assert [d for d in found if "r_texts" in str(d)] == []
        inspector = sa.inspect(engine)
        types = {c["name"]: c["type"] for c in inspector.get_columns("r_texts")}
        assert isinstance(types["code"], sa.CHAR)
        assert [(types[n].length) for n in ("name", "code")] == [20, 3]  # type: ignore[attr-defined]
        assert [c["name"] for c in inspector.get_check_constraints("r_texts")] == ["some"]
        with engine.connect() as connection:
            with pytest.raises(sa.exc.DataError, match="value too long for type character"):
                connection.execute(sa.text("INSERT INTO r_texts VALUES (1, 'a', 'abcd')"))
    finally:
        metadata.drop_all(engine)
        engine.dispose()


@pytest.mark.long
def test_types_that_are_kept_as_one_are_told_apart(server: Server) -> None:
    """TEXT and VARCHAR, JSON and JSONB: a model differs from the database where it says another."""
    engine = sa.create_engine(f"postgresql+psycopg://me@127.0.0.1:{server.port}/palimpsest")

    def model(*names: str) -> sa.MetaData:
        metadata = sa.MetaData()
        key = sa.Column("id", sa.Integer, primary_key=True, autoincrement=False)
        columns = (sa.Column(f"c{n}", _TYPES[name]) for n, name in enumerate(names))
        sa.Table("r_spelled", metadata, key, *columns)
        return metadata

    def differences(wanted: sa.MetaData) -> list[str]:
        with engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"compare_type": True})
            found = compare_metadata(context, wanted)
        return sorted(str(d[0][3]) for d in found if "r_spelled" in str(d) and isinstance(d, list))

    made = model("text", "varchar", "json", "jsonb", "texts", "varchar(9)")
    made.create_all(engine)
    try:
        assert differences(made) == []
        other = model("varchar", "text", "jsonb", "json", "texts", "varchar")
        assert differences(other) == ["c0", "c1", "c2", "c3"]
        with engine.begin() as connection:
            change = Operations(MigrationContext.configure(connection))
            for column in other.tables["r_spelled"].columns:
                if column.name.startswith("c"):
                    change.alter_column("r_spelled", column.name, type_=column.type)
            change.add_column("r_spelled", sa.Column("c6", sa.JSON))
        now = model("varchar", "text", "jsonb", "json", "texts", "varchar", "json")
        assert differences(now) == []
    finally:
        made.drop_all(engine)
        engine.dispose()


_TYPES: dict[str, sa.types.TypeEngine[Any]] = {
    "text": sa.Text(),
    "varchar": sa.String(),
    "varchar(9)": sa.String(9),
    "json": postgresql.JSON(),
    "jsonb": postgresql.JSONB(),
    "texts": postgresql.ARRAY(sa.String()),
}


_COLUMNS = """SELECT column_name, is_nullable, data_type, character_maximum_length,
    character_octet_length, numeric_precision, numeric_precision_radix, numeric_scale,
    datetime_precision, udt_name, is_identity, identity_generation, is_generated, is_updatable,
    ordinal_position
    FROM information_schema.columns WHERE table_name = 'r_standard' ORDER BY ordinal_position"""


def test_columns_have_what_postgresql_says_of_them(server: Server, cluster: Cluster) -> None:
    """Tools that ask for ``udt_name`` and its like get PostgreSQL's own view of columns."""
    made = (
        "CREATE TYPE r_mood AS ENUM ('a')",
        """CREATE TABLE r_standard (a int PRIMARY KEY GENERATED ALWAYS AS IDENTITY, b text,
            c varchar(7) NOT NULL, d numeric(5,2), e json, f timestamp, g r_mood, h text[],
            i int DEFAULT 5, j int GENERATED ALWAYS AS (i * 2) STORED, k timestamptz,
            l double precision, m interval, n char(3), o jsonb, p varchar, q date)""",
    )
    there = psycopg.connect(cluster.conninfo(cluster.database()), autocommit=True)
    here = psycopg.connect(server.dsn, autocommit=True)
    with there, here:
        for sql in made:
            there.execute(sql)
            here.execute(sql)
        try:
            assert here.execute(_COLUMNS).fetchall() == there.execute(_COLUMNS).fetchall()
        finally:
            here.execute("DROP TABLE r_standard")
            here.execute("DROP TYPE r_mood")


def test_indexes_on_expressions_are_reflected(server: Server) -> None:
    """PostgreSQL counts the columns of an index from 0, and says what an expression is."""
    engine = sa.create_engine(f"postgresql+psycopg://me@127.0.0.1:{server.port}/palimpsest")
    metadata = sa.MetaData()
    table = sa.Table(
        "r_indexed",
        metadata,
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("name", sa.Text),
    )
    sa.Index("r_both", table.c.id, sa.func.lower(table.c.name))
    metadata.create_all(engine)
    try:
        (index,) = sa.inspect(engine).get_indexes("r_indexed")
        assert index["column_names"] == ["id", None]
        assert "lower" in index["expressions"][1].lower()
        assert sa.inspect(engine).get_pk_constraint("r_indexed")["constrained_columns"] == ["id"]
        with engine.connect() as connection:
            own = {"include_name": lambda name, kind, _: kind != "table" or name == table.name}
            context = MigrationContext.configure(connection, opts=own)
            assert not compare_metadata(context, metadata)
    finally:
        metadata.drop_all(engine)
        engine.dispose()


def test_comments_are_reflected(server: Server) -> None:
    """SQLAlchemy asks for them by the number of pg_class, as a parameter."""
    engine = sa.create_engine(f"postgresql+psycopg://me@127.0.0.1:{server.port}/palimpsest")
    table = sa.Table("r_told", sa.MetaData(), sa.Column("id", sa.Integer), comment="of rows")
    table.metadata.create_all(engine)
    try:
        assert sa.inspect(engine).get_table_comment("r_told") == {"text": "of rows"}
        with engine.connect() as connection:
            asked = sa.text("SELECT 'pg_catalog.pg_class'::regclass::oid, 'r_told'::regclass::text")
            assert connection.execute(asked).one() == (1259, "r_told")
        with psycopg.connect(f"host=127.0.0.1 port={server.port} user=me dbname=palimpsest") as own:
            asked_of = "SELECT relname FROM pg_class WHERE relname IN (%s::TEXT,%s) AND ',$1' <> ''"
            assert own.execute(asked_of, ["r_told", "none"]).fetchall() == [("r_told",)]
    finally:
        table.metadata.drop_all(engine)
        engine.dispose()


@pytest.mark.long
def test_identities_are_reflected_and_autogenerate_finds_no_change(server: Server) -> None:
    metadata = sa.MetaData()
    for name, identity in (
        ("plain", sa.Identity()),
        ("always", sa.Identity(always=True)),
        ("options", sa.Identity(start=5, increment=2)),
    ):
        sa.Table(f"i_{name}", metadata, sa.Column("id", sa.Integer, identity, primary_key=True))
    sa.Table("i_serial", metadata, sa.Column("id", sa.Integer, primary_key=True))
    sa.Table("away", metadata, sa.Column("id", sa.BigInteger, sa.Identity()), schema="i_elsewhere")
    engine = sa.create_engine(f"postgresql+psycopg://me@127.0.0.1:{server.port}/palimpsest")
    with engine.begin() as con:
        con.execute(sa.text("CREATE SCHEMA i_elsewhere"))
        metadata.create_all(con)
    with engine.connect() as con:
        found = sa.inspect(con)
        (column,) = found.get_columns("i_options")
        assert (column["identity"]["start"], column["identity"]["increment"]) == (5, 2)
        (column,) = found.get_columns("i_always")
        assert column["identity"]["always"]
        (column,) = found.get_columns("i_serial")
        assert column.get("identity") is None
        (column,) = found.get_columns("away", schema="i_elsewhere")
        assert column["identity"]["maxvalue"] == 2**63 - 1
        named = "SELECT pg_get_serial_sequence('i_plain', 'id'), relkind FROM pg_class"
        row = con.execute(sa.text(f"{named} WHERE relname = 'i_plain_id_seq'")).one()
        assert tuple(row) == ("public.i_plain_id_seq", "S")
        ours = MigrationContext.configure(con, opts={"include_name": _is_of_identities})
        metadata.remove(metadata.tables["i_elsewhere.away"])
        assert compare_metadata(ours, metadata) == []
    with engine.begin() as con:
        metadata.drop_all(con)
        con.execute(sa.text("DROP SCHEMA i_elsewhere CASCADE"))
    engine.dispose()


def _is_of_identities(name: str | None, kind: str, _: object) -> bool:
    return kind != "table" or str(name).startswith("i_")
