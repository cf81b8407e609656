"""Tables over journals in PostgreSQL: states of errors, schema public, types, SQLAlchemy."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from importlib.metadata import entry_points

import psycopg
import pytest
import sqlalchemy

import gateway
from gateway.dbapi.connection import Connection
from tests.support.postgres import Cluster
from tests.support.record_batches import check_record_batches

DEPTS = (
    "CREATE TABLE hr.depts (deptno INTEGER PRIMARY KEY, Name VARCHAR NOT NULL UNIQUE,"
    " budget DECIMAL(10, 2) DEFAULT 3 CHECK (budget > 0))"
)


@pytest.fixture
def depts(con: Connection) -> Connection:
    """A connection to a database with a small table."""
    con.execute("CREATE SCHEMA hr")
    con.execute(DEPTS)
    con.execute("INSERT INTO hr.depts VALUES (1, 'Sales', 10), (2, 'Ops', 20)")
    return con


@pytest.mark.parametrize(
    ("sql", "sqlstate"),
    [
        ("INSERT INTO hr.depts VALUES (1, 'x', 1)", "23505"),
        ("INSERT INTO hr.depts VALUES (3, 'Ops', 1)", "23505"),
        ("INSERT INTO hr.depts VALUES (3, NULL, 1)", "23502"),
        ("UPDATE hr.depts SET budget = -1 WHERE deptno = 1", "23514"),
        ("SELECT nothing FROM hr.depts", "42703"),
        ("SELECT * FROM hr.nothing", "42P01"),
        ("SELECT nothing(1)", "42883"),
        ("SELECT 1 / 0", "22012"),
        ("SELECT CAST('a' AS INTEGER)", "22P02"),
        ("SELECT CAST(3000000000 AS INTEGER)", "22003"),
        ("CREATE TABLE hr.s (a STRUCT(x INTEGER))", "0A000"),
        ("CREATE TABLE hr.u (a UTINYINT)", "0A000"),
        ("SELECT * FROM hr.depts TABLESAMPLE 10 PERCENT REPEATABLE (7)", "0A000"),
        ("SELECT * FROM read_parquet('x.parquet')", "0A000"),
    ],
)
def test_errors_have_their_states(depts: Connection, sql: str, sqlstate: str) -> None:
    with pytest.raises(gateway.Error) as raised:
        depts.execute(sql).fetchall()
    assert raised.value.sqlstate == sqlstate
    assert "_palimpsest" not in str(raised.value)


def test_many_rows_stay_on_the_server(connect: Callable[..., Connection]) -> None:
    con = connect(memory_rows=10)
    con.execute("CREATE TABLE many (a BIGINT PRIMARY KEY, b VARCHAR)")
    con.execute("BEGIN")
    con.execute("INSERT INTO many SELECT i, 'row ' || i FROM range(1000) AS t(i)")
    con.execute("UPDATE many SET b = upper(b) WHERE a < 500")
    assert con.execute("SELECT count(*) FROM many WHERE b LIKE 'ROW%'").fetchall() == [(500,)]
    con.execute("ROLLBACK")
    assert con.execute("SELECT count(*) FROM many").fetchall() == [(0,)]
    assert con.execute("INSERT INTO many SELECT i, 'x' FROM range(1000) AS t(i)").rowcount == 1000
    assert con.execute("SELECT count(*), max(a) FROM many").fetchall() == [(1000, 999)]
    assert _staged(con) == []


def _staged(con: Connection) -> list[tuple[str]]:
    with con.session.journal.reading_session() as session:
        return session.text("SELECT relname FROM pg_class WHERE relname LIKE 'w\\_%'")


def test_a_table_of_somebody_else_is_not_replaced(
    con: Connection, cluster: Cluster, database: str
) -> None:
    with psycopg.connect(cluster.conninfo(database), autocommit=True) as outside:
        outside.execute("CREATE TABLE theirs (a integer)")
    with pytest.raises(gateway.Error) as raised:
        con.execute("CREATE TABLE theirs (a INTEGER)")
    assert raised.value.sqlstate == "42P07"
    assert "adopt" in str(raised.value)


def test_public_goes_by_its_own_name(con: Connection) -> None:
    con.execute("CREATE TABLE public.t (a INTEGER PRIMARY KEY)")
    con.execute("INSERT INTO t VALUES (1)")
    assert con.execute("SELECT t.a FROM public.t").fetchall() == [(1,)]
    con.execute("CREATE SCHEMA elsewhere")
    con.execute("SET schema = elsewhere")
    con.execute("RESET schema")
    assert con.execute("SELECT * FROM t").fetchall() == [(1,)]
    assert con.execute("SELECT schema FROM system.tables").fetchall() == [("public",)]
    with pytest.raises(gateway.Error):
        con.execute("DROP SCHEMA public")


def test_numeric_of_a_postgres_client_has_any_number_of_digits(
    connect: Callable[..., Connection],
) -> None:
    con = connect(dialect="postgres")
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, n NUMERIC, p NUMERIC(8, 2))")
    con.execute("INSERT INTO t VALUES (1, 1.23456789, 1.23456789)")
    con.execute("UPDATE t SET n = n + 123456789012345678901234567890")
    found = (Decimal("123456789012345678901234567891.23456789"), Decimal("1.23"))
    assert con.execute("SELECT n, p FROM t").fetchall() == [found]
    con.execute("CREATE TABLE u AS SELECT n FROM t")
    assert con.execute("SELECT n FROM u").fetchall() == [found[:1]]


def test_sqlalchemy_takes_the_url_of_a_database(url: str) -> None:
    known = {e.name for e in entry_points(group="sqlalchemy.dialects")}
    if "palimpsest.postgresql" not in known:
        pytest.skip("the package was installed before it had this dialect: run make setup")
    engine = sqlalchemy.create_engine(f"{url}?application=reports&connect_timeout=5")
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
        connection.exec_driver_sql("INSERT INTO t VALUES (1, 'one')")
    inspector = sqlalchemy.inspect(engine)
    assert inspector.default_schema_name == "public"
    assert inspector.get_table_names() == ["t"]
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT b FROM public.t").scalar() == "one"
    engine.dispose()


def test_json_is_text_and_nulls_need_no_type(con: Connection) -> None:
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, j JSON)")
    con.execute("INSERT INTO t VALUES (1, ?)", ['{"key": [1, 2]}'])
    assert con.execute("SELECT j FROM t").fetchall() == [('{"key": [1, 2]}',)]
    places = "SELECT json_extract(j, ?), j ->> ?, j -> '$.key[0]' FROM t"
    assert con.execute(places, ['$."key"[1]', "key"]).fetchall() == [("2", "[1, 2]", "1")]
    asked = "SELECT a FROM t WHERE CASE WHEN (? IS NOT NULL) THEN ? ELSE a END = a"
    assert con.execute(asked, [None, None]).fetchall() == [(1,)]
    nothing = con.execute("SELECT a FROM t WHERE ? IS NOT NULL", [None])
    assert [name for name, *_ in nothing.description or ()] == ["a"]
    assert nothing.fetchall() == []


def test_a_model_with_an_action_on_delete_is_made_and_reflected(url: str) -> None:
    if "palimpsest.postgresql" not in {e.name for e in entry_points(group="sqlalchemy.dialects")}:
        pytest.skip("the package was installed before it had this dialect: run make setup")
    models = sqlalchemy.MetaData()
    sqlalchemy.Table("p", models, sqlalchemy.Column("id", sqlalchemy.Integer, primary_key=True))
    child = sqlalchemy.ForeignKey("p.id", ondelete="CASCADE")
    sqlalchemy.Table("c", models, sqlalchemy.Column("p", sqlalchemy.Integer, child))
    engine = sqlalchemy.create_engine(url)
    models.create_all(engine)
    (key,) = sqlalchemy.inspect(engine).get_foreign_keys("c")
    assert key["options"] == {"ondelete": "CASCADE"}
    engine.dispose()


def test_a_result_comes_in_arrow_batches(con: Connection) -> None:
    check_record_batches(con)
