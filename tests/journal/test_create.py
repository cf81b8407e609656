"""CREATE TABLE and views: options of the journal, dialects, refusals, what outsiders see."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import duckdb
import pytest

from tests.support.client import Client

WITH_OPTIONS = (
    "WITH (journal_version_type='BIGINT', journal_suffix='_hist', version_column='vn',"
    " subsequent_version_column='svn')"
)
TABLE_PROPERTIES = (
    "TBLPROPERTIES ('journal_version_type'='bigint', 'journal_suffix'='_hist',"
    " 'version_column'='vn', 'subsequent_version_column'='svn')"
)


@pytest.mark.parametrize(
    ("dialect", "options"),
    [
        ("duckdb", WITH_OPTIONS),
        ("spark", TABLE_PROPERTIES),
    ],
)
def test_journal_options(connect: Callable[..., Client], dialect: str, options: str) -> None:
    run = connect(dialect=dialect)
    run(f"CREATE TABLE t (k INT, version_number INT) {options}")
    run("INSERT INTO t VALUES (1, 10), (2, 20)")
    run("UPDATE t SET version_number = 11 WHERE k = 1")
    run("DELETE FROM t WHERE k = 2")
    run("CALL system.flush('t')")
    assert run("SELECT * FROM t") == [(1, 11)]
    rows = run("SELECT k, version_number, vn, svn FROM t_hist")
    assert len(rows) == 6
    assert all(isinstance(row[2], int) for row in rows)


def test_timestamp_versions_are_the_default(run: Client) -> None:
    run("CREATE TABLE t (k INTEGER)")
    run("INSERT INTO t VALUES (1)")
    found = run("SELECT version_number, subsequent_version_number FROM t_journal")
    assert isinstance(found[0][0], datetime)
    assert found[0][1] is None


@pytest.mark.parametrize(
    ("statement", "code", "sqlstate"),
    [
        ("CREATE GLOBAL TEMP TABLE x (a INTEGER)", "PAL-110", "0A000"),
        ("CREATE TEMP TABLE s.x (a INTEGER)", "PAL-211", "42P16"),
        ("CREATE TABLE x (a INTEGER REFERENCES t (a))", "PAL-211", "42P16"),
        ("CREATE TABLE x (a INTEGER, FOREIGN KEY (a) REFERENCES t)", "PAL-211", "42P16"),
        ("CREATE TABLE x (a INTEGER, FOREIGN KEY (a) REFERENCES nowhere)", "PAL-201", "42P01"),
        ("CREATE TABLE x (a INTEGER REFERENCES t ON DELETE CASCADE)", "PAL-211", "42P16"),
        ("CREATE TABLE x (a INTEGER, UNIQUE (a) DEFERRABLE)", "PAL-110", "0A000"),
        ("CREATE TABLE x (a INTEGER UNIQUE DEFERRABLE)", "PAL-110", "0A000"),
        ("CREATE TABLE x (a INTEGER PRIMARY KEY INITIALLY DEFERRED)", "PAL-110", "0A000"),
        ("CREATE TABLE x (a INTEGER, PRIMARY KEY (a) DEFERRABLE)", "PAL-110", "0A000"),
        ("ALTER TABLE t ADD CONSTRAINT u UNIQUE (a) DEFERRABLE", "PAL-110", "0A000"),
        ("CREATE TABLE x (a INTEGER UNIQUE NULLS NOT DISTINCT)", "PAL-110", "0A000"),
        ("CREATE TABLE x (a INTEGER, UNIQUE NULLS NOT DISTINCT (a))", "PAL-110", "0A000"),
        (
            "CREATE TABLE x (a INTEGER GENERATED ALWAYS AS IDENTITY (MINVALUE 0))",
            "PAL-110",
            "0A000",
        ),
        (
            "CREATE TABLE x (a INTEGER GENERATED ALWAYS AS IDENTITY (MAXVALUE 9 CYCLE))",
            "PAL-110",
            "0A000",
        ),
        ("CREATE TABLE x (a nosuchtype)", "PAL-211", "42P16"),
        ("CREATE TABLE x (a)", "PAL-101", "42601"),
        ("CREATE TABLE x (a INTEGER, a INTEGER)", "PAL-206", "42701"),
        ("CREATE TABLE x (a INTEGER DEFAULT (b))", "PAL-211", "42P16"),
        ("CREATE TABLE x (a INTEGER DEFAULT (SELECT 1))", "PAL-211", "42P16"),
        ("CREATE TABLE x (a INTEGER DEFAULT 'x')", "PAL-310", "22P02"),
        ("CREATE TABLE x (a INTEGER CHECK (z > 1))", "PAL-202", "42703"),
        ("CREATE TABLE x (a INTEGER CHECK (a > (SELECT 1)))", "PAL-211", "42P16"),
        ("CREATE TABLE x (a INTEGER, PRIMARY KEY (z))", "PAL-202", "42703"),
        ("CREATE TABLE x (a INTEGER PRIMARY KEY, PRIMARY KEY (a))", "PAL-211", "42P16"),
        ("CREATE TABLE x (v INTEGER) WITH (version_column = 'v')", "PAL-113", "42939"),
        ("CREATE TABLE x (_row_id INTEGER)", "PAL-113", "42939"),
        ("CREATE TABLE x (a INTEGER) WITH (journal_nothing = 1)", "PAL-211", "42P16"),
        ("CREATE TABLE x (a INTEGER) WITH (journal_version_type = 'DATE')", "PAL-211", "42P16"),
        ("CREATE TABLE x (a INTEGER) WITH (journal_suffix = '')", "PAL-211", "42P16"),
        ("CREATE TABLE t_journal (a INTEGER)", "PAL-113", "42939"),
        ("CREATE TABLE system.x (a INTEGER)", "PAL-113", "42939"),
        ("CREATE TABLE _palimpsest.x (a INTEGER)", "PAL-113", "42939"),
        ("CREATE TABLE nowhere.x (a INTEGER)", "PAL-204", "3F000"),
        ("CREATE TABLE x (y, z) AS SELECT 1", "PAL-213", "42601"),
        ("CREATE TABLE x AS SELECT * FROM nothing", "PAL-201", "42P01"),
        ("CREATE TABLE x LIKE nothing", "PAL-201", "42P01"),
        ("CREATE SCHEMA system", "PAL-113", "42939"),
        ("CREATE SCHEMA x AUTHORIZATION somebody", "PAL-251", "42704"),
        ("DROP SCHEMA main CASCADE", "PAL-113", "42939"),
        ("CREATE VIEW x AS SELECT nothing FROM t", "PAL-202", "42703"),
        ("DROP TABLE t_journal", "PAL-111", "42501"),
        ("COMMENT ON COLUMN t.nothing IS 'x'", "PAL-202", "42703"),
        ("COMMENT ON DATABASE nowhere IS 'x'", "PAL-204", "3F000"),
    ],
)
def test_refusals(common: Client, statement: str, code: str, sqlstate: str) -> None:
    common("CREATE TABLE IF NOT EXISTS t (a INTEGER)")
    assert common.error(statement) == (code, sqlstate)


def test_a_journal_needs_a_free_name(run: Client) -> None:
    run("CREATE TABLE t_journal (a INTEGER)")
    assert run.error("CREATE TABLE t (a INTEGER)") == ("PAL-205", "42P07")
    run("CREATE TABLE t (a INTEGER) WITH (journal_suffix = '_past')")
    run("INSERT INTO t VALUES (1)")
    assert run("SELECT a FROM t_past") == [(1,)]


def test_like(connect: Callable[..., Client]) -> None:
    run = connect(dialect="postgres")
    run(
        "CREATE TABLE t (k INT PRIMARY KEY, u TEXT UNIQUE, d INT DEFAULT 7 NOT NULL,"
        " CONSTRAINT pos CHECK (d > 0))"
    )
    run("CREATE TABLE bare (LIKE t, extra INT)")
    run("INSERT INTO bare VALUES (1, 'a', 0, 5), (1, 'a', 0, 5)")
    assert run.error("INSERT INTO bare (k) VALUES (1)")[1] == "23502"
    run("CREATE TABLE whole (LIKE t INCLUDING ALL)")
    run("INSERT INTO whole (k, u) VALUES (1, 'a')")
    assert run("SELECT d FROM whole") == [(7,)]
    assert run.error("INSERT INTO whole VALUES (1, 'b', 1)")[1] == "23505"
    assert run.error("INSERT INTO whole VALUES (2, 'a', 1)")[1] == "23505"
    assert run.error("INSERT INTO whole VALUES (2, 'b', 0)")[1] == "23514"
    run("CREATE TABLE parts (LIKE t INCLUDING ALL EXCLUDING INDEXES)")
    run("INSERT INTO parts (k, u) VALUES (1, 'a'), (1, 'a')")
    mysql = connect(dialect="mysql")
    mysql("CREATE TABLE m LIKE t")
    assert mysql("INSERT INTO m (k) VALUES (1)") == 1
    assert mysql.error("INSERT INTO m (k) VALUES (1)")[1] == "23505"


def test_create_as_with_parameters_and_large_results(run: Client) -> None:
    assert run("CREATE TABLE t AS SELECT i, ? || i AS text FROM range(?) r(i)", "no ", 3) == 3
    assert run.sorted("SELECT * FROM t") == [(0, "no 0"), (1, "no 1"), (2, "no 2")]
    assert run("CREATE TABLE big AS SELECT i, i % 7 AS n FROM range(120000) r(i)") == 120_000
    assert run("SELECT count(*), sum(n) FROM big") == [(120_000, 359_997)]
    assert run("UPDATE big SET n = 0 WHERE i < 10") == 10
    assert run("DELETE FROM big WHERE i >= 100000") == 20_000


def test_types_of_other_dialects(connect: Callable[..., Client]) -> None:
    spark = connect(dialect="spark")
    spark("CREATE TABLE s (a STRING, b DOUBLE, c ARRAY<INT>, d MAP<STRING, INT>, e BINARY)")
    mysql = connect(dialect="mysql")
    mysql("CREATE TABLE m (a TINYINT UNSIGNED, b DATETIME, c TEXT, d ENUM('x', 'y'), e JSON)")
    mysql("INSERT INTO m VALUES (200, '2024-01-01 00:00:00', 'c', 'x', '{}')")
    mysql("CALL system.flush('m')")
    mysql("UPDATE m SET d = 'y'")
    assert mysql("SELECT a, c, d FROM m") == [(200, "c", "y")]
    postgres = connect(dialect="postgres")
    postgres("CREATE TABLE p (a SERIAL, b TIMESTAMPTZ, c BYTEA, d NUMERIC(8, 3), e INT[], f JSONB)")
    postgres("INSERT INTO p (d) VALUES (1.5)")
    assert postgres("SELECT a, d::TEXT FROM p") == [(1, "1.500")]


def test_unsigned_types_by_their_other_names(run: Client) -> None:
    run("CREATE TABLE t (a UINT8, b UINT16, c uint32, d UINT64, e STRUCT(x UINT8)[])")
    found = {kind: name for name, kind, *_ in run("DESCRIBE t")}
    assert list(found) == [*("UTINYINT USMALLINT UINTEGER UBIGINT".split()), "STRUCT(x UTINYINT)[]"]


def test_outsiders_see_tables_journals_and_views(connect: Callable[..., Client]) -> None:
    run = connect()
    run("CREATE SCHEMA hr")
    run("CREATE TABLE hr.depts (id INTEGER PRIMARY KEY, name VARCHAR)")
    run("INSERT INTO hr.depts VALUES (1, 'one'), (2, 'two')")
    run("SET schema = 'hr'")
    run("CREATE VIEW upper_names (n) AS SELECT upper(name) FROM depts")
    run("CREATE VIEW over_it AS SELECT n || '!' AS m FROM upper_names")
    run("CALL system.flush('hr.depts')")
    run("UPDATE depts SET name = 'uno' WHERE id = 1")
    run("ALTER TABLE depts ADD COLUMN more INTEGER DEFAULT 3")
    run("CREATE TABLE gone (a INTEGER)")
    run("DROP TABLE gone")
    run("CREATE VIEW dropped_view AS SELECT 1 AS one")
    run("DROP VIEW dropped_view")
    run.close()
    with duckdb.connect(str(run.root / "palimpsest.duckdb"), read_only=True) as outside:
        outside.execute("SET TimeZone = 'UTC'")
        found = outside.execute("SELECT * FROM hr.depts ORDER BY id").fetchall()
        assert found == [(1, "uno", 3), (2, "two", 3)]
        assert outside.execute("SELECT count(*) FROM hr.depts_journal").fetchall() == [(4,)]
        found = outside.execute("SELECT m FROM hr.over_it ORDER BY m").fetchall()
        assert found == [("TWO!",), ("UNO!",)]
        names = outside.execute(
            "SELECT view_name FROM duckdb_views() WHERE schema_name = 'hr' ORDER BY 1"
        ).fetchall()
        assert [n for (n,) in names] == ["depts", "depts_journal", "over_it", "upper_names"]


def test_a_view_keeps_its_meaning_in_another_schema(run: Client, tmp_path: Path) -> None:
    run("CREATE TABLE t (a INTEGER)")
    run("INSERT INTO t VALUES (1)")
    run("CREATE VIEW v AS SELECT t.a FROM t")
    run("CREATE SCHEMA other")
    run("CREATE TABLE other.t (a INTEGER)")
    run("SET schema = 'other'")
    assert run("SELECT * FROM main.v") == [(1,)]
    assert run.error("CREATE OR REPLACE VIEW main.v AS SELECT * FROM main.v") == (
        "PAL-211",
        "42P16",
    )


def test_comments_are_kept(connect: Callable[..., Client]) -> None:
    run = connect()
    run("CREATE TABLE t (a INTEGER, b INTEGER)")
    run("COMMENT ON TABLE t IS 'the table'")
    run("COMMENT ON COLUMN t.a IS 'the column'")
    run.close()
    run = connect()
    (table,) = run.connection.session.journal.state.catalog.tables()
    assert (table.comment, table.columns[0].comment) == ("the table", "the column")
    run("COMMENT ON TABLE t IS NULL")
    run("ALTER TABLE t RENAME COLUMN a TO aa")
    (table,) = run.connection.session.journal.state.catalog.tables()
    assert (table.comment, table.columns[0].comment) == (None, "the column")
