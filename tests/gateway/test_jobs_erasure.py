"""Backups, restores, archives and holds beside an erasure: nobody comes back, others are whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import gateway
from gateway.jobs.schedule import triggered_jobs
from journal.erasure import audit_check
from journal.erasure.erasure_spec import requests
from journal.erasure.package import open_package
from journal.stores.embedded.recovery import unlisted_files
from journal.stores.embedded.verification import verify
from tests.support.client import Client
from tests.support.prepared_warehouse import prepared_warehouse

TOKEN = "zoe.quicksilver@example.org"


TABLES = (
    "CREATE TABLE t (id INT PRIMARY KEY, ds DATE, email VARCHAR) WITH (erasure = 'email')",
    "INSERT INTO t SELECT i, DATE '2020-01-01' + i::INT, 'p' || i FROM range(50) r(i)",
    f"INSERT INTO t VALUES (100, DATE '2020-01-05', '{TOKEN}')",
    "CALL system.flush()",
)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Client]:
    prepared_warehouse(tmp_path / "warehouse", TABLES)
    client = Client(tmp_path / "warehouse")
    yield client
    if not client.connection.closed:
        client.close()


def report(run: Client, sql: str) -> dict[str, Any]:
    return dict(json.loads(run(sql)[0][-1]))


def is_nowhere(run: Client) -> bool:
    """True if no byte of the person is left in the warehouse."""
    journal = run.connection.session.journal
    assert verify(journal).problems == []
    assert unlisted_files(journal) == []
    run.close()
    needles = [TOKEN.encode(), TOKEN.split("@")[0].encode()]
    files = [p for p in run.root.rglob("*") if p.is_file()]
    return not any(n in p.read_bytes() for p in files for n in needles)


@pytest.mark.long
def test_backups_follow_an_erasure(run: Client) -> None:
    run("CALL system.backup('t', name => 'b1')")
    run("UPDATE t SET email = 'x' || id WHERE id < 10")
    run("CALL system.backup('t', name => 'b2')")
    run("OPTIMIZE t")
    run(f"ERASE FROM t WHERE email = '{TOKEN}' REASON 'asked'")
    assert [d.kind for d in triggered_jobs(run.connection.session, {})] == ["purge"]
    assert report(run, "CALL system.purge('t')")["state"] == "done"
    assert triggered_jobs(run.connection.session, {}) == []
    run("DELETE FROM t WHERE id = 7")
    assert report(run, "CALL system.restore('t', backup => 'b1')")["written"]["rows"] == 10
    assert run("SELECT count(*), count(*) FILTER (email[1] = 'p') FROM t") == [(50, 50)]
    assert report(run, "CALL system.restore('t', backup => 'b2')")["written"]["rows"] == 10
    assert run("SELECT count(*) FROM t WHERE id = 100") == [(0,)]
    assert is_nowhere(run)


@pytest.mark.long
def test_nobody_comes_back_while_the_purge_waits(run: Client) -> None:
    run("CALL system.backup('t', name => 'b1')")
    run("DELETE FROM t WHERE id IN (3, 100)")
    run(f"ERASE FROM t WHERE email = '{TOKEN}' REASON 'asked'")
    assert report(run, "CALL system.restore('t', backup => 'b1')")["written"]["rows"] == 1
    assert run("SELECT count(*) FROM t WHERE id = 100") == [(0,)]
    run("CALL system.purge('t')")
    assert is_nowhere(run)


def test_archived_rows_are_erased_too(run: Client) -> None:
    run("ALTER TABLE t SET POLICY (RETENTION = 1 YEAR ON COLUMN ds ACTION = ARCHIVE)")
    run("CALL system.retain('t', now => '2021-01-11')")
    assert run("SELECT count(*) FROM t WHERE id = 100") == [(0,)]
    run(f"ERASE FROM t WHERE email = '{TOKEN}' REASON 'asked'")
    states = run("SELECT id FROM t WHERE id = 100")
    assert states == []


@pytest.mark.long
def test_a_hold_keeps_a_purge_back_until_it_is_released(run: Client) -> None:
    ((hold, *_),) = run(f"PLACE HOLD ON t FOR SUBJECT email = '{TOKEN}' REASON 'matter 7'")
    run(f"ERASE FROM t WHERE email = '{TOKEN}' REASON 'asked'")
    waiting = report(run, "CALL system.purge('t')")
    assert waiting["state"] == "nothing"
    assert "ON_HOLD" in waiting["why"]
    assert triggered_jobs(run.connection.session, {}) == []
    run(f"RELEASE HOLD '{hold}'")
    assert [d.kind for d in triggered_jobs(run.connection.session, {})] == ["purge"]
    assert report(run, "CALL system.purge('t')")["state"] == "done"
    assert is_nowhere(run)


def test_no_record_of_a_run_names_anybody(run: Client) -> None:
    run("CALL system.backup('t', name => 'b1')")
    run(f"CALL system.restore('t', backup => 'b1', where => 'email = ''{TOKEN}''')")
    (row,) = run("SELECT options, log::VARCHAR FROM system.jobs WHERE kind = 'restore'")
    assert TOKEN not in str(row)


def test_access_is_a_job_too(run: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cryptography")
    passphrase = "several words that nobody guesses"
    monkeypatch.setenv("PALIMPSEST_PASSPHRASE", passphrase)
    people, packages = tmp_path / "ids.csv", tmp_path / "packages"
    people.write_text(f"email\n{TOKEN}\n")
    packages.mkdir()
    run(f"UPDATE t SET ds = NULL WHERE email = '{TOKEN}'")
    call = f"CALL system.access('t', subjects => '{people}', to => '{packages}', days => 3"
    assert report(run, f"{call}, dry_run => true)")["written"]["rows"] == 2
    assert not list(packages.iterdir())
    done = report(run, f"{call})")
    (file,) = packages.iterdir()
    assert done["details"]["package"] == str(file)
    package = open_package(file.read_bytes(), passphrase, datetime.now(UTC))
    lines = package.files["main.t.jsonl"].decode().splitlines()
    assert [json.loads(line)["ds"] for line in lines] == ["2020-01-05", None]
    recorded = str(run("SELECT * FROM system.jobs WHERE kind = 'access'"))
    assert TOKEN not in recorded
    assert passphrase not in recorded
    run("CREATE TABLE plain (id INT PRIMARY KEY)")
    assert report(run, call.replace("'t'", "'plain'") + ")")["state"] == "nothing"
    assert run.error(call.replace(str(packages), str(run.root)) + ")")[0] == "PAL-507"
    assert run.error("CALL system.access('t')")[0] == "PAL-222"


def test_a_lost_key_is_never_replaced_by_another(run: Client) -> None:
    run(f"ERASE FROM t WHERE email = '{TOKEN}'")
    (run.root / "_palimpsest" / "secret.key").unlink()
    for sql in ("ERASE FROM t WHERE id = 1", "PLACE HOLD FOR SUBJECT email = 'p1' REASON 'm'"):
        assert run.error(sql)[0] == "PAL-502"
    assert run.error(f"INSERT INTO t VALUES (101, NULL, '{TOKEN}')")[0] == "PAL-502"
    assert run("SELECT count(*) FROM t WHERE id = 1") == [(1,)]


@pytest.mark.long
def test_a_dry_run_of_a_purge_counts_what_the_run_then_does(run: Client) -> None:
    run("UPDATE t SET ds = DATE '2021-01-01' WHERE id IN (7, 100)")
    run("OPTIMIZE t")
    run(f"ERASE FROM t WHERE email = '{TOKEN}'")
    run("PLACE HOLD ON t WHERE id = 7 REASON 'm'")
    run("ERASE FROM t WHERE id = 7")
    planned = report(run, "CALL system.purge('t', dry_run => true)")
    assert planned["state"] == "planned"
    assert list(planned["details"]["requests"].values()) == ["ACCEPTED", "ON_HOLD"]
    run("CALL system.purge('t')")
    (done,) = [r for r in requests(run.connection.session.journal) if r.state == "COMPLETED"]
    (target,) = done.targets
    assert planned["removed"]["rows"] == target.versions_removed > 2
    assert planned["read"]["files"] == target.files_rewritten
    assert planned["read"]["bytes"] == target.bytes_rewritten


def test_requests_are_seen_in_sql(run: Client) -> None:
    ((asked, *_),) = run(f"ERASE FROM t WHERE email = '{TOKEN}' REASON 'r 1'")
    shown = "SELECT id, state, accepted < updated, receipt FROM system.erasures"
    ((request, state, is_later, receipt),) = run(shown)
    assert (request, state, is_later) == (asked, "ACCEPTED", False)
    run("CALL system.purge()")
    ((_, state, is_later, receipt),) = run(shown)
    assert (state, is_later, json.loads(receipt)["targets"][0]["outcome"]) == (
        "COMPLETED",
        True,
        "ERASED",
    )
    assert TOKEN not in receipt


def test_rows_without_a_key_are_not_fenced_by_a_condition(run: Client) -> None:
    run("CREATE TABLE free (n INT)")
    run("INSERT INTO free VALUES (1), (2)")
    ((*_, why),) = run("ERASE FROM free WHERE n = 1")
    assert why == "rows without a key can be written again"
    assert run("SELECT n FROM free") == [(2,)]


def test_a_restore_that_changes_nothing_keeps_nothing(run: Client) -> None:
    run("CALL system.backup('t', name => 'b1')")
    done = report(run, "CALL system.restore('t', backup => 'b1')")
    assert (done["state"], done["details"]["trash"]) == ("nothing", None)
    assert run("SELECT name FROM system.backups") == [("b1",)]


@pytest.mark.parametrize(
    ("tampering", "found"),
    [
        ("DELETE FROM _palimpsest.audit WHERE seq = 3", "no erase.complete"),
        ("DELETE FROM _palimpsest.audit", "no erase.accept"),
        (
            """UPDATE _palimpsest.erasures SET detail
               = replace(detail, '"versions_removed": ', '"versions_removed": 9')""",
            "receipts",
        ),
    ],
)
def test_requests_show_what_was_cut_off_the_log(run: Client, tampering: str, found: str) -> None:
    run(f"ERASE FROM t WHERE email = '{TOKEN}'")
    run("CALL system.purge()")
    journal = run.connection.session.journal
    assert audit_check.verify(journal).problems == ()
    with journal.exclusive_session() as session:
        session.text(tampering)
        session.commit()
    assert any(found in p for p in audit_check.verify(journal).problems)


def test_a_purge_reaches_tables_that_were_dropped(run: Client) -> None:
    run(f"ERASE FROM t WHERE email = '{TOKEN}' REASON 'asked'")
    run("DROP TABLE t")
    run("CREATE TABLE t (id INT PRIMARY KEY)")
    due = triggered_jobs(run.connection.session, {})
    assert [(d.kind, str(d.table.name)) for d in due] == [("purge", "main.t")]
    assert report(run, "CALL system.purge()")["state"] == "done"
    assert run("SELECT state FROM system.erasures") == [("COMPLETED",)]
    assert triggered_jobs(run.connection.session, {}) == []
    assert is_nowhere(run)


def test_other_tables_take_along_what_waits_in_a_dropped_one(run: Client) -> None:
    run("CREATE TABLE u (id INT PRIMARY KEY, email VARCHAR) WITH (erasure = 'email')")
    run(f"ERASE FROM t WHERE email = '{TOKEN}' REASON 'asked'")
    run("DROP TABLE t")
    run("CREATE TABLE later (id INT PRIMARY KEY)")
    assert [d.kind for d in triggered_jobs(run.connection.session, {})] == ["purge"]
    assert report(run, "CALL system.purge('later')")["state"] == "done"
    assert run("SELECT state FROM system.erasures") == [("COMPLETED",)]
    assert is_nowhere(run)


def test_what_means_something_else_later_is_not_asked_later(run: Client, tmp_path: Path) -> None:
    """A copy out of reach is searched by a later run, to which CURRENT_DATE is another day."""
    away = tmp_path / "away"
    run(f"CALL system.backup('t', name => 'far', to => '{away}')")
    away.rename(tmp_path / "not mounted")
    old = "ERASE FROM t WHERE ds < CURRENT_DATE - 2500 AND id < 5"
    with pytest.raises(gateway.Error, match="means something else later"):
        run(old)
    run("ERASE FROM t WHERE ds < DATE '2020-01-03'")
    (tmp_path / "not mounted").rename(away)
    run("CALL system.purge('t')")
    run(old)
    run("CALL system.purge('t')")
    assert run("SELECT count(*) FROM t") == [(46,)]
