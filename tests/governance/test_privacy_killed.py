"""A process that is killed at any step of a request: the next run ends it, and nothing is left.

The byte search looks through the whole warehouse for whoever was erased: data files, side files,
records with requests, batches, events and the audit log.
"""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

import gateway
from gateway.privacy_desk import questions, running
from gateway.privacy_desk.desk_policy import PrivacyAction
from gateway.privacy_desk.submission import NewRequest, SubmissionTerms, submit
from gateway.session.operations import no_progress
from journal.erasure import audit_check
from journal.erasure.seam import ErasureJournal
from tests.support.killed_step import run_killed

pytestmark = pytest.mark.slow
ADA, BOB = "ada.lovelace.4711@x.example", "bob@x.example"
DESK = "gateway.privacy_desk"
STEPS = {
    "before it is submitted": (f"{DESK}.submission", "add_sealed", 0),
    "after it is added": (f"{DESK}.submission", "add_sealed", 1),
    "before the batch": (f"{DESK}.running.rows_of", "put_batch", 0),
    "after the batch is joined": (f"{DESK}.running.rows_of", "join_batch", 1),
    "before it is accepted": (f"{DESK}.erasing_steps", "find", 0),
    "after it is accepted": ("spark_compaction.erasure.acceptance", "accept", 1),
    "after it is planned": (f"{DESK}.erasing_steps", "find", 1),
    "before the purge": (f"{DESK}.erasing_steps.erasures", "purge", 0),
    "after the purge": (f"{DESK}.erasing_steps.erasures", "purge", 1),
    "after it is executed": (f"{DESK}.erasing_steps", "execute", 1),
    "before the second search": (f"{DESK}.erasing_steps", "_check_none_left", 0),
    "after the second search": (f"{DESK}.erasing_steps", "_check_none_left", 1),
    "before it is destroyed": (f"{DESK}.batch_steps.rows_of", "forget_batch", 0),
    "after it is completed": (f"{DESK}.erasing_steps", "verify", 1),
}
PROGRAM = f"""
import sys
import gateway
from gateway.privacy_desk import running, submission
from gateway.privacy_desk.desk_policy import PrivacyAction
from gateway.session.operations import no_progress
from tests.support.killed_step import die_at

url, place, name, after = sys.argv[1:]

with gateway.connect(url, autocommit=True) as con:
    con.execute("CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR, name VARCHAR)"
                " WITH (erasure = 'email LOWER')")
    con.execute("INSERT INTO people VALUES (1, ?, 'A'), (2, '{BOB}', 'B')", ["{ADA}"])
    con.execute("UPDATE people SET name = 'C' WHERE id = 1")
    con.execute("CALL system.flush()")
    die_at(place, name, after)
    terms = submission.SubmissionTerms(PrivacyAction.ERASURE, idempotency_key="k")
    new = [submission.NewRequest((("email", "{ADA}"),), "T-1")]
    submission.submit(con.session, no_progress, terms, new)
    running.run(con.session, no_progress)
"""


@pytest.mark.parametrize("step", STEPS)
def test_a_killed_request_goes_on_and_leaves_nothing(tmp_path: Path, step: str) -> None:
    root = tmp_path / "warehouse"
    kill_a_request(f"palimpsest:///{root}", step)
    assert places_of(ADA, root) == []
    assert places_of(BOB, root) != []


def kill_a_request(url: str, step: str) -> None:
    """Kill a process at a step of a request in a store, and let another one end it."""
    place, name, after = STEPS[step]
    run_killed(PROGRAM, url, place, name, str(after))
    with gateway.connect(url, autocommit=True) as con:
        terms = SubmissionTerms(PrivacyAction.ERASURE, idempotency_key="k")
        new = [NewRequest((("email", ADA),), "T-1")]
        (request,) = submit(con.session, no_progress, terms, new)
        running.run(con.session, no_progress)
        view = questions.show_request(con.session, no_progress, request.id)
        assert view.request.state == "COMPLETED"
        assert con.execute("SELECT id FROM people").fetchall() == [(2,)]
        assert con.execute("SELECT count(*) FROM system.erasures").fetchall() == [(1,)]
        assert con.execute("SELECT count(*) FROM system.privacy_requests").fetchall() == [(1,)]
        journal = cast("ErasureJournal", con.session.journal)
        assert audit_check.verify(journal).problems == ()


def places_of(value: str, root: Path) -> list[str]:
    """The files of a warehouse in which a text stands, in whatever case."""
    wanted = value.lower().encode()
    files = [path for path in root.rglob("*") if path.is_file()]
    return [str(path) for path in files if wanted in path.read_bytes().lower()]
