"""Values of every type in a Hive store, nested ones among them, and keys that it does not have."""

from __future__ import annotations

import datetime
from decimal import Decimal
from importlib.metadata import entry_points

import duckdb
import pytest
import sqlalchemy

import gateway
from gateway.dbapi.connection import Connection

pytestmark = [pytest.mark.stores, pytest.mark.timeout(900)]


def rows(con: Connection, sql: str) -> list[tuple[object, ...]]:
    return con.execute(sql).fetchall()


def test_values_come_back_as_they_were(con: Connection) -> None:
    con.execute(
        "CREATE TABLE v (k INTEGER PRIMARY KEY, b BOOLEAN, i BIGINT, f DOUBLE, d DECIMAL(38,10),"
        " s VARCHAR, x BLOB, day DATE, ts TIMESTAMP, tz TIMESTAMPTZ, a INTEGER[],"
        " m MAP(VARCHAR, INTEGER), r STRUCT(p INTEGER, q VARCHAR), u UUID)"
    )
    uid = "0f0e0d0c-0b0a-0908-0706-050403020100"
    con.execute(
        "INSERT INTO v VALUES (1, true, -9223372036854775807, 0.1, 1.0000000001,"
        " 'quote '' back \\ \u00e9 \U0001f600', '\\x00\\xFF'::BLOB, '2020-02-29',"
        " '1999-12-31 23:59:59.123456', '2020-01-01 00:00:00.000001+00', [1, NULL, 3],"
        f" MAP {{'a': 1}}, {{'p': 7, 'q': 'x \"y\" \\'}}, '{uid}')"
    )
    con.execute("INSERT INTO v (k) VALUES (2)")
    found = rows(con, "SELECT * FROM v ORDER BY k")
    assert found[1] == (2, *[None] * 13)
    assert [str(v) if i == 13 else v for i, v in enumerate(found[0])] == [
        1,
        True,
        -9223372036854775807,
        0.1,
        Decimal("1.0000000001"),
        "quote ' back \\ \u00e9 \U0001f600",
        b"\x00\xff",
        datetime.date(2020, 2, 29),
        datetime.datetime.fromisoformat("1999-12-31 23:59:59.123456"),
        datetime.datetime(2020, 1, 1, 0, 0, 0, 1, tzinfo=datetime.UTC),
        [1, None, 3],
        {"a": 1},
        {"p": 7, "q": 'x "y" \\'},
        uid,
    ]
    con.execute("UPDATE v SET s = s || '!' WHERE k = 1")
    again = rows(con, "SELECT * FROM v WHERE k = 1")[0]
    assert again[5] == f"{found[0][5]}!"
    assert (*again[:5], *again[6:]) == (*found[0][:5], *found[0][6:])


def test_rows_from_here_and_from_spark_go_together(con: Connection) -> None:
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, u UUID, at TIME, h HUGEINT)")
    values = "'00000000-0000-0000-0000-000000000001', TIME '12:00:00', 10"
    con.execute(f"INSERT INTO t VALUES (1, {values})")
    con.execute("UPDATE t SET h = h + 1 WHERE k < 5")
    con.execute("INSERT INTO t SELECT k + 10, u, at, h FROM t")
    con.execute(f"INSERT INTO t VALUES (3, {values})")
    found = con.execute("SELECT k, CAST(u AS VARCHAR), h FROM t ORDER BY k").fetchall()
    one = "00000000-0000-0000-0000-000000000001"
    assert found == [(1, one, 11), (3, one, 10), (11, one, 11)]


MEMBERS = (
    ("TIMESTAMP[]", "[TIMESTAMP '2024-01-02 03:04:05.000001', TIMESTAMP '0001-01-01 00:00:00.5']"),
    ("TIMESTAMPTZ[]", "[TIMESTAMPTZ '2024-01-02 03:04:05.123456+02']"),
    ("DOUBLE[]", "['inf'::DOUBLE, 1e300, 0.1, NULL]"),
    ("DECIMAL(38, 10)[]", "[12345678901234567890.0123456789]"),
    ("STRUCT(Ab INTEGER, t TIMESTAMP)", "{'Ab': 1, 't': TIMESTAMP '2024-01-01 00:00:00.5'}"),
    ("MAP(VARCHAR, DATE[])", "MAP {'a B': [DATE '0001-01-01', DATE '9999-12-31']}"),
)
REFUSED_MEMBERS = (
    ("BLOB[]", "['hello'::BLOB]", "PAL-110"),
    ("STRUCT(x STRUCT(y BLOB))", "{'x': {'y': 'ab'::BLOB}}", "PAL-110"),
    ('STRUCT("A b" INTEGER)', "{'A b': 1}", "PAL-110"),
    ("MAP(INTEGER, VARCHAR)", "MAP {1: 'x'}", "PAL-110"),
    ("HUGEINT[]", "[170141183460469231731687303715884105727::HUGEINT]", "PAL-310"),
)


def test_members_come_back_as_they_were_or_are_refused(con: Connection) -> None:
    with duckdb.connect() as oracle:
        for number, (kind, value) in enumerate(MEMBERS):
            con.execute(f"CREATE TABLE m{number} (k INTEGER PRIMARY KEY, v {kind})")
            con.execute(f"INSERT INTO m{number} VALUES (1, {value})")
            expected = oracle.execute(f"SELECT 1, {value}::{kind}").fetchall()
            assert rows(con, f"SELECT * FROM m{number}") == expected, kind
    for number, (kind, value, code) in enumerate(REFUSED_MEMBERS):
        con.execute(f"CREATE TABLE r{number} (k INTEGER PRIMARY KEY, v {kind})")
        with pytest.raises(gateway.Error) as raised:
            con.execute(f"INSERT INTO r{number} VALUES (1, {value})")
        assert raised.value.code == code, kind
        assert rows(con, f"SELECT count(*) FROM r{number}") == [(0,)]


@pytest.mark.parametrize("asked", [{}, {"ondelete": "CASCADE"}])
def test_a_foreign_key_of_a_model_is_refused(url: str, asked: dict[str, str]) -> None:
    if "palimpsest.hive" not in {e.name for e in entry_points(group="sqlalchemy.dialects")}:
        pytest.skip("the package was installed before it had this dialect: run make setup")
    models = sqlalchemy.MetaData()
    sqlalchemy.Table("p", models, sqlalchemy.Column("id", sqlalchemy.Integer, primary_key=True))
    key = sqlalchemy.ForeignKey("p.id", **asked)  # type: ignore[arg-type]
    child = sqlalchemy.Table("c", models, sqlalchemy.Column("p", sqlalchemy.Integer, key))
    engine = sqlalchemy.create_engine(url)
    with pytest.raises(sqlalchemy.exc.NotSupportedError, match="PAL-110"):
        models.create_all(engine)
    for constraint in child.foreign_key_constraints:
        constraint.ddl_if(dialect="postgresql")
    models.create_all(engine)
    assert set(sqlalchemy.inspect(engine).get_table_names()) == {"c", "p"}
    engine.dispose()
