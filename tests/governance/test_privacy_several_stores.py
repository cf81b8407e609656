"""Requests of people over several stores: one request, one receipt, one status, one package."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.errors import Error
from gateway.governance.declarations import Declaration
from gateway.governance.entity_operations import submit_entities
from gateway.governance.entity_schema import read_entity
from gateway.privacy_desk import decisions, evidence, questions, restricting_steps, running
from gateway.privacy_desk.desk_policy import PrivacyAction
from gateway.privacy_desk.questions import FollowedRequest
from gateway.privacy_desk.submission import NewRequest, SubmissionTerms, submit
from gateway.session.operations import no_progress
from journal.model.errors import Code, PalimpsestError
from journal.records import privacy_rows as rows_of
from journal.records.privacy_rows import PrivacyRequest
from tests.governance.test_privacy_killed import places_of
from tests.support.replicated import opened, replicated, rows, with_people

ADA, BOB = "ada.lovelace.4711@x.example", "bob@x.example"
STORES = ("east", "west")


def url(folder: Path, name: str) -> str:
    return f"palimpsest:///{folder}/{name}"


def fill(con: Connection, *, erasure: str = "email LOWER") -> None:
    con.execute(
        "CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR, dept INTEGER)"
        f" WITH (erasure = '{erasure}')"
    )
    con.execute(f"INSERT INTO people VALUES (1, '{ADA}', 1), (2, '{BOB}', 2)")


def declare(con: Connection, *profiles: tuple[str, str]) -> None:
    entities = [
        read_entity(Declaration({"kind": "profile", "name": name, "url": where}))
        for name, where in profiles
    ]
    for result in submit_entities(con.session, no_progress, entities):
        assert result.error is None, result.error


@pytest.fixture
def control(tmp_path: Path) -> Iterator[Connection]:
    """The control store of an east and a west, each with the same two people."""
    for name in STORES:
        with gateway.connect(url(tmp_path, name), autocommit=True) as con:
            fill(con)
    with gateway.connect(url(tmp_path, "control"), autocommit=True) as con:
        declare(con, *((name, url(tmp_path, name)) for name in STORES))
        yield con


@pytest.fixture
def kept_open(control: Connection, tmp_path: Path) -> Iterator[None]:
    """The stores of the profiles stay open, so that nothing is opened again and again."""
    with ExitStack() as stack:
        for name in STORES:
            stack.enter_context(gateway.connect(url(tmp_path, name), autocommit=True))
        yield


def ask(
    con: Connection,
    action: PrivacyAction = PrivacyAction.ERASURE,
    stores: tuple[str, ...] = STORES,
    person: tuple[str, str] = ("email", ADA),
    **more: Any,
) -> PrivacyRequest:
    terms = SubmissionTerms(action, stores=stores, **more)
    values = (("dept", "7"),) if action is PrivacyAction.RECTIFICATION else ()
    (made,) = submit(con.session, no_progress, terms, [NewRequest((person,), "T-1", values)])
    return made


def run(con: Connection) -> list[str]:
    return [batch.step for batch in running.run(con.session, no_progress)]


def shown(con: Connection, request: PrivacyRequest) -> FollowedRequest:
    return questions.show_request(con.session, no_progress, request.id)


def stores_in(con: Connection, request: PrivacyRequest) -> dict[str, Any]:
    batch = shown(con, request).batch
    assert batch is not None
    return dict(batch.detail["stores"])


def query(folder: Path, name: str, text: str) -> list[tuple[Any, ...]]:
    with gateway.connect(url(folder, name), autocommit=True) as con:
        return list(con.execute(text).fetchall())


def ids(folder: Path, name: str) -> list[int]:
    return [row[0] for row in query(folder, name, "SELECT id FROM people ORDER BY id")]


def requests_in(folder: Path, name: str) -> list[tuple[Any, ...]]:
    return query(folder, name, "SELECT action, state FROM system.privacy_requests")


@pytest.mark.long
def test_an_erasure_is_one_request_and_reaches_each_store(
    control: Connection, tmp_path: Path
) -> None:
    request = ask(control)
    (planned,) = running.plan(control.session, no_progress)
    assert (planned.keys, planned.tables) == (2, ("east:main.people", "west:main.people"))
    assert requests_in(tmp_path, "west") == []
    assert run(control) == ["COMPLETED"]
    assert [ids(tmp_path, name) for name in STORES] == [[2], [2]]
    view = shown(control, request)
    assert view.request.state == "COMPLETED"
    assert view.batch is not None
    told = {r["table"]: (r["keys"], r["outcome"]) for r in view.batch.detail["receipts"]}
    assert told == {"east:main.people": (1, "ERASED"), "west:main.people": (1, "ERASED")}
    for name in ("control", *STORES):
        assert places_of(ADA, tmp_path / name) == []
    assert requests_in(tmp_path, "west") == [("erasure", "COMPLETED")]
    assert run(control) == []


@pytest.mark.usefixtures("kept_open")
@pytest.mark.slow
def test_all_stores_are_the_own_one_and_those_of_profiles(
    control: Connection, tmp_path: Path
) -> None:
    fill(control)
    # The east has a second name: it has one part all the same.
    declare(control, ("orient", url(tmp_path, "east")))
    request = ask(control, stores=("*",))
    assert run(control) == ["COMPLETED"]
    assert control.execute("SELECT id FROM people").fetchall() == [(2,)]
    assert [ids(tmp_path, name) for name in STORES] == [[2], [2]]
    assert sorted(stores_in(control, request)) == [".", "east", "orient", "west"]
    view = shown(control, request)
    assert view.batch is not None
    assert len(view.batch.detail["receipts"]) == 3
    assert len(requests_in(tmp_path, "east")) == 1


@pytest.mark.usefixtures("kept_open")
@pytest.mark.slow
def test_a_store_that_knows_nobody_by_the_type_has_no_part(
    control: Connection, tmp_path: Path
) -> None:
    with gateway.connect(url(tmp_path, "north"), autocommit=True) as con:
        con.execute("CREATE TABLE weather (day DATE)")
    declare(control, ("north", url(tmp_path, "north")))
    request = ask(control, stores=("*",))
    assert run(control) == ["COMPLETED"]
    assert "states" in stores_in(control, request)["west"]
    assert requests_in(tmp_path, "north") == []
    # Whoever names a store wants something done there: it is not passed over.
    named = ask(control, stores=("west", "north"), person=("email", BOB))
    assert run(control) == ["PARTIAL"]
    view = shown(control, named)
    assert view.batch is not None
    assert list(view.batch.detail["uncovered"]) == ["north"]
    questions.waive(control.session, no_progress, named.id, ["north"], "only weather")
    assert run(control) == ["COMPLETED"]
    with pytest.raises(PalimpsestError, match="no table identifies people by phone") as refused:
        ask(control, stores=("*",), person=("phone", "1"))
    assert refused.value.code is Code.PRIVACY_REQUEST


@pytest.mark.long
def test_a_store_that_is_away_makes_the_request_wait(control: Connection, tmp_path: Path) -> None:
    request = ask(control)
    shutil.move(tmp_path / "west", tmp_path / "gone")
    assert run(control) == ["EXECUTING"]
    assert ids(tmp_path, "east") == [2]
    view = shown(control, request)
    assert view.request.state == "EXECUTING"
    assert view.batch is not None
    assert view.batch.detail["waits_for"].startswith("west: the store of profile west cannot be")
    assert view.batch.detail["stores"]["east"]["states"] == {"COMPLETED": 1}
    # The deadline is still the request's.
    assert [one.request.id for one in questions.due_requests(control.session, no_progress)] == [
        request.id
    ]
    shutil.move(tmp_path / "gone", tmp_path / "west")
    assert run(control) == ["COMPLETED"]
    assert ids(tmp_path, "west") == [2]
    assert requests_in(tmp_path, "east") == [("erasure", "COMPLETED")]


@pytest.mark.long
def test_a_store_that_is_no_more_is_waived(control: Connection, tmp_path: Path) -> None:
    request = ask(control)
    shutil.rmtree(tmp_path / "west")
    assert run(control) == ["EXECUTING"]
    questions.waive(control.session, no_progress, request.id, ["west"], "sold")
    assert run(control) == ["COMPLETED"]
    assert stores_in(control, request)["west"] == {"waived": f"sold (by {request.requested_by})"}


@pytest.mark.long
@pytest.mark.usefixtures("kept_open")
def test_the_other_hand_is_needed_once(control: Connection, tmp_path: Path) -> None:
    for name in ("control", *STORES):
        with gateway.connect(url(tmp_path, name), autocommit=True) as con:
            settings = {"four_eyes": "erasure", "identity_checks": "erasure"}
            decisions.change_policy(con.session, no_progress, settings)
    request = ask(control)
    assert request.state == "IDENTITY_UNVERIFIED"
    decisions.verify_identity(control.session, no_progress, [request.id], None)
    with pytest.raises(PalimpsestError, match="somebody else"):
        decisions.approve(control.session, no_progress, [request.id], None)
    assert run(control) == []
    assert requests_in(tmp_path, "west") == []
    with gateway.connect(url(tmp_path, "control"), user="bea", autocommit=True) as con:
        decisions.approve(con.session, no_progress, [request.id], None)
    assert run(control) == ["COMPLETED"]
    who = "SELECT requested_by, approved_by FROM _palimpsest.privacy_requests"
    with gateway.connect(url(tmp_path, "west"), autocommit=True) as con:
        with con.session.journal.reading_session() as records:
            assert records.text(who) == [(request.requested_by, "bea")]


@pytest.mark.usefixtures("kept_open")
@pytest.mark.slow
def test_a_gate_of_a_store_is_passed_there_if_the_control_store_has_none(
    control: Connection, tmp_path: Path
) -> None:
    with gateway.connect(url(tmp_path, "west"), autocommit=True) as con:
        decisions.change_policy(con.session, no_progress, {"four_eyes": "erasure"})
    request = ask(control)
    assert run(control) == ["EXECUTING"]
    view = shown(control, request)
    assert view.batch is not None
    assert view.batch.detail["waits_for"] == "west: PENDING_APPROVAL"
    assert ids(tmp_path, "west") == [1, 2]
    (later,) = decisions.extend(control.session, no_progress, [request.id], "2 months", "many")
    assert run(control) == ["EXECUTING"]
    with gateway.connect(url(tmp_path, "west"), user="bea", autocommit=True) as con:
        (part,) = questions.list_requests(con.session, no_progress)
        assert part.due_at == later.due_at
        decisions.approve(con.session, no_progress, [part.id], None)
    assert run(control) == ["COMPLETED"]
    assert ids(tmp_path, "west") == [2]


@pytest.mark.long
@pytest.mark.usefixtures("kept_open")
def test_a_cancellation_and_a_denial_reach_the_parts(control: Connection, tmp_path: Path) -> None:
    with gateway.connect(url(tmp_path, "west"), autocommit=True) as con:
        decisions.change_policy(con.session, no_progress, {"four_eyes": "all"})
    first = ask(control, PrivacyAction.RESTRICTION, ("west",))
    second = ask(control, PrivacyAction.RESTRICTION, ("west",), ("email", BOB))
    assert run(control) == ["EXECUTING", "EXECUTING"]
    (one,) = decisions.cancel(control.session, no_progress, [first.id], None)
    (other,) = decisions.deny(control.session, no_progress, [second.id], "not theirs")
    assert (one.state, other.state) == ("CANCELLED", "DENIED")
    states = sorted(requests_in(tmp_path, "west"))
    assert states == [("restriction", "CANCELLED"), ("restriction", "DENIED")]
    assert run(control) == []
    with control.session.journal.reading_session() as records:
        named = rows_of.identities_of(records, [first.id, second.id])
    assert [one.sealed for one in named] == [None, None]


@pytest.mark.slow
def test_what_is_done_in_one_store_is_not_called_cancelled(
    control: Connection, tmp_path: Path
) -> None:
    request = ask(control)
    shutil.move(tmp_path / "west", tmp_path / "gone")
    assert run(control) == ["EXECUTING"]
    with pytest.raises(PalimpsestError, match="profile west cannot be reached"):
        decisions.cancel(control.session, no_progress, [request.id], None)
    shutil.move(tmp_path / "gone", tmp_path / "west")
    # The east has erased already. The west takes no part any more; nothing is said to be undone.
    (after,) = decisions.cancel(control.session, no_progress, [request.id], None)
    assert after.state == "EXECUTING"
    assert run(control) == ["PARTIAL"]
    assert ids(tmp_path, "west") == [1, 2]
    view = shown(control, request)
    assert view.batch is not None
    assert list(view.batch.detail["uncovered"]) == ["west"]


@pytest.mark.long
def test_exports_become_one_file_which_each_store_removes(
    control: Connection, tmp_path: Path
) -> None:
    request = ask(control, PrivacyAction.ACCESS)
    assert run(control) == ["COMPLETED"]
    goal = tmp_path / "ada.zip"
    export = questions.export_of(control.session, no_progress, request.id, str(goal))
    assert export.rows == 2
    with ZipFile(io.BytesIO(goal.read_bytes())) as read:
        names = sorted(read.namelist())
        lines = [json.loads(line) for line in read.read("west/main.people.jsonl").splitlines()]
        manifest = json.loads(read.read("manifest.json"))
    assert names == [
        *("east/main.people.csv", "east/main.people.jsonl", "manifest.json"),
        *("west/main.people.csv", "west/main.people.jsonl"),
    ]
    assert [line["email"] for line in lines] == [ADA]
    assert sorted(manifest["stores"]) == ["east", "west"]
    assert places_of(ADA, tmp_path / "control") == []
    for name in STORES:
        assert not list((tmp_path / name / "_palimpsest" / "exports").glob("*"))
    # Somebody erases her in the west alone: what it gave away goes as well.
    with gateway.connect(url(tmp_path, "west"), autocommit=True) as con:
        ask(con, stores=())
        assert run(con) == ["COMPLETED"]
    assert not goal.exists()
    with pytest.raises(PalimpsestError) as gone:
        questions.export_of(control.session, no_progress, request.id, None)
    assert gone.value.code is Code.FILE_ACCESS


@pytest.mark.long
@pytest.mark.usefixtures("kept_open")
def test_a_restriction_is_lifted_everywhere(control: Connection, tmp_path: Path) -> None:
    request = ask(control, PrivacyAction.RESTRICTION)
    assert run(control) == ["COMPLETED"]
    assert [ids(tmp_path, name) for name in STORES] == [[2], [2]]
    restricting_steps.lift(control.session, no_progress, [request.id], None)
    assert [ids(tmp_path, name) for name in STORES] == [[1, 2], [1, 2]]


@pytest.mark.usefixtures("kept_open")
def test_a_rectification_writes_where_the_table_is(control: Connection, tmp_path: Path) -> None:
    with gateway.connect(url(tmp_path, "east"), autocommit=True) as con:
        con.execute("ALTER TABLE people RENAME TO persons")
    ask(control, PrivacyAction.RECTIFICATION, ("*",), tables=("people",))
    assert run(control) == ["COMPLETED"]
    assert query(tmp_path, "west", "SELECT dept FROM people WHERE id = 1") == [(7,)]
    assert query(tmp_path, "east", "SELECT dept FROM persons WHERE id = 1") == [(1,)]


@pytest.mark.usefixtures("kept_open")
@pytest.mark.slow
def test_what_fails_in_one_store_goes_on_there(
    control: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = ask(control)
    real = running.erasing_steps.execute

    def fails_in_the_west(desk: Any, batch: Any, advance: Any) -> Any:
        if "west" in str(desk.session.place):
            raise PalimpsestError(Code.FILE_ACCESS, f"no room for {ADA}", advice="make some")
        return real(desk, batch, advance)

    with monkeypatch.context() as patched:
        patched.setattr(running.erasing_steps, "execute", fails_in_the_west)
        assert run(control) == ["FAILED"]
    view = shown(control, request)
    assert view.batch is not None
    assert view.batch.detail["error"]["code"] == Code.FILE_ACCESS.value.code
    assert view.batch.detail["error"]["message"] == "west: no room for ***"
    assert view.batch.detail["stores"]["east"]["states"] == {"COMPLETED": 1}
    assert run(control) == ["COMPLETED"]
    assert len(requests_in(tmp_path, "east")) == 1


@pytest.mark.long
@pytest.mark.usefixtures("kept_open")
def test_a_hold_in_one_store_holds_the_request(control: Connection, tmp_path: Path) -> None:
    with gateway.connect(url(tmp_path, "west"), autocommit=True) as con:
        (hold,) = con.execute("CALL system.hold(table => 'people', reason => 'case')").fetchall()
    request = ask(control)
    assert run(control) == ["ON_HOLD"]
    assert shown(control, request).request.state == "ON_HOLD"
    assert ids(tmp_path, "east") == [2]
    with gateway.connect(url(tmp_path, "west"), autocommit=True) as con:
        con.execute("CALL system.release(?)", [hold[0]])
    assert run(control) == ["COMPLETED"]


@pytest.mark.usefixtures("kept_open")
def test_the_same_key_gives_the_same_request(control: Connection) -> None:
    first = ask(control, idempotency_key="june")
    assert ask(control, idempotency_key="june").id == first.id
    twin = ask(control)
    assert (twin.state, twin.detail["duplicate_of"]) == ("DUPLICATE", first.id)
    # One store alone is another question.
    assert ask(control, stores=("west",)).state == "QUEUED"


@pytest.mark.slow
def test_a_type_that_is_described_later_is_searched_for_too(
    control: Connection, tmp_path: Path
) -> None:
    shutil.move(tmp_path / "west", tmp_path / "gone")
    terms = SubmissionTerms(PrivacyAction.ERASURE, stores=STORES)
    person = (("email", ADA), ("badge", "B-1"))
    (made,) = submit(control.session, no_progress, terms, [NewRequest(person)])
    assert run(control) == ["EXECUTING"]
    shutil.move(tmp_path / "gone", tmp_path / "west")
    assert run(control) == ["FAILED"]
    with gateway.connect(url(tmp_path, "east"), autocommit=True) as con:
        con.execute("CREATE TABLE badges (badge VARCHAR) WITH (erasure = 'badge')")
        con.execute("INSERT INTO badges VALUES ('B-1'), ('B-2')")
    assert run(control) == ["COMPLETED"]
    assert query(tmp_path, "east", "SELECT badge FROM badges") == [("B-2",)]
    assert shown(control, made).request.state == "COMPLETED"


@pytest.mark.long
def test_evidence_holds_that_of_each_store(control: Connection, tmp_path: Path) -> None:
    request = ask(control)
    run(control)
    data = evidence.make_evidence(control.session, no_progress, request.id)
    with ZipFile(io.BytesIO(data)) as read:
        inner = [name for name in read.namelist() if name.startswith("stores/")]
    assert sorted(name.split("/")[1] for name in inner) == ["east", "west"]
    checked = evidence.check_evidence(control.session, no_progress, data)
    assert checked.problems == ()
    shutil.move(tmp_path / "west", tmp_path / "gone")
    checked = evidence.check_evidence(control.session, no_progress, data)
    assert [problem.split(":")[0] for problem in checked.problems] == ["west"]


@pytest.mark.long
@pytest.mark.usefixtures("kept_open")
def test_the_policy_says_where_requests_go_that_name_no_store(
    control: Connection, tmp_path: Path
) -> None:
    fill(control)
    control.execute("CREATE ROLE clerk")
    control.execute("GRANT ERASE ON SYSTEM TO clerk")
    control.execute("SET ROLE clerk")
    with pytest.raises(PalimpsestError) as refused:
        ask(control, stores=("west",))
    assert refused.value.code is Code.PRIVILEGE
    control.execute("RESET ROLE")
    decisions.change_policy(control.session, no_progress, {"stores": "*"})
    control.execute("SET ROLE clerk")
    call = f"CALL system.privacy_submit(action => 'erasure', subject => 'email={ADA}')"
    assert [row[2] for row in control.execute(call).fetchall()] == ["QUEUED"]
    control.execute("RESET ROLE")
    ask(control, PrivacyAction.ACCESS, (), ("email", BOB))
    control.execute("SET ROLE clerk")
    assert run(control) == ["COMPLETED", "COMPLETED"]
    control.execute("RESET ROLE")
    assert control.execute("SELECT id FROM people").fetchall() == [(2,)]
    assert [ids(tmp_path, name) for name in STORES] == [[2], [2]]
    with pytest.raises(PalimpsestError, match="profile north does not exist"):
        decisions.change_policy(control.session, no_progress, {"stores": "north"})


def test_a_scheduler_takes_up_what_waits_for_a_store(control: Connection, tmp_path: Path) -> None:
    received = datetime(2013, 1, 1, tzinfo=UTC)  # It is overdue, and so its batch is due.
    ask(control, received_at=received)
    shutil.move(tmp_path / "west", tmp_path / "gone")
    done = running.run(control.session, no_progress, only_due=True)
    assert [batch.step for batch in done] == ["EXECUTING"]
    # It was just looked at.
    assert running.run(control.session, no_progress, only_due=True) == []


@pytest.mark.usefixtures("kept_open")
def test_an_unknown_store_is_refused(control: Connection) -> None:
    with pytest.raises((PalimpsestError, Error), match="profile north does not exist"):
        ask(control, stores=("north",))


@pytest.mark.slow
def test_a_replica_is_erased_and_corrected_through_its_source(tmp_path: Path) -> None:
    with opened(tmp_path / "source") as source, opened(tmp_path / "target") as target:
        with_people(source, 10)
        replicated(source, tmp_path / "target")
        declare(source, ("mirror", url(tmp_path, "target")))
        person = ("email", "p5@x.org")
        ask(source, PrivacyAction.RECTIFICATION, ("*",), person, tables=("hr.people",))
        assert run(source) == ["COMPLETED"]
        replicated(source, tmp_path / "target")
        found = "SELECT dept FROM hr.people WHERE id = 5"
        assert rows(target, found) == [(7,)]
        ask(source, PrivacyAction.ERASURE, ("*",), person)
        assert run(source) == ["EXECUTING"]  # The source waits until its replica is made anew.
        assert rows(target, found) == []
        replicated(source, tmp_path / "target")
        assert set(run(source)) == {"COMPLETED"}  # The own part goes on by itself, too.
        assert rows(target, found) == []
