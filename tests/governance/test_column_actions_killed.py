"""A purge that changes columns is killed at any step: the next run ends it, no value is left."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

import gateway
from gateway.privacy_desk import running
from gateway.session.operations import no_progress
from journal.erasure import audit_check
from journal.erasure.seam import ErasureJournal
from tests.support.killed_step import run_killed

pytestmark = pytest.mark.slow
ADA = "ada.lovelace.4711@x.example"
ERASING = "spark_compaction.backends.embedded_erasure.erasing"
STEPS = {
    "before the purge": ("spark_compaction.erasure.purging", "purge_table", 0),
    "before files are written": (f"{ERASING}.run_job", "", 0),
    "after live files are swapped": (f"{ERASING}.run_job", "", 1),
    "before backups follow": (f"{ERASING}.backups.follow", "", 0),
    "after retired files are swapped": (f"{ERASING}._purge_retired", "", 1),
    "before the receipts": (f"{ERASING}._remove", "", 1),
    "after the receipts": (f"{ERASING}.remove_rows", "", 1),
    "before copies elsewhere": ("spark_compaction.erasure.purging", "purge_copies", 0),
    "after copies elsewhere": ("spark_compaction.erasure.purging", "purge_copies", 1),
    "before the keys are free": ("journal.records.erasure_rows", "drop_table_keys", 0),
    "before the log": ("journal.erasure.audit", "record_changed", 0),
    "after the log": ("journal.erasure.audit", "record_changed", 1),
    "after it is purged": ("spark_compaction.erasure.purging", "record_purged", 1),
    "before it is completed": ("spark_compaction.erasure.purging", "record_completed", 0),
}
PROGRAM = f"""
import sys
import gateway
from gateway.privacy_desk import decisions, running, submission
from gateway.privacy_desk.desk_policy import PrivacyAction
from gateway.session.operations import no_progress
from tests.support.killed_step import die_at

root, vault, place, name, after = sys.argv[1:]

with gateway.connect(f"palimpsest:///{{root}}", autocommit=True) as con:
    con.execute("CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR, name VARCHAR)"
                " WITH (erasure = 'email LOWER')")
    con.execute("INSERT INTO people VALUES (1, ?, 'Ada Lovelace'), (2, 'bob@x', 'Bob')", ["{ADA}"])
    con.execute("CALL system.backup('people', name => 'near')")
    con.execute("CALL system.backup('people', name => 'far', to => '" + vault + "')")
    con.execute("UPDATE people SET name = 'Countess Lovelace' WHERE id = 1")
    con.execute("CALL system.flush()")
    con.execute("CALL system.compact('people')")
    wanted = {{"actions.main.people.email": "hmac", "actions.main.people.name": "mask"}}
    decisions.change_policy(con.session, no_progress, wanted)
    terms = submission.SubmissionTerms(PrivacyAction.ERASURE)
    submission.submit(con.session, no_progress, terms,
                      [submission.NewRequest((("email", "{ADA}"),), "T-1")])
    die_at(place, name, after)
    running.run(con.session, no_progress)
"""


@pytest.mark.parametrize("step", STEPS)
def test_a_killed_change_goes_on_and_leaves_no_value(tmp_path: Path, step: str) -> None:
    place, name, after = STEPS[step]
    root, vault = tmp_path / "warehouse", tmp_path / "vault"
    run_killed(PROGRAM, str(root), str(vault), place, name, str(after))
    with gateway.connect(f"palimpsest:///{root}", autocommit=True) as con:
        (batch,) = running.run(con.session, no_progress)
        assert batch.step == "COMPLETED", batch.detail
        found = con.execute("SELECT * FROM people FOR SYSTEM_TIME ALL ORDER BY id, 3").fetchall()
        assert [row[0] for row in found] == [1, 1, 2]
        assert len({row[1] for row in found}) == 2
        assert {row[2] for row in found} == {"xxx xxxxxxxx", "xxxxxxxx xxxxxxxx", "Bob"}
        con.execute("UPDATE people SET name = 'Bo' WHERE id = 2")
        con.execute("CALL system.restore('people', backup => 'far')")
        assert con.execute("SELECT name FROM people ORDER BY id").fetchall() == [
            ("xxx xxxxxxxx",),
            ("Bob",),
        ]
        journal = cast("ErasureJournal", con.session.journal)
        assert audit_check.verify(journal).problems == ()
    for value in (ADA, "Lovelace"):
        assert _places_of(value, root) + _places_of(value, vault) == []


def _places_of(value: str, root: Path) -> list[str]:
    """The files below a folder in which a text stands, in whatever case."""
    wanted = value.lower().encode()
    files = [path for path in root.rglob("*") if path.is_file()]
    return [str(path) for path in files if wanted in path.read_bytes().lower()]
