"""What the warehouses under ``tests/fixtures/formats`` went through, and what they must still say.

They were made by the last version before format 8. ``python -m tests.support.formats <url>`` tells
the story to a new store; how each fixture was put away then stands in its folder's README.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import cast

import pytest

import gateway
from gateway.dbapi.connection import Connection
from journal.erasure import audit_check
from journal.erasure.seam import ErasureJournal

FOLDER = Path(__file__).parent.parent / "fixtures" / "formats"
STORY = (
    (
        "CREATE TABLE people (id INTEGER PRIMARY KEY, name VARCHAR, email VARCHAR)"
        " TBLPROPERTIES ('erasure' = 'email')"
    ),
    "CREATE TABLE visits (n BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, what VARCHAR)",
    "CREATE VIEW names AS SELECT id, name FROM people",
    (
        "INSERT INTO people VALUES (1, 'Ada', 'ada@example.org'), (2, 'Bob', 'bob@example.org'),"
        " (3, 'Cyd', 'cyd@example.org'), (4, 'Dot', 'dot@example.org')"
    ),
    "INSERT INTO visits (what) VALUES ('came'), ('went')",
    "UPDATE people SET name = 'Ada L.' WHERE id = 1",
    "DELETE FROM people WHERE id = 3",
    "PLACE HOLD ON visits WHERE n = 1 REASON 'matter 1'",
    "PLACE HOLD FOR SUBJECT email = 'dot@example.org' REASON 'matter 2'",
    "ERASE FROM people WHERE email = 'bob@example.org' SCOPE ALL REASON 'ticket 1'",
    "CALL system.purge('people')",
    "CALL system.backup('people', name => 'first')",
    "OPTIMIZE people",
    "ERASE FROM people WHERE email = 'dot@example.org' SCOPE ALL REASON 'ticket 2'",
    "INSERT INTO people VALUES (5, 'Eve', 'eve@example.org')",
)
FACTS = {
    "SELECT * FROM people ORDER BY id": [
        (1, "Ada L.", "ada@example.org"),
        (4, "Dot", "dot@example.org"),
        (5, "Eve", "eve@example.org"),
    ],
    "SELECT * FROM visits ORDER BY n": [(1, "came"), (2, "went")],
    "SELECT name FROM names WHERE id = 1": [("Ada L.",)],
    "SELECT kind, state IN ('SUCCEEDED', 'NOTHING'), attempt, dry_run, len(log) > 1,"
    " ended_at >= started_at FROM system.jobs ORDER BY started_at": [
        ("purge", True, 1, False, True, True),
        ("backup", True, 1, False, True, True),
        ("compact", True, 1, False, True, True),
    ],
    "SELECT name, kind FROM system.backups WHERE kind = 'named'": [("first", "named")],
    "SELECT scope, reason, released_at IS NULL, predicate FROM system.holds ORDER BY placed_at": [
        ("predicate", "matter 1", False, None),
        ("subject", "matter 2", True, None),
    ],
    "SELECT state FROM system.erasures ORDER BY accepted": [("COMPLETED",), ("ON_HOLD",)],
    "SELECT min(rows_written), max(len(tables)), count(*) > 5, min(committed_at) >"
    " TIMESTAMP '2026-01-01' FROM system.transactions": [(0, 1, True, True)],
}
"""Queries, and what they answer when the story is told."""


def tell(con: Connection) -> None:
    """Let a new store, open in autocommit, go through the story."""
    for sql in STORY:
        con.execute(sql)
    found = con.execute("SELECT id FROM system.holds WHERE reason = 'matter 1'").fetchall()
    con.execute(f"RELEASE HOLD '{found[0][0]}'")


def check(con: Connection) -> None:
    """The store says what it said when it was made."""
    for question, expected in FACTS.items():
        assert con.execute(question).fetchall() == expected, question


def go_on(con: Connection) -> None:
    """The store goes on where it was left: what was erased stays so, and its records go on."""
    journal = cast("ErasureJournal", con.session.journal)
    assert audit_check.verify(journal).problems == ()
    entries = audit_check.verify(journal).entries
    with pytest.raises(gateway.Error, match="erased"):
        con.execute("INSERT INTO people VALUES (6, 'Bob', 'bob@example.org')")
    con.execute("UPDATE people SET name = 'Ada' WHERE id = 1")
    con.execute("INSERT INTO visits (what) VALUES ('stayed')")
    assert con.execute("SELECT what FROM visits WHERE n > 2").fetchall() == [("stayed",)]
    con.execute("OPTIMIZE people")
    held = con.execute("SELECT id FROM system.holds WHERE released_at IS NULL").fetchall()
    con.execute(f"RELEASE HOLD '{held[0][0]}'")
    con.execute("CALL system.purge('people')")
    states = con.execute("SELECT DISTINCT state FROM system.erasures").fetchall()
    assert states == [("COMPLETED",)]
    assert con.execute("SELECT id FROM people ORDER BY id").fetchall() == [(1,), (5,)]
    con.execute("CALL system.restore('people', backup => 'first')")
    names = con.execute("SELECT name FROM people ORDER BY id").fetchall()
    assert names == [("Ada L.",)]
    assert audit_check.verify(journal).problems == ()
    assert audit_check.verify(journal).entries > entries
    assert con.session.executor.upkeep.verify().is_clean


if __name__ == "__main__":
    with gateway.connect(sys.argv[1], autocommit=True) as told:
        tell(told)
        check(told)
