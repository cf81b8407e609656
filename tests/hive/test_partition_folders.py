"""Tables that their owner wants partitioned or in buckets: reads choose, writes keep it so."""

from __future__ import annotations

import duckdb
import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.adopting import adopt
from journal.model.errors import Code, PalimpsestError
from journal.stores.hive.adopt import plain as plain_tables
from journal.stores.hive.journal import HiveJournal
from spark_compaction.backends.hive import cleaning
from tests.hive.test_adopted_tables import CLASSIC, Outside, outside, parts

__all__ = ["outside"]
pytestmark = [pytest.mark.stores, pytest.mark.timeout(900)]


def _compacted(con: Connection) -> tuple[str, tuple[object, int]]:
    """The plan of a query of one partition after compaction, and the buckets of the base."""
    (done,) = con.execute("CALL system.compact('hr.t')").fetchall()
    assert done[3] == "SUCCEEDED", done
    con.execute("CALL system.flush()")
    journal = con.session.journal
    assert isinstance(journal, HiveJournal)
    with journal.store.connection() as connection:
        view = f"{journal.names.schema('hr')}.t"
        plan = connection.run(f"EXPLAIN SELECT * FROM {view} WHERE city = 'Oslo' AND k = 1")
        named = f"{journal.names.journals}*_s"
        shaped = connection.tables_of(journal.names.journal_database, named)[-1]
        found = plain_tables.find(connection, journal.names.journal_database, shaped)
    assert found is not None
    assert found.partitioned[1:] == ("city",)
    return str(plan[0][0]), (found.bucketed, found.buckets)


def test_partitions_and_buckets_are_made_by_compaction(outside: Outside) -> None:
    con = outside.con
    con.execute("CREATE SCHEMA hr")
    con.session.dialect = "spark"
    con.execute(
        "CREATE TABLE hr.t (k INT PRIMARY KEY, n STRING) USING PARQUET"
        " PARTITIONED BY (city STRING) CLUSTERED BY (k) INTO 4 BUCKETS"
    )
    con.execute("INSERT INTO hr.t VALUES (1, 'a', 'Oslo'), (2, 'b', NULL), (3, 'c', 'Rome')")
    con.execute("UPDATE hr.t SET n = 'z' WHERE k = 3")
    con.execute("DELETE FROM hr.t WHERE k = 2")
    con.execute("INSERT INTO hr.t VALUES (2, 'back', 'Rome')")
    rows = [(1, "a", "Oslo"), (2, "back", "Rome"), (3, "z", "Rome")]
    plan, buckets = _compacted(con)
    assert "isnotnull(city" in plan
    assert buckets == (("k",), 4)
    asked = "SELECT k, n, city FROM hr.t ORDER BY k"
    assert con.execute(asked).fetchall() == rows
    assert con.session.executor.upkeep.verify().is_clean
    con.execute("ERASE FROM hr.t WHERE k = 3")
    assert con.execute(asked).fetchall() == rows[:2]
    con.execute("UPDATE hr.t SET city = 'Bern' WHERE k = 2")
    assert "isnotnull(city" in _compacted(con)[0]
    outside.journal.now = lambda: 1 << 61
    assert cleaning.reap(outside.journal, outside.raw)
    assert con.execute(asked).fetchall() == [rows[0], (2, "back", "Bern")]


def test_an_adopted_table_keeps_its_partitions(outside: Outside) -> None:
    outside.run(
        "CREATE TABLE hr.t (k INT, n STRING, city STRING) USING PARQUET PARTITIONED BY (city)"
        " CLUSTERED BY (k) INTO 2 BUCKETS"
    )
    outside.run("INSERT INTO hr.t VALUES (1, 'a', 'Oslo'), (2, 'b', 'Rome')")
    assert parts(outside.folder("t"))
    con = outside.con
    adopt(con.session, "hr.t", ("k",), CLASSIC, run=True)
    con.execute("INSERT INTO hr.t VALUES (3, 'c', 'Rome')")
    plan, buckets = _compacted(con)
    assert "isnotnull(city" in plan
    assert buckets == (("k",), 2)
    assert con.execute("SELECT count(*) FROM hr.t").fetchall() == [(3,)]


def test_partitions_by_what_is_no_column_are_refused(outside: Outside) -> None:
    con = outside.con
    con.execute("CREATE SCHEMA hr")
    con.session.dialect = "spark"
    for clause in (
        "PARTITIONED BY (nope)",
        "PARTITIONED BY (tags)",
        "PARTITIONED BY (bucket(4, k))",
    ):
        with pytest.raises(gateway.Error):
            con.execute(f"CREATE TABLE hr.t (k INT, tags ARRAY<INT>) {clause}")


def _filled(con: Connection, kind: str, values: tuple[str, ...]) -> None:
    """Two commits of a table that is to have a partition for each value, and NULL."""
    con.execute(f"CREATE TABLE t (k INTEGER PRIMARY KEY, p {kind})")
    con.execute("ALTER TABLE t SET (partitions = 'LIST (p)')")
    rows = [f"({number}, {value})" for number, value in enumerate((*values, "NULL"))]
    for place in (0, 1):
        con.execute(f"INSERT INTO t VALUES {', '.join(rows[place::2])}")
    (done,) = con.execute("CALL system.compact('t')").fetchall()
    assert done[3] == "SUCCEEDED", done


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (
            "VARCHAR",
            ("'x/y=z'", "'%41'", "'é😀'", "'a:b#c?*[]{}\\^\"'", "'NULL'", "'A'", "'a'", "'..'"),
        ),
        ("DATE", ("DATE '2024-02-29'", "DATE '0001-01-01'", "DATE '9999-12-31'")),
        ("DECIMAL(10, 2)", ("1.50", "-0.01", "0.00", "12345678.90")),
        (
            "TIMESTAMP",
            ("TIMESTAMP '2024-01-01 10:00:00.123456'", "TIMESTAMP '1969-12-31 23:59:59'"),
        ),
        ("BOOLEAN", ("true", "false")),
        ("BIGINT", ("9223372036854775807", "-9223372036854775808", "0")),
        ("DOUBLE", ("0.5", "-1e300", "CAST('-inf' AS DOUBLE)", "0.1", "1e-7")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_values_of_each_type_come_back_from_folders(
    con: Connection, kind: str, values: tuple[str, ...]
) -> None:
    _filled(con, kind, values)
    con.execute("SET TIME ZONE 'America/New_York'")
    counted = ", ".join(f"count(*) FILTER (WHERE p = {value})" for value in values)
    with duckdb.connect() as plain:
        plain.execute(f"CREATE TABLE t (k INTEGER, p {kind})")
        for number, value in enumerate((*values, "NULL")):
            plain.execute(f"INSERT INTO t VALUES ({number}, {value})")
        for asked in (
            "SELECT k, p FROM t ORDER BY k",
            f"SELECT {counted}, count(p) FROM t",
            f"SELECT k FROM t WHERE p IS NULL OR p = {values[-1]} ORDER BY k",
        ):
            assert con.execute(asked).fetchall() == plain.execute(asked).fetchall()


@pytest.mark.parametrize("kind", ["TIMESTAMPTZ", "BLOB", "INTEGER[]"])
def test_types_that_no_folder_names_are_refused(con: Connection, kind: str) -> None:
    con.execute(f"CREATE TABLE t (k INTEGER PRIMARY KEY, p {kind})")
    with pytest.raises(gateway.NotSupportedError, match="no partitions by p"):
        con.execute("ALTER TABLE t SET (partitions = 'LIST (p)')")


def test_tables_with_partitions_by_instants_are_not_adopted(outside: Outside) -> None:
    outside.run("CREATE TABLE hr.t (k INT, at TIMESTAMP_LTZ) USING PARQUET PARTITIONED BY (at)")
    with pytest.raises(PalimpsestError, match="depends on who reads them") as raised:
        adopt(outside.con.session, "hr.t", ("k",), CLASSIC, run=False)
    assert raised.value.code is Code.NOT_SUPPORTED
