"""What programs send that know PostgreSQL: SELECT INTO, SET TRANSACTION."""

from __future__ import annotations

import pytest

import gateway
from gateway.dbapi.connection import Connection


@pytest.fixture
def con() -> Connection:
    connection = gateway.connect("palimpsest://", dialect="postgres", autocommit=True)
    connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
    connection.execute("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    return connection


def test_select_into_makes_a_table(con: Connection) -> None:
    assert con.execute("SELECT a, b INTO made FROM t WHERE a > 1").rowcount == 1
    assert con.execute("SELECT * FROM made").fetchall() == [(2, "y")]
    con.execute("SELECT a INTO TEMP own FROM t")
    assert con.execute("SELECT count(*) FROM own").fetchone() == (2,)
    with (
        gateway.connect("palimpsest://", autocommit=True) as other,
        pytest.raises(gateway.NotSupportedError),
    ):
        other.execute("SELECT 1 AS a INTO made")


@pytest.mark.parametrize("scope", ["SET TRANSACTION", "SET SESSION CHARACTERISTICS AS TRANSACTION"])
def test_isolation_is_taken_as_far_as_it_goes(con: Connection, scope: str) -> None:
    con.execute(f"{scope} ISOLATION LEVEL READ COMMITTED")
    con.execute(f"{scope} READ WRITE")
    with pytest.raises(gateway.DataError, match="PAL-222"):
        con.execute(f"{scope} ISOLATION LEVEL SERIALIZABLE")
    with pytest.raises(gateway.ProgrammingError, match="PAL-101"):
        con.execute(f"{scope} SNAPSHOT '1-1'")


def test_what_the_rewriter_fails_on_has_a_code(monkeypatch: pytest.MonkeyPatch) -> None:
    con = gateway.connect("palimpsest://", autocommit=True)
    with pytest.raises(gateway.NotSupportedError, match="PAL-110"):
        con.execute("CREATE TABLE unit (price INTEGER, sold AS (price) PRIMARY KEY)")
    monkeypatch.setattr("rewriter.rewriter.read_words", lambda *_: 1 / 0)
    with pytest.raises(gateway.InternalError, match="PAL-112"):
        con.execute("SELECT 1 + 1")


def test_pg_catalog_before_functions_types_and_operators(con: Connection) -> None:
    con.execute("CREATE INDEX low ON t (pg_catalog.lower(b))")
    con.execute("CREATE TABLE u (a INTEGER, b TEXT DEFAULT pg_catalog.upper('q'::pg_catalog.text))")
    con.execute("INSERT INTO u (a) VALUES (1)")
    query = """SELECT pg_catalog.upper(t.b), "pg_catalog"."max"(CAST(t.a AS pg_catalog.int8)), u.b
        FROM public.t JOIN u ON pg_catalog.lower(u.b) = 'q'
        WHERE t.b OPERATOR(pg_catalog.~) '^x$' GROUP BY 1, 3"""
    cursor = con.execute(query)
    assert [column[0] for column in cursor.description or ()] == ["upper", "max", "b"]
    assert cursor.fetchall() == [("X", 1, "Q")]
    query = "SELECT count(*) FROM pg_catalog.generate_series(1, 3)"
    assert con.execute(query).fetchall() == [(3,)]
    with pytest.raises(gateway.Error, match="PAL-208"):
        con.execute("SELECT pg_catalog.nope(1)")
    for sql in ("CREATE TABLE pg_catalog.t (a INTEGER)", "INSERT INTO pg_catalog.t (a) VALUES (1)"):
        with pytest.raises(gateway.Error):
            con.execute(sql)


@pytest.mark.parametrize("name", ["xmax", "t.ctid", "tableoid"])
def test_system_columns_are_refused_by_name(con: Connection, name: str) -> None:
    with pytest.raises(gateway.NotSupportedError, match="system column"):
        con.execute(f"SELECT {name} FROM t")


def test_blanks_of_a_text_without_a_length_say_nothing(con: Connection) -> None:
    con.execute("CREATE TABLE c (k INTEGER PRIMARY KEY, s BPCHAR)")
    con.execute("INSERT INTO c VALUES (1, 'a  ')")
    assert con.execute("SELECT k FROM c WHERE s = 'a '").fetchall() == [(1,)]
    con.execute("UPDATE c SET s = %s WHERE k = 1", ("b  ",))
    assert con.execute("SELECT k FROM c WHERE s = 'b'").fetchall() == [(1,)]


def test_an_upsert_that_changes_names_its_key(con: Connection) -> None:
    con.execute("CREATE TABLE k (a INTEGER PRIMARY KEY, b INTEGER)")
    with pytest.raises(gateway.ProgrammingError, match="ON CONFLICT DO UPDATE needs"):
        con.execute("INSERT INTO k VALUES (1, 2) ON CONFLICT DO UPDATE SET b = 3")
    con.execute("INSERT INTO k VALUES (1, 2) ON CONFLICT DO NOTHING")


@pytest.mark.parametrize(
    "action",
    ["ADD CONSTRAINT c CHECK (a > 0)", "RENAME CONSTRAINT c TO d", "VALIDATE CONSTRAINT c"],
)
def test_constraints_of_no_table_are_passed_over(con: Connection, action: str) -> None:
    con.execute(f"ALTER TABLE IF EXISTS nowhere {action}")
    with pytest.raises(gateway.ProgrammingError, match="does not exist"):
        con.execute(f"ALTER TABLE nowhere {action}")


def test_domains_refuse_null_whatever_a_column_says(con: Connection) -> None:
    con.execute("CREATE DOMAIN filled AS TEXT[2] NOT NULL")
    con.execute("CREATE TABLE d (k INTEGER PRIMARY KEY, f filled NULL)")
    with pytest.raises(gateway.IntegrityError):
        con.execute("INSERT INTO d VALUES (1, NULL)")
    con.execute("INSERT INTO d VALUES (1, '{a}')")
    con.execute("DROP TABLE d")
    con.execute("DROP TYPE filled")


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("INTEGER", "SEQUENCE NAME i_id_seq INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 CACHE 1"),
        ("BIGINT", "MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1"),
        ("SMALLINT", "START 1 MAXVALUE 32767"),
    ],
)
def test_bounds_of_a_type_hold_for_its_identity_anyway(
    con: Connection, kind: str, options: str
) -> None:
    con.execute(f"CREATE TABLE i (id {kind} GENERATED ALWAYS AS IDENTITY ({options}), b INTEGER)")
    con.execute(f"CREATE TABLE j (id {kind} NOT NULL, b INTEGER)")
    con.execute(f"ALTER TABLE j ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY ({options})")
    for table in ("i", "j"):
        con.execute(f"INSERT INTO {table} (b) VALUES (5), (6)")
        assert con.execute(f"SELECT id, b FROM {table} ORDER BY 1").fetchall() == [(1, 5), (2, 6)]


@pytest.mark.parametrize(
    "options", ["MAXVALUE 5", "MINVALUE 2", "CYCLE", "INCREMENT -1 MINVALUE 1"]
)
def test_other_bounds_of_an_identity_are_refused(con: Connection, options: str) -> None:
    con.execute("CREATE TABLE j (id INTEGER NOT NULL)")
    with pytest.raises(gateway.NotSupportedError, match="identity column with"):
        con.execute(f"CREATE TABLE i (id INTEGER GENERATED ALWAYS AS IDENTITY ({options}))")
    with pytest.raises(gateway.NotSupportedError, match="identity column with"):
        con.execute(f"ALTER TABLE j ALTER id ADD GENERATED ALWAYS AS IDENTITY ({options})")
