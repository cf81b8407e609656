"""The privacy desk in the hands of a scheduler: batches that are due run, others wait."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.governance.safe_mode import begin_safe_mode, end_safe_mode
from gateway.jobs.scheduler import Scheduler
from gateway.privacy_desk import decisions, erasing_steps, questions, running
from gateway.privacy_desk.batches import is_taken_up
from gateway.privacy_desk.desk_policy import DeskPolicy, PrivacyAction
from gateway.privacy_desk.states import PrivacyState
from gateway.privacy_desk.submission import NewRequest, SubmissionTerms, submit
from gateway.procedures.requests import audit_entries, readmit_request, readmit_subjects
from gateway.session.operations import no_progress
from journal.records.privacy_rows import PrivacyBatch

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
POLICY = DeskPolicy()
_EXECUTE = erasing_steps.execute


@pytest.fixture
def con(tmp_path: Path) -> Iterator[Connection]:
    with gateway.connect(f"palimpsest:///{tmp_path}/w", autocommit=True) as con:
        con.execute("CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR)"
                    " WITH (erasure = 'email LOWER')")  # fmt: skip
        con.execute("INSERT INTO people VALUES (1, 'ada@x'), (2, 'bob@x'), (3, 'cyd@x')")
        yield con


def _submit(con: Connection, mail: str, *, days_ago: float) -> None:
    received = datetime.now(UTC) - timedelta(days=days_ago)
    terms = SubmissionTerms(PrivacyAction.ERASURE, received_at=received)
    submit(con.session, no_progress, terms, [NewRequest((("email", mail),), mail)])


def _look(con: Connection) -> dict[str, str]:
    """The states of requests after a look of a scheduler."""
    Scheduler(lambda: con.session).once()
    found = questions.list_requests(con.session, no_progress)
    return {str(r.external_id): r.state for r in found}


@pytest.mark.long
def test_a_scheduler_runs_what_is_due_and_leaves_the_rest(
    con: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    _submit(con, "ada@x", days_ago=0)
    assert _look(con) == {"ada@x": "QUEUED"}
    _submit(con, "bob@x", days_ago=2)
    assert _look(con) == {"ada@x": "COMPLETED", "bob@x": "COMPLETED"}
    assert con.execute("SELECT id FROM people").fetchall() == [(3,)]
    (said,) = [r.message for r in caplog.records if r.name == "palimpsest.privacy"]
    assert said.endswith("of 2 requests is COMPLETED")


def test_a_policy_or_safe_mode_keeps_schedulers_from_it(
    con: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    decisions.change_policy(con.session, no_progress, {"scheduled": "none"})
    _submit(con, "ada@x", days_ago=2)
    assert _look(con) == {"ada@x": "QUEUED"}
    decisions.change_policy(con.session, no_progress, {"scheduled": "due"})
    begin_safe_mode(con.session, no_progress, "an upgrade")
    with caplog.at_level(logging.WARNING):
        assert _look(con) == {"ada@x": "QUEUED"}
    assert "run_scheduled" not in caplog.text
    end_safe_mode(con.session, no_progress)
    assert _look(con) == {"ada@x": "COMPLETED"}


@pytest.mark.long
def test_a_batch_goes_on_once_its_hold_is_released(con: Connection) -> None:
    con.execute("PLACE HOLD ON people WHERE id = 1 REASON 'matter 7'")
    _submit(con, "ada@x", days_ago=2)
    assert _look(con) == {"ada@x": "ON_HOLD"}
    before = audit_entries(con.session, no_progress)
    assert _look(con) == {"ada@x": "ON_HOLD"}
    assert audit_entries(con.session, no_progress) == before
    ((hold,),) = con.execute("SELECT id FROM system.holds").fetchall()
    con.execute(f"RELEASE HOLD '{hold}'")
    assert _look(con) == {"ada@x": "COMPLETED"}


@pytest.mark.long
def test_rows_that_verification_finds_are_purged_by_the_next_run(
    con: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    _submit(con, "ada@x", days_ago=2)

    def execute(*given: Any) -> Any:
        done = _EXECUTE(*given)
        # A suppression that somebody takes off lets the row come back before the search.
        readmit_subjects(con.session, no_progress, {"email": ["ada@x"]})
        (erasure,) = done.detail["erasures"]
        readmit_request(con.session, no_progress, erasure)
        con.execute("INSERT INTO people VALUES (1, 'ada@x')")
        return done

    with monkeypatch.context() as patch:
        patch.setattr(erasing_steps, "execute", execute)
        (batch,) = running.run(con.session, no_progress)
    assert (batch.step, batch.detail["failed_step"]) == ("FAILED", "VERIFYING")
    (batch,) = running.run(con.session, no_progress)
    assert (batch.step, batch.detail["round"]) == ("COMPLETED", 2)
    assert con.execute("SELECT id FROM people ORDER BY id").fetchall() == [(2,), (3,)]


@pytest.mark.parametrize(
    ("step", "hours", "waits_for", "is_released", "goes_on"),
    [
        ("FINDING", 0, "", False, True),
        ("EXECUTING", 0, "", False, True),
        ("EXECUTING", 0, "an open statement", False, False),
        ("EXECUTING", 0.2, "an open statement", False, True),
        ("ON_HOLD", 100, "", False, False),
        ("ON_HOLD", 0, "", True, True),
        ("FAILED", 1, "", False, False),
        ("FAILED", 24, "", False, True),
        ("PARTIAL", 1, "", False, False),
        ("AWAITING_BACKUP_EXPIRY", 24, "a copy", False, True),
    ],
)
def test_when_a_batch_is_taken_up_again(
    step: str, hours: float, waits_for: str, is_released: bool, goes_on: bool
) -> None:
    since = NOON - timedelta(hours=hours)
    state = PrivacyState(step)
    batch = PrivacyBatch("b", "erasure", state, 1, since, since, {"waits_for": waits_for})
    assert is_taken_up(batch, POLICY, NOON, is_released=is_released) is goes_on
