"""ERASE in a database: every version goes from every table, and no transaction brings it back."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.adopting import adopt
from journal.erasure.erasure_spec import requests
from journal.stores.postgres.journal import DatabaseJournal
from spark_compaction.backends.postgres.maintenance import compact
from spark_compaction.contract import JobRequest
from tests.support.postgres import Cluster
from tests.support.traces import everything

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


def test_an_erasure_leaves_nothing_and_a_receipt(
    people: Connection, cluster: Cluster, database: str
) -> None:
    kept = "SELECT * FROM p FOR SYSTEM_TIME ALL WHERE id NOT IN (7, 8, 200) ORDER BY id"
    before = people.execute(kept).fetchall()
    assert ADA in everything(cluster, database)
    (row,) = people.execute(f"ERASE FROM p WHERE mail = '{ADA}' REASON 'ticket 1'").fetchall()
    assert (row[1], row[3], row[4]) == ("COMPLETED", "ERASED", 3)
    assert row[7] == 2 + 5 + 3
    assert ADA not in everything(cluster, database)
    assert people.execute(kept).fetchall() == before
    gone = "SELECT * FROM p FOR SYSTEM_TIME ALL WHERE id IN (7, 8, 200)"
    assert people.execute(gone).fetchall() == []
    assert people.session.executor.sealer.verify().is_clean
    (receipt,) = requests(people.session.journal)
    assert receipt.reason == "ticket 1"
    assert receipt.targets[0].manifest_before != receipt.targets[0].manifest_after


def test_a_transaction_from_before_brings_nothing_back(
    people: Connection, connect: Callable[..., Connection]
) -> None:
    other = connect()
    other.execute("BEGIN")
    ((mail,),) = other.execute("SELECT mail FROM p WHERE id = 7").fetchall()
    people.execute(f"ERASE FROM p WHERE mail = '{ADA}'")
    assert other.execute("SELECT mail FROM p WHERE id = 7").fetchall() == []
    other.execute("INSERT INTO p VALUES (300, ?, 0)", [mail])
    with pytest.raises(gateway.Error) as raised:
        other.execute("COMMIT")
    assert raised.value.sqlstate == "40001"


def test_what_is_still_read_goes_with_the_next_purge(people: Connection) -> None:
    journal = people.session.journal
    with journal.statement(journal.begin(read_only=True)):
        (row,) = people.execute(f"ERASE FROM p WHERE mail = '{ADA}'").fetchall()
        assert row[1] == "PURGED"
        assert "transaction" in row[8]
    (done,) = people.execute("CALL system.purge('p')").fetchall()
    assert json.loads(done[-1])["details"]["requests"] == {row[0]: "COMPLETED"}
    assert people.execute("CALL system.purge('p')").fetchall()[0][3] == "NOTHING"


def test_erasing_nobody_changes_nothing(people: Connection) -> None:
    before = people.execute("SELECT * FROM p ORDER BY id").fetchall()
    (row,) = people.execute("ERASE FROM p WHERE mail = 'nobody'").fetchall()
    assert (row[1], row[3]) == ("COMPLETED", "SEARCHED_NONE")
    assert people.execute("SELECT * FROM p ORDER BY id").fetchall() == before


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
