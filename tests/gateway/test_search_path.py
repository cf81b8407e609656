"""SET search_path: names are looked up in several schemas, in order, as PostgreSQL does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Connection]:
    """Schemas a and b: ``t`` is in both, ``single`` in b."""
    with gateway.connect(f"palimpsest:///{tmp_path}/w", autocommit=True) as con:
        for schema in "ab":
            con.execute(f"CREATE SCHEMA {schema}")
            con.execute(f"CREATE TABLE {schema}.t (x VARCHAR)")
            con.execute(f"INSERT INTO {schema}.t VALUES ('{schema}')")
        con.execute("CREATE TABLE b.single (y INTEGER)")
        con.execute("INSERT INTO b.single VALUES (1)")
        yield con


@pytest.fixture
def two_in_postgres(two: Connection, tmp_path: Path) -> Iterator[Connection]:
    """The same schemas in a dialect whose path may name schemas that are not there."""
    url = f"palimpsest:///{tmp_path}/w"
    with gateway.connect(url, autocommit=True, dialect="postgres") as con:
        yield con


@pytest.mark.parametrize(
    "path", ["a, b", "a,b", "'a', 'b'", "'a, b'", '"a", b', "nowhere, a, b", '"$user", a, b']
)
def test_names_are_found_in_the_first_schema_that_has_them(
    two_in_postgres: Connection, path: str
) -> None:
    two = two_in_postgres
    two.execute(f"SET search_path = {path}")
    assert two.execute("SELECT * FROM t").fetchall() == [("a",)]
    assert two.execute("SELECT * FROM single").fetchall() == [(1,)]
    assert two.execute("SELECT count(*) FROM single_journal").fetchall() == [(1,)]
    assert two.execute("SELECT current_schema()").fetchall() == [("a",)]
    two.execute("INSERT INTO single VALUES (2)")
    two.execute("UPDATE t SET x = 'new'")
    assert two.execute("SELECT a.t.x, b.t.x FROM a.t, b.t").fetchall() == [("new", "b")]


def test_what_is_made_goes_to_the_first_schema_that_is_there(two_in_postgres: Connection) -> None:
    two = two_in_postgres
    two.execute("SET search_path TO nowhere, b, a")
    two.execute("CREATE TABLE made (z INTEGER)")
    two.execute("CREATE VIEW seen AS SELECT * FROM made, t")
    two.execute("RESET search_path")
    assert two.execute("SELECT count(*) FROM b.made").fetchall() == [(0,)]
    two.execute("INSERT INTO b.made VALUES (1)")
    assert two.execute("SELECT * FROM b.seen").fetchall() == [(1, "b")]
    with pytest.raises(gateway.Error, match="does not exist"):
        two.execute("SELECT * FROM made")


def test_the_path_is_shown_and_ends(two: Connection) -> None:
    two.execute("SET search_path = b, a")
    assert two.execute("SHOW search_path").fetchall() == [("b, a",)]
    assert two.execute("SHOW schema").fetchall() == [("b",)]
    assert two.execute("SELECT current_schemas(false)").fetchall() == [(["b", "a"],)]
    two.execute("USE a")
    assert two.execute("SHOW search_path").fetchall() == [("a",)]
    with pytest.raises(gateway.Error, match="does not exist"):
        two.execute("SELECT * FROM single")
    two.execute("SET search_path = a")
    two.execute("SET search_path = b, a")
    two.execute("DROP TABLE t")
    assert two.execute("SELECT * FROM t").fetchall() == [("a",)]


@pytest.mark.parametrize(
    "sql", ["SET schema = 'nowhere'", "SET search_path = 'a,nowhere'", "SET search_path = nowhere"]
)
def test_a_schema_of_the_path_is_there_in_the_duckdb_dialect(two: Connection, sql: str) -> None:
    with pytest.raises(gateway.Error, match="there is no schema nowhere") as raised:
        two.execute(sql)
    assert raised.value.code == "PAL-204"
    two.execute("SET search_path = 'palimpsest.b'")
    assert two.execute("SELECT * FROM t").fetchall() == [("b",)]


def test_other_settings_take_one_value(two: Connection) -> None:
    with pytest.raises(gateway.ProgrammingError) as raised:
        two.execute("SET retries = 1, 2")
    assert raised.value.code == "PAL-101"


def test_a_schema_that_was_set_is_told_from_that_of_a_new_session(two: Connection) -> None:
    """As DuckDB does, which lists the schemas that were set."""
    query = "SELECT current_schemas(false)"
    assert two.execute(query).fetchall() == [([],)]
    for statement, wanted in (
        ("USE main", ["main"]),
        ("RESET schema", []),
        ("SET search_path = 'main'", ["main"]),
        ("RESET search_path", []),
    ):
        two.execute(statement)
        assert two.execute(query).fetchall() == [(wanted,)], statement
