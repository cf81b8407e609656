"""Tables over journals in PostgreSQL, and what others see of them: psql reads the same rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from importlib.metadata import entry_points

import psycopg
import pytest
import sqlalchemy

import gateway
from gateway.dbapi.connection import Connection
from tests.support.postgres import Cluster

_MOMENT = dt.datetime.fromisoformat("2024-02-29T01:02:03.456789")
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


def test_a_result_without_rows_has_columns_in_arrow(con: Connection) -> None:
    con.execute("CREATE TABLE nothing (a INTEGER, b VARCHAR, c DECIMAL(10, 2))")
    table = con.execute("SELECT * FROM nothing").fetch_arrow()
    assert (table.num_rows, table.column_names) == (0, ["a", "b", "c"])


def test_psql_reads_the_current_view(depts: Connection, cluster: Cluster, database: str) -> None:
    depts.execute("UPDATE hr.depts SET name = 'Service' WHERE deptno = 2")
    depts.execute("DELETE FROM hr.depts WHERE deptno = 1")
    with psycopg.connect(cluster.conninfo(database)) as outside:
        assert outside.execute("SELECT * FROM hr.depts").fetchall() == [
            (2, "Service", Decimal("20.00"))
        ]
        written = outside.execute(
            "SELECT deptno, subsequent_version_number IS NULL,"
            " subsequent_version_number = version_number FROM hr.depts_journal ORDER BY 1, 2, 3"
        ).fetchall()
    assert written == [
        *((1, False, False), (1, False, True), (1, True, None)),
        *((2, False, False), (2, True, None), (2, True, None)),
    ]


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
        ("SELECT CAST('a' AS INTEGER)", "22018"),
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


def test_transactions_and_savepoints(connect: Callable[..., Connection], depts: Connection) -> None:
    other = connect()
    depts.execute("BEGIN")
    depts.execute("INSERT INTO hr.depts VALUES (7, 'New', 1)")
    depts.execute("SAVEPOINT s")
    depts.execute("UPDATE hr.depts SET budget = 99 WHERE deptno = 7")
    assert depts.execute("SELECT budget FROM hr.depts WHERE deptno = 7").fetchall() == [
        (Decimal(99),)
    ]
    depts.execute("ROLLBACK TO s")
    assert other.execute("SELECT count(*) FROM hr.depts").fetchall() == [(2,)]
    depts.execute("COMMIT")
    assert other.execute("SELECT budget FROM hr.depts WHERE deptno = 7").fetchall() == [
        (Decimal(1),)
    ]


def test_time_travel(depts: Connection) -> None:
    version = depts.execute("SELECT max(version) FROM system.transactions").fetchall()[0][0]
    depts.execute("UPDATE hr.depts SET budget = budget * 2")
    then = depts.execute(
        f"SELECT deptno, budget FROM hr.depts FOR VERSION AS OF {version} ORDER BY 1"
    )
    assert then.fetchall() == [(1, Decimal(10)), (2, Decimal(20))]
    assert depts.execute("SELECT sum(budget) FROM hr.depts").fetchall() == [(Decimal(60),)]


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


def test_every_type_comes_back_as_it_was(con: Connection) -> None:
    values = (
        *(True, -5, 2**62, 0.1, Decimal("12345.67"), "Ünï\t\\\n'x'", b"\x00\xff"),
        *(dt.date(2024, 2, 29), _MOMENT, [1, None, 3]),
    )
    con.execute(
        "CREATE TABLE t (a BOOLEAN, b SMALLINT, c BIGINT, d DOUBLE, e DECIMAL(10, 2), f VARCHAR,"
        " g BLOB, h DATE, i TIMESTAMP, j INTEGER[])"
    )
    con.execute("BEGIN")
    con.execute(f"INSERT INTO t VALUES ({', '.join('?' * len(values))})", values)
    con.execute("INSERT INTO t SELECT * FROM t")
    assert con.execute("SELECT * FROM t").fetchall() == [values, values]
    con.execute("COMMIT")
    assert con.execute("SELECT * FROM t").fetchall() == [values, values]


def test_executemany_and_arrow(con: Connection) -> None:
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
    con.executemany("INSERT INTO t VALUES (?, ?)", [(i, str(i)) for i in range(300)])
    table = con.cursor().execute("SELECT a, b FROM t ORDER BY a").fetch_arrow()
    assert table.num_rows == 300
    assert table.column("b").to_pylist()[:2] == ["0", "1"]


def test_names_come_back_as_they_were_written(con: Connection) -> None:
    con.execute('CREATE TABLE t (k INTEGER PRIMARY KEY, "Mixed" VARCHAR)')
    sql = "WITH x AS (INSERT INTO t VALUES (1, 'a') RETURNING *) SELECT * FROM x"
    for query in (sql, "SELECT * FROM t", "SELECT t.* FROM t", "SELECT mixed AS Other FROM t"):
        names = [d[0] for d in con.execute(query).description or ()]
        assert names in (["k", "Mixed"], ["Other"])


def test_generated_numbers_are_shared(connect: Callable[..., Connection]) -> None:
    one = connect()
    one.execute("CREATE TABLE t (a BIGINT GENERATED ALWAYS AS IDENTITY, b VARCHAR)")
    one.execute("INSERT INTO t (b) VALUES ('x'), ('y')")
    one.execute("INSERT INTO t (b) SELECT 'z' FROM range(3)")
    assert one.execute("SELECT a FROM t ORDER BY a").fetchall() == [(i,) for i in range(1, 6)]


def test_a_table_of_somebody_else_is_not_replaced(
    con: Connection, cluster: Cluster, database: str
) -> None:
    with psycopg.connect(cluster.conninfo(database), autocommit=True) as outside:
        outside.execute("CREATE TABLE theirs (a integer)")
    with pytest.raises(gateway.Error) as raised:
        con.execute("CREATE TABLE theirs (a INTEGER)")
    assert raised.value.sqlstate == "42P07"
    assert "adopt" in str(raised.value)


def test_the_journals_are_whole(depts: Connection) -> None:
    depts.execute("UPDATE hr.depts SET budget = 5")
    assert depts.session.executor.sealer.verify().is_clean


def test_policies_are_kept_and_the_relations_of_upkeep_are_empty(con: Connection) -> None:
    con.execute("CREATE TABLE t (id INT PRIMARY KEY, ds DATE)")
    con.execute("ALTER TABLE t SET POLICY (RETENTION = 90 DAYS ON COLUMN ds)")
    assert con.execute("SHOW POLICY t").fetchall() == [
        ("RETENTION", "90 DAYS ON COLUMN ds ACTION = DELETE")
    ]
    for relation in ("jobs", "holds", "backups"):
        assert con.execute(f"SELECT * FROM system.{relation}").fetchall() == []


def test_public_goes_by_its_own_name(con: Connection) -> None:
    con.execute("CREATE TABLE public.t (a INTEGER PRIMARY KEY)")
    con.execute("INSERT INTO t VALUES (1)")
    assert con.execute("SELECT t.a FROM public.t").fetchall() == [(1,)]
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


def test_a_model_with_an_action_on_delete_is_refused(url: str) -> None:
    if "palimpsest.postgresql" not in {e.name for e in entry_points(group="sqlalchemy.dialects")}:
        pytest.skip("the package was installed before it had this dialect: run make setup")
    models = sqlalchemy.MetaData()
    sqlalchemy.Table("p", models, sqlalchemy.Column("id", sqlalchemy.Integer, primary_key=True))
    child = sqlalchemy.ForeignKey("p.id", ondelete="CASCADE")
    sqlalchemy.Table("c", models, sqlalchemy.Column("p", sqlalchemy.Integer, child))
    engine = sqlalchemy.create_engine(url)
    with pytest.raises(sqlalchemy.exc.NotSupportedError, match="PAL-110"):
        models.create_all(engine)
    assert sqlalchemy.inspect(engine).get_table_names() == []
    engine.dispose()
