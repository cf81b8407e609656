"""Tags follow the data into tables that statements fill, on every store."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway.dbapi.connection import Connection
from gateway.procedures.erasure_program import erasure_of
from gateway.procedures.requests import audit_entries
from journal.erasure.erasure_spec import ErasureSpec
from tests.support.stores.store import Capability, Store

pytestmark = [pytest.mark.timeout(900), pytest.mark.needs(Capability.ACCESS_CONTROL)]

_SETUP = """
CREATE TABLE people (k INTEGER PRIMARY KEY, mail VARCHAR, pay INTEGER, note VARCHAR);
INSERT INTO people VALUES (1, 'ada@x', 10, 'n'), (2, NULL, 20, 'n');
CREATE TABLE plain (k INTEGER PRIMARY KEY, a VARCHAR, b INTEGER);
CREATE VIEW shown AS SELECT k, upper(mail) AS m, md5(mail) AS h FROM people;
ALTER TABLE people ALTER COLUMN mail SET TAG = (PII);
ALTER TABLE people ALTER COLUMN pay SET TAG = (salary)
"""


@pytest.fixture
def con(store: Store) -> Connection:
    """A store with tagged columns, a view of them, and a table without tags."""
    con = store.connect(user="root")
    for sql in _SETUP.strip().split(";\n"):
        con.execute(sql)
    return con


def _inherited(con: Connection, table: str) -> list[tuple[Any, ...]]:
    query = 'SELECT "table", "column", tag, origin FROM system.tags WHERE kind = \'inherited\''
    found = sorted(row for row in con.execute(query).fetchall() if row[0] == table)
    home = f"{con.client_session.catalog.home}."
    return [(column, tag, origin.removeprefix(home)) for _, column, tag, origin in found]


MAIL, PAY = "people.mail", "people.pay"
FILLED = {
    "CREATE TABLE c AS SELECT k, lower(mail) AS m, pay FROM people": [
        ("m", "PII", MAIL),
        ("pay", "salary", PAY),
    ],
    "CREATE TABLE c AS SELECT md5(mail) AS h, count(mail) OVER () AS n FROM people": [],
    "CREATE TABLE c AS SELECT k FROM people WHERE mail IS NOT NULL AND pay > 1": [],
    "CREATE TABLE c AS SELECT m, h FROM shown": [("m", "PII", MAIL)],
    "CREATE TABLE c AS SELECT max(pay) AS top FROM people": [("top", "salary", PAY)],
    "CREATE TABLE c AS SELECT mail FROM table_history('people')": [("mail", "PII", MAIL)],
    "CREATE TABLE c AS SELECT [mail, 'x'] AS s FROM people": [("s", "PII", MAIL)],
    "CREATE TABLE c AS WITH w AS (SELECT mail AS x FROM people) SELECT x FROM w": [
        ("x", "PII", MAIL)
    ],
}
CHANGED = {
    "INSERT INTO plain SELECT k, mail, 0 FROM people": [("a", "PII", MAIL)],
    "UPDATE plain SET b = (SELECT max(pay) FROM people)": [("b", "salary", PAY)],
    "MERGE INTO plain USING people AS p ON plain.k = p.k"
    " WHEN NOT MATCHED THEN INSERT (k, a) VALUES (p.k, p.mail)": [("a", "PII", MAIL)],
    "UPDATE people SET note = mail WHERE k = 1": [],
}


@pytest.mark.parametrize("sql", FILLED)
@pytest.mark.also_on("hive", "postgres")
def test_new_tables_have_the_tags_of_their_sources(con: Connection, sql: str) -> None:
    told = [notice for _, notice in con.execute(sql).messages]
    assert _inherited(con, "c") == FILLED[sql]
    assert len(told) == len(FILLED[sql])
    assert all("gets tag" in notice for notice in told)


@pytest.mark.parametrize("sql", CHANGED)
@pytest.mark.also_on("hive", "postgres")
def test_tables_get_tags_with_the_rows(con: Connection, sql: str) -> None:
    con.execute("INSERT INTO plain VALUES (9, 'x', 1)")
    first = con.execute(sql).messages
    assert _inherited(con, "plain") == CHANGED[sql]
    if "note" in sql:
        assert _inherited(con, "people") == [("note", "PII", MAIL)]
    assert len(first) == 1
    con.execute("DELETE FROM plain WHERE k < 9")
    assert con.execute(sql).messages == []


@pytest.mark.also_on("hive")
def test_masks_hold_where_a_tag_was_inherited(con: Connection) -> None:
    con.execute("ALTER TAG PII SET MASKING POLICY ('***')")
    con.execute("CREATE TABLE a AS SELECT k, mail AS m FROM people")
    con.execute("BEGIN")
    con.execute("INSERT INTO plain SELECT k, m, 0 FROM a")
    con.execute("COMMIT")
    con.execute("CREATE ROLE ann")
    con.execute("GRANT SELECT ON plain TO ann")
    con.execute("SET ROLE ann")
    assert sorted(con.execute("SELECT k, a FROM plain").fetchall()) == [(1, "***"), (2, "***")]
    con.execute("RESET ROLE")
    (path,) = (
        con.execute(
            "SELECT path FROM system.tags WHERE origin LIKE '%people.mail' AND \"table\" = 'plain'"
        ).fetchone()
        or ()
    )
    assert [place.split(".")[-2:] for place in path] == [
        ["people", "mail"],
        ["a", "m"],
        ["plain", "a"],
    ]
    entries = con.client_session.perform(audit_entries)
    told = [json.loads(e.detail) for e in entries if e.action == "tag.change"]
    assert told[-1]["tagged"][0].startswith("PII (a) from table ")
    con.execute("ALTER TABLE plain ALTER a UNSET TAG pii")
    assert _inherited(con, "plain") == []


@pytest.mark.also_on("hive")
def test_tags_pass_statements_in_a_with(con: Connection) -> None:
    con.execute(
        "WITH gone AS (DELETE FROM people WHERE k = 1 RETURNING mail)"
        " INSERT INTO plain (k, a) SELECT 1, mail FROM gone"
    )
    assert _inherited(con, "plain") == [("a", "PII", MAIL)]
    assert _inherited(con, "people") == []


def test_tags_pass_temporary_tables(con: Connection) -> None:
    con.execute("CREATE TEMP TABLE between_two AS SELECT k, mail AS x FROM people")
    con.execute("CREATE TABLE c AS SELECT x FROM between_two")
    con.execute("DROP TABLE between_two")
    assert _inherited(con, "c") == [("x", "PII", MAIL)]


@pytest.mark.also_on("hive")
def test_views_have_the_tags_of_what_they_show(con: Connection) -> None:
    con.execute("CREATE VIEW again AS SELECT m || '!' AS m, h FROM shown")
    con.execute("CREATE MATERIALIZED VIEW kept AS SELECT pay FROM people")
    for view, column, tag, origin in (
        ("shown", "m", "PII", MAIL),
        ("again", "m", "PII", MAIL),
        ("kept", "pay", "salary", PAY),
    ):
        assert _inherited(con, view) == [(column, tag, origin)]
    con.execute("ALTER TABLE people ALTER mail UNSET TAG")
    assert _inherited(con, "again") == []


@pytest.mark.also_on("hive")
def test_a_statement_that_fails_tags_nothing(con: Connection) -> None:
    con.execute("BEGIN")
    con.execute("INSERT INTO plain SELECT k, mail, 0 FROM people")
    con.execute("ROLLBACK")
    assert _inherited(con, "plain") == []
    # Rows with known keys take short ways, which change no definitions.
    con.execute("INSERT INTO plain VALUES (1, 'x', 1)")
    for _ in range(3):
        con.execute("UPDATE people SET note = note || 'x' WHERE k = 1")
    con.execute("UPDATE people SET note = mail WHERE k = 1")
    assert _inherited(con, "people") == [("note", "PII", MAIL)]


@pytest.mark.needs(Capability.ERASURE)
@pytest.mark.also_on("hive")
def test_erasures_tell_of_copies_that_they_do_not_reach(con: Connection) -> None:
    for sql in (
        "ALTER TABLE people SET TBLPROPERTIES ('erasure' = 'mail LOWER AS email')",
        "ALTER TABLE people RENAME COLUMN mail TO address",
        "CREATE TABLE copied AS SELECT k, address AS m, note AS n FROM people",
        "INSERT INTO plain SELECT k, m, 0 FROM copied",
        "CREATE TABLE paid AS SELECT pay FROM people",
    ):
        con.execute(sql)
    wanted = ErasureSpec({"email": ["ada@x"]})
    why = {t.table: t.why for t in erasure_of(con.session).dry_run(wanted).targets}
    home = con.client_session.catalog.home
    told = f"column {{}} holds values of {home}.people.address"
    assert told.format("m") in why[f"{home}.copied"]
    assert told.format("a") in why[f"{home}.plain"]
    assert "filled by CREATE TABLE copied AS SELECT k, address" in why[f"{home}.copied"]
    assert "filled by INSERT INTO plain SELECT k, m, ? FROM copied" in why[f"{home}.plain"]
    assert "holds" not in why[f"{home}.paid"] + why[f"{home}.people"]
    done = con.execute("ERASE FROM people WHERE k = 2")
    names = [column[0] for column in done.description or []]
    shown = {row[names.index("table")]: row[names.index("why")] for row in done.fetchall()}
    told = f"not named; column pay holds values of {home}.people.pay; filled by CREATE TABLE paid"
    assert shown[f"{home}.paid"].startswith(told)
    assert con.execute("SELECT count(*) FROM copied").fetchone() == (2,)


_FILLED_BEFORE = """
CREATE TABLE seen (k INTEGER PRIMARY KEY, mail VARCHAR, other VARCHAR);
CREATE TABLE b (k INTEGER PRIMARY KEY, m VARCHAR, h VARCHAR, n BIGINT);
INSERT INTO seen VALUES (1, 'ada@x', 'o');
INSERT INTO b SELECT k, lower(mail), md5(mail), count(*) OVER (ORDER BY mail) FROM seen;
CREATE VIEW v AS SELECT k, m AS w, h FROM b;
CREATE TABLE c AS SELECT k, w, h FROM v;
UPDATE seen SET other = mail WHERE k = 1
"""


@pytest.mark.also_on("hive")
def test_a_tag_goes_on_to_what_was_filled_before_it_was_set(con: Connection) -> None:
    for sql in _FILLED_BEFORE.strip().split(";\n"):
        con.execute(sql)
    told = [text for _, text in con.execute("ALTER TABLE seen ALTER mail SET TAG PII").messages]
    assert _inherited(con, "b") == [("m", "PII", "seen.mail")]
    assert _inherited(con, "c") == [("w", "PII", "seen.mail")]
    assert _inherited(con, "seen") == [("other", "PII", "seen.mail")]
    assert len(told) == 3
    assert all("which has filled it" in text for text in told)
    (path,) = con.execute("SELECT path FROM system.tags WHERE \"table\" = 'c'").fetchone() or ()
    assert [p.split(".")[-2:] for p in path] == [["seen", "mail"], ["b", "m"], ["c", "w"]]
    assert con.execute("ALTER TABLE seen ALTER mail SET TAG pii").messages == []
    con.execute("ALTER TABLE seen SET TAG people")
    assert ("h", "people", "seen.mail") not in _inherited(con, "b")
    assert ("k", "people", "seen.k") in _inherited(con, "c")


@pytest.mark.also_on("hive")
def test_a_tag_goes_on_within_the_transaction_that_fills(con: Connection) -> None:
    con.execute("CREATE TABLE seen (k INTEGER PRIMARY KEY, mail VARCHAR)")
    con.execute("INSERT INTO seen VALUES (1, 'ada@x')")
    con.execute("BEGIN")
    con.execute("CREATE TABLE c AS SELECT mail FROM seen")
    con.execute("ALTER TABLE seen ALTER mail SET TAG PII")
    con.execute("COMMIT")
    assert _inherited(con, "c") == [("mail", "PII", "seen.mail")]
    con.execute("BEGIN")
    con.execute("CREATE TABLE d AS SELECT mail FROM seen")
    con.execute("ALTER TABLE seen ALTER mail SET TAG extra")
    con.execute("ROLLBACK")
    assert _inherited(con, "c") == [("mail", "PII", "seen.mail")]
