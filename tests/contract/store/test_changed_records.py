"""What somebody changes by hand among the records of a store is noticed: lists, log and secret.

Files of an embedded warehouse that are changed are in ``tests/journal/test_audit_marks.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlglot import exp

import gateway
from gateway.dbapi.connection import Connection
from gateway.jobs.verify import verify_store
from gateway.procedures.requests import audit_check
from journal.erasure.secret import PRIVATE
from journal.records.catalog_format import put_meta
from journal.records.schema import AUDIT, HOLDS, SUPPRESSIONS, RecordTable
from journal.records.statements import RecordStatement, execute, select
from tests.support.stores.store import Capability, Store

pytestmark = [pytest.mark.timeout(900), pytest.mark.needs(Capability.ERASURE)]


@pytest.fixture
def con(store: Store) -> Iterator[Connection]:
    """A store with an erasure, a hold and a role."""
    con = store.connect()
    con.execute("CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR)")
    con.execute("ALTER TABLE people SET TBLPROPERTIES ('erasure' = 'email')")
    con.execute("INSERT INTO people VALUES (1, 'ada@example.org'), (2, 'bob@example.org')")
    con.execute("PLACE HOLD ON people WHERE id = 2 REASON 'matter 1'")
    con.execute("ERASE FROM people WHERE email = 'ada@example.org' SCOPE ALL REASON 'ticket 1'")
    con.execute("CREATE ROLE ann")
    assert _problems(con) == []
    return con


def _problems(con: Connection) -> list[str]:
    """What both checks find, who must agree."""
    found = list(con.client_session.perform(audit_check, None).problems)
    report, _ = con.client_session.perform_watched(lambda _: None, verify_store)
    assert [p.message for p in report.problems] == found
    return found


def _delete(con: Connection, table: RecordTable, condition: str = "1 = 1") -> None:
    place = select(table).ast.find(exp.Table)
    assert place is not None
    with con.session.journal.exclusive_session() as session:
        execute(session, RecordStatement(exp.delete(place.copy()).where(condition)))
        session.commit()


@pytest.mark.also_on("hive")
def test_lists_and_entries_that_are_gone_are_noticed(con: Connection) -> None:
    entries = con.client_session.perform(audit_check, None).entries
    for table, condition, said in (
        (HOLDS, "1 = 1", "the holds are not those"),
        (SUPPRESSIONS, "1 = 1", "the suppressions are not those"),
        (AUDIT, f"seq = {entries}", f"lacks entry {entries}, the newest"),
        (AUDIT, "1 = 1", f"lacks entry {entries}, the newest"),
    ):
        _delete(con, table, condition)
        assert any(said in problem for problem in _problems(con)), (said, _problems(con))


@pytest.mark.also_on("hive")
def test_another_secret_is_noticed(store: Store, con: Connection) -> None:
    folder = con.session.journal.capabilities.folder
    if folder is not None:
        con.close()
        (folder / PRIVATE / "secret.key").write_bytes(bytes(32))
        with pytest.raises(gateway.Error, match="not the one that the warehouse was hashed with"):
            store.connect()
        return
    with con.session.journal.exclusive_session() as session:
        put_meta(session, "secret", "00" * 32)
        session.commit()
    con.close()
    assert "the secret is not the one that made the entries" in _problems(store.connect())
