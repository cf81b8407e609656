"""System relations, information_schema, SHOW, DESCRIBE and EXPLAIN show the logical warehouse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.prepared_warehouse import prepared_warehouse

TABLES = (
    "CREATE SCHEMA hr",
    """CREATE TABLE hr.t (k INTEGER PRIMARY KEY, a VARCHAR NOT NULL DEFAULT 'q',
    d DECIMAL(5, 2) UNIQUE, CHECK (k > 0))""",
    "CREATE TABLE u (i INTEGER GENERATED ALWAYS AS IDENTITY, x INTEGER)",
    "CREATE VIEW v AS SELECT k, a FROM hr.t",
    "INSERT INTO hr.t (k, d) VALUES (1, 1), (2, 2)",
)


@pytest.fixture
def url(tmp_path: Path) -> str:
    """The URL of a warehouse with the tables, made by ann."""
    return prepared_warehouse(tmp_path / "w", TABLES, user="ann")


@pytest.fixture
def con(url: str) -> Iterator[Connection]:
    with gateway.connect(url, autocommit=True, user="ann") as made:
        yield made


def rows(con: Connection, sql: str) -> list[tuple[Any, ...]]:
    return con.execute(sql).fetchall()


def test_tables_and_columns(con: Connection) -> None:
    sql = 'SELECT "schema", name, type, key FROM system.tables ORDER BY ALL'
    assert rows(con, sql) == [
        ("hr", "t", "table", ["k"]),
        ("main", "u", "table", []),
        ("main", "v", "view", None),
    ]
    sql = "SELECT name, type, nullable, is_key FROM system.columns WHERE \"table\" = 't'"
    assert rows(con, sql) == [
        ("k", "INTEGER", False, True),
        ("a", "VARCHAR", False, False),
        ("d", "DECIMAL(5,2)", True, False),
    ]
    joined = "SELECT t.name, count(*) FROM system.tables AS t JOIN system.columns AS c"
    joined += ' ON c."table" = t.name GROUP BY ALL ORDER BY ALL'
    assert rows(con, joined) == [("t", 3), ("u", 2), ("v", 2)]


def test_journals_and_segments_follow_a_flush(con: Connection) -> None:
    sql = "SELECT head_rows, base_rows, segments FROM system.journals WHERE \"table\" = 't'"
    assert rows(con, sql) == [(2, 0, 0)]
    con.execute("CALL system.flush()")
    assert rows(con, sql) == [(0, 2, 1)]
    assert rows(con, "SELECT tier, rows, open_rows FROM system.segments") == [("base", 2, 2)]


def test_transactions_and_settings(con: Connection) -> None:
    con.execute("SET commit_message = 'why'")
    con.execute("DELETE FROM hr.t WHERE k = 1")
    sql = 'SELECT "user", message, tables, statements FROM system.transactions'
    assert rows(con, f"{sql} ORDER BY version DESC LIMIT 1") == [("ann", "why", ["hr.t"], 1)]
    sql = "SELECT value FROM system.settings WHERE name = 'commit_message'"
    assert rows(con, sql) == [("why",)]


def test_own_definitions_are_seen_before_the_commit(con: Connection) -> None:
    sql = "SELECT table_name FROM information_schema.tables WHERE table_name = 'fresh'"
    con.execute("BEGIN")
    con.execute("CREATE TABLE fresh (k INTEGER)")
    assert rows(con, sql) == [("fresh",)]
    con.execute("ROLLBACK")
    assert rows(con, sql) == []


def test_information_schema(con: Connection) -> None:
    sql = "SELECT table_schema, table_name, table_type FROM information_schema.tables"
    assert rows(con, f"{sql} WHERE table_schema <> 'system' ORDER BY ALL") == [
        ("hr", "t", "BASE TABLE"),
        ("main", "u", "BASE TABLE"),
        ("main", "v", "VIEW"),
    ]
    sql = "SELECT column_name, data_type, is_nullable FROM information_schema.columns"
    assert rows(con, f"{sql} WHERE table_name = 'v'") == [
        ("k", "INTEGER", "YES"),
        ("a", "VARCHAR", "YES"),
    ]
    sql = "SELECT constraint_type, constraint_name FROM information_schema.table_constraints"
    assert [kind for kind, _ in rows(con, sql)] == ["PRIMARY KEY", "UNIQUE", "CHECK"]
    sql = "SELECT column_name, ordinal_position FROM information_schema.key_column_usage"
    assert rows(con, sql) == [("k", 1), ("d", 1)]
    sql = "SELECT column_name, constraint_name FROM information_schema.constraint_column_usage"
    assert len(rows(con, f"{sql} WHERE table_schema = 'hr'")) >= 3
    clauses = rows(con, "SELECT check_clause FROM information_schema.check_constraints")
    assert [clause[:2] + clause[-2:] for (clause,) in clauses] == ["(())"]
    sets = "SELECT character_set_name FROM information_schema.character_sets"
    assert rows(con, sets) == [("UTF8",)]
    schemata = rows(con, "SELECT schema_name FROM information_schema.schemata")
    assert {("hr",), ("main",)} <= set(schemata)
    assert "_palimpsest" not in {name for (name,) in schemata}
    assert rows(con, "SELECT table_name FROM information_schema.views") == [("v",)]


def test_numbers_have_the_precision_that_duckdb_gives(con: Connection) -> None:
    made = (
        "CREATE TABLE numbers (a TINYINT, b SMALLINT, c INTEGER, d BIGINT, e HUGEINT, f FLOAT,"
        " g DOUBLE, h DECIMAL(7, 3), i UINTEGER, j VARCHAR, k TIMESTAMP)"
    )
    con.execute(made)
    sql = (
        "SELECT column_name, numeric_precision, numeric_precision_radix, numeric_scale,"
        " datetime_precision FROM information_schema.columns"
        " WHERE table_name = 'numbers' ORDER BY ordinal_position"
    )
    with duckdb.connect() as plain:
        plain.execute(made)
        assert rows(con, sql) == plain.execute(sql).fetchall()
        named = "SELECT * FROM information_schema.schemata LIMIT 0"
        columns = [column[0] for column in plain.execute(named).description or ()]
    assert [column[0] for column in con.execute(named).description or ()] == columns


def test_information_schema_lists_the_relations_of_system(con: Connection) -> None:
    sql = "SELECT table_name, table_type FROM information_schema.tables"
    listed = rows(con, f"{sql} WHERE table_schema = 'system' ORDER BY 1")
    assert listed == [(name, "VIEW") for (name,) in rows(con, "SHOW TABLES FROM system")]
    sql = "SELECT column_name, data_type FROM information_schema.columns"
    for name, _ in listed:
        where = f"WHERE table_schema = 'system' AND table_name = '{name}'"
        described = rows(con, f"DESCRIBE system.{name}")
        found = rows(con, f"{sql} {where} ORDER BY ordinal_position")
        assert found == [(column, kind) for column, kind, *_ in described], name


SHOWN = [
    ("duckdb", "SHOW TABLES", ["name"], ("u",)),
    ("mysql", "SHOW TABLES", ["Tables_in_main"], ("u",)),
    ("spark", "SHOW TABLES", ["namespace", "tableName", "isTemporary"], ("main", "u", False)),
    ("postgres", "SHOW TABLES FROM hr", ["name"], ("t",)),
    ("postgres", "SHOW TABLES FROM public", ["name"], ("u",)),
    (
        "hive",
        "SHOW TABLES IN default",
        ["namespace", "tableName", "isTemporary"],
        ("main", "u", False),
    ),
    ("mysql", "SHOW DATABASES", ["database_name"], ("palimpsest",)),
    ("spark", "SHOW SCHEMAS", ["namespace"], ("hr",)),
    ("duckdb", "SHOW VIEWS", ["name"], ("v",)),
    (
        "duckdb",
        "DESCRIBE hr.t",
        ["column_name", "column_type", "null", "key", "default", "extra"],
        ("k", "INTEGER", "NO", "PRI", None, None),
    ),
    (
        "mysql",
        "SHOW COLUMNS FROM hr.t",
        ["Field", "Type", "Null", "Key", "Default", "Extra"],
        ("k", "INTEGER", "NO", "PRI", None, None),
    ),
    ("hive", "DESCRIBE hr.t", ["col_name", "data_type", "comment"], ("k", "INTEGER", None)),
]


@pytest.mark.parametrize(("dialect", "sql", "names", "first"), SHOWN)
def test_shapes_by_dialect(
    dialect: str, sql: str, names: list[str], first: tuple[Any, ...], url: str
) -> None:
    with gateway.connect(url, autocommit=True, dialect=dialect) as con:
        cursor = con.execute(sql)
        assert [d[0] for d in cursor.description or []] == names
        assert cursor.fetchall()[0] == first


def test_describe_history(con: Connection) -> None:
    con.execute("SET commit_message = 'raise'")
    con.execute("UPDATE hr.t SET a = 'z' WHERE k = 1")
    cursor = con.execute("DESCRIBE HISTORY hr.t")
    names = [column[0] for column in cursor.description or []]
    latest = dict(zip(names, cursor.fetchone() or (), strict=True))
    assert (latest["message"], latest["statements"]) == ("raise", 1)
    versions = [row[0] for row in rows(con, "DESCRIBE HISTORY hr.t")]
    assert versions[0] == latest["version"]
    assert versions == sorted(versions, reverse=True)
    for sql in ("DESCRIBE HISTORY SELECT 1", "DESCRIBE hr.t PARTITION (k = 1)"):
        with pytest.raises(gateway.NotSupportedError):
            con.execute(sql)


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        ("spark", "SELECT /*+ BROADCAST(t) */ k FROM (SELECT /*+ COALESCE(1) */ k FROM hr.t) AS t"),
        ("mysql", "SELECT STRAIGHT_JOIN SQL_NO_CACHE k FROM hr.t USE INDEX (PRIMARY)"),
        (
            "mysql",
            "SELECT k FROM hr.t; UPDATE /*+ NO_INDEX(t) */ hr.t SET k = k; SELECT k FROM hr.t",
        ),
        ("postgres", "/*+ SeqScan(t) */ SELECT k FROM hr.t"),
    ],
)
def test_hints_are_comments(
    dialect: str, sql: str, url: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with gateway.connect(url, autocommit=True, dialect=dialect) as con:
        assert sorted(con.execute(sql).fetchall()) == [(1,), (2,)]
    assert capfd.readouterr().err == ""


def test_describe_a_query_and_summarize(con: Connection) -> None:
    described = rows(con, "DESCRIBE SELECT k, a || 'x' AS b FROM hr.t")
    assert [row[:2] for row in described] == [("k", "INTEGER"), ("b", "VARCHAR")]
    assert rows(con, "SHOW (SELECT k, a || 'x' AS b FROM hr.t)") == described
    assert rows(con, "DESC ALL TABLES") == rows(con, "DESCRIBE ALL") == rows(con, "SHOW ALL TABLES")
    assert rows(con, "DESCRIBE TABLES") == rows(con, "SHOW TABLES")
    summary = rows(con, "SUMMARIZE hr.t")
    assert next((row[0], row[2], row[3]) for row in summary) == ("k", "1", "2")


def test_create_table_shown_makes_the_table_again(con: Connection) -> None:
    for name in ("hr.t", "u"):
        text = rows(con, f"SHOW CREATE TABLE {name}")[0][0]
        before = rows(con, f"DESCRIBE {name}")
        con.execute("DROP VIEW IF EXISTS v")
        con.execute(f"DROP TABLE {name}")
        con.execute(text)
        assert rows(con, f"DESCRIBE {name}") == before


def test_explain_runs_nothing(con: Connection) -> None:
    found = dict(rows(con, "EXPLAIN SELECT * FROM hr.t"))
    assert "hr.t: anti-join" in found["palimpsest_shapes"]
    assert found["physical_plan"]
    assert "append" in dict(rows(con, "EXPLAIN DELETE FROM hr.t WHERE k = 1"))["palimpsest_steps"]
    assert len(rows(con, "SELECT * FROM hr.t")) == 2


@pytest.mark.parametrize(
    ("sql", "sqlstate"),
    [
        ("SELECT * FROM system.nope", "42P01"),
        ("SELECT * FROM _palimpsest.transactions", "42939"),
        ("SELECT * FROM pg_catalog.pg_class", "42P01"),
        ("DELETE FROM system.tables", "42809"),
        ("INSERT INTO information_schema.tables VALUES (1)", "42809"),
        ("EXPLAIN ANALYZE DELETE FROM hr.t", "0A000"),
        ("SHOW TABLES LIKE 'x%'", "0A000"),
        ("DESCRIBE nope", "42P01"),
    ],
)
def test_refusals(con: Connection, sql: str, sqlstate: str) -> None:
    with pytest.raises(gateway.Error) as caught:
        con.execute(sql)
    assert caught.value.sqlstate == sqlstate


def test_transactions_are_those_of_the_snapshot(tmp_path: Path) -> None:
    url = f"palimpsest:///{tmp_path / 'w'}"
    ask = "SELECT max(version) FROM system.transactions"
    with gateway.connect(url) as reader, gateway.connect(url, autocommit=True) as writer:
        writer.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
        reader.execute("BEGIN READ ONLY")
        before = rows(reader, ask)
        writer.execute("INSERT INTO t VALUES (1)")
        assert rows(reader, ask) == before
        assert rows(reader, "SELECT count(*) FROM t") == [(0,)]
        reader.execute("COMMIT")
        assert rows(reader, ask) > before


def test_commits_join_the_statements_that_made_them() -> None:
    with gateway.connect("palimpsest://", autocommit=True) as con:
        con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, a VARCHAR)")
        con.execute("INSERT INTO t VALUES (1, 'secret'), (2, 'x')")
        con.execute("UPDATE t SET a = 'other' WHERE k = 1")
        con.execute("UPDATE t SET a = 'third'  WHERE k = 2")
        found = con.execute(
            "SELECT DISTINCT b.k, s.statement FROM table_blame('t') AS b"
            " JOIN system.statements AS s ON s.digest = b.statement_digest ORDER BY b.k"
        )
        text = "UPDATE t SET a = ? WHERE k = ?"
        assert found.fetchall() == [(1, text), (2, text)]
