"""Row policies and masking policies on every store: in each statement, at any version."""

from __future__ import annotations

import json
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.requests import audit_check, audit_entries
from tests.support.stores.store import Capability, Store

pytestmark = [pytest.mark.timeout(900), pytest.mark.needs(Capability.ACCESS_CONTROL)]

ALL = "SELECT, INSERT, UPDATE, DELETE, TRUNCATE"


_SETUP = f"""
CREATE TABLE people (k INTEGER PRIMARY KEY, name VARCHAR, region VARCHAR, pay INTEGER);
INSERT INTO people VALUES (1, 'Ada', 'north', 10), (2, 'Bob', 'south', 20), (3, 'Cy', 'north', 30);
UPDATE people SET pay = pay + 1 WHERE k < 3;
CREATE VIEW names AS SELECT k, name, pay FROM people;
CREATE MATERIALIZED VIEW stored AS SELECT region, sum(pay) AS pay FROM people GROUP BY region;
CREATE ROLE hr;
CREATE ROLE ann;
GRANT {ALL} ON people TO ann;
GRANT HISTORY ON people TO ann;
GRANT SELECT ON names TO ann;
GRANT SELECT ON stored TO ann;
ALTER TABLE people SET ROW POLICY (region = 'north' OR is_role('hr'));
ALTER TABLE people ALTER COLUMN pay SET MASKING POLICY (CASE WHEN is_role('hr') THEN pay ELSE 0 END)
"""


@pytest.fixture
def con(store: Store) -> Connection:
    """A store with people of two regions; ann sees the north, and no pay unless in hr."""
    con = store.connect(user="root")
    for sql in _SETUP.strip().split(";\n"):
        con.execute(sql)
    return con


def _rows(con: Connection, sql: str) -> list[tuple[Any, ...]]:
    return sorted(con.execute(sql).fetchall())


def _state(con: Connection, sql: str) -> str:
    try:
        con.execute(sql)
    except gateway.Error as error:
        return error.sqlstate
    return ""


@pytest.mark.also_on("hive")
def test_every_read_shows_what_policies_show(con: Connection) -> None:
    version = con.execute("SELECT max(version) FROM system.transactions").fetchall()[0][0]
    seen = [(1, "Ada", "north", 0), (3, "Cy", "north", 0)]
    assert len(_rows(con, "SELECT * FROM people")) == 3
    con.execute("SET ROLE ann")
    assert _rows(con, "SELECT * FROM people") == seen
    assert _rows(con, "SELECT * FROM people WHERE k = 2") == []
    assert _rows(con, "SELECT pay FROM people WHERE k = 3") == [(0,)]
    assert _rows(con, "SELECT count(*), sum(pay), min(pay), max(k) FROM people") == [(2, 0, 0, 3)]
    assert _rows(con, "SELECT region, count(*), sum(pay) FROM people GROUP BY region") == [
        ("north", 2, 0)
    ]
    assert _rows(con, "SELECT k FROM people WHERE pay > 0") == []
    assert _rows(con, "SELECT k FROM people ORDER BY pay DESC, k LIMIT 1") == [(1,)]
    assert _rows(con, "SELECT p.k FROM people p JOIN people q ON p.pay = q.pay + 0 AND q.k = 3")
    assert _rows(con, "SELECT k, pay FROM names") == [(1, 0), (3, 0)]
    assert _rows(con, "SELECT * FROM stored") == [("north", 0)]
    assert _rows(con, "WITH c AS (SELECT * FROM people) SELECT k, pay FROM c") == [(1, 0), (3, 0)]
    assert _rows(con, "SELECT (SELECT sum(pay + k) FROM people)") == [(4,)]
    past = f"SELECT k, pay FROM people FOR SYSTEM_VERSION AS OF {version}"
    assert _rows(con, past) == [(1, 0), (3, 0)]
    history = "SELECT DISTINCT k, region, pay FROM table_history('people')"
    assert _rows(con, history) == [(1, "north", 0), (3, "north", 0)]
    changes = f"SELECT DISTINCT k, pay FROM table_changes('people', 0, {version})"
    assert _rows(con, changes) == [(1, 0), (3, 0)]
    versions = "SELECT DISTINCT k, pay FROM people FOR SYSTEM_TIME ALL"
    assert _rows(con, versions) == [(1, 0), (3, 0)]
    con.execute(f"SET as_of = '{version}'")
    assert _rows(con, "SELECT k, pay FROM people") == [(1, 0), (3, 0)]
    con.execute("RESET as_of")
    assert _state(con, "SELECT * FROM people_journal") == "42501"
    con.execute("RESET ROLE")
    con.execute("GRANT hr TO ann")
    con.execute("SET ROLE ann")
    assert _rows(con, "SELECT k, pay FROM people") == [(1, 11), (2, 21), (3, 30)]
    assert _rows(con, "SELECT * FROM stored") == [("north", 41), ("south", 21)]


@pytest.mark.also_on("hive")
def test_statements_write_what_is_seen_and_no_more(con: Connection) -> None:
    con.execute("SET ROLE ann")
    assert con.execute("UPDATE people SET name = name || pay").rowcount == 2
    assert con.execute("UPDATE people SET name = 'x' WHERE k = 2").rowcount == 0
    assert con.execute("DELETE FROM people WHERE pay > 0").rowcount == 0
    assert con.execute("DELETE FROM people WHERE k = 2 RETURNING k").fetchall() == []
    returned = con.execute("UPDATE people SET name = 'Cyd' WHERE k = 3 RETURNING *").fetchall()
    assert returned == [(3, "Cyd", "north", 0)]
    assert _state(con, "UPDATE people SET region = 'south' WHERE k = 3") == "42501"
    assert _state(con, "INSERT INTO people VALUES (4, 'Di', 'south', 1)") == "42501"
    assert _state(con, "INSERT INTO people VALUES (4, 'Di', NULL, 1)") == "42501"
    inserted = con.execute("INSERT INTO people VALUES (4, 'Di', 'north', 40) RETURNING k, pay")
    assert inserted.fetchall() == [(4, 0)]
    assert _state(con, "INSERT INTO people VALUES (2, 'Di', 'north', 1)") == "23505"
    upsert = " ON CONFLICT (k) DO UPDATE SET name = excluded.name || people.pay"
    assert _state(con, f"INSERT INTO people VALUES (2, 'E', 'north', 1){upsert}") == "42501"
    assert con.execute(f"INSERT INTO people VALUES (4, 'E', 'north', 1){upsert}").rowcount == 1
    ignored = "INSERT INTO people VALUES (2, 'F', 'north', 1) ON CONFLICT DO NOTHING"
    assert con.execute(ignored).rowcount == 0
    merge = (
        "MERGE INTO people t USING (SELECT 3 AS k UNION ALL SELECT 2) s ON t.k = s.k AND t.pay = 0"
        " WHEN MATCHED THEN UPDATE SET name = 'M' || t.pay"
    )
    assert con.execute(merge).rowcount == 1
    assert con.execute("INSERT INTO people SELECT k + 10, name, region, pay FROM people").rowcount
    assert _state(con, "TRUNCATE people") == "42501"
    assert _state(con, "RESTORE TABLE people TO VERSION AS OF 1") == "42501"
    con.execute("RESET ROLE")
    assert _rows(con, "SELECT * FROM people") == [
        (1, "Ada0", "north", 11),
        (2, "Bob", "south", 21),
        (3, "M0", "north", 30),
        (4, "E0", "north", 40),
        (11, "Ada0", "north", 0),
        (13, "M0", "north", 0),
        (14, "E0", "north", 0),
    ]


@pytest.mark.also_on("hive")
def test_policies_run_before_the_expressions_of_a_client(con: Connection) -> None:
    con.execute("INSERT INTO people VALUES (5, '7', 'north', 0), (6, 'x', 'south', 0)")
    con.execute("DELETE FROM people WHERE k < 5")
    con.execute("SET ROLE ann")
    for name in ("name", "coalesce(name, 'y')"):
        assert _rows(con, f"SELECT k FROM people WHERE CAST({name} AS INTEGER) = 7") == [(5,)]
        assert _rows(con, f"SELECT sum(CAST({name} AS INTEGER)) FROM people") == [(7,)]
        joined = f"SELECT p.k FROM people p JOIN people q ON q.k = CAST(p.{name} AS INTEGER) - 2"
        assert _rows(con, joined.replace("p.coalesce(", "coalesce(p.")) == [(5,)]
        update = f"UPDATE people SET name = '7' WHERE CAST({name} AS INTEGER) = 7"
        assert con.execute(update).rowcount == 1


_CONDITIONS = (
    "k = 1",
    "2 < k AND k <= 4",
    "k BETWEEN 1 AND 3",
    "k IN (1, 2, -9)",
    "name >= 'B' AND region = 'north'",
    "region = 'south'",
    "name IN ('Ada', 'Bob') OR k = 3",
    "pay = 0",
    "NOT k = 1 AND k > 0",
    "k = 1 AND CAST(k AS VARCHAR) = '1'",
)


@pytest.mark.also_on("hive")
def test_conditions_of_a_client_find_what_it_sees(con: Connection) -> None:
    """Some are asked of rows before the policy is, which changes no answer."""
    con.execute("INSERT INTO people VALUES (5, '7', 'north', 0), (6, 'x', 'south', 0)")
    shown = "(SELECT k, name, region, 0 AS pay FROM people WHERE region = 'north') AS people"
    joined = "SELECT p.k, q.k FROM {} LEFT JOIN {} ON p.k = q.k WHERE q.k IN (1, 2) AND p.k < 9"
    expected = [_rows(con, f"SELECT k FROM {shown} WHERE {c}") for c in _CONDITIONS]
    pairs = _rows(
        con, joined.format(shown.replace("AS people", "p"), shown.replace("AS people", "q"))
    )
    con.execute("SET ROLE ann")
    for condition, rows in zip(_CONDITIONS, expected, strict=True):
        assert _rows(con, f"SELECT k FROM people WHERE {condition}") == rows, condition
    assert _rows(con, joined.format("people p", "people q")) == pairs
    assert _rows(con, "SELECT k FROM people WHERE k < 6 AND CAST(name AS VARCHAR) = '7'") == [(5,)]
    narrowed = "SELECT k FROM people WHERE k IN (5, 6) AND CAST(name AS INTEGER) = 7"
    con.execute("DELETE FROM people WHERE k < 5")
    assert _rows(con, narrowed) == [(5,)]


@pytest.mark.also_on("hive", "postgres")
def test_policies_are_definitions(con: Connection, store: Store) -> None:
    entries = con.client_session.perform(audit_entries)
    details = [json.loads(e.detail) for e in entries if "policies" in e.detail]
    policies = [detail["policies"] for detail in details if "policies" in detail]
    assert policies[0][0].startswith("rows: \"region\" = 'north' OR IS_ROLE(")
    assert con.client_session.perform(audit_check, None).problems == ()
    con.execute("SET ROLE ann")
    assert _state(con, "ALTER TABLE people DROP ROW POLICY") == "42501"
    con.execute("RESET ROLE")
    assert _state(con, "ALTER TABLE people DROP COLUMN region") == "2BP01"
    assert _state(con, "ALTER TABLE people ALTER COLUMN pay TYPE BIGINT") == "2BP01"
    assert _state(con, "ALTER TABLE people SET ROW POLICY (pay + 1)") == "42P16"
    of_journal = "k IN (SELECT 1 FROM people_journal)"
    assert _state(con, f"ALTER TABLE people SET ROW POLICY ({of_journal})") == "42P16"
    mask = "ALTER TABLE people ALTER COLUMN pay SET MASKING POLICY ('***')"
    assert _state(con, mask) == "42P16"
    assert _state(con, "ALTER TABLE names SET ROW POLICY (true)") == "42809"
    assert _state(con, "ALTER TABLE people ALTER k DROP MASKING POLICY") == "42P16"
    con.execute("ALTER TABLE people RENAME COLUMN region TO area")
    con.execute("ALTER TABLE people RENAME TO staff")
    con.execute("SET ROLE ann")
    assert _rows(con, "SELECT k, area, pay FROM staff") == [(1, "north", 0), (3, "north", 0)]
    con.execute("RESET ROLE")
    con.close()
    with store.connect(user="root") as again:
        again.execute("SET ROLE ann")
        assert _rows(again, "SELECT k FROM staff") == [(1,), (3,)]
        again.execute("RESET ROLE")
        again.execute("ALTER TABLE staff UNSET ROW POLICY")
        again.execute("ALTER TABLE staff ALTER COLUMN pay UNSET MASKING POLICY")
        again.execute("SET ROLE ann")
        assert _rows(again, "SELECT k, pay FROM staff") == [(1, 11), (2, 21), (3, 30)]


@pytest.mark.also_on("hive", "postgres")
def test_a_table_made_anew_has_no_policies(con: Connection) -> None:
    con.execute("DROP MATERIALIZED VIEW stored")
    con.execute("DROP VIEW names")
    con.execute("DROP TABLE people")
    con.execute("CREATE TABLE people (k INTEGER PRIMARY KEY, pay INTEGER)")
    con.execute("INSERT INTO people VALUES (2, 20)")
    con.execute("GRANT SELECT ON people TO ann")
    con.execute("SET ROLE ann")
    assert _rows(con, "SELECT k, pay FROM people") == [(2, 20)]


@pytest.mark.also_on("hive")
def test_a_role_that_bypasses_policies_sees_all(con: Connection) -> None:
    everything = _rows(con, "SELECT * FROM people")
    for sql in ("CREATE ROLE free BYPASSRLS", "CREATE ROLE member IN ROLE free",
                "CREATE ROLE maker CREATEROLE", "GRANT SELECT ON people TO free"):  # fmt: skip
        con.execute(sql)
    con.execute("SET ROLE member")
    assert len(_rows(con, "SELECT * FROM people")) < len(everything), "it is not inherited"
    con.execute("SET ROLE free")
    assert _rows(con, "SELECT * FROM people") == everything
    con.execute("SET ROLE maker")
    for sql in ("CREATE ROLE other BYPASSRLS", "ALTER ROLE ann BYPASSRLS", "GRANT free TO ann",
                "ALTER ROLE free PASSWORD 'x'"):  # fmt: skip
        assert _state(con, sql) == "42501", sql
    con.execute("RESET ROLE")
    con.execute("ALTER ROLE free NOBYPASSRLS")
    con.execute("SET ROLE free")
    assert len(_rows(con, "SELECT * FROM people")) < len(everything)
