"""Generated columns where plain DuckDB has none: under constraints, in the past, elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy

from tests.support.client import Client


@pytest.fixture
def run(connect: Callable[..., Client]) -> Client:
    """A client whose warehouse has a table with stored generated columns."""
    client = connect()
    client(
        "CREATE TABLE t (k INTEGER PRIMARY KEY, a INTEGER,"
        " b INTEGER GENERATED ALWAYS AS (a * 2) STORED CHECK (b < 100),"
        " c VARCHAR GENERATED ALWAYS AS (lower(n)) STORED UNIQUE NOT NULL, n VARCHAR)"
    )
    client("INSERT INTO t VALUES (1, 10, 'One'), (2, 20, 'Two')")
    return client


@pytest.mark.long
def test_constraints_look_at_them(run: Client) -> None:
    assert run.error("INSERT INTO t VALUES (3, 50, 'Three')")[1] == "23514"
    assert run.error("INSERT INTO t VALUES (3, 1, 'ONE')")[1] == "23505"
    assert run.error("INSERT INTO t VALUES (3, 1, NULL)")[1] == "23502"
    assert run.error("INSERT INTO t SELECT range + 5, 1, 'x' FROM range(300)")[1] == "23505"
    assert run.error("UPDATE t SET a = 50 WHERE k = 1")[1] == "23514"
    assert run.error("UPDATE t SET n = 'tWO' WHERE k = 1")[1] == "23505"
    assert run.error("UPDATE t SET n = NULL WHERE k = 1")[1] == "23502"
    assert run("UPDATE t SET n = 'ONE', a = 49 WHERE k = 1") == 1
    run("INSERT INTO t VALUES (9, 3, 'onE') ON CONFLICT (c) DO UPDATE SET a = excluded.a + 1")
    assert run("SELECT * FROM t WHERE k = 1") == [(1, 4, 8, "one", "ONE")]
    run("ALTER TABLE t ADD CHECK (b <> 6)")
    assert run.error("UPDATE t SET a = 3 WHERE k = 1")[1] == "23514"
    run("ALTER TABLE t ADD UNIQUE (b)")
    assert run.error("UPDATE t SET a = 20 WHERE k = 1")[1] == "23505"
    run("ALTER TABLE t ALTER COLUMN a SET NOT NULL")
    run("ALTER TABLE t ALTER COLUMN k SET DEFAULT 7")
    run("ALTER TABLE t ADD COLUMN z DOUBLE DEFAULT random()")
    assert run("SELECT k, a, b, c, n FROM t ORDER BY k") == [
        (1, 4, 8, "one", "ONE"),
        (2, 20, 40, "two", "Two"),
    ]


@pytest.mark.long
def test_the_past_and_the_journal_hold_them(run: Client) -> None:
    (version,) = run("SELECT max(version) FROM system.transactions")[0]
    run("UPDATE t SET a = 1 WHERE k = 1")
    run("CALL system.flush()")
    run("ALTER TABLE t RENAME COLUMN a TO aa")
    assert run("SELECT b FROM t WHERE k = 1") == [(2,)]
    assert run(f"SELECT b FROM t FOR SYSTEM_VERSION AS OF {version} WHERE k = 1") == [(20,)]
    run(f"RESTORE TABLE t TO VERSION AS OF {version}")
    assert run("SELECT aa, b FROM t WHERE k = 1") == [(10, 20)]


@pytest.mark.long
def test_prepared_changes(run: Client) -> None:
    with run.connection.cursor() as cursor:
        rows = [(k, k, f"N{k}") for k in range(10, 40)]
        cursor.executemany("INSERT INTO t (k, a, n) VALUES (?, ?, ?)", rows)
        cursor.executemany("UPDATE t SET a = ? WHERE k = ?", [(k - 1, k) for k in range(10, 40)])
    for key in (10, 11, 12):
        run("UPDATE t SET a = ? WHERE k = ?", 1, key)
        assert run("SELECT a, b, c FROM t WHERE k = ?", key) == [(1, 2, f"n{key}")]
    run("BEGIN")
    run("UPDATE t SET a = 7 WHERE k = 13")
    assert run("SELECT b FROM t WHERE k = 13") == [(14,)]
    run("ROLLBACK")
    assert run("SELECT sum(b - 2 * a) FROM t") == [(0,)]


def test_what_they_cannot_be(run: Client) -> None:
    for element in (
        "b DOUBLE AS (random())",
        "b TIMESTAMP AS (now())",
        "b TIMESTAMP AS (current_timestamp)",
        "b VARCHAR AS (uuid())",
        "b VARCHAR AS (current_user)",
        "b INTEGER AS (a + 1) DEFAULT 3",
        "b INTEGER AS (a + 1) PRIMARY KEY",
        "b INTEGER AS (row_number() OVER ())",
    ):
        assert run.error(f"CREATE TABLE x (a INTEGER, {element})")[1] == "42P16", element
    circle = "b INTEGER AS (c + 1), c INTEGER AS (b + 1)"
    assert run.error(f"CREATE TABLE x (a INTEGER, {circle})")[1] == "42P16"
    assert run.error("ALTER TABLE t DROP COLUMN n")[1] == "2BP01"
    assert run.error("CREATE TABLE x (a INTEGER, b INTEGER AS (getenv('HOME')))")[1] == "0A000"
    assert run.error("ALTER TABLE t ALTER COLUMN a TYPE BIGINT")[1] == "2BP01"
    assert run.error("ALTER TABLE t DROP COLUMN a")[1] == "2BP01"
    assert run.error("ALTER TABLE t ALTER COLUMN b SET DEFAULT 1")[1] == "0A000"
    assert run.error("ALTER TABLE t ALTER COLUMN b TYPE BIGINT")[1] == "0A000"
    assert run.error("ALTER TABLE t ADD COLUMN d INTEGER AS (random())")[1] == "42P16"
    assert run.error("INSERT INTO t (k, b) VALUES (8, 1)")[1] == "428C9"
    assert run.error("UPDATE t SET b = 1")[1] == "428C9"


@pytest.mark.long
def test_what_stands_behind_the_expression(run: Client) -> None:
    run(
        "CREATE TABLE x (a INTEGER, b INTEGER AS (a + 1) NOT NULL, c INT AS (a IS NOT NULL) UNIQUE,"
        " d AS (a * 2), e DECIMAL(9, 2) GENERATED ALWAYS AS (a / 3) VIRTUAL CHECK (e < 10))"
    )
    run("INSERT INTO x VALUES (2)")
    assert [str(v) for v in run("SELECT * FROM x")[0]] == ["2", "3", "1", "4", "0.67"]
    assert run.error("INSERT INTO x VALUES (NULL)")[1] == "23502"
    assert run.error("INSERT INTO x VALUES (60)")[1] == "23514"
    assert run.error("CREATE TABLE y (a INTEGER, b AS (a + 1) NOT NULL)")[1] == "42601"
    run("CREATE TABLE y AS SELECT * FROM (WITH c AS (SELECT 1 AS v) SELECT v AS w FROM c) AS z(w)")
    assert run("SELECT * FROM y") == [(1,)]


@pytest.mark.long
def test_descriptions(run: Client, connect: Callable[..., Client]) -> None:
    run("ALTER TABLE t RENAME COLUMN a TO amount")
    found = run(
        "SELECT column_name, generation_expression FROM information_schema.columns"
        " WHERE is_generated = 'ALWAYS'"
    )
    assert found == [("b", "amount * 2"), ("c", "LOWER(n)")]
    ((text,),) = run("SHOW CREATE TABLE t")
    other = connect()
    other(text.replace('"main"."t"', "u"))
    other("INSERT INTO u VALUES (1, 4, 'X')")
    assert other("SELECT * FROM u") == [(1, 4, 8, "x", "X")]
    other("CREATE TABLE v LIKE u")
    other("INSERT INTO v VALUES (1, 5, 'Y')")
    assert other("SELECT * FROM v") == [(1, 5, 10, "y", "Y")]
    other("CREATE TEMP TABLE w (a INTEGER, b INTEGER AS (a + 1) VIRTUAL)")
    other("INSERT INTO w VALUES (1)")
    other("UPDATE w SET a = 5")
    assert other("SELECT * FROM w") == [(5, 6)]


@pytest.mark.parametrize("dialect", ["postgres", "mysql", "spark"])
def test_generated_columns_are_read_in_other_dialects(
    connect: Callable[..., Client], dialect: str
) -> None:
    client = connect(dialect=dialect)
    stored = "" if dialect == "spark" else " STORED"
    client(f"CREATE TABLE t (a INT, b INT GENERATED ALWAYS AS (a + 1){stored})")
    client("INSERT INTO t (a) VALUES (1)")
    client("UPDATE t SET a = 2")
    assert client("SELECT * FROM t") == [(2, 3)]


def test_sqlalchemy(tmp_path: Path) -> None:
    engine = sqlalchemy.create_engine(f"palimpsest:///{tmp_path / 'w'}")
    meta = sqlalchemy.MetaData()
    table = sqlalchemy.Table(
        "square",
        meta,
        sqlalchemy.Column("id", sqlalchemy.Integer, primary_key=True),
        sqlalchemy.Column("side", sqlalchemy.Integer),
        sqlalchemy.Column("area", sqlalchemy.Integer, sqlalchemy.Computed("side * side")),
    )
    with engine.begin() as connection:
        meta.create_all(connection)
        connection.execute(table.insert(), [{"side": 2}, {"side": 3}])
        connection.execute(table.update().where(table.c.side == 3).values(side=4))
        assert sorted(connection.execute(sqlalchemy.select(table.c.area)).scalars()) == [4, 16]
        found = {c["name"]: c for c in sqlalchemy.inspect(connection).get_columns("square")}
        assert found["area"]["computed"]["sqltext"] == "side * side"
    engine.dispose()
