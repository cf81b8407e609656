"""Types of users beyond what logic files show: the past, other processes, rows on disk, tools."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
import sqlalchemy as sa

import gateway


@pytest.mark.long
def test_the_past_has_the_enum_of_then(tmp_path: Path) -> None:
    url = f"palimpsest:///{tmp_path}/w"
    with gateway.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')")
        connection.execute("CREATE TABLE t (k mood PRIMARY KEY, m mood, l mood[])")
        connection.execute("INSERT INTO t VALUES ('ok', 'sad', ['ok'])")
        connection.execute("CALL system.flush()")
        files = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*.parquet")}
        before = connection.execute("SELECT max(version) FROM system.transactions").fetchone()
        connection.execute("ALTER TYPE mood ADD VALUE 'meh' BEFORE 'sad'")
        connection.execute("UPDATE t SET m = 'meh', l = ['meh', 'ok']")
        assert files == {p: p.stat().st_mtime_ns for p in files}
    assert before is not None
    with gateway.connect(url, autocommit=True) as connection:
        now = "SELECT k, m, l, typeof(m) FROM t"
        assert connection.execute(now).fetchall() == [
            ("ok", "meh", ["meh", "ok"], "ENUM('meh', 'sad', 'ok')")
        ]
        then = f"{now} FOR SYSTEM_VERSION AS OF {before[0]}"
        assert connection.execute(then).fetchall() == [("ok", "sad", ["ok"], "ENUM('sad', 'ok')")]
        connection.execute("ALTER TABLE t ADD COLUMN n mood DEFAULT 'meh'")
        assert connection.execute("SELECT n FROM t WHERE k = 'ok'").fetchall() == [("meh",)]


def test_sqlalchemy_reflects_enums(tmp_path: Path) -> None:
    engine = sa.create_engine(f"palimpsest:///{tmp_path}/w")
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TYPE mood AS ENUM ('sad', 'ok')"))
        connection.execute(sa.text("CREATE TABLE t (k INTEGER PRIMARY KEY, m mood)"))
    columns = {c["name"]: c["type"] for c in sa.inspect(engine).get_columns("t")}
    assert isinstance(columns["m"], sa.Enum)
    assert columns["m"].enums == ["sad", "ok"]
    engine.dispose()


def test_cascade_in_the_postgres_dialect_drops_columns() -> None:
    connection = gateway.connect("palimpsest://", dialect="postgres", autocommit=True)
    connection.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')")
    connection.execute("CREATE DOMAIN positive AS int CHECK (VALUE > 0)")
    connection.execute("CREATE TABLE t (k int PRIMARY KEY, m mood, p positive)")
    connection.execute("INSERT INTO t VALUES (1, 'ok', 5)")
    with pytest.raises(gateway.errors.ProgrammingError, match="PAL-210"):
        connection.execute("DROP TYPE mood")
    connection.execute("DROP TYPE mood CASCADE")
    assert connection.execute("SELECT * FROM t").fetchall() == [(1, 5)]


def test_a_domain_is_checked_in_casts() -> None:
    connection = gateway.connect("palimpsest://", autocommit=True)
    connection.execute("CREATE DOMAIN positive AS INTEGER CHECK (VALUE > 0) NOT NULL")
    assert connection.execute("SELECT CAST('5' AS positive)").fetchall() == [(5,)]
    with pytest.raises(gateway.errors.IntegrityError, match="PAL-303"):
        connection.execute("SELECT CAST(-5 AS positive)")
    with pytest.raises(gateway.errors.IntegrityError, match="PAL-302"):
        connection.execute("SELECT CAST(NULL AS positive)")
    with pytest.raises(gateway.errors.NotSupportedError, match="positive"):
        connection.execute("SELECT CAST(random() AS positive)")


def test_a_session_that_only_reads_defines_nothing(tmp_path: Path) -> None:
    url = f"palimpsest:///{tmp_path}/w"
    gateway.connect(url).close()
    reader = gateway.connect(url, read_only=True, autocommit=True)
    for statement in ("CREATE TYPE a AS INTEGER", "CREATE MACRO f(x) AS x"):
        with pytest.raises(gateway.errors.OperationalError, match="PAL-403"):
            reader.execute(statement)
    reader.close()


def test_attributes_of_a_composite_type_change_while_it_is_not_used() -> None:
    with gateway.connect("palimpsest://", autocommit=True, dialect="postgres") as con:
        con.execute("CREATE TYPE pair AS (a INTEGER, b TEXT)")
        con.execute("ALTER TYPE pair ADD ATTRIBUTE c NUMERIC(4, 2), DROP ATTRIBUTE b CASCADE")
        con.execute("ALTER TYPE pair ALTER ATTRIBUTE a SET DATA TYPE BIGINT")
        con.execute('ALTER TYPE pair RENAME ATTRIBUTE a TO "A"')
        con.execute("ALTER TYPE pair DROP ATTRIBUTE IF EXISTS b")
        row = "ROW(5000000000, 2.5)::pair"
        assert con.execute(f'SELECT ({row})."A", ({row}).c').fetchall() == [
            (5000000000, Decimal("2.50"))
        ]
        con.execute("CREATE TYPE mood AS ENUM ('ok')")
        for change, state in (
            ("pair ADD ATTRIBUTE c INTEGER", "42701"),
            ('pair RENAME ATTRIBUTE c TO "A"', "42701"),
            ("pair DROP ATTRIBUTE b", "42703"),
            ("pair ALTER ATTRIBUTE b TYPE TEXT", "42703"),
            ("pair ADD ATTRIBUTE d nowhere", "42704"),
            ("pair ADD ATTRIBUTE d INTEGER, SET SCHEMA x", "42601"),
            ("pair RENAME ATTRIBUTE c d", "42601"),
            ("mood ADD ATTRIBUTE d INTEGER", "42809"),
        ):
            with pytest.raises(gateway.DatabaseError) as raised:
                con.execute(f"ALTER TYPE {change}")
            assert raised.value.sqlstate == state, change
        con.execute("CREATE TABLE t (p pair)")
        with pytest.raises(gateway.DatabaseError, match="PAL-210"):
            con.execute("ALTER TYPE pair ADD ATTRIBUTE d INTEGER")
