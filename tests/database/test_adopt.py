"""Tables that a database has already: classic journals stay as they are, plain tables move in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.errors import mapping
from gateway.procedures.adopting import adopt, eject
from gateway.shell.previewing import preview_on
from rewriter.limits import DEFAULT_LIMITS
from rewriter.preview.preview import Assumptions, parse_one, without_store
from rewriter.preview.synthetic_catalog import catalog_of
from rewriter.syntax.parsing import parse
from tests.support.greenplum import Given
from tests.support.postgres import Cluster

CLASSIC = ("_journal", "version_number", "subsequent_version_number")
CLASSIC_READ = (
    "WITH link_last AS (SELECT *, max(version_number) OVER (PARTITION BY deptno) AS last_version"
    " FROM hr.depts_journal) SELECT deptno, department_name FROM link_last"
    " WHERE subsequent_version_number IS NULL AND version_number = last_version ORDER BY deptno"
)
KINDS = {
    "timestamptz": ("TIMESTAMP WITH TIME ZONE", "'2020-01-0{}'"),
    "timestamp": ("TIMESTAMP", "'2020-01-0{}'"),
    "bigint": ("BIGINT", "{}"),
}


@pytest.fixture(params=sorted(KINDS))
def journal(request: pytest.FixtureRequest, admin: Any) -> str:
    """A journal as the classic rewriter made it, columns in an order of its own."""
    kind, value = KINDS[request.param]
    admin.execute("CREATE SCHEMA hr")
    admin.execute(
        f"CREATE TABLE hr.depts_journal (deptno INTEGER NOT NULL, version_number {kind} NOT NULL,"
        f" subsequent_version_number {kind}, department_name TEXT NOT NULL,"
        " PRIMARY KEY (deptno, version_number))"
    )
    rows = [(1, 1, None, "Sales"), (1, 2, None, "Service"), (2, 1, None, "Ops")]
    rows += [(3, 1, None, "Gone"), (3, 2, 2, "Gone")]
    for key, version, end, name in rows:
        ends = "NULL" if end is None else value.format(end)
        values = f"{key}, {value.format(version)}, {ends}, '{name}'"
        admin.execute(f"INSERT INTO hr.depts_journal VALUES ({values})")
    return str(request.param)


def test_the_index_that_is_missing_is_proposed_and_made(con: Connection, admin: Any) -> None:
    admin.execute(
        'CREATE TABLE "T_journal" ("Key" INTEGER, name TEXT, version_number BIGINT,'
        " subsequent_version_number BIGINT)"
    )
    admin.execute("""INSERT INTO "T_journal" VALUES (1, 'a', 1, NULL), (1, 'b', 2, NULL)""")
    assert "fast: CREATE INDEX" in adopt(con.session, "T", ("Key",), CLASSIC, run=False)[-1]
    adopt(con.session, "T", ("Key",), CLASSIC, run=True)
    ((_, state, statement),) = con.execute("CALL system.create_index('T', dry_run => true)")
    assert state == "proposed"
    assert statement.endswith('ON "public"."T_journal"("Key", "version_number")')
    assert [s for _, s, _ in con.execute("CALL system.create_index('T')")] == ["made"]
    assert [s for _, s, _ in con.execute("CALL system.create_index()")] == ["there already"]
    assert con.execute("SELECT * FROM T").fetchall() == [(1, "b")]


def test_an_index_that_is_there_is_not_proposed(con: Connection, admin: Any) -> None:
    admin.execute(
        "CREATE TABLE t_journal (k INTEGER, version_number BIGINT,"
        " subsequent_version_number BIGINT, PRIMARY KEY (k, version_number))"
    )
    assert "CREATE INDEX" not in str(adopt(con.session, "t", ("k",), CLASSIC, run=False))


def test_a_table_is_not_renamed_away_from_its_journal(con: Connection, admin: Any) -> None:
    admin.execute("CREATE TABLE t_journal (k INTEGER, version_number BIGINT,"
                  " subsequent_version_number BIGINT)")  # fmt: skip
    adopt(con.session, "t", ("k",), CLASSIC, run=True)
    with pytest.raises(gateway.NotSupportedError, match=r"PAL-110.*adopted journal.*eject"):
        con.execute("ALTER TABLE t RENAME TO u")
    assert con.execute("SHOW TABLES").fetchall() == [("t",)]


def test_a_classic_journal_stays_as_it_is(con: Connection, admin: Any, journal: str) -> None:
    steps = adopt(con.session, "hr.depts", (), CLASSIC, run=False)
    assert not any("CREATE INDEX" in step for step in steps), "its primary key is such an index"
    assert con.execute("SHOW TABLES").fetchall() == []
    adopt(con.session, "hr.depts", (), CLASSIC, run=True)
    rows = [(1, "Service"), (2, "Ops")]
    assert con.execute("SELECT * FROM hr.depts ORDER BY 1").fetchall() == rows
    assert admin.execute("SELECT * FROM hr.depts ORDER BY 1").fetchall() == rows
    con.execute("INSERT INTO hr.depts VALUES (4, 'New')")
    con.execute("UPDATE hr.depts SET department_name = 'Works' WHERE deptno = 2")
    con.execute("UPDATE hr.depts SET department_name = upper(department_name)")
    con.execute("DELETE FROM hr.depts WHERE deptno = 1")
    con.execute("INSERT INTO hr.depts VALUES (3, 'Back')")
    expected = [(2, "WORKS"), (3, "Back"), (4, "NEW")]
    assert con.execute("SELECT * FROM hr.depts ORDER BY 1").fetchall() == expected
    assert con.execute("SELECT department_name FROM hr.depts WHERE deptno = 2").fetchall() == [
        ("WORKS",)
    ]
    assert admin.execute(CLASSIC_READ).fetchall() == expected
    written = admin.execute("SELECT count(*) FROM hr.depts_journal").fetchall()
    assert written == [(12,)]
    with pytest.raises(gateway.IntegrityError) as raised:
        con.execute("INSERT INTO hr.depts VALUES (2, 'again')")
    assert raised.value.sqlstate == "23505"
    assert con.session.executor.upkeep.verify().is_clean


def test_nobody_is_blamed_for_rows_older_than_all_transactions(
    con: Connection, journal: str
) -> None:
    adopt(con.session, "hr.depts", (), CLASSIC, run=True)
    con.execute("UPDATE hr.depts SET department_name = 'Works' WHERE deptno = 2")
    (last,) = con.execute("SELECT max(version) FROM system.transactions").fetchall()[0]
    blamed = con.execute(
        "SELECT deptno, version < ?, statement_digest IS NULL FROM table_blame('hr.depts')", [last]
    )
    assert sorted(blamed.fetchall()) == [(1, True, True), (2, False, False)]
    cells = "SELECT deptno, change, statement_digest IS NULL FROM"
    cells += " table_blame('hr.depts', columns => true) WHERE column_name = 'department_name'"
    assert con.execute(f"{cells} ORDER BY deptno").fetchall() == [
        (1, "update", True),
        (2, "update", False),
    ]
    history = "SELECT deptno, statement_digest IS NULL FROM table_history('hr.depts')"
    found = sorted(con.execute(history).fetchall())
    assert found.count((2, False)) == 1
    assert len([row for row in found if row[1]]) == len(found) - 1


def test_transactions_over_a_classic_journal(
    connect: Callable[..., Connection], journal: str
) -> None:
    one, two = connect(), connect()
    adopt(one.session, "hr.depts", (), CLASSIC, run=True)
    change = "UPDATE hr.depts SET department_name = department_name || ? WHERE deptno = 1"
    one.execute("BEGIN")
    two.execute("BEGIN")
    one.execute(change, ["1"])
    one.execute(change, ["2"])
    assert one.execute("SELECT department_name FROM hr.depts WHERE deptno = 1").fetchall() == [
        ("Service12",)
    ]
    two.execute(change, ["3"])
    one.execute("COMMIT")
    with pytest.raises(gateway.OperationalError) as raised:
        two.execute("COMMIT")
    assert raised.value.sqlstate == "40001"
    two.execute(change, ["4"])
    assert two.execute("SELECT department_name FROM hr.depts WHERE deptno = 1").fetchall() == [
        ("Service124",)
    ]


def test_two_that_insert_one_key(connect: Callable[..., Connection], journal: str) -> None:
    one, two = connect(), connect()
    adopt(one.session, "hr.depts", (), CLASSIC, run=True)
    for con in (one, two):
        con.execute("BEGIN")
        con.execute("INSERT INTO hr.depts VALUES (9, 'Nine')")
    one.execute("COMMIT")
    with pytest.raises(gateway.OperationalError) as raised:
        two.execute("COMMIT")
    assert raised.value.sqlstate == "40001"


def test_somebody_else_writes_to_the_journal(con: Connection, admin: Any, journal: str) -> None:
    adopt(con.session, "hr.depts", (), CLASSIC, run=True)
    con.execute("BEGIN")
    con.execute("UPDATE hr.depts SET department_name = 'Mine' WHERE deptno = 2")
    later = KINDS[journal][1].format(5)
    admin.execute(f"INSERT INTO hr.depts_journal VALUES (2, {later}, NULL, 'Theirs')")
    with pytest.raises(gateway.OperationalError) as raised:
        con.execute("COMMIT")
    assert raised.value.sqlstate == "40001"
    assert con.execute("SELECT department_name FROM hr.depts WHERE deptno = 2").fetchall() == [
        ("Theirs",)
    ]


def test_a_table_without_version_columns_is_not_adopted_as_a_journal(
    con: Connection, admin: Any
) -> None:
    admin.execute("CREATE TABLE a_journal (k INTEGER PRIMARY KEY, version_number TEXT)")
    admin.execute(
        "CREATE TABLE b_journal (k INT, version_number TEXT, subsequent_version_number TEXT)"
    )
    admin.execute("CREATE TABLE c (k INTEGER)")
    for name, code in (("a", "PAL-526"), ("b", "PAL-526"), ("c", "PAL-211"), ("d", "PAL-201")):
        with pytest.raises(gateway.Error) as raised, mapping():
            adopt(con.session, name, (), CLASSIC, run=True)
        assert raised.value.code == code


def test_names_of_ones_own(con: Connection, admin: Any) -> None:
    admin.execute('CREATE TABLE "Log_hist" ("Key" INT, v BIGINT, "End" BIGINT, "Text" TEXT)')
    admin.execute("""INSERT INTO "Log_hist" VALUES (1, 1, NULL, 'a'), (1, 2, NULL, 'b')""")
    adopt(con.session, "Log", ("key",), ("_hist", "v", "end"), run=True)
    con.execute("UPDATE Log SET text = 'c' WHERE key = 1")
    con.execute("INSERT INTO Log VALUES (2, 'd')")
    assert con.execute("SELECT * FROM Log ORDER BY 1").fetchall() == [(1, "c"), (2, "d")]
    assert admin.execute('SELECT count(*) FROM "Log_hist"').fetchall() == [(4,)]


def test_a_plain_table_moves_in_and_out(con: Connection, cluster: Cluster, admin: Any) -> None:
    if isinstance(cluster, Given):
        pytest.skip("a table of Greenplum has no UNIQUE constraint apart from its key")
    admin.execute("CREATE SCHEMA hr")
    admin.execute(
        'CREATE TABLE hr.people (id SERIAL PRIMARY KEY, "Name" VARCHAR(40) UNIQUE,'
        " pay NUMERIC(10, 2) DEFAULT 5 CHECK (pay > 0))"
    )
    admin.execute("""INSERT INTO hr.people ("Name") VALUES ('Ada'), ('Bob')""")
    adopt(con.session, "hr.people", (), CLASSIC, run=True)
    con.execute("INSERT INTO hr.people (name, pay) VALUES ('Cem', 7)")
    con.execute("UPDATE hr.people SET pay = 6 WHERE name = 'Ada'")
    rows = con.execute("SELECT id, name, CAST(pay AS INTEGER) FROM hr.people ORDER BY id")
    assert rows.fetchall() == [(1, "Ada", 6), (2, "Bob", 5), (3, "Cem", 7)]
    for sql, state in (
        ("INSERT INTO hr.people (name) VALUES ('Bob')", "23505"),
        ("UPDATE hr.people SET pay = 0", "23514"),
    ):
        with pytest.raises(gateway.IntegrityError) as raised:
            con.execute(sql)
        assert raised.value.sqlstate == state
    assert admin.execute("SELECT count(*) FROM hr.people_journal").fetchall() == [(5,)]
    eject(con.session, "hr.people", run=False)
    assert con.execute("SELECT count(*) FROM hr.people").fetchall() == [(3,)]
    eject(con.session, "hr.people", run=True)
    admin.execute("UPDATE hr.people SET pay = 9 WHERE id = 1")
    assert admin.execute("SELECT count(*) FROM hr.people_history").fetchall() == [(5,)]
    adopt(con.session, "hr.people", (), CLASSIC, run=True)
    assert con.execute("SELECT pay FROM hr.people WHERE id = 1").fetchall()[0][0] == 9


def test_a_classic_journal_is_ejected(con: Connection, admin: Any, journal: str) -> None:
    adopt(con.session, "hr.depts", (), CLASSIC, run=True)
    con.execute("DELETE FROM hr.depts WHERE deptno = 1")
    eject(con.session, "hr.depts", run=True)
    assert admin.execute("SELECT * FROM hr.depts").fetchall() == [(2, "Ops")]
    assert admin.execute(CLASSIC_READ).fetchall() == [(2, "Ops")]


def test_texts_of_a_length_stay_so(con: Connection, admin: Any) -> None:
    admin.execute(
        "CREATE TABLE plain (a int PRIMARY KEY, b varchar(5) NOT NULL, c char(3), d varchar,"
        " e varchar(2)[])"
    )
    admin.execute("INSERT INTO plain VALUES (1, 'one', 'x', 'y', '{p}')")
    adopt(con.session, "plain", (), CLASSIC, run=True)
    admin.execute("CREATE VIEW theirs AS SELECT * FROM plain")
    con.execute("INSERT INTO plain VALUES (2, 'zwei', 'y', 'z', ['q'])")
    rows = [(1, "one", "x", "y", ["p"]), (2, "zwei", "y", "z", ["q"])]
    assert con.execute("SELECT * FROM plain ORDER BY a").fetchall() == rows
    assert con.execute("SELECT a FROM plain WHERE c = 'x' AND b = 'one'").fetchall() == [(1,)]
    con.execute("OPTIMIZE plain")
    assert admin.execute("SELECT * FROM theirs ORDER BY a").fetchall() == rows
    for sql in (
        "UPDATE plain SET b = 'vierzehn'",
        "INSERT INTO plain VALUES (3, '', 'four', '', [])",
    ):
        with pytest.raises(gateway.DataError) as raised:
            con.execute(sql)
        assert raised.value.sqlstate == "22001"
    con.execute("ALTER TABLE plain DROP CONSTRAINT plain_b_length")
    con.execute("UPDATE plain SET b = 'vierzehn' WHERE a = 2")
    admin.execute("DROP VIEW theirs")
    eject(con.session, "plain", run=True)
    found = admin.execute(
        "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute"
        " WHERE attrelid = 'plain'::regclass AND attnum > 1 ORDER BY attnum"
    ).fetchall()
    assert found == [
        ("b", "text"),
        ("c", "character(3)"),
        ("d", "character varying"),
        ("e", "character varying(2)[]"),
    ]
    checks = "SELECT conname FROM pg_constraint WHERE conrelid = 'plain'::regclass"
    assert admin.execute(checks).fetchall() == [("plain_pkey",)]


DESCRIBED = """CREATE TABLE hr.depts (deptno INTEGER, department_name VARCHAR NOT NULL,
  PRIMARY KEY (deptno))"""


@pytest.mark.parametrize("journal", ["timestamptz"], indirect=True)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM hr.depts WHERE deptno = 1",
        "SELECT count(*), max(department_name) FROM hr.depts",
        "INSERT INTO hr.depts VALUES (7, 'Law')",
        "INSERT INTO hr.depts VALUES (7, 'Law') ON CONFLICT DO NOTHING",
        "UPDATE hr.depts SET department_name = upper(department_name) WHERE deptno > 1",
        "UPDATE hr.depts SET deptno = deptno + 10 RETURNING deptno",
        "DELETE FROM hr.depts WHERE deptno = 2",
        "MERGE INTO hr.depts d USING (SELECT 1 AS k) s ON d.deptno = s.k WHEN MATCHED THEN DELETE",
        "TRUNCATE hr.depts",
    ],
)
def test_a_preview_without_a_store_shows_the_plan_over_an_adopted_journal(
    con: Connection, journal: str, sql: str
) -> None:
    adopt(con.session, "hr.depts", (), CLASSIC, run=True)
    described = catalog_of(parse(DESCRIBED, "postgres", DEFAULT_LIMITS), "postgres")
    supposed = Assumptions(described, flat=True)
    parsed = parse_one(sql, con.session.dialect)
    without = without_store(parsed, supposed, con.session.dialect, "postgres")
    assert without == preview_on(con, sql, "postgres")
