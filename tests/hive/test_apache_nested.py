"""Lists, maps and structs in journals of Apache Hive, where one was asked for, beside DuckDB."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.adopting import adopt, eject
from journal.model.errors import Code, PalimpsestError
from journal.stores.hive.journal import HiveJournal
from tests.support.thrift_server import ThriftServer

pytestmark = pytest.mark.timeout(1800)
CLASSIC = ("_journal", "version_number", "subsequent_version_number")
MADE = (
    "CREATE TABLE t (k INTEGER PRIMARY KEY, l INTEGER[], ll VARCHAR[][], m MAP(INTEGER, VARCHAR),"
    " s STRUCT(a INTEGER, b DOUBLE[]), d DECIMAL(38, 5)[], ts TIMESTAMP[],"
    " ms MAP(DATE, STRUCT(x BOOLEAN)), f FLOAT[])"
)
EMPTY = "INSERT INTO t (k) VALUES (1)"
FULL = (
    "INSERT INTO t VALUES (2, [1, NULL, -7], [['a'], [], NULL, [NULL, 'it''s \\ é;,:{\"}']],"
    " MAP {1: 'x', -2: NULL, 3: '{4:5}'}, {'a': NULL, 'b': ['nan', 'inf', 1e300, 0.1]},"
    " [12345678901234567890.12345, -0.01], [TIMESTAMP '2024-01-01 00:00:00.123456', NULL],"
    " MAP {DATE '1969-12-31': {'x': true}, DATE '2024-02-29': NULL}, [0.1, 16777217, 1e-30])"
)
BARE = (
    "INSERT INTO t VALUES"
    " (3, [], [], MAP([], []), {'a': 1, 'b': NULL}, [], [NULL], MAP([], []), []),"
    " (4, [NULL], [[]], MAP {7: 'seven'}, NULL, [1], [], MAP {DATE '2024-01-01': {'x': NULL}},"
    " NULL)"
)
CHANGES = (
    EMPTY,
    FULL,
    BARE,
    "UPDATE t SET l = [9], s = {'a': 2, 'b': [2.5]} WHERE k = 3",
    "UPDATE t SET k = 5 WHERE k = 4",
    "DELETE FROM t WHERE k = 1",
)
QUESTIONS = (
    "SELECT * FROM t ORDER BY k",
    "SELECT l, m AS n FROM t WHERE k = 2",
    "SELECT q.k, q.s FROM (SELECT k, s FROM t WHERE s IS NOT NULL) q WHERE q.k > 2 ORDER BY q.k",
)
ANALYSED = "SELECT k, len(l), s.a, unnest(l) FROM t WHERE l <> [] ORDER BY ALL"


@pytest.fixture
def prefix() -> str:
    return f"p{uuid.uuid4().hex[:8]}_"


@pytest.fixture
def url(apache: ThriftServer, prefix: str, tmp_path: Path) -> str:
    return apache.url(prefix, tmp_path / "catalog.db")


@pytest.fixture
def con(url: str) -> Iterator[Connection]:
    """A connection that has Hive answer all queries."""
    with gateway.connect(f"{url}&held_rows=0", autocommit=True) as found:
        yield found


@pytest.fixture
def held(url: str) -> Iterator[Connection]:
    """One that answers queries of small tables itself, so that writes may do all there is."""
    with gateway.connect(url, autocommit=True) as found:
        yield found


def _shown(con: Connection | duckdb.DuckDBPyConnection, sql: str) -> list[str]:
    """Rows as text, in which a NaN is like another."""
    return [repr(row) for row in con.execute(sql).fetchall()]


def test_values_come_back_as_they_were(con: Connection, held: Connection) -> None:
    oracle = duckdb.connect()
    for sql in (MADE, *CHANGES):
        oracle.execute(sql)
        held.execute(sql)
    expected = [_shown(oracle, sql) for sql in QUESTIONS]
    assert [_shown(con, sql) for sql in QUESTIONS] == expected
    assert _shown(held, ANALYSED) == _shown(oracle, ANALYSED)
    con.execute("CALL system.backup('t', name => 'kept')")
    assert "SUCCEEDED" in str(con.execute("CALL system.compact('t')").fetchall())
    assert [_shown(con, sql) for sql in QUESTIONS] == expected
    for change in ("ALTER TABLE t ADD COLUMN n VARCHAR[]", "UPDATE t SET n = ['x'] WHERE k = 2"):
        oracle.execute(change)
        held.execute(change)
    assert _shown(con, QUESTIONS[0]) == _shown(oracle, QUESTIONS[0])
    assert con.session.executor.upkeep.verify().is_clean


def test_what_hive_would_do_with_them_is_refused(con: Connection) -> None:
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, l INTEGER[], s STRUCT(a INTEGER))")
    con.execute("INSERT INTO t VALUES (1, [1], {'a': 1}), (2, [1], NULL)")
    for sql in (
        "SELECT DISTINCT l FROM t",
        "SELECT l FROM t UNION SELECT l FROM t",
        "SELECT l, count(*) FROM t GROUP BY l",
        "SELECT k FROM t ORDER BY l",
        "SELECT a.k FROM t a JOIN t b ON a.l = b.l",
        "SELECT a.k FROM t a JOIN t b USING (l)",
        "SELECT k FROM t WHERE l = [1]",
        "SELECT max(l) FROM t",
        "SELECT count(DISTINCT s) FROM t",
        "SELECT s.a FROM t",
        "SELECT l[1] FROM t",
        "SELECT unnest(l) FROM t",
        "SELECT CAST(l AS VARCHAR) FROM t",
    ):
        with pytest.raises(gateway.Error) as raised:
            con.execute(sql).fetchall()
        assert raised.value.code == "PAL-110", sql
    assert con.execute("SELECT count(*) FROM t WHERE l IS NOT NULL").fetchall() == [(2,)]


@pytest.mark.parametrize(
    "kind",
    [
        "BLOB[]",
        "TIMESTAMPTZ[]",
        "STRUCT(A INTEGER)",
        'STRUCT("a b" INTEGER)',
        "MAP(DOUBLE, INTEGER)",
        "STRUCT(a JSON)",
        "HUGEINT[]",
    ],
)
def test_members_that_would_not_come_back_are_refused(con: Connection, kind: str) -> None:
    with pytest.raises(
        gateway.NotSupportedError, match="a journal of Apache Hive takes no"
    ) as told:
        con.execute(f"CREATE TABLE u (k INTEGER PRIMARY KEY, v {kind})")
    assert told.value.code == "PAL-110"


def test_others_read_values_and_a_table_leaves_with_them(
    con: Connection, held: Connection, prefix: str
) -> None:
    held.execute("CREATE SCHEMA hr")
    held.execute(MADE.replace("TABLE t", "TABLE hr.t"))
    for sql in CHANGES:
        held.execute(sql.replace(" t ", " hr.t "))
    held.execute("CALL system.flush()")
    assert isinstance(con.session.journal, HiveJournal)
    read = (
        "SELECT k, l[0], size(ll), ll[3][1], m[3], s.b[2], d[0], ts[0], ms[DATE '1969-12-31'].x"
        f" FROM {prefix}hr.t WHERE k = 2"
    )
    number = Decimal("12345678901234567890.12345")
    at = datetime.datetime.fromisoformat("2024-01-01 00:00:00.123456")
    text = "it's \\ é;,:{\"}"
    expected = [(2, 1, 4, text, "{4:5}", 1e300, number, at, True)]
    with con.session.journal.store.connection() as outside:
        assert outside.run(read) == expected
        count = f"SELECT count(*) FROM {prefix}hr.t_journal WHERE size(l) = 3"
        assert outside.run(count) == [(1,)]
        eject(held.session, "hr.t", run=True)
        assert outside.run(read) == expected


def test_a_table_of_hive_with_them_is_not_adopted(con: Connection, prefix: str) -> None:
    hr = f"{prefix}hr"
    assert isinstance(con.session.journal, HiveJournal)
    with con.session.journal.store.connection() as outside:
        outside.execute(f"CREATE DATABASE {hr}")
        outside.execute(f"CREATE TABLE {hr}.t (k int, l array<string>) STORED AS ORC")
    with pytest.raises(PalimpsestError, match="loses members") as told:
        adopt(con.session, "hr.t", ("k",), CLASSIC, run=True)
    assert told.value.code is Code.NOT_SUPPORTED


def test_another_type_of_them_is_refused(held: Connection) -> None:
    held.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, l INTEGER[])")
    held.execute("INSERT INTO t VALUES (1, [1])")
    for kind in ("BIGINT[]", "VARCHAR"):
        with pytest.raises(gateway.NotSupportedError, match="another type"):
            held.execute(f"ALTER TABLE t ALTER l TYPE {kind}")
    assert held.execute("SELECT l FROM t").fetchall() == [([1],)]
