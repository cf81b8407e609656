"""Erasing people of whom nothing is live any more: retention and compaction took their rows away,
while retired segments, backups and archives still hold them."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.procedures.procedures import embedded
from journal.erasure.erasure_spec import ErasureSpec, requests
from journal.erasure.requests import ErasureRequest, Outcome, State
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.verification import verify
from spark_compaction.engines.local import LocalEngine
from spark_compaction.erasure.acceptance import accept, dry_run
from spark_compaction.erasure.purging import purge
from tests.support import visits
from tests.support.client import Client
from tests.support.erasures import backend_of
from tests.support.traces import holders

TOKEN = "Qz7-unmistakable-Xk9"
MAIL = f"{TOKEN}@example.org"


def _journal(run: Client) -> Journal:
    return embedded(run.connection.session, "the test")


def _submit(run: Client, *values: str) -> ErasureRequest:
    return accept(backend_of(run), ErasureSpec({"email": list(values)}), "tester")


def _purge(run: Client) -> ErasureRequest:
    done = purge(backend_of(run), "tester", engine=LocalEngine()).requests[-1]
    assert done.state is State.COMPLETED
    return done


def _visits(run: Client, action: str = "DELETE") -> None:
    """Visits of 2024, of which one, in January, is of somebody who goes by the token."""
    visits.fill(run, 6, MAIL)
    run(
        f"ALTER TABLE visits SET POLICY (RETENTION = 90 DAYS ON COLUMN day ACTION = {action},"
        " BACKUP = 30 DAYS)"
    )
    run("CALL system.retain('visits', now => '2024-06-15')")
    assert run("SELECT count(*) FROM visits FOR SYSTEM_TIME ALL WHERE id = 7") == [(0,)]
    assert holders(run.root, TOKEN)


@pytest.mark.long
@pytest.mark.parametrize("action", ["DELETE", "ARCHIVE"])
def test_people_that_retention_took_away_are_found_and_forgotten(run: Client, action: str) -> None:
    _visits(run, action)
    before = run.sorted("SELECT * FROM visits")
    told = dry_run(backend_of(run), ErasureSpec({"email": [MAIL]})).targets[0]
    assert (told.keys, told.versions_removed, told.files_rewritten) == (1, 1, 1)
    request = _submit(run, MAIL.upper())
    (target,) = request.targets
    assert (target.outcome, target.keys) == (Outcome.PENDING, 1)
    assert (target.kept_searched, target.kept_skipped > 0) == (1, True), "filters say where"
    (done,) = _purge(run).targets
    assert (done.outcome, done.keys, done.versions_removed) == (Outcome.ERASED, 1, 1)
    assert holders(run.root, TOKEN) == []
    assert run.sorted("SELECT * FROM visits") == before
    name = "archive" if action == "ARCHIVE" else run("SELECT name FROM system.backups")[0][0]
    run("ALTER TABLE visits UNSET POLICY")
    run(f"CALL system.restore('visits', backup => '{name}')")
    assert run("SELECT count(*), count(*) FILTER (id = 7) FROM visits")[0][1] == 0
    assert run("SELECT count(*) FROM visits WHERE day < DATE '2024-02-01'") == [(50,)]
    assert holders(run.root, TOKEN) == []
    assert verify(_journal(run)).is_clean


@pytest.mark.long
def test_an_address_that_only_removed_versions_had_still_names_somebody(run: Client) -> None:
    run("SET job_engine = 'local'")
    run(
        "CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR) WITH (erasure = 'email LOWER')"
    )
    run("INSERT INTO people VALUES (1, ?), (2, 'b@x.example')", MAIL)
    run("CALL system.backup('people', name => 'before')")
    run("UPDATE people SET email = 'later@x.example' WHERE id = 1")
    run("ALTER TABLE people SET POLICY (VERSIONS = 1)")
    run("CALL system.compact('people')")
    run("CALL system.retain('people')")
    assert run("SELECT count(*) FROM people_journal WHERE email = ?", MAIL) == [(0,)]
    _submit(run, MAIL)
    assert run("SELECT * FROM people") == [(2, "b@x.example")]
    _purge(run)
    assert holders(run.root, TOKEN) == []
    run("CALL system.restore('people', backup => 'before')")
    assert run("SELECT * FROM people") == [(2, "b@x.example")]
    assert run.error("INSERT INTO people VALUES (1, 'c@x.example')")[0] == "PAL-306"


@pytest.mark.long
def test_searched_in_vain_reads_only_what_filters_leave(run: Client) -> None:
    _visits(run)
    (target,) = _submit(run, "nobody@x.example").targets
    assert target.outcome is Outcome.SEARCHED_NONE
    assert (target.files_searched, target.kept_searched, target.bytes_searched) == (0, 0, 0)
    assert min(target.files_skipped, target.kept_skipped, target.kept_bytes_skipped) > 0
    _visits_elsewhere = run("SELECT count(*) FROM visits")
    _purge(run)
    assert run("SELECT count(*) FROM visits") == _visits_elsewhere


@pytest.mark.long
def test_a_condition_is_looked_for_in_what_is_kept(run: Client) -> None:
    _visits(run)
    kept = run.sorted("SELECT * FROM visits")
    (row,) = run("ERASE FROM visits AS v WHERE v.email LIKE ? AND day < DATE '2024-02-01'", "Qz7%")
    assert row[3:5] == ("PENDING", 1)
    (target,) = _purge(run).targets
    assert target.kept_searched > 0
    assert target.versions_removed == 1
    assert holders(run.root, TOKEN) == []
    assert run.sorted("SELECT * FROM visits") == kept


@pytest.mark.long
def test_a_condition_that_reads_more_says_what_was_not_searched(run: Client) -> None:
    _visits(run)
    (row,) = run("ERASE FROM visits WHERE id NOT IN (SELECT id FROM visits)")
    assert row[3:5] == ("SEARCHED_NONE", 0)
    assert "backups were not searched" in row[8]
    assert run("CALL system.purge('visits')")[0][3] == "SUCCEEDED"
    assert requests(_journal(run))[0].targets[0].why == row[8]


@pytest.mark.long
def test_what_is_retired_during_the_search_is_searched(
    run: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("SET job_engine = 'local'")
    run("CREATE TABLE t (id INTEGER PRIMARY KEY, email VARCHAR, day DATE) WITH (erasure='email')")
    run("ALTER TABLE t SET POLICY (RETENTION = 90 DAYS ON COLUMN day, BACKUP = 30 DAYS)")
    journal = _journal(run)
    begin = journal.exclusive_session

    def late() -> Any:
        monkeypatch.undo()
        run("INSERT INTO t VALUES (1, ?, DATE '2024-01-01'), (2, 'b', DATE '2024-06-01')", MAIL)
        run("CALL system.retain('t', now => '2024-06-15')")
        return begin()

    monkeypatch.setattr(journal, "exclusive_session", late)
    (target,) = _submit(run, MAIL).targets
    assert target.keys == 1
    _purge(run)
    assert holders(run.root, TOKEN) == []
    assert run("SELECT id FROM t") == [(2,)]
