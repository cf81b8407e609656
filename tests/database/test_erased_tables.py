"""ERASE in a database: tables that are still read, and numbers that Python has no type for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway.dbapi.connection import Connection
from gateway.procedures.adopting import adopt
from journal.stores.postgres.journal import DatabaseJournal
from spark_compaction.backends.postgres.maintenance import compact
from spark_compaction.contract import JobRequest
from tests.support.postgres import Cluster
from tests.support.traces import everything

pytestmark = pytest.mark.stores

ADA = "ada@example.org"
CLASSIC = ("_journal", "version_number", "subsequent_version_number")


@pytest.fixture
def people(con: Connection) -> Connection:
    """Somebody in a base, in history, in two layouts and in the head; and others."""
    con.execute("CREATE TABLE p (id INTEGER PRIMARY KEY, mail VARCHAR)")
    con.execute("INSERT INTO p SELECT i, 'm' || i FROM range(100) r(i)")
    con.execute(f"UPDATE p SET mail = '{ADA}' WHERE id = 7")
    journal = con.session.journal
    assert isinstance(journal, DatabaseJournal)
    compact(journal, JobRequest(next(iter(journal.state.catalog.tables())), "first"))
    con.execute(f"UPDATE p SET mail = '{ADA}' WHERE id = 8")
    con.execute("UPDATE p SET mail = 'gone' WHERE id = 8")
    con.execute("ALTER TABLE p ADD COLUMN n INTEGER DEFAULT 1")
    con.execute(f"INSERT INTO p VALUES (200, '{ADA}', 2)")
    con.execute("DELETE FROM p WHERE id = 200")
    return con


def test_what_is_still_read_goes_with_the_next_purge(people: Connection) -> None:
    journal = people.session.journal
    with journal.statement(journal.begin(read_only=True)):
        (row,) = people.execute(f"ERASE FROM p WHERE mail = '{ADA}'").fetchall()
        assert row[1] == "PURGED"
        assert "transaction" in row[8]
    (done,) = people.execute("CALL system.purge('p')").fetchall()
    assert json.loads(done[-1])["details"]["requests"] == {row[0]: "COMPLETED"}
    assert people.execute("CALL system.purge('p')").fetchall()[0][3] == "NOTHING"


def test_numbers_beside_those_that_are_none_keep_their_digits(
    con: Connection, admin: Any, cluster: Cluster, database: str
) -> None:
    admin.execute("CREATE TABLE n (k NUMERIC PRIMARY KEY, mail TEXT)")
    admin.execute(
        "INSERT INTO n VALUES ('NaN', 'a'), (12345678901234567890.1, 'a'), (2, 'a'), (3, 'b')"
    )
    adopt(con.session, "n", ("k",), CLASSIC, run=True)
    (row,) = con.execute("ERASE FROM n WHERE mail = 'a'").fetchall()
    assert (row[1], row[3], row[4]) == ("COMPLETED", "ERASED", 3)
    assert con.execute("SELECT k FROM n FOR SYSTEM_TIME ALL").fetchall() == [(3,)]
    assert "12345678901234567890" not in everything(cluster, database)
