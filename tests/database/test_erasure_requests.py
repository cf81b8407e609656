"""Requests to erase in a database: unseen at once, held back, cancelled, purged, and never back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner, Result

import gateway
from gateway.cli import main
from gateway.dbapi.connection import Connection
from journal.erasure import audit
from journal.erasure.erasure_spec import ErasureSpec, requests
from journal.erasure.package import open_package
from journal.erasure.requests import ErasureRequest, Outcome, State
from journal.model.errors import PalimpsestError
from journal.model.version import to_datetime
from journal.stores.postgres.journal import DatabaseJournal
from spark_compaction.backends.postgres import acceptance, erasing
from spark_compaction.backends.postgres.maintenance import compact
from spark_compaction.contract import JobRequest
from tests.support.postgres import Cluster
from tests.support.traces import everything

TOKEN = "qz7-unmistakable-xk9"
MAIL = f"{TOKEN}@example.org"


@pytest.fixture
def people(con: Connection) -> Connection:
    """Id 7 goes by the token in a base and in history, 8 did once, 9 in a column that is gone."""
    con.execute(
        "CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR, n INTEGER, other VARCHAR)"
        " WITH (erasure = 'email LOWER, other AS email')"
    )
    con.execute("INSERT INTO people SELECT i, 'u' || i || '@x.example', i, '' FROM range(60) r(i)")
    con.execute(f"UPDATE people SET email = ' {MAIL.upper()} ' WHERE id = 7")
    compact(_journal(con), JobRequest(next(iter(_journal(con).state.catalog.tables())), "first"))
    con.execute(f"UPDATE people SET email = '{MAIL}' WHERE id = 8")
    con.execute("UPDATE people SET email = 'new@x.example' WHERE id IN (7, 8)")
    con.execute(f"UPDATE people SET other = '{MAIL}' WHERE id = 9")
    con.execute("ALTER TABLE people DROP COLUMN other")
    con.execute("DELETE FROM people WHERE id = 10")
    return con


def _journal(con: Connection) -> DatabaseJournal:
    journal = con.session.journal
    assert isinstance(journal, DatabaseJournal)
    return journal


def _submit(con: Connection, *values: str, **options: Any) -> ErasureRequest:
    return acceptance.accept(
        _journal(con), ErasureSpec({"email": list(values)}, **options), "tester"
    )


def _purge(con: Connection) -> list[ErasureRequest]:
    done = erasing.erase(_journal(con), "tester")
    assert done.failures == {}
    return done.requests


def _rows(con: Connection, sql: str) -> list[tuple[Any, ...]]:
    return list(con.execute(sql).fetchall())


def _others(con: Connection) -> list[list[tuple[Any, ...]]]:
    versions = [v for (v,) in _rows(con, "SELECT version FROM system.transactions ORDER BY 1")]
    asked = ["SELECT * FROM people WHERE id NOT IN (7, 8, 9) ORDER BY id"]
    asked += [
        f"SELECT id, email, n FROM people VERSION AS OF {v} WHERE id NOT IN (7, 8, 9) ORDER BY id"
        for v in versions[1:7]
    ]
    asked.append("SELECT count(*) FROM people_journal WHERE id NOT IN (7, 8, 9)")
    return [_rows(con, sql) for sql in asked]


def _code(con: Connection, sql: str) -> str:
    with pytest.raises(gateway.Error) as raised:
        con.execute(sql)
    return str(raised.value.code)


def test_nobody_sees_the_rows_from_the_moment_of_acceptance(
    people: Connection, cluster: Cluster, database: str
) -> None:
    before = _others(people)
    version = _journal(people).state.version
    request = _submit(people, MAIL)
    assert request.state is State.ACCEPTED
    (target,) = request.targets
    assert (target.keys, target.outcome) == (3, Outcome.PENDING)
    where = "WHERE id IN (7, 8, 9)"
    for sql in (
        f"SELECT * FROM people {where}",
        f"SELECT * FROM people_journal {where}",
        f"SELECT * FROM people VERSION AS OF {version} {where}",
        f"SELECT * FROM people FOR SYSTEM_TIME ALL {where}",
        "SELECT * FROM people WHERE id = 7",
    ):
        assert _rows(people, sql) == [], sql
    with psycopg.connect(cluster.conninfo(database)) as outside:
        for name in ("people", "people_journal"):
            found = outside.execute(f"SELECT count(*) FROM {name} {where}").fetchone()
            assert found == (0,)
    assert _rows(people, "SELECT count(*), sum(n) FROM people") == [(56, 1770 - 34)]
    assert _others(people) == before
    assert people.session.executor.sealer.verify().is_clean


def test_after_completion_nothing_is_left_and_others_are_as_they_were(
    people: Connection, cluster: Cluster, database: str
) -> None:
    before = _others(people)
    assert TOKEN in everything(cluster, database).lower()
    request = _submit(people, MAIL, reason="ticket 1")
    (done,) = _purge(people)
    assert (done.id, done.state) == (request.id, State.COMPLETED)
    (target,) = done.targets
    assert (target.outcome, target.keys) == (Outcome.ERASED, 3)
    assert target.versions_removed == (2 + 2) + (1 + 2 + 2) + (1 + 2)
    assert target.manifest_before != target.manifest_after
    assert TOKEN not in everything(cluster, database).lower()
    assert _others(people) == before
    assert people.session.executor.sealer.verify().is_clean
    checked = audit.verify(_journal(people))
    assert (checked.entries, checked.problems) == (3, ())


def test_many_requests_share_one_pass_and_some_find_nobody(people: Connection) -> None:
    people.execute(
        "CREATE TABLE visits (who INTEGER PRIMARY KEY, mails VARCHAR[])"
        " WITH (erasure = 'mails[] AS email, who AS customer')"
    )
    people.execute(f"INSERT INTO visits VALUES (1, ['a', '{MAIL}']), (2, ['b']), (3, NULL)")
    first, second = _submit(people, MAIL), _submit(people, "b", "u3@x.example")
    nobody = acceptance.accept(_journal(people), ErasureSpec({"customer": ["99"]}), "tester")
    found = {t.table: t for t in nobody.targets}
    assert found["public.visits"].outcome is Outcome.SEARCHED_NONE
    assert found["public.people"].outcome is Outcome.NOT_SEARCHED
    assert _rows(people, "SELECT who FROM visits") == [(3,)]
    done = erasing.erase(_journal(people), "tester")
    assert [r.table for r in done.reports] == ["public.people", "public.visits"]
    assert {r.state for r in done.requests} == {State.COMPLETED}
    receipts = {r.id: [t.versions_removed for t in r.targets] for r in done.requests}
    assert receipts == {first.id: [12, 1], second.id: [1, 1], nobody.id: [0, 0]}


def test_what_was_erased_cannot_be_written_again(
    people: Connection, connect: Callable[..., Connection]
) -> None:
    _submit(people, MAIL)
    other = connect()
    for con in (people, other):
        for sql in (
            "INSERT INTO people VALUES (7, 'else@x.example', 0)",
            f"INSERT INTO people VALUES (700, '{MAIL.upper()}', 0)",
            f"UPDATE people SET email = ' {MAIL}' WHERE id = 3",
            f"INSERT INTO people SELECT 800 + i, '{MAIL}', i FROM range(3) t(i)",
        ):
            assert _code(con, sql) == "PAL-306", sql
    _purge(people)
    assert _code(other, f"INSERT INTO people VALUES (700, '{MAIL}', 0)") == "PAL-306"
    other.execute("INSERT INTO people VALUES (700, 'fine@x.example', 0)")
    from spark_compaction.erasure import readmission

    assert readmission.readmit_subjects(_journal(people), {"email": [MAIL]}, "tester") == 2
    other.execute(f"INSERT INTO people VALUES (701, '{MAIL}', 0)")
    assert _code(other, f"INSERT INTO people VALUES (7, '{MAIL}', 0)") == "PAL-306"
    (request,) = requests(_journal(people))
    assert readmission.readmit_request(_journal(people), request, "tester") == 3
    other.execute(f"INSERT INTO people VALUES (7, '{MAIL}', 0)")


def test_suppressions_expire(people: Connection) -> None:
    request = _submit(people, MAIL, expires_us=1)
    assert request.expires is not None
    _purge(people)
    people.execute(f"INSERT INTO people VALUES (7, '{MAIL}', 0)")


def test_a_transaction_from_before_begins_again(
    people: Connection, connect: Callable[..., Connection]
) -> None:
    other = connect()
    other.execute("BEGIN")
    _rows(other, "SELECT * FROM people WHERE id = 7")
    other.execute("INSERT INTO people VALUES (900, ?, 0)", [MAIL])
    _submit(people, MAIL)
    with pytest.raises(gateway.Error) as raised:
        other.execute("COMMIT")
    assert raised.value.sqlstate == "40001"


def test_rows_that_come_while_it_is_accepted_are_found(
    people: Connection, monkeypatch: pytest.MonkeyPatch, connect: Callable[..., Connection]
) -> None:
    other, search = connect(), acceptance._search

    def slow(*arguments: Any, **more: bool) -> Any:
        found = search(*arguments, **more)
        other.execute(f"UPDATE people SET email = '{MAIL}' WHERE id = 20")
        other.execute("CALL system.compact('people')")
        other.execute(f"INSERT INTO people VALUES (500, '{MAIL}', 1)")
        return found

    monkeypatch.setattr(acceptance, "_search", slow)
    assert _submit(people, MAIL).targets[0].keys == 5
    monkeypatch.undo()
    assert _rows(people, "SELECT id FROM people WHERE id IN (7, 20, 500)") == []
    (done,) = _purge(people)
    assert done.state is State.COMPLETED


def test_cancelling_shows_them_again(people: Connection, cluster: Cluster, database: str) -> None:
    asked = "SELECT * FROM people FOR SYSTEM_TIME ALL ORDER BY id, version_number"
    before = _rows(people, asked)
    request = _submit(people, MAIL)
    assert _rows(people, asked) != before
    assert acceptance.cancel(_journal(people), request, "tester").state is State.CANCELLED
    assert _rows(people, asked) == before
    people.execute("UPDATE people SET n = 70 WHERE id = 7")
    assert _purge(people)[0].state is State.CANCELLED
    request = _submit(people, MAIL)
    _purge(people)
    with pytest.raises(PalimpsestError, match="purged"):
        acceptance.cancel(_journal(people), request, "tester")


@pytest.mark.parametrize(
    "hold",
    [
        "PLACE HOLD ON people REASON 'matter 1'",
        "PLACE HOLD ON people WHERE email = 'u7@x.example' REASON 'matter 1'",
        "PLACE HOLD ON people WHERE n = 9 REASON 'matter 1'",
        "PLACE HOLD FOR SUBJECT email = 'new@x.example' REASON 'matter 1'",
    ],
)
def test_a_hold_keeps_a_request_back_until_its_release(people: Connection, hold: str) -> None:
    other = "PLACE HOLD ON people WHERE n = 30 REASON 'matter 2'"
    people.execute(other)
    ((name, *_),) = _rows(people, hold)
    request = _submit(people, MAIL)
    free = _submit(people, "u40@x.example")
    states = {r.id: r for r in _purge(people)}
    if "REASON 'matter 1'" in hold and "WHERE" not in hold and "SUBJECT" not in hold:
        assert states[free.id].state is State.ON_HOLD
    else:
        assert states[free.id].state is State.COMPLETED
    assert states[request.id].state is State.ON_HOLD
    assert name in str(states[request.id].holder)
    shown = _rows(people, "SELECT id FROM people WHERE id IN (7, 8, 9) ORDER BY id")
    assert ((7,) in shown) is ("n = 9" not in hold)
    people.execute(f"RELEASE HOLD '{name}'")
    assert _rows(people, "SELECT * FROM people WHERE id IN (7, 9)") == []
    assert {r.state for r in _purge(people)} == {State.COMPLETED}


def test_jobs_beside_a_waiting_request_change_no_answer(people: Connection) -> None:
    _submit(people, MAIL)
    before = _others(people)
    people.execute("UPDATE people SET n = n WHERE id = 30")
    people.execute("OPTIMIZE people")
    assert _rows(people, "SELECT * FROM people WHERE id IN (7, 8, 9)") == []
    assert _others(people)[0] == before[0]
    (done,) = _purge(people)
    assert done.state is State.COMPLETED
    assert people.session.executor.sealer.verify().is_clean


def test_a_run_that_was_killed_is_simply_run_again(
    people: Connection, monkeypatch: pytest.MonkeyPatch, cluster: Cluster, database: str
) -> None:
    before = _others(people)
    _submit(people, MAIL)

    def die(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    for place, name in (
        (erasing.rewriting, "rewrite"),
        (erasing.segment_swap, "swap"),
        (erasing, "_purged"),
        (erasing, "complete"),
    ):
        monkeypatch.setattr(place, name, die)
        with pytest.raises(KeyboardInterrupt):
            _purge(people)
        monkeypatch.undo()
        assert _rows(people, "SELECT * FROM people WHERE id IN (7, 8, 9)") == []
        assert _others(people) == before
    (done,) = _purge(people)
    assert done.state is State.COMPLETED
    assert TOKEN not in everything(cluster, database).lower()
    assert audit.verify(_journal(people)).problems == ()


def test_a_forged_audit_log_is_noticed(people: Connection, cluster: Cluster, database: str) -> None:
    _submit(people, MAIL)
    head = audit.verify(_journal(people)).head
    _purge(people)
    with psycopg.connect(cluster.conninfo(database)) as admin:
        admin.execute("UPDATE _palimpsest.audit SET actor = 'nobody' WHERE seq = 1")
    assert audit.verify(_journal(people)).problems == ("entry 1 was altered",)
    with psycopg.connect(cluster.conninfo(database)) as admin:
        admin.execute("UPDATE _palimpsest.audit SET actor = 'tester' WHERE seq = 1")
        admin.execute("DELETE FROM _palimpsest.audit WHERE seq = 3")
    (cut,) = audit.verify(_journal(people), head).problems
    assert cut.endswith("is COMPLETED, and the log has no erase.complete of it")
    lost = audit.verify(_journal(people), "0" * 63 + "1").problems
    assert "the noted hash is not in the log: entries at its end were removed" in lost


def _run(url: str, *words: str) -> Result:
    environment = {"PALIMPSEST_WAREHOUSE": url, "PALIMPSEST_PASSPHRASE": "correct horse battery"}
    return CliRunner().invoke(main, list(words), env=environment)


def _json(url: str, *words: str) -> Any:
    run = _run(url, *words, "--json")
    assert run.exit_code == 0, run.output + run.stderr
    return json.loads(run.stdout)


def test_the_command_line_from_the_dry_run_to_the_receipt(
    people: Connection, url: str, tmp_path: Path
) -> None:
    ids = tmp_path / "ids.csv"
    ids.write_text(f"email,customer\n{MAIL},\nnobody@x.example,\n")
    package = tmp_path / "package"
    run = _run(url, "access", "create", "--subject", f"email={MAIL}", str(package))
    assert run.exit_code == 0, run.output + run.stderr
    moment = to_datetime(_journal(people).clock.now())
    opened = open_package(package.read_bytes(), "correct horse battery", moment)
    assert TOKEN in opened.files["public.people.jsonl"].decode().lower()
    (planned,) = _json(url, "erase", "submit", "--file", str(ids), "--dry-run")
    assert planned["targets"][0]["versions_removed"] == 12
    assert _json(url, "erase", "list") == []
    (accepted,) = _json(url, "erase", "submit", "--file", str(ids), "--reason", "t 1")
    assert accepted["state"] == "ACCEPTED"
    assert _json(url, "erase", "cancel", accepted["id"])[0]["state"] == "CANCELLED"
    _json(url, "erase", "submit", "--subject", f"email={MAIL}")
    (_, done) = _json(url, "erase", "run")
    assert (done["state"], done["targets"][0]["outcome"]) == ("COMPLETED", "ERASED")
    assert "public.people: ERASED" in _run(url, "erase", "status", done["id"][:6]).stdout
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
    assert _json(url, "erase", "scope", "--deny", "public.people")["deny"] == ["public.people"]
    denied = _run(url, "erase", "submit", "--subject", f"email={MAIL}")
    assert denied.exit_code == 1


def test_keys_of_types_that_arrow_borrows(con: Connection) -> None:
    con.execute("CREATE TABLE u (id UUID, n NUMERIC(20, 3), email VARCHAR, PRIMARY KEY (id, n))")
    ids = [f"00000000-0000-0000-0000-00000000000{n}" for n in range(3)]
    for one in ids:
        con.execute(f"INSERT INTO u VALUES ('{one}', 1.5, 'of {one}')")
    con.execute(f"UPDATE u SET email = 'new' WHERE id = '{ids[0]}'")
    con.execute("ALTER TABLE u SET TBLPROPERTIES ('erasure' = 'email')")
    assert con.execute(f"ERASE FROM u WHERE id = '{ids[0]}'").fetchall()[0][4] == 1
    _submit(con, f"of {ids[1]}")
    assert con.execute("SELECT email FROM u").fetchall() == [(f"of {ids[2]}",)]
