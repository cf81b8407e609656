"""The catalog functions of DuckDB give what DuckDB gives for the same definitions."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

import gateway
from gateway.dbapi.connection import Connection

_DEFINITIONS = (
    "CREATE SCHEMA s",
    (
        "CREATE TABLE s.t (a INTEGER PRIMARY KEY, b VARCHAR DEFAULT 'x' CHECK (b <> 'q'),"
        " c DECIMAL(5, 2) NOT NULL, UNIQUE (b, c))"
    ),
    "CREATE TABLE s.u (a INTEGER REFERENCES s.t (a), d DOUBLE, e DATE[])",
    "CREATE TYPE s.names AS ENUM ('INT', 'TEXT')",
    "CREATE TABLE s.kinds (a DECIMAL(5, 2)[], b DECIMAL(4), c UHUGEINT, d s.names)",
    'CREATE TABLE "a parent" ("a key" INTEGER PRIMARY KEY)',
    'CREATE TABLE child (a INTEGER REFERENCES "a parent" ("a key"))',
    "CREATE VIEW s.v AS SELECT a, b FROM s.t",
    "CREATE SEQUENCE s.q START 5",
    "CREATE INDEX i ON s.t (c)",
    "COMMENT ON TABLE s.t IS 'of tests'",
)
_ASKED = (
    (
        "SELECT schema_name, table_name, comment, internal, temporary, has_primary_key,"
        " column_count, check_constraint_count FROM duckdb_tables()"
    ),
    (
        "SELECT * EXCLUDE (database_name, database_oid, schema_oid, table_oid, data_type_id, tags)"
        " FROM duckdb_columns() WHERE schema_name = 's'"
    ),
    (
        "SELECT schema_name, view_name, comment, internal, temporary, column_count, is_bound"
        " FROM duckdb_views() WHERE schema_name = 's'"
    ),
    (
        "SELECT schema_name, internal FROM duckdb_schemas()"
        " WHERE schema_name IN ('main', 's') AND database_name = current_database()"
    ),
    "SELECT schema_name, internal FROM duckdb_schemas",
    (
        "SELECT table_name, constraint_type, constraint_column_indexes, constraint_column_names,"
        " referenced_table, referenced_column_names FROM duckdb_constraints"
    ),
    ("SELECT constraint_text FROM duckdb_constraints() WHERE constraint_type = 'FOREIGN KEY'"),
    (
        "SELECT sequence_name, temporary, start_value, min_value, max_value, increment_by, cycle,"
        " last_value FROM duckdb_sequences()"
    ),
    "SELECT index_name, table_name, is_unique, expressions FROM duckdb_indexes()",
    "PRAGMA table_info('s.t')",
    "SELECT name, type FROM pragma_table_info('s.v')",
    "SHOW child",
    "SHOW TABLES FROM s",
    "SHOW TABLES FROM temp",
    "SELECT type, name, tbl_name FROM sqlite_master WHERE type <> 'index'",
)


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Connection, object]]:
    """The gateway and DuckDB with the same definitions."""
    folder = tmp_path_factory.mktemp("warehouse")
    plain = duckdb.connect()
    with gateway.connect(f"palimpsest:///{folder}", autocommit=True) as own:
        for sql in _DEFINITIONS:
            own.execute(sql)
            plain.execute(sql)
        yield own, plain


@pytest.mark.parametrize("sql", _ASKED)
def test_rows_and_columns_are_duckdb_s(sides: tuple[Connection, object], sql: str) -> None:
    found, expected = (side.execute(sql) for side in sides)  # type: ignore[attr-defined]
    assert [c[0] for c in found.description] == [c[0] for c in expected.description]
    assert sorted(found.fetchall(), key=str) == sorted(expected.fetchall(), key=str)


@pytest.mark.parametrize(
    "name",
    "tables columns views schemas databases constraints sequences indexes".split(),
)
def test_columns_have_duckdb_s_names_and_types(sides: tuple[Connection, object], name: str) -> None:
    own, plain = sides
    sql = f"DESCRIBE FROM duckdb_{name}()"
    expected = [row[:2] for row in plain.execute(sql).fetchall()]  # type: ignore[attr-defined]
    texts = [(n, "VARCHAR" if t.startswith("MAP") else t) for n, t in expected]
    assert [row[:2] for row in own.execute(sql).fetchall()] == texts


def test_a_table_of_that_name_comes_first(sides: tuple[Connection, object]) -> None:
    own, _ = sides
    own.execute("CREATE TEMP TABLE duckdb_tables (mine INTEGER)")
    assert own.execute("SELECT mine FROM duckdb_tables").fetchall() == []
    own.execute("DROP TABLE duckdb_tables")


def test_show_lists_tables_of_schemas_that_are_there(sides: tuple[Connection, object]) -> None:
    own, _ = sides
    with pytest.raises(gateway.Error, match="schema nothing does not exist"):
        own.execute("SHOW TABLES FROM nothing")


def test_table_info_names_a_table_that_is_there(sides: tuple[Connection, object]) -> None:
    own, _ = sides
    with pytest.raises(gateway.Error, match="nothing does not exist"):
        own.execute("PRAGMA table_info('s.nothing')")
