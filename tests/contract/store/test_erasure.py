"""Requests to erase: unseen at once, held back, cancelled, purged, and never back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import gateway
from gateway.cli import main
from gateway.dbapi.connection import Connection
from gateway.procedures.erasure_program import erasure_of
from journal.erasure import audit_check
from journal.erasure.erasure_spec import ErasureSpec, requests
from journal.erasure.package import open_package
from journal.erasure.requests import ErasureRequest, Outcome, State
from journal.model.errors import PalimpsestError
from journal.model.version import to_datetime
from spark_compaction.erasure import purging, readmission
from tests.elsewhere.copied_texts import texts_in
from tests.support import under_hold
from tests.support.kept import rows
from tests.support.stores.store import Capability, Store

pytestmark = [pytest.mark.timeout(900), pytest.mark.needs(Capability.ERASURE)]
TOKEN = "qz7-unmistakable-xk9"
MAIL = f"{TOKEN}@example.org"
THEM = "id IN (7, 8, 9)"


@pytest.fixture
def people(store: Store) -> Connection:
    """Id 7 goes by the token in a base and in history, 8 did once, 9 in a column that is gone."""
    con = store.connect()
    con.execute(
        "CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR, n INTEGER, other VARCHAR)"
        " WITH (erasure = 'email LOWER, other AS email')"
    )
    con.execute("INSERT INTO people SELECT i, 'u' || i || '@x.example', i, '' FROM range(60) r(i)")
    con.execute(f"UPDATE people SET email = ' {MAIL.upper()} ' WHERE id = 7")
    con.execute("OPTIMIZE people")
    con.execute(f"UPDATE people SET email = '{MAIL}' WHERE id = 8")
    con.execute("UPDATE people SET email = 'new@x.example' WHERE id IN (7, 8)")
    con.execute(f"UPDATE people SET other = '{MAIL}' WHERE id = 9")
    con.execute("ALTER TABLE people DROP COLUMN other")
    con.execute("DELETE FROM people WHERE id = 10")
    return con


def _submit(con: Connection, *values: str, **options: Any) -> ErasureRequest:
    wanted = ErasureSpec({"email": list(values)}, **options)
    return erasure_of(con.session).accept(wanted, "tester")


def _audit_of(con: Connection) -> tuple[str, ...]:
    """What is wrong with the audit log."""
    return tuple(audit_check.verify(erasure_of(con.session).journal).problems)


def _is_clean(con: Connection) -> bool:
    return bool(con.session.executor.upkeep.verify().is_clean)


def _others(con: Connection) -> list[list[tuple[Any, ...]]]:
    """All that is said of others, at some times."""
    versions = [v for (v,) in rows(con, "SELECT version FROM system.transactions ORDER BY 1")]
    asked = [f"SELECT * FROM people WHERE NOT {THEM} ORDER BY id"]
    asked += [
        f"SELECT id, email, n FROM people VERSION AS OF {v} WHERE NOT {THEM} ORDER BY id"
        for v in versions[1:7:2]
    ]
    asked.append(f"SELECT count(*) FROM people_journal WHERE NOT {THEM}")
    return [rows(con, sql) for sql in asked]


def _code(con: Connection, sql: str) -> tuple[str, str]:
    with pytest.raises(gateway.Error) as raised:
        con.execute(sql)
    return str(raised.value.code), str(raised.value.sqlstate)


def test_from_acceptance_to_completion_nobody_sees_them_and_nobody_else_changes(
    store: Store, people: Connection
) -> None:
    before = _others(people)
    version = people.session.journal.state.version
    assert store.holders(TOKEN)
    planned = erasure_of(people.session).dry_run(ErasureSpec({"email": [MAIL]}))
    assert requests(erasure_of(people.session).journal) == []
    request = _submit(people, MAIL, reason="ticket 1")
    assert request.state is State.ACCEPTED
    (target,) = request.targets
    assert (target.keys, target.outcome) == (3, Outcome.PENDING)
    for sql in (
        f"SELECT * FROM people WHERE {THEM}",
        f"SELECT * FROM people_journal WHERE {THEM}",
        f"SELECT * FROM people VERSION AS OF {version} WHERE {THEM}",
        f"SELECT * FROM people FOR SYSTEM_TIME ALL WHERE {THEM}",
        "SELECT * FROM people WHERE id = 7",
    ):
        assert rows(people, sql) == [], sql
    assert people.execute("UPDATE people SET n = 0 WHERE id = 7").rowcount == 0
    assert rows(people, "SELECT count(*), sum(n) FROM people") == [(56, 1770 - 34)]
    assert _others(people) == before
    assert _is_clean(people)
    (done,) = under_hold.run(people)
    assert (done.id, done.state, done.reason) == (request.id, State.COMPLETED, "ticket 1")
    (target,) = done.targets
    assert (target.outcome, target.keys) == (Outcome.ERASED, 3)
    assert target.versions_removed == planned.targets[0].versions_removed > 6
    assert target.manifest_before != target.manifest_after
    assert store.holders(TOKEN) == []
    assert _others(people) == before
    assert _is_clean(people)
    assert _audit_of(people) == ()
    people.close()
    again = store.connect()
    assert _others(again) == before
    again.close()
    assert store.holders(TOKEN) == []


@pytest.mark.long
@pytest.mark.also_on("hive")
def test_rows_of_the_store_go_before_copies_are_seen_to(
    store: Store, people: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that no copy can be made of rows that go, once copies were seen to."""
    vault = tmp_path / "vault"
    people.execute(f"CALL system.backup('people', name => 'far', to => '{vault}')")
    request = _submit(people, MAIL)

    def die(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(purging, "purge_copies", die)
    with pytest.raises(KeyboardInterrupt):
        under_hold.purge(people)
    monkeypatch.undo()
    (halfway,) = requests(erasure_of(people.session).journal)
    (target,) = halfway.targets
    assert (halfway.state, target.outcome) == (State.ACCEPTED, Outcome.PENDING)
    assert target.versions_removed > 6
    with pytest.raises(PalimpsestError, match="purged already"):
        erasure_of(people.session).cancel(request, "tester")
    assert rows(people, f"SELECT * FROM people_journal WHERE {THEM}") == []
    (done,) = under_hold.run(people)
    assert done.state is State.COMPLETED
    assert done.targets[0].versions_removed == target.versions_removed
    assert done.targets[0].copies_removed > 0
    assert store.holders(TOKEN) == []
    assert TOKEN.encode() not in texts_in(vault)


@pytest.mark.needs(Capability.OTHER_READERS)
@pytest.mark.also_on("hive")
def test_other_tools_do_not_see_them_either(store: Store, people: Connection) -> None:
    asked = f"SELECT count(*) FROM {{people}} WHERE {THEM}"
    assert store.read_outside(asked) == [(3,)]
    request = _submit(people, MAIL)
    assert store.read_outside(asked) == [(0,)]
    erasure_of(people.session).cancel(request, "tester")
    assert store.read_outside(asked) == [(3,)]


@pytest.mark.long
@pytest.mark.also_on("hive")
def test_many_requests_share_one_pass_and_some_find_nobody(
    store: Store, people: Connection
) -> None:
    people.execute(
        "CREATE TABLE visits (who INTEGER PRIMARY KEY, mails VARCHAR[])"
        " WITH (erasure = 'mails[] AS email, who AS customer')"
    )
    people.execute(f"INSERT INTO visits VALUES (1, ['a', '{MAIL}']), (2, ['b']), (3, NULL)")
    first, second = _submit(people, MAIL), _submit(people, "b", "u3@x.example")
    spec = ErasureSpec({"customer": ["99"]})
    nobody = erasure_of(people.session).accept(spec, "tester")
    found = {t.table: t for t in nobody.targets}
    assert found[f"{store.home}.visits"].outcome is Outcome.SEARCHED_NONE
    assert found[f"{store.home}.people"].outcome is Outcome.NOT_SEARCHED
    assert rows(people, "SELECT who FROM visits") == [(3,)]
    done = under_hold.purge(people)
    assert done.failures == {}
    purged = {r.table for r in done.reports if r.removed.rows}
    assert purged == {f"{store.home}.people", f"{store.home}.visits"}
    assert {r.state for r in done.requests} == {State.COMPLETED}
    receipts = {r.id: [t.versions_removed for t in r.targets] for r in done.requests}
    assert receipts[first.id][0] > 6
    assert receipts[first.id][1:] == [1]
    # A warehouse counts the copies in retired segments as well.
    assert receipts[second.id][0] in {1, 2}
    assert receipts[second.id][1:] == [1]
    assert receipts[nobody.id] == [0, 0]


@pytest.mark.long
@pytest.mark.also_on("hive")
def test_what_was_erased_cannot_be_written_again_until_it_is_let_in(
    store: Store, people: Connection
) -> None:
    request = _submit(people, MAIL)
    other = store.connect()
    writes = (
        "INSERT INTO people VALUES (7, 'else@x.example', 0)",
        f"INSERT INTO people VALUES (700, '{MAIL.upper()}', 0)",
        f"UPDATE people SET email = ' {MAIL}' WHERE id = 3",
        f"INSERT INTO people SELECT 800 + i, '{MAIL}', i FROM range(3) t(i)",
    )
    people.execute("SET memory_rows = 1")
    for con in (people, other):
        assert {_code(con, sql) for sql in writes} == {("PAL-306", "23001")}
    under_hold.run(people)
    assert {_code(other, sql) for sql in writes} == {("PAL-306", "23001")}
    other.execute("INSERT INTO people VALUES (700, 'fine@x.example', 0)")
    journal = erasure_of(people.session).journal
    assert readmission.readmit_subjects(journal, {"email": [MAIL]}, "tester") == 2
    other.execute(f"INSERT INTO people VALUES (701, '{MAIL}', 0)")
    assert _code(other, f"INSERT INTO people VALUES (7, '{MAIL}', 0)") == ("PAL-306", "23001")
    assert readmission.readmit_request(journal, request, "tester") == 3
    other.execute(f"INSERT INTO people VALUES (7, '{MAIL}', 0)")


@pytest.mark.long
@pytest.mark.also_on("hive")
def test_suppressions_expire(people: Connection) -> None:
    request = _submit(people, MAIL, expires_us=1)
    assert request.expires is not None
    under_hold.run(people)
    people.execute(f"INSERT INTO people VALUES (7, '{MAIL}', 0)")


def test_a_transaction_from_before_begins_again(store: Store, people: Connection) -> None:
    """Whether it changes somebody who goes, or brings them in."""
    changes = (f"INSERT INTO people VALUES (900, '{MAIL}', 0)", "UPDATE people SET n = 99")
    opened = [store.connect() for _ in changes]
    for other, sql in zip(opened, changes, strict=True):
        other.execute("BEGIN")
        rows(other, "SELECT * FROM people WHERE id = 7")
        other.execute(sql)
    _submit(people, MAIL)
    for other in opened:
        with pytest.raises(gateway.Error) as raised:
            other.execute("COMMIT")
        assert raised.value.sqlstate == "40001"
    assert opened[1].execute("UPDATE people SET n = 99").rowcount == 56
    assert rows(people, f"SELECT * FROM people WHERE {THEM}") == []


@pytest.mark.long
@pytest.mark.also_on("hive")
def test_cancelling_shows_them_again(store: Store, people: Connection) -> None:
    erasure = erasure_of(people.session)
    asked = "SELECT * FROM people FOR SYSTEM_TIME ALL ORDER BY id, version_number"
    before = rows(people, asked)
    request = _submit(people, MAIL)
    assert rows(people, asked) != before
    assert erasure.cancel(request, "tester").state is State.CANCELLED
    assert rows(people, asked) == before
    people.execute("UPDATE people SET n = 70 WHERE id = 7")
    people.execute(f"INSERT INTO people VALUES (700, '{MAIL}', 0)")
    assert under_hold.run(people)[0].state is State.CANCELLED
    request = _submit(people, MAIL)
    under_hold.run(people)
    with pytest.raises(PalimpsestError, match="purged") as raised:
        erasure.cancel(requests(erasure.journal)[-1], "tester")
    assert raised.value.code.value.code == "PAL-510"
    assert store.holders(TOKEN) == []


HOLDS = {
    "table": "PLACE HOLD ON people REASON 'matter 1'",
    "former value": "PLACE HOLD ON people WHERE email = 'u7@x.example' REASON 'matter 1'",
    "row": "PLACE HOLD ON people WHERE n = 9 REASON 'matter 1'",
    "person": "PLACE HOLD FOR SUBJECT email = 'new@x.example' REASON 'matter 1'",
}


@pytest.mark.first(1)
@pytest.mark.also_on("hive")
@pytest.mark.parametrize("kind", HOLDS)
def test_a_hold_keeps_a_request_back_until_its_release(people: Connection, kind: str) -> None:
    people.execute("PLACE HOLD ON people WHERE n = 30 REASON 'matter 2'")
    ((name, *_),) = rows(people, HOLDS[kind])
    request = _submit(people, MAIL)
    free = _submit(people, "u40@x.example")
    states = {r.id: r for r in under_hold.run(people)}
    assert states[free.id].state is (State.ON_HOLD if kind == "table" else State.COMPLETED)
    assert states[request.id].state is State.ON_HOLD
    assert name in str(states[request.id].holder)
    shown = rows(people, f"SELECT id FROM people WHERE {THEM} ORDER BY id")
    assert ((7,) in shown) is (kind != "row")
    people.execute(f"RELEASE HOLD '{name}'")
    assert rows(people, "SELECT * FROM people WHERE id IN (7, 9)") == []
    assert {r.state for r in under_hold.run(people)} == {State.COMPLETED}


@pytest.mark.long
@pytest.mark.also_on("hive")
def test_jobs_beside_a_waiting_request_change_no_answer(people: Connection) -> None:
    _submit(people, MAIL)
    before = _others(people)
    people.execute("UPDATE people SET n = n WHERE id = 30")
    people.execute("OPTIMIZE people")
    assert rows(people, f"SELECT * FROM people WHERE {THEM}") == []
    assert _others(people)[0] == before[0]
    (done,) = under_hold.run(people)
    assert done.state is State.COMPLETED
    assert _is_clean(people)


@pytest.mark.also_on("hive")
def test_a_run_that_was_killed_is_simply_run_again(
    store: Store, people: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _others(people)
    _submit(people, MAIL)

    def die() -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        store.during(patch, "purge", die)
        with pytest.raises(KeyboardInterrupt):
            under_hold.purge(people)
    assert rows(people, f"SELECT * FROM people WHERE {THEM}") == []
    assert _others(people) == before
    store.sweep(people)
    (done,) = under_hold.run(people)
    assert done.state is State.COMPLETED
    assert store.holders(TOKEN) == []
    assert _audit_of(people) == ()


def _run(url: str, *words: str) -> Result:
    environment = {"PALIMPSEST_WAREHOUSE": url, "PALIMPSEST_PASSPHRASE": "correct horse battery"}
    return CliRunner().invoke(main, list(words), env=environment)


def _json(url: str, *words: str) -> Any:
    run = _run(url, *words, "--json")
    assert run.exit_code == 0, run.output + run.stderr
    return json.loads(run.stdout)


@pytest.mark.long
@pytest.mark.also_on("hive")
def test_the_command_line_from_the_dry_run_to_the_receipt(
    store: Store, people: Connection, tmp_path: Path
) -> None:
    ids, package, url = tmp_path / "ids.csv", tmp_path / "package", store.url
    ids.write_text(f"email,customer\n{MAIL},\nnobody@x.example,\n")
    name = f"{store.home}.people"
    moment = to_datetime(people.session.journal.clock.now())
    people.close()
    run = _run(url, "access", "create", "--subject", f"email={MAIL}", str(package))
    assert run.exit_code == 0, run.output + run.stderr
    opened = open_package(package.read_bytes(), "correct horse battery", moment)
    assert TOKEN in opened.files[f"{name}.jsonl"].decode().lower()
    (planned,) = _json(url, "erase", "submit", "--file", str(ids), "--dry-run")
    assert planned["targets"][0]["versions_removed"] > 6
    assert _json(url, "erase", "list") == []
    (accepted,) = _json(url, "erase", "submit", "--file", str(ids), "--reason", "t 1")
    assert accepted["state"] == "ACCEPTED"
    assert _json(url, "erase", "cancel", accepted["id"])[0]["state"] == "CANCELLED"
    _json(url, "erase", "submit", "--subject", f"email={MAIL}")
    done = _json(url, "erase", "run")[-1]
    assert (done["state"], done["targets"][0]["outcome"]) == ("COMPLETED", "ERASED")
    assert f"{name}: ERASED" in _run(url, "erase", "status", done["id"][:6]).stdout
    assert "COMPLETED" in _run(url, "erase", "list").stdout
    assert _json(url, "audit", "verify")["clean"]
    assert [e["action"] for e in _json(url, "audit", "list")] == [
        "access.create",
        *("erase.accept", "erase.cancel", "erase.accept", "erase.purge", "erase.complete"),
    ]
    refused = _run(url, "query", f"INSERT INTO people VALUES (900, '{MAIL}', 0)")
    assert "PAL-306" in refused.stderr
    again = _run(url, "erase", "readmit", "--subject", f"email={MAIL}")
    assert "2 entries" in again.stdout, again.stderr
    assert _json(url, "erase", "scope", "--deny", name)["deny"] == [name]
    denied = _run(url, "erase", "submit", "--subject", f"email={MAIL}")
    assert denied.exit_code == 1


@pytest.mark.long
@pytest.mark.also_on("hive")
def test_a_job_on_one_table_names_those_that_its_requests_take_along(
    store: Store, people: Connection
) -> None:
    people.execute(
        "CREATE TABLE visits (k INTEGER PRIMARY KEY, mail VARCHAR) WITH (erasure = 'mail AS email')"
    )
    people.execute(f"INSERT INTO visits VALUES (1, '{MAIL}'), (2, 'b')")
    _submit(people, MAIL)
    along = f"{store.home}.visits"
    for dry_run in ("true", "false"):
        (row,) = rows(people, f"CALL system.purge('people', dry_run => {dry_run})")
        assert json.loads(row[-1])["details"]["takes_along"] == [along]
        assert f"take along {along}" in row[-2]
    assert rows(people, "SELECT count(*) FROM visits_journal") == [(1,)]
    _submit(people, "b")
    people.close()
    assert f"take along {along}" not in _run(store.url, "job", "purge", "visits").stdout
    with store.connect() as again:
        _submit(again, "u1@x.example", "u2@x.example")
        again.execute("INSERT INTO visits VALUES (3, 'u3@x.example')")
        _submit(again, "u3@x.example")
    assert f"take along {along}" in _run(store.url, "job", "purge", "people").stdout


@pytest.mark.also_on("hive")
def test_a_statement_erases_who_met_its_condition_in_any_version(
    store: Store, people: Connection
) -> None:
    sql = f"ERASE FROM people WHERE lower(trim(email)) = '{MAIL}' REASON 'ticket 1'"
    ((_, _, table, _, keys, *_),) = rows(people, sql)
    assert (table, keys) == (f"{store.home}.people", 2)
    (done,) = under_hold.run(people)
    assert (done.state, done.reason) == (State.COMPLETED, "ticket 1")
    assert rows(people, "SELECT id FROM people FOR SYSTEM_TIME ALL WHERE id IN (7, 8)") == []
    (receipt,) = done.targets
    assert receipt.manifest_before != receipt.manifest_after
    present = rows(people, "SELECT * FROM people ORDER BY id")
    ((_, _, _, outcome, *_),) = rows(people, "ERASE FROM people WHERE email = 'nobody'")
    assert outcome == "SEARCHED_NONE"
    assert under_hold.run(people)[-1].state is State.COMPLETED
    assert rows(people, "SELECT * FROM people ORDER BY id") == present
    assert _is_clean(people)


@pytest.mark.long
@pytest.mark.also_on("hive")
def test_dropped_tables_are_searched_too(store: Store, people: Connection) -> None:
    people.execute("CREATE TABLE late (k INTEGER PRIMARY KEY, mail VARCHAR)"
                   " WITH (erasure = 'mail AS email LOWER')")  # fmt: skip
    people.execute(f"INSERT INTO late VALUES (1, '{MAIL}'), (2, 'stays')")
    people.execute("DROP TABLE late")
    request = _submit(people, MAIL)
    assert {t.table: t.keys for t in request.targets} == {
        f"{store.home}.people": 3,
        f"{store.home}.late": 1,
    }
    under_hold.run(people)
    assert store.holders(TOKEN) == []
    people.execute("UNDROP TABLE late")
    assert rows(people, "SELECT * FROM late") == [(2, "stays")]


@pytest.mark.also_on("hive")
def test_keys_of_types_that_arrow_borrows(store: Store) -> None:
    con = store.connect()
    con.execute("CREATE TABLE u (id UUID, n NUMERIC(20, 3), email VARCHAR, PRIMARY KEY (id, n))")
    ids = [f"00000000-0000-0000-0000-00000000000{n}" for n in range(3)]
    for one in ids:
        con.execute(f"INSERT INTO u VALUES ('{one}', 1.5, 'of {one}')")
    con.execute(f"UPDATE u SET email = 'new' WHERE id = '{ids[0]}'")
    con.execute("ALTER TABLE u SET TBLPROPERTIES ('erasure' = 'email')")
    assert rows(con, f"ERASE FROM u WHERE id = '{ids[0]}'")[0][4] == 1
    _submit(con, f"of {ids[1]}")
    assert rows(con, "SELECT email FROM u") == [(f"of {ids[2]}",)]
