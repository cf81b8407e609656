"""DuckDB's functions that list its catalog, on every store."""

from __future__ import annotations

import pytest

from tests.support.kept import rows
from tests.support.stores.store import Store

pytestmark = pytest.mark.timeout(900)


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="its lists are texts")
def test_functions_of_duckdb_list_the_warehouse(store: Store) -> None:
    con = store.connect()
    con.execute("CREATE TABLE kept (a INTEGER PRIMARY KEY, b VARCHAR DEFAULT 'x' CHECK (b <> 'q'))")
    con.execute("CREATE VIEW seen AS SELECT a FROM kept")
    assert rows(con, "SELECT table_name, has_primary_key, column_count FROM duckdb_tables()") == [
        ("kept", True, 2)
    ]
    assert rows(con, "SELECT view_name, column_count FROM duckdb_views()") == [("seen", 1)]
    columns = "SELECT column_name, is_nullable, column_default FROM duckdb_columns()"
    assert rows(con, f"{columns} WHERE table_name = 'kept' ORDER BY column_index") == [
        ("a", False, None),
        ("b", True, "'x'"),
    ]
    constraints = "SELECT constraint_type, constraint_column_names FROM duckdb_constraints"
    assert sorted(rows(con, constraints)) == [
        ("CHECK", ["b"]),
        ("NOT NULL", ["a"]),
        ("PRIMARY KEY", ["a"]),
    ]
    assert [r[1:] for r in rows(con, "PRAGMA table_info('kept')")] == [
        ("a", "INTEGER", True, None, True),
        ("b", "VARCHAR", False, "'x'", False),
    ]
    for name in ("schemas", "databases", "sequences", "settings", "indexes", "types", "functions"):
        rows(con, f"SELECT * FROM duckdb_{name}()")


@pytest.mark.drifts(toy="SQLite tells no types of a query's columns")
def test_views_and_tables_are_made_of_what_the_gateway_lists(store: Store) -> None:
    con = store.connect()
    con.execute("CREATE TABLE kept (a INTEGER PRIMARY KEY CHECK (a > 0))")
    shown = "information_schema.tables WHERE table_schema <> 'system'"
    names = f"SELECT table_name AS name FROM {shown}"
    con.execute(f"CREATE VIEW listed AS {names}")
    con.execute(f"CREATE TABLE noted AS {names}")
    con.execute("CREATE VIEW columns_of AS SELECT table_name, column_name FROM duckdb_columns()")
    con.execute("CREATE TABLE moments AS SELECT * FROM system.transactions")
    con.commit()
    assert sorted(rows(con, "SELECT name FROM noted")) == [("kept",), ("listed",)]
    made = [("columns_of",), ("kept",), ("listed",), ("moments",), ("noted",)]
    assert sorted(rows(con, "SELECT name FROM listed")) == made
    of_listed = "SELECT column_name FROM columns_of WHERE table_name = 'listed'"
    assert rows(con, of_listed) == [("name",)]
    con.execute("CREATE VIEW checked AS SELECT * FROM information_schema.check_constraints")
    both = "information_schema.check_constraints, information_schema.columns AS c"
    of_clauses = f"SELECT DISTINCT c.table_name FROM {both} WHERE c.column_name = 'check_clause'"
    assert rows(con, of_clauses) == [("checked",)]
    assert rows(con, "SELECT count(*) > 0 FROM moments WHERE version > 0") == [(True,)]
    con.execute("INSERT INTO noted SELECT name FROM listed WHERE name = 'noted'")
    con.commit()
    assert rows(con, "SELECT count(*) FROM noted") == [(3,)]
