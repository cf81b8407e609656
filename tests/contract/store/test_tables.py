"""Tables on every store: statements, transactions, constraints, values, names, limits."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.errors import Error
from tests.support.kept import rows
from tests.support.stores.store import Capability, Store

pytestmark = pytest.mark.timeout(900)
DEPTS = (
    "CREATE TABLE hr.depts (deptno INTEGER PRIMARY KEY, Name VARCHAR NOT NULL UNIQUE,"
    " budget DECIMAL(10, 2) DEFAULT 3 CHECK (budget > 0))"
)


@pytest.fixture
def con(store: Store) -> Connection:
    """One connection."""
    return store.connect()


@pytest.fixture
def depts(con: Connection) -> Connection:
    """A connection to a store with a small table."""
    con.execute("CREATE SCHEMA hr")
    con.execute(DEPTS)
    con.execute("INSERT INTO hr.depts VALUES (1, 'Sales', 10), (2, 'O''ps\\\n', 20)")
    return con


def _state(con: Connection, sql: str) -> str:
    with pytest.raises(gateway.Error) as raised:
        con.execute(sql).fetchall()
    assert "_palimpsest" not in str(raised.value)
    return str(raised.value.sqlstate)


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="SQLite takes a column called nothing for a word of its own")
def test_a_table_from_its_making_to_its_end(store: Store, depts: Connection) -> None:
    ((before,),) = rows(depts, "SELECT max(version) FROM system.transactions")
    for sql, state in (
        ("INSERT INTO hr.depts VALUES (1, 'x', 1)", "23505"),
        ("INSERT INTO hr.depts VALUES (3, 'Sales', 1)", "23505"),
        ("INSERT INTO hr.depts VALUES (3, NULL, 1)", "23502"),
        ("UPDATE hr.depts SET budget = -1 WHERE deptno = 1", "23514"),
        ("SELECT nothing FROM hr.depts", "42703"),
        ("SELECT * FROM hr.nothing", "42P01"),
    ):
        assert _state(depts, sql) == state, sql
    assert depts.execute("UPDATE hr.depts SET name = 'Service' WHERE deptno = 2").rowcount == 1
    assert depts.execute("DELETE FROM hr.depts WHERE deptno = 1").rowcount == 1
    present = [(2, "Service", Decimal("20.00"))]
    assert rows(store.connect(), "SELECT * FROM hr.depts") == present
    assert rows(depts, f"SELECT * FROM hr.depts FOR SYSTEM_VERSION AS OF {before} ORDER BY 1") == [
        (1, "Sales", Decimal("10.00")),
        (2, "O'ps\\\n", Decimal("20.00")),
    ]
    assert depts.session.executor.upkeep.verify().is_clean
    depts.execute("DROP TABLE hr.depts")
    assert _state(depts, "SELECT * FROM hr.depts") == "42P01"


@pytest.mark.needs(Capability.OTHER_READERS)
@pytest.mark.also_on("hive")
def test_other_tools_read_the_current_view_and_a_classic_journal(
    store: Store, con: Connection
) -> None:
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    con.execute("UPDATE t SET v = 'c' WHERE k = 2")
    con.execute("DELETE FROM t WHERE k = 1")
    assert store.read_outside("SELECT * FROM {t}") == [(2, "c")]
    found = store.read_outside(
        "SELECT k, subsequent_version_number IS NULL,"
        " coalesce(subsequent_version_number = version_number, false) FROM {t_journal}"
        " ORDER BY 1, 2, 3"
    )
    assert found == [
        *((1, False, False), (1, False, True), (1, True, False)),
        *((2, False, False), (2, True, False), (2, True, False)),
    ]


def test_a_transaction_sees_its_rows_and_nobody_else_does(store: Store, depts: Connection) -> None:
    other = store.connect()
    depts.execute("BEGIN")
    depts.execute("INSERT INTO hr.depts VALUES (7, 'New', 1)")
    depts.execute("SAVEPOINT s")
    depts.execute("UPDATE hr.depts SET budget = 99 WHERE deptno = 7")
    assert rows(depts, "SELECT budget FROM hr.depts WHERE deptno = 7") == [(Decimal(99),)]
    depts.execute("ROLLBACK TO s")
    assert rows(other, "SELECT count(*) FROM hr.depts") == [(2,)]
    depts.execute("COMMIT")
    assert rows(other, "SELECT budget FROM hr.depts WHERE deptno = 7") == [(Decimal(1),)]
    depts.execute("BEGIN")
    depts.execute("DELETE FROM hr.depts WHERE deptno = 7")
    depts.execute("ROLLBACK")
    assert rows(depts, "SELECT count(*) FROM hr.depts") == [(3,)]


@pytest.mark.also_on("hive")
def test_the_second_of_two_writers_of_a_key_gets_40001(store: Store, depts: Connection) -> None:
    other = store.connect()
    for connection in (depts, other):
        connection.execute("BEGIN")
        connection.execute("UPDATE hr.depts SET budget = budget + 1 WHERE deptno = ?", [1])
    depts.execute("COMMIT")
    assert _state(other, "COMMIT") == "40001"
    assert rows(depts, "SELECT budget FROM hr.depts ORDER BY deptno") == [
        (Decimal(11),),
        (Decimal(20),),
    ]


@pytest.mark.also_on("hive")
def test_more_rows_than_a_transaction_keeps_in_memory(store: Store) -> None:
    con = store.connect(memory_rows=10)
    con.execute("CREATE TABLE many (a BIGINT PRIMARY KEY, b VARCHAR)")
    con.execute("BEGIN")
    con.execute("INSERT INTO many SELECT i, 'row ' || i FROM range(1000) AS t(i)")
    con.execute("UPDATE many SET b = upper(b) WHERE a < 500")
    assert rows(con, "SELECT count(*) FROM many WHERE b LIKE 'ROW%'") == [(500,)]
    con.execute("ROLLBACK")
    assert rows(con, "SELECT count(*) FROM many") == [(0,)]
    assert con.execute("INSERT INTO many SELECT i, 'x' FROM range(1000) AS t(i)").rowcount == 1000
    assert rows(con, "SELECT count(*), max(a) FROM many") == [(1000, 999)]


@pytest.mark.also_on("hive")
@pytest.mark.needs(Capability.ALL_TYPES)
def test_every_type_comes_back_as_it_was(con: Connection) -> None:
    moment = dt.datetime.fromisoformat("2024-02-29T01:02:03.456789")
    values = (
        *(1, True, -5, 2**62, 0.1, Decimal("12345.67"), "Ünï\t\\\n'x'😀", b"\x00\xff"),
        *(dt.date(2024, 2, 29), moment, moment.replace(tzinfo=dt.UTC), [1, None, 3]),
    )
    con.execute(
        "CREATE TABLE t (k INTEGER PRIMARY KEY, a BOOLEAN, b SMALLINT, c BIGINT, d DOUBLE,"
        " e DECIMAL(10, 2), f VARCHAR, g BLOB, h DATE, i TIMESTAMP, j TIMESTAMPTZ, l INTEGER[])"
    )
    con.execute("BEGIN")
    con.execute(f"INSERT INTO t VALUES ({', '.join('?' * len(values))})", values)
    con.execute("INSERT INTO t (k) VALUES (2)")
    con.execute("INSERT INTO t SELECT 3, a, b, c, d, e, f, g, h, i, j, l FROM t WHERE k = 1")
    expected = [values, (2, *[None] * (len(values) - 1)), (3, *values[1:])]
    assert rows(con, "SELECT * FROM t ORDER BY k") == expected
    con.execute("COMMIT")
    assert rows(con, "SELECT * FROM t ORDER BY k") == expected
    con.execute("UPDATE t SET f = f || '!' WHERE k < 3")
    con.execute("OPTIMIZE t")
    changed = [(*values[:6], f"{values[6]}!", *values[7:]), *expected[1:]]
    assert rows(con, "SELECT * FROM t ORDER BY k") == changed


@pytest.mark.also_on("hive")
def test_many_rows_at_once_and_results_in_arrow(con: Connection) -> None:
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
    nothing = con.execute("SELECT * FROM t").fetch_arrow()
    assert (nothing.num_rows, nothing.column_names) == (0, ["a", "b"])
    con.executemany("INSERT INTO t VALUES (?, ?)", [(i, str(i)) for i in range(300)])
    table = con.cursor().execute("SELECT a, b FROM t ORDER BY a").fetch_arrow()
    assert table.num_rows == 300
    assert table.column("b").to_pylist()[:2] == ["0", "1"]


@pytest.mark.also_on("hive")
def test_names_come_back_as_they_were_written(con: Connection) -> None:
    con.execute('CREATE TABLE t (k INTEGER PRIMARY KEY, "Mixed" VARCHAR)')
    sql = "WITH x AS (INSERT INTO t VALUES (1, 'a') RETURNING *) SELECT * FROM x"
    for query in (sql, "SELECT * FROM t", "SELECT t.* FROM t", "SELECT mixed AS Other FROM t"):
        names = [d[0] for d in con.execute(query).description or ()]
        assert names in (["k", "Mixed"], ["Other"])


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="SQLite tells them apart by itself, as k:1")
def test_columns_of_views_are_told_apart(con: Connection) -> None:
    """As DuckDB does, each has a name of its own, by which it is found."""
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER)")
    con.execute("INSERT INTO t VALUES (1, 2)")
    con.execute("CREATE VIEW w AS SELECT x.k, y.v, x.k FROM t AS x JOIN t AS y ON x.k = y.k")
    cursor = con.execute("SELECT * FROM w")
    assert [column[0] for column in cursor.description or ()] == ["k", "v", "k_1"]
    assert con.execute("SELECT k_1 FROM w").fetchall() == [(1,)]


@pytest.mark.parametrize("made", ["TABLE t", "VIEW t", "MATERIALIZED VIEW t"])
@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="SQLite tells them apart by itself, as a:1")
def test_other_dialects_refuse_columns_of_one_name(store: Store, made: str) -> None:
    con = store.connect(dialect="postgres")
    with pytest.raises(Error, match=r"PAL-206.*named twice"):
        con.execute(f"CREATE {made} AS SELECT 1 AS a, 2 AS a")


@pytest.mark.also_on("hive")
def test_other_dialects_refuse_a_list_with_one_name_twice(store: Store) -> None:
    con = store.connect(dialect="postgres")
    with pytest.raises(Error, match=r"PAL-206.*named twice"):
        con.execute("CREATE VIEW t (b, b) AS SELECT 1 AS a, 2 AS a")


def test_generated_numbers_are_shared(store: Store, con: Connection) -> None:
    con.execute("CREATE TABLE t (a BIGINT GENERATED ALWAYS AS IDENTITY, b VARCHAR)")
    con.execute("INSERT INTO t (b) VALUES ('x'), ('y')")
    store.connect().execute("INSERT INTO t (b) SELECT 'z' FROM range(3)")
    assert rows(con, "SELECT a FROM t ORDER BY a") == [(i,) for i in range(1, 6)]


@pytest.mark.also_on("hive")
def test_policies_are_kept_and_the_relations_of_upkeep_are_empty(con: Connection) -> None:
    con.execute("CREATE TABLE t (id INT PRIMARY KEY, ds DATE)")
    con.execute("ALTER TABLE t SET POLICY (RETENTION = 90 DAYS ON COLUMN ds)")
    assert rows(con, "SHOW POLICY t") == [("RETENTION", "90 DAYS ON COLUMN ds ACTION = DELETE")]
    for relation in ("jobs", "holds", "backups"):
        assert rows(con, f"SELECT * FROM system.{relation}") == []


@pytest.mark.also_on("hive")
def test_numbers_of_a_sequence_are_given_out_once(store: Store, con: Connection) -> None:
    con.execute("CREATE SEQUENCE s START WITH 10 INCREMENT BY 5")
    con.execute("CREATE TABLE t (k BIGINT PRIMARY KEY DEFAULT nextval('s'), v VARCHAR)")
    con.execute("INSERT INTO t (v) VALUES ('a'), ('b')")
    other = store.connect()
    con.execute("BEGIN")
    assert rows(con, "SELECT nextval('s')") == [(20,)]
    assert rows(other, "SELECT nextval('s')") == [(25,)]
    con.execute("ALTER SEQUENCE s RESTART WITH 1000")
    assert rows(con, "SELECT nextval('s')") == [(1000,)]
    con.execute("ROLLBACK")
    assert rows(other, "SELECT nextval('s'), v FROM t ORDER BY v DESC") == [(30, "b"), (35, "a")]
    assert rows(con, "SELECT currval('s')") == [(1000,)]
    assert rows(other, "SELECT setval('s', max(k)) FROM t") == [(15,)]
    con.execute("INSERT INTO t SELECT nextval('s'), v || '!' FROM t")
    assert sorted(rows(con, "SELECT k FROM t")) == [(10,), (15,), (20,), (25,)]
    assert _state(con, "DROP SEQUENCE s") == "2BP01"
    assert _state(other, "SELECT nextval('nothing')") == "42P01"
    con.execute("DROP SEQUENCE s CASCADE")
    assert rows(con, "SELECT \"default\" FROM system.columns WHERE name = 'k'") == [(None,)]


@pytest.mark.drifts(toy="SQLite tells no types of a query's columns")
@pytest.mark.also_on("hive")
def test_temporary_relations_are_a_connections_own(store: Store, con: Connection) -> None:
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    other = store.connect()
    con.execute("CREATE TEMP TABLE t AS SELECT k + 10 AS k, v || '!' AS v FROM t")
    con.execute("CREATE TEMP SEQUENCE s START WITH 7")
    con.execute("CREATE TEMP VIEW w AS SELECT v, count(*) AS n FROM t GROUP BY v")
    con.execute("INSERT INTO t VALUES (nextval('s'), 'c')")
    assert sorted(rows(con, "SELECT * FROM t")) == [(7, "c"), (11, "a!"), (12, "b!")]
    assert sorted(rows(other, "SELECT * FROM t")) == [(1, "a"), (2, "b")]
    assert _state(other, "SELECT * FROM w") == "42P01"
    assert _state(other, "SELECT nextval('s')") == "42P01"
    con.execute("BEGIN")
    assert con.execute("UPDATE t SET v = 'd' WHERE k > 10").rowcount == 2
    assert rows(con, "SELECT n FROM w WHERE v = 'd'") == [(2,)]
    con.execute("ROLLBACK")
    assert sorted(rows(con, "SELECT v FROM w")) == [("a!",), ("b!",), ("c",)]
    con.execute("CREATE TEMP TABLE emptied (a INTEGER) ON COMMIT DELETE ROWS")
    con.execute("CREATE TEMP TABLE kept (a INTEGER) ON COMMIT PRESERVE ROWS")
    con.execute("BEGIN")
    con.execute("CREATE TEMP TABLE gone (a INTEGER) ON COMMIT DROP")
    for name in ("emptied", "kept", "gone"):
        con.execute(f"INSERT INTO {name} VALUES (1)")
        assert rows(con, f"SELECT a FROM {name}") == [(1,)]
    con.execute("COMMIT")
    assert rows(con, "SELECT count(*) FROM emptied") == [(0,)]
    assert rows(con, "SELECT * FROM kept") == [(1,)]
    assert _state(con, "SELECT * FROM gone") == "42P01"
    con.execute("DROP TABLE t")
    assert sorted(rows(con, "SELECT * FROM t")) == [(1, "a"), (2, "b")]
    assert con.session.executor.upkeep.verify().is_clean


@pytest.mark.also_on("hive")
def test_a_statement_is_repeated_with_larger_values(con: Connection) -> None:
    """Row ids are set aside in large steps, and a query's types may hang on its parameters."""
    con.execute("CREATE TABLE src (k INTEGER PRIMARY KEY, v INTEGER)")
    con.execute("INSERT INTO src VALUES (1, 2), (2, 3)")
    con.execute("CREATE TABLE total (d INTEGER, s INTEGER)")
    for _ in range(2):
        for sql in ("BEGIN", "DELETE FROM total WHERE d = 1"):
            con.execute(sql)
        con.execute("INSERT INTO total SELECT 1, sum(v) FROM src")
        con.execute("COMMIT")
    assert rows(con, "SELECT * FROM total") == [(1, 5)]


@pytest.mark.parametrize("drops_first", [False, True])
def test_of_who_drops_a_schema_and_who_makes_something_in_it_one_fails(
    store: Store, con: Connection, drops_first: bool
) -> None:
    con.execute("CREATE SCHEMA hr")
    made = (
        "CREATE TABLE hr.a (k INT PRIMARY KEY)" if drops_first else "CREATE VIEW hr.a AS SELECT 1"
    )
    early, late = ("DROP SCHEMA hr CASCADE", made) if drops_first else (made, "DROP SCHEMA hr")
    with store.connect() as other:
        other.execute("BEGIN")
        other.execute(late)
        con.execute(early)
        assert _state(other, "COMMIT") == "40001"
    if drops_first:
        con.execute("CREATE SCHEMA hr")
        assert _state(con, "SELECT * FROM hr.a") == "42P01"
    else:
        assert rows(con, "SELECT * FROM hr.a") == [(1,)]
