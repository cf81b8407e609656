"""A preview shows the text that Spark runs, and which steps the gateway runs itself."""

from __future__ import annotations

import pytest

from gateway.dbapi.connection import Connection
from gateway.shell.previewing import preview_on
from journal.stores.hive.client.thrift_connection import ThriftConnection

pytestmark = [pytest.mark.stores, pytest.mark.timeout(900)]


def test_what_is_shown_is_what_spark_runs(con: Connection, connection: ThriftConnection) -> None:
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, s VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    con.execute("UPDATE t SET s = 'x' WHERE k = 2")
    query = "SELECT k, s || '!' AS s FROM t WHERE k > {} ORDER BY k"
    shown = preview_on(con, query.format(1))
    assert shown.dialect == "spark"
    (step,) = shown.steps
    assert step.sql is not None
    assert connection.run(step.sql) == con.execute(query.format(1)).fetchall()
    (bound,) = preview_on(con, query.format("$1")).steps
    assert "`k` > $1" in (bound.sql or "")
    assert preview_on(con, query.format(1), "duckdb").dialect == "duckdb"


def test_steps_of_the_gateway_itself_are_marked(con: Connection) -> None:
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, s VARCHAR NOT NULL)")
    con.execute("INSERT INTO t VALUES (1, 'a')")
    first, *others = preview_on(con, "UPDATE t SET s = 'y' WHERE k > 0").steps
    assert "`palimpsest_segment`" in (first.sql or "")
    assert others
    assert all("the gateway runs this itself" in step.note for step in others)
    (alone,) = preview_on(con, "SELECT 1").steps
    assert alone.note == ""
