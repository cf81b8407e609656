"""The privacy desk on every store: gates, batches, restriction, exports, derived tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from click.testing import CliRunner, Result

from gateway.cli import main
from gateway.dbapi.connection import Connection
from gateway.jobs.scheduler import Scheduler
from tests.support.kept import rows
from tests.support.stores.store import Capability, Store

pytestmark = [pytest.mark.timeout(900), pytest.mark.needs(Capability.ERASURE)]
ADA, BOB, CYD = "ada@x.example", "bob@x.example", "cyd@x.example"


@pytest.fixture
def url(store: Store) -> str:
    """Three people, one of whom has another address by now."""
    with store.connect() as con:
        con.execute(
            "CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR, dept INTEGER)"
            " WITH (erasure = 'email LOWER')"
        )
        con.execute(f"INSERT INTO people VALUES (1, '{ADA}', 1), (2, '{BOB}', 2), (3, '{CYD}', 3)")
        con.execute("UPDATE people SET email = 'new@x.example' WHERE id = 1")
    return store.url


def _run(url: str, *words: str) -> Result:
    return CliRunner().invoke(main, ["privacy", *words], env={"PALIMPSEST_WAREHOUSE": url})


def _json(url: str, *words: str, code: int = 0) -> Any:
    run = _run(url, *words, "--json")
    assert run.exit_code == code, run.output + run.stderr
    return json.loads(run.stdout)


def _submit(url: str, action: str, mail: str, *words: str) -> dict[str, Any]:
    subject = ("--action", action, "--subject", f"email={mail}")
    (request,) = _json(url, "submit", *subject, *words)
    return dict(request)


def _ids(store: Store) -> list[int]:
    with store.connect() as con:
        return [row[0] for row in rows(con, "SELECT id FROM people ORDER BY id")]


def test_an_erasure_takes_every_version_and_destroys_whom_it_names(store: Store, url: str) -> None:
    request = _submit(url, "erasure", ADA, "--external-id", "T-1")
    assert request["state"] == "QUEUED"
    (batch,) = _json(url, "run")
    assert (batch["step"], batch["requests"]) == ("COMPLETED", 1)
    assert _ids(store) == [2, 3]
    shown = _json(url, "show", "T-1")
    assert shown["state"] == "COMPLETED"
    (receipt,) = [r for r in shown["batch"]["detail"]["receipts"] if r["keys"]]
    assert receipt["outcome"] == "ERASED"
    assert ADA not in json.dumps(shown)
    assert _json(url, "run") == []


@pytest.mark.long
def test_requests_that_wait_share_one_batch(store: Store, url: str, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text(f"external_id,email\nA,{ADA}\nB,{BOB}\n")
    words = ("--action", "erasure", "--csv", str(file), "--idempotency-key", "june")
    made = _json(url, "submit", *words)
    assert [r["id"] for r in _json(url, "submit", *words)] == [r["id"] for r in made]
    (planned,) = _json(url, "run", "--dry-run")
    assert (planned["requests"], planned["keys"]) == (2, 2)
    assert _ids(store) == [1, 2, 3]
    (batch,) = _json(url, "run")
    assert (batch["step"], batch["requests"]) == ("COMPLETED", 2)
    assert _ids(store) == [3]


def test_who_asks_twice_gets_a_duplicate(url: str) -> None:
    first = _submit(url, "erasure", ADA)
    again = _submit(url, "erasure", ADA.upper())
    assert (again["state"], again["detail"]["duplicate_of"]) == ("DUPLICATE", first["id"])
    assert _submit(url, "access", ADA)["state"] == "QUEUED"
    _json(url, "cancel", first["id"])
    assert _submit(url, "erasure", ADA)["state"] == "QUEUED"


@pytest.mark.long
def test_two_hands_and_two_gates(store: Store, url: str) -> None:
    _json(url, "policy", "--set", "four_eyes=erasure", "--set", "identity_checks=erasure")
    name = _submit(url, "erasure", ADA, "--user", "ann")["id"]
    assert _json(url, "approve", name, "--user", "bea")[0]["state"] == "IDENTITY_UNVERIFIED"
    assert _json(url, "verify", name, "--user", "ann")[0]["state"] == "PENDING_APPROVAL"
    refused = _run(url, "approve", name, "--user", "ann")
    assert (refused.exit_code, "PAL-630" in refused.stderr) == (1, True)
    assert _json(url, "run") == []
    assert _ids(store) == [1, 2, 3]
    (approved,) = _json(url, "approve", name, "--user", "bea")
    assert (approved["state"], approved["approved_by"]) == ("QUEUED", "bea")
    assert _json(url, "approve", name, "--user", "bea")[0]["state"] == "QUEUED"
    assert _json(url, "run", "--user", "bea")[0]["step"] == "COMPLETED"
    assert _json(url, "deny", name, "--reason", "late")[0]["state"] == "COMPLETED"


def test_a_restricted_person_is_hidden_and_kept_until_it_is_lifted(store: Store, url: str) -> None:
    name = _submit(url, "restriction", BOB)["id"]
    (batch,) = _json(url, "run")
    (restricting,) = batch["detail"]["erasures"]
    assert batch["step"] == "COMPLETED"
    assert _ids(store) == [1, 3]
    _submit(url, "erasure", CYD)
    assert _json(url, "run")[0]["step"] == "COMPLETED"
    here = {"PALIMPSEST_WAREHOUSE": url}
    erased = CliRunner().invoke(main, ["erase", "run"], env=here)
    assert erased.exit_code == 0, erased.output
    for around in (["readmit", "--subject", f"email={BOB}"], ["readmit", "--request", restricting],
                   ["cancel", restricting]):  # fmt: skip
        refused = CliRunner().invoke(main, ["erase", *around], env=here)
        assert (refused.exit_code, "privacy lift" in refused.output) == (1, True), refused.output
    assert _ids(store) == [1]
    (lifted,) = _json(url, "lift", name)
    assert "lifted_by" in lifted["detail"]
    assert _ids(store) == [1, 2]
    assert _json(url, "lift", name)[0]["detail"] == lifted["detail"]


def test_an_export_has_every_version_and_goes_when_the_person_is_erased(
    store: Store, url: str, tmp_path: Path
) -> None:
    folder = tmp_path / "exports"
    _json(url, "policy", "--set", f"export_folder={folder}")
    for mail in (ADA, BOB):
        _submit(url, "access", mail)
    (batch,) = _json(url, "run")
    assert (batch["step"], batch["detail"]["files"]) == ("COMPLETED", 2)
    first, second = sorted(_json(url, "export"), key=lambda e: -e["rows"])
    assert (first["rows"], second["rows"]) == (2, 1)
    assert {Path(e["path"]).stat().st_mode & 0o777 for e in (first, second)} == {0o600}
    _submit(url, "erasure", ADA)
    _json(url, "run")
    assert [e["id"] for e in _json(url, "export")] == [second["id"]]
    assert not Path(first["path"]).exists()


def test_a_rectification_writes_a_new_version(store: Store, url: str) -> None:
    _submit(url, "rectification", BOB, "--table", "people", "--set", "dept=9")
    assert _json(url, "run")[0]["detail"]["rows_changed"] == 1
    with store.connect() as con:
        assert rows(con, "SELECT dept FROM people WHERE id = 2") == [(9,)]


@pytest.mark.long
def test_a_rectification_takes_what_was_there_out_of_the_past(store: Store, url: str) -> None:
    with store.connect() as con:
        con.execute(f"UPDATE people SET dept = 7 WHERE email = '{BOB}'")
    words = ("--table", "people", "--set", "dept=9", "--erase-past")
    _submit(url, "rectification", BOB, *words)
    (batch,) = _json(url, "run")
    assert (batch["step"], batch["detail"]["rows_changed"]) == ("COMPLETED", 1)
    every = "SELECT id, dept FROM people FOR SYSTEM_TIME ALL ORDER BY id, version_number"
    with store.connect() as con:
        assert rows(con, every) == [(1, 1), (1, 1), (2, None), (2, None), (2, 9), (3, 3)]
        con.execute("UPDATE people SET dept = 10 WHERE id = 2")
    _submit(url, "rectification", BOB, "--table", "people", "--set", "email=z", "--erase-past")
    assert "PAL-630" in _run(url, "run").output


@pytest.mark.long
def test_a_request_is_partial_until_a_copy_is_searched_or_waived(store: Store, url: str) -> None:
    with store.connect() as con:
        con.execute("CREATE TABLE mailing AS SELECT id, email FROM people WHERE id < 100")
        # What is kept, or denied, is not searched by the second run either.
        for other in ("bills", "secret"):
            con.execute(f"CREATE TABLE {other} (n INTEGER PRIMARY KEY, email VARCHAR)"
                        " WITH (erasure = 'email LOWER')")  # fmt: skip
    _json(url, "policy", "--set", f"actions.{store.home}.bills=keep tax law")
    _json(url, "policy", "--set", f"waived={store.home}.secret")
    denied = ["erase", "scope", "--deny", f"{store.home}.secret"]
    CliRunner().invoke(main, denied, env={"PALIMPSEST_WAREHOUSE": url})
    name = _submit(url, "erasure", BOB)["id"]
    (batch,) = _json(url, "run", code=5)
    assert batch["step"] == "PARTIAL"
    ((table, why),) = batch["detail"]["uncovered"].items()
    assert "filled it from" in why
    assert why.endswith("AS SELECT id, email FROM people WHERE id < ?")
    refused = _run(url, "waive", name, "nothing", "--reason", "none")
    assert (refused.exit_code, "PAL-630" in refused.stderr) == (1, True)
    _json(url, "waive", name, table, "--reason", "counts alone")
    done = _json(url, "run")[0]
    assert done["step"] == "COMPLETED"
    assert len(done["detail"]["erasures"]) == 1, "what was searched is not searched again"


@pytest.mark.long
def test_the_run_after_a_partial_one_searches_what_is_left_alone(store: Store, url: str) -> None:
    with store.connect() as con:
        con.execute("CREATE TABLE mailing AS SELECT id, email FROM people")
        con.execute("ALTER TABLE mailing ADD PRIMARY KEY (id)")
    _submit(url, "erasure", BOB)
    assert _json(url, "run", code=5)[0]["step"] == "PARTIAL"
    CliRunner().invoke(
        main,
        ["erase", "returned", f"{store.home}.mailing", "--descriptor", "email LOWER"],
        env={"PALIMPSEST_WAREHOUSE": url},
    )
    with store.connect() as con:
        con.execute("ALTER TABLE mailing SET TBLPROPERTIES ('erasure' = 'email LOWER')")
    done = _json(url, "run")[0]
    assert done["step"] == "COMPLETED"
    told = [(r["table"].rpartition(".")[2], r["outcome"]) for r in done["detail"]["receipts"]]
    searched = [table for table, outcome in told if outcome != "NOT_SEARCHED"]
    assert sorted(searched) == ["mailing", "people"]


def test_an_unknown_type_or_deadline_is_refused_without_its_value(url: str) -> None:
    for words in (
        ("--action", "erasure", "--subject", "phone=12345"),
        ("--action", "erasure", "--subject", f"email={ADA}", "--regulation", "NONE"),
    ):
        refused = _run(url, "submit", *words)
        assert (refused.exit_code, "PAL-630" in refused.stderr) == (1, True)
        assert ADA not in refused.stderr
        assert "12345" not in refused.stderr
    assert _json(url, "list") == []


@pytest.mark.long
def test_identities_of_several_parts(store: Store, url: str) -> None:
    with store.connect() as con:
        con.execute(
            "CREATE TABLE names (id INTEGER PRIMARY KEY, first VARCHAR, last VARCHAR)"
            " WITH (erasure = 'first LOWER, last LOWER')"
        )
        con.execute("INSERT INTO names VALUES (1, 'Ada', 'L'), (2, 'Ada', 'B'), (3, 'Bob', 'L')")
    _json(url, "submit", "--action", "erasure", "--composite", "last=l&first=ADA")
    assert _json(url, "run")[0]["step"] == "COMPLETED"
    with store.connect() as con:
        assert rows(con, "SELECT id FROM names ORDER BY id") == [(2,), (3,)]


def test_the_desk_in_sql(store: Store, url: str) -> None:
    with store.connect() as con:
        submitted = "action => 'erasure', subject => 'email=bob@x.example', external_id => 'S-1'"
        made = rows(con, f"CALL system.privacy_submit({submitted})")
        assert [row[1:3] for row in made] == [("erasure", "QUEUED")]
        name = made[0][0]
        held = rows(con, f"CALL system.privacy_hold('{name}', 'not today')")
        assert held[0][2] == "ON_HOLD"
        assert rows(con, "CALL system.privacy_run()") == []
        assert rows(con, f"CALL system.privacy_release('{name}')")[0][2] == "QUEUED"
        assert rows(con, "CALL system.privacy_run()")[0][1:4] == ("erasure", "COMPLETED", 1)
        shown = rows(con, "SELECT external_id, state, regulation FROM system.privacy_requests")
        assert shown == [("S-1", "COMPLETED", "GDPR")]
    assert _ids(store) == [1, 3]


@pytest.mark.long
def test_evidence_is_whole_and_tells_what_was_altered(
    store: Store, url: str, tmp_path: Path
) -> None:
    _json(url, "policy", "--set", "four_eyes=erasure")
    name = _submit(url, "erasure", BOB, "--user", "ann")["id"]
    _json(url, "approve", name, "--user", "bea")
    _json(url, "run")
    file = tmp_path / "evidence.zip"
    _json(url, "evidence", name, "--to", str(file))
    assert _json(url, "evidence", "--verify", str(file))["problems"] == []
    with ZipFile(file) as read:
        files = {n: read.read(n) for n in read.namelist()}
    decisions = json.loads(files["decisions.json"])
    assert {(e["actor"], e["action"]) for e in decisions} >= {
        ("ann", "privacy.submit"),
        ("bea", "privacy.approve"),
    }
    assert BOB.encode() not in b"".join(files.values())
    files["request.json"] = files["request.json"].replace(b"COMPLETED", b"DENIED")
    with ZipFile(file, "w") as written:
        for one, data in files.items():
            written.writestr(one, data)
    checked = _json(url, "evidence", "--verify", str(file), code=1)
    assert checked["problems"] == ["request.json is not the file that the manifest lists"]
    file.write_bytes(b"nothing")
    refused = _run(url, "evidence", "--verify", str(file))
    assert (refused.exit_code, "PAL-633" in refused.stderr) == (1, True)


def test_safe_mode_takes_no_request_and_executes_none(url: str) -> None:
    name = _submit(url, "erasure", BOB)["id"]
    env = {"PALIMPSEST_WAREHOUSE": url}
    assert CliRunner().invoke(main, ["safe-mode", "on", "--reason", "test"], env=env).exit_code == 0
    for words in (("run",), ("submit", "--action", "access", "--subject", f"email={BOB}")):
        refused = _run(url, *words)
        assert (refused.exit_code, "PAL-650" in refused.stderr) == (1, True), refused.output
    assert _json(url, "cancel", name)[0]["state"] == "CANCELLED"


@pytest.mark.long
def test_a_large_batch_is_split_by_tables_into_one_result(store: Store, url: str) -> None:
    with store.connect() as con:
        con.execute(
            "CREATE TABLE visits (id INTEGER PRIMARY KEY, email VARCHAR)"
            " WITH (erasure = 'email LOWER')"
        )
        con.execute(f"INSERT INTO visits VALUES (1, '{BOB}'), (2, '{CYD}')")
    _json(url, "policy", "--set", "batch_bytes=1")
    _submit(url, "erasure", BOB)
    (batch,) = _json(url, "run")
    assert batch["step"] == "COMPLETED"
    erased = [r for r in batch["detail"]["receipts"] if r["outcome"] == "ERASED"]
    assert len(erased) == 2
    with store.connect() as con:
        assert rows(con, "SELECT id FROM visits") == [(2,)]


@pytest.mark.long
@pytest.mark.also_on("hive")
def test_a_large_table_is_split_by_segments_into_one_result(store: Store, url: str) -> None:

    def _seal(con: Connection) -> None:
        """Give the rows a segment of their own: with columns of their own nothing merges them."""
        if Capability.MINOR_COMPACTION in store.capabilities:
            rows(con, "CALL system.compact('visits')")
        else:
            rows(con, "CALL system.flush()")

    with store.connect() as con:
        con.execute(
            "CREATE TABLE visits (id INTEGER PRIMARY KEY, email VARCHAR, place VARCHAR)"
            " WITH (erasure = 'email LOWER')"
        )
        for first in (0, 10, 20):
            con.execute(
                "INSERT INTO visits (id, email, place)"
                f" VALUES ({first}, '{BOB}', 'a'), ({first + 1}, '{CYD}', 'b')"
            )
            _seal(con)
            con.execute(f"ALTER TABLE visits ADD COLUMN more_{first} VARCHAR")
        # One key lies in two segments, and one person is named by an earlier version alone.
        con.execute(f"UPDATE visits SET email = '{CYD}', place = 'c' WHERE id = 10")
        _seal(con)
        con.execute(f"INSERT INTO visits (id, email, place) VALUES (30, '{BOB}', 'd')")
    _json(url, "policy", "--set", "batch_bytes=1", "--set", "verification=search")
    _submit(url, "erasure", BOB)
    (planned,) = _json(url, "run", "--dry-run")
    assert planned["keys"] == 5
    (batch,) = _json(url, "run")
    assert batch["step"] == "COMPLETED", batch["detail"]
    (receipt,) = [r for r in batch["detail"]["receipts"] if r["table"].endswith("visits")]
    assert (receipt["outcome"], receipt["keys"]) == ("ERASED", 4)
    assert receipt["versions_removed"] >= 5  # More where what jobs replaced is kept, or not merged.
    parts = [told for (told,) in planned["parts"] if "visits" in told]
    assert receipt["parts"] == len(parts) > 2
    assert parts[-1].endswith("visits, the rest")
    with store.connect() as con:
        assert rows(con, "SELECT id FROM visits ORDER BY id") == [(1,), (11,), (21,)]


@pytest.mark.long
@pytest.mark.also_on("hive", "postgres")
def test_a_scheduler_runs_requests_that_are_old(
    store: Store, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    name = _submit(url, "erasure", BOB, "--received", "2020-01-01")["id"]
    with store.connect() as con, caplog.at_level("WARNING", logger="palimpsest.scheduler"):
        Scheduler(lambda: con.session).once()
    assert _json(url, "show", name)["state"] == "COMPLETED"
    assert "failed" not in caplog.text


@pytest.mark.long
def test_a_legal_hold_keeps_a_request_until_its_release(store: Store, url: str) -> None:
    with store.connect() as con:
        (hold,) = rows(
            con, "CALL system.hold(subject => 'email=bob@x.example', reason => 'matter 1')"
        )
    name = _submit(url, "erasure", BOB)["id"]
    (batch,) = _json(url, "run", code=1)
    assert batch["step"] == "ON_HOLD"
    assert _json(url, "cancel", name)[0]["state"] == "ON_HOLD"
    assert _json(url, "deny", name, "--reason", "not theirs")[0]["state"] == "ON_HOLD"
    with store.connect() as con:
        rows(con, f"CALL system.release('{hold[0]}')")
    assert _json(url, "run")[0]["step"] == "COMPLETED"
    assert _ids(store) == [1, 3]
