"""Columns that an erasure changes, in the replicas of a table."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.dbapi.connection import Connection
from gateway.privacy_desk import decisions, running, submission
from gateway.privacy_desk.desk_policy import PrivacyAction
from gateway.session.operations import no_progress
from tests.support.replicated import opened, replicated, rows, with_people

ALL = "SELECT * FROM hr.people ORDER BY id"
HISTORY = "SELECT * EXCLUDE (version_number) FROM hr.people_journal ORDER BY ALL"
MAIL = "p3@x.org"


@pytest.fixture
def source(tmp_path: Path):  # type: ignore[no-untyped-def]
    with opened(tmp_path / "source") as connection:
        yield connection


@pytest.fixture
def target(tmp_path: Path):  # type: ignore[no-untyped-def]
    with opened(tmp_path / "target") as connection:
        yield connection


def _holders(folder: Path) -> list[str]:
    files = [p for p in folder.rglob("*") if p.is_file()]
    return [str(p.relative_to(folder)) for p in files if MAIL.encode() in p.read_bytes()]


def _run(source: Connection) -> str:
    (batch,) = running.run(source.session, no_progress)
    return str(batch.step)


@pytest.mark.first(1)
@pytest.mark.parametrize("change", ["null", "hmac"])
def test_a_replica_has_the_new_values_and_no_old_one(
    source: Connection, target: Connection, tmp_path: Path, change: str
) -> None:
    with_people(source)
    replicated(source, tmp_path / "target")
    decisions.change_policy(source.session, no_progress, {"actions.hr.people.email": change})
    terms = submission.SubmissionTerms(PrivacyAction.ERASURE)
    submission.submit(
        source.session, no_progress, terms, [submission.NewRequest((("email", MAIL),))]
    )
    waits = _run(source)
    assert waits != "COMPLETED", "the replica still has the value"
    replicated(source, tmp_path / "target")
    assert _run(source) == "COMPLETED"
    assert rows(target, ALL) == rows(source, ALL)
    assert rows(target, HISTORY) == rows(source, HISTORY)
    ((mail,),) = rows(target, "SELECT email FROM hr.people WHERE id = 3")
    assert (mail is None) if change == "null" else str(mail).startswith("hmac:")
    assert _holders(tmp_path / "source") == []
    assert _holders(tmp_path / "target") == []


@pytest.mark.long
def test_a_replica_made_while_rows_are_hidden_gets_them_back_changed(
    source: Connection, target: Connection, tmp_path: Path
) -> None:
    with_people(source)
    replicated(source, tmp_path / "target")
    source.execute("PLACE HOLD ON hr.people WHERE id = 4 REASON 'matter 7'")
    decisions.change_policy(source.session, no_progress, {"actions.hr.people.email": "mask"})
    terms = submission.SubmissionTerms(PrivacyAction.ERASURE)
    named = (("email", MAIL), ("email", "p4@x.org"))
    submission.submit(source.session, no_progress, terms, [submission.NewRequest(named)])
    assert _run(source) == "ON_HOLD"
    replicated(source, tmp_path / "target")
    assert rows(target, ALL) == rows(source, ALL)
    assert _holders(tmp_path / "target") == []
    ((hold,),) = rows(source, "SELECT id FROM system.holds")
    source.execute(f"RELEASE HOLD '{hold}'")
    _run(source)
    replicated(source, tmp_path / "target")
    assert _run(source) == "COMPLETED"
    assert rows(target, ALL) == rows(source, ALL)
    assert rows(target, "SELECT email FROM hr.people WHERE id = 3") == [("xx@x.xxx",)]
