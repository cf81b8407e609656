"""Processes that run in the store of a profile: effects once, behind a fence there (ADR 0163)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.errors import Error
from gateway.governance import instance_fences, process_statements, runs_elsewhere, settling
from gateway.governance.declarations import Declaration
from gateway.governance.entity import Entity, EntityKind
from gateway.governance.entity_operations import (
    delete_entity,
    submit_entities,
    update_entities,
)
from gateway.governance.entity_scheduling import resume_entities, suspend_entities
from gateway.governance.entity_schema import read_entity
from gateway.governance.instance_operations import (
    change_instances,
    find_instances,
    instance_attempts,
)
from gateway.governance.instance_states import InstanceEvent
from gateway.governance.instance_transitions import changed_instance
from gateway.governance.process_scheduler import ProcessScheduler
from gateway.session.operations import no_progress
from journal.model.errors import Code, PalimpsestError
from journal.records import instance_rows
from journal.records.instance_rows import InstanceFilter
from tests.support.processes import day, flights, make_tables, process, run, schedule, seen, states

FENCES = "SELECT instance, fence, run, state FROM _palimpsest.instance_fences ORDER BY instance"
INSERT = "INSERT INTO delays SELECT day, delay, $instance FROM flights"
DAYS = [("daily@2013-01-02T00:00Z", 1)]


def profile(url: str, name: str = "west") -> Entity:
    return read_entity(Declaration({"kind": "profile", "name": name, "url": url}))


def fences(con: Connection) -> list[tuple[Any, ...]]:
    with con.session.journal.reading_session() as records:
        return records.text(FENCES)


def made(con: Connection) -> list[tuple[Any, ...]]:
    found = con.execute("SELECT made_by, count(*) FROM delays GROUP BY made_by ORDER BY made_by")
    return found.fetchall()


@pytest.fixture
def place(tmp_path: Path) -> str:
    return f"palimpsest:///{tmp_path}/west"


@pytest.fixture
def west(place: str) -> Iterator[Connection]:
    with gateway.connect(place, autocommit=True) as con:
        make_tables(con)
        con.execute("INSERT INTO flights VALUES (DATE '2013-01-01', 7)")
        yield con


@pytest.fixture
def control(tmp_path: Path, west: Connection, place: str) -> Iterator[Connection]:
    """The control store, with a process that runs in the west for a single day."""
    with gateway.connect(f"palimpsest:///{tmp_path}/control", autocommit=True) as con:
        daily = process(sql=INSERT, inputs=None, profile="west", end="2013-01-03")
        schedule(con, day(1), profile(place), daily)
        yield con


def kill(con: Connection, event: InstanceEvent = InstanceEvent.KILL) -> str:
    (change,) = change_instances(con.session, no_progress, event, "daily", day(2))
    return change.after


def test_a_process_runs_where_its_profile_says(control: Connection, west: Connection) -> None:
    (ran,) = run(control, day(2))
    assert (ran.state, ran.error) == ("SUCCEEDED", None)
    assert made(west) == DAYS
    assert fences(west) == []  # The mark went when the control store had it.
    (row,) = find_instances(control.session, no_progress, InstanceFilter())
    assert (row.profile, row.unsettled, row.state) == ("west", False, "SUCCEEDED")
    shown = control.execute("SELECT profile, state FROM system.instances").fetchall()
    assert shown == [("west", "SUCCEEDED")]
    assert control.execute("SHOW TABLES").fetchall() == []
    # The data's store names the instance: in its commits, its audit log and its lineage.
    name = "palimpsest process daily@2013-01-02T00:00Z"
    found = west.execute(
        "SELECT application FROM system.transactions ORDER BY version DESC LIMIT 1"
    )
    assert found.fetchall() == [(name,)]
    with west.session.journal.reading_session() as records:
        audit = records.text("SELECT action, object FROM _palimpsest.audit ORDER BY seq")
    assert audit[-1] == ("instance.commit", "daily@2013-01-02T00:00Z")
    (attempt,) = instance_attempts(control.session, no_progress, "daily", day(2))
    assert attempt.state == "SUCCEEDED"
    # Somebody asks for it again: another run, whose effects come on top.
    assert kill(control, InstanceEvent.RERUN) == "WAITING"
    assert seen(run(control, day(2, 1))) == [(2, "SUCCEEDED")]
    assert made(west) == [("daily@2013-01-02T00:00Z", 2)]


def test_what_is_killed_before_it_commits_commits_nothing(
    control: Connection, west: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = process_statements.run_statements

    def killed_first(own: Any, *given: Any) -> int:
        commit = own.commit

        def killed() -> None:
            assert kill(control) == "KILLED"
            commit()

        own.commit = killed
        return real(own, *given)

    monkeypatch.setattr(instance_fences, "run_statements", killed_first)
    (ran,) = run(control, day(2))
    assert (ran.state, ran.error) == ("KILLED", None)
    assert made(west) == []
    assert [row[3] for row in fences(west)] in ([], ["CLOSED"])
    monkeypatch.undo()
    assert kill(control, InstanceEvent.RERUN) == "WAITING"
    assert seen(run(control, day(2, 1))) == [(2, "SUCCEEDED")]
    assert made(west) == DAYS
    assert fences(west) == []


def test_a_commit_whose_answer_was_lost_is_found(
    control: Connection, west: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_given: object) -> bool:
        raise PalimpsestError(Code.STORE_LOST, "gone", advice="")

    with monkeypatch.context() as patch:
        patch.setattr(runs_elsewhere, "record_mark", lost)
        patch.setattr(settling, "close_fence", lost)
        (ran,) = run(control, day(2))
    # Neither the mark nor its absence could be read: it is neither ended nor forgotten.
    assert ran.state == "READY"
    (row,) = find_instances(control.session, no_progress, InstanceFilter())
    assert row.unsettled
    assert [r[1:] for r in fences(west)] == [(1, 1, "COMMITTED")] or fences(west)[0][
        3
    ] == "COMMITTED"
    # Whoever wants to stop it finds that it has succeeded.
    assert kill(control) == "SUCCEEDED"
    assert made(west) == DAYS
    assert fences(west) == []
    assert run(control, day(2, 5)) == []


def test_the_next_attempt_finds_the_mark(
    control: Connection, west: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_given: object) -> bool:
        raise PalimpsestError(Code.STORE_LOST, "gone", advice="")

    with monkeypatch.context() as patch:
        patch.setattr(runs_elsewhere, "record_mark", lost)
        patch.setattr(settling, "close_fence", lost)
        run(control, day(2))
    (ran,) = run(control, day(2, 1))
    assert (ran.state, ran.error) == ("SUCCEEDED", None)
    assert made(west) == DAYS
    assert fences(west) == []
    last = instance_attempts(control.session, no_progress, "daily", day(2))[-1]
    assert any("nothing runs again" in line for line in last.log), last.log


def _lose_runner(con: Connection) -> None:
    """Let the scheduler of the attempt that runs be taken for dead."""
    with con.session.journal.exclusive_session() as records:
        row = instance_rows.load_instance(records, DAYS[0][0])
        assert row is not None
        assert changed_instance(records, row, InstanceEvent.LOSE_RUNNER, day(2)) is not None
        records.commit()


@pytest.mark.parametrize("moment", ["before its fence", "before its commit"])
def test_who_was_taken_for_dead_commits_nothing(
    control: Connection, west: Connection, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    module, name = {
        "before its fence": (runs_elsewhere, "open_fence"),
        "before its commit": (process_statements, "_run_once"),
    }[moment]
    real = getattr(module, name)

    def overtaken(first: Any, *given: Any) -> Any:
        monkeypatch.undo()
        if module is process_statements:
            commit = first.commit

            def late() -> None:
                another()
                commit()

            first.commit = late
        else:
            another()
        return real(first, *given)

    def another() -> None:
        _lose_runner(control)
        with ProcessScheduler(lambda: control.session, now=lambda: day(2, 1)) as second:
            second._memory.has_made = True
            runs = second.once()
        assert seen(runs) == [(2, "SUCCEEDED")]
        assert fences(west) == []  # Not even what it would be fenced by is there any more.

    monkeypatch.setattr(module, name, overtaken)
    (ran,) = [one for one in run(control, day(2)) if one.attempt == 1]
    assert (ran.state, ran.error) == ("SUCCEEDED", None)  # The other one has.
    assert made(west) == DAYS
    assert run(control, day(2, 2)) == []  # This look clears what is left.
    assert fences(west) == []


def test_a_store_that_is_away_is_told_and_waited_for(
    control: Connection, west: Connection, place: str, tmp_path: Path
) -> None:
    west.close()
    folder = tmp_path / "west"
    shutil.move(folder, tmp_path / "away")
    (ran,) = run(control, day(2))
    assert ran.state == "FAILED"
    assert ran.error is not None
    assert ran.error.code.value.code == "PAL-624"
    assert "profile west" in ran.error.message
    assert not folder.exists()  # Nothing was made in its place.
    # It never began there, so that nothing needs to be asked to stop it or to run it again.
    assert kill(control, InstanceEvent.RERUN) == "WAITING"
    assert kill(control) == "KILLED"
    shutil.move(tmp_path / "away", folder)
    assert kill(control, InstanceEvent.RERUN) == "WAITING"
    assert seen(run(control, day(2, 1))) == [(2, "SUCCEEDED")]
    with gateway.connect(place, autocommit=True) as con:
        assert made(con) == DAYS


def test_what_may_have_committed_is_not_stopped_blindly(
    control: Connection, west: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_given: object) -> bool:
        raise PalimpsestError(Code.STORE_LOST, "gone", advice="")

    with monkeypatch.context() as patch:
        patch.setattr(runs_elsewhere, "record_mark", lost)
        patch.setattr(settling, "close_fence", lost)
        run(control, day(2))
    west.close()
    shutil.move(tmp_path / "west", tmp_path / "away")
    with pytest.raises(PalimpsestError, match="profile west cannot be reached"):
        kill(control)
    suspended = suspend_entities(control.session, no_progress, [(EntityKind.PROCESS, "daily")])
    assert suspended[0].error is not None
    with pytest.raises(PalimpsestError, match="profile west cannot be reached"):
        delete_entity(control.session, no_progress, EntityKind.PROCESS, "daily")
    # Attempts in vain do not end it either, however often they are made.
    for hour in (1, 2, 30):
        assert all(
            one.state == "READY"
            for one in run(control, day(2, 0).replace(day=2 + hour // 24, hour=hour % 24))
        )
    assert [state for _, state in states(control)] == ["READY"]
    shutil.move(tmp_path / "away", tmp_path / "west")
    assert (
        suspend_entities(control.session, no_progress, [(EntityKind.PROCESS, "daily")])[0].error
        is None
    )
    assert [state for _, state in states(control)] == ["SUCCEEDED"]
    resume_entities(control.session, no_progress, [(EntityKind.PROCESS, "daily")])


def test_inputs_and_late_data_of_another_store(
    tmp_path: Path, west: Connection, place: str
) -> None:
    late = {"policy": "PERIODIC", "delay": "1 hour"}
    with gateway.connect(f"palimpsest:///{tmp_path}/control", autocommit=True) as con:
        text = "INSERT INTO delays VALUES (NULL, 1, $instance)"
        days = flights(profile="west", late_arrival="2 days")
        daily = process(sql=text, late_data=late, profile="west", end="2013-01-04")
        schedule(con, day(1), profile(place), days, daily)
        assert seen(run(con, day(3))) == [(2, "SUCCEEDED")]
        assert states(con) == [(2, "SUCCEEDED"), (3, "WAITING")]
        west.execute("INSERT INTO flights VALUES (DATE '2013-01-02', 1)")
        assert seen(run(con, day(3, 1))) == [(3, "SUCCEEDED")]
        west.execute("INSERT INTO flights VALUES (DATE '2013-01-02', 5)")
        assert seen(run(con, day(3, 3))) == [(3, "SUCCEEDED")]
        assert west.execute("SELECT count(*) FROM delays").fetchall() == [(3,)]
        assert fences(west) == []


def test_jobs_run_there_too(tmp_path: Path, west: Connection, place: str) -> None:
    with gateway.connect(f"palimpsest:///{tmp_path}/control", autocommit=True) as con:
        job = {"kind": "compact", "tables": ["flights"]}
        tidy = process(sql=None, job=job, inputs=None, profile="west", end="2013-01-03")
        schedule(con, day(1), profile(place), tidy)
        assert seen(run(con, day(2))) == [(2, "SUCCEEDED")]
        assert con.execute("SELECT count(*) FROM system.jobs").fetchall() == [(0,)]
    assert west.execute("SELECT kind FROM system.jobs").fetchall() == [("compact",)]


def test_two_control_stores_with_processes_of_one_name(
    tmp_path: Path, control: Connection, west: Connection, place: str
) -> None:
    with gateway.connect(f"palimpsest:///{tmp_path}/other", autocommit=True) as other:
        text = "INSERT INTO delays VALUES (NULL, 1, 'other')"
        daily = process(sql=text, inputs=None, profile="west", end="2013-01-03")
        schedule(other, day(1), profile(place), daily)
        assert seen(run(control, day(2))) == seen(run(other, day(2))) == [(2, "SUCCEEDED")]
    assert made(west) == [*DAYS, ("other", 1)]


def test_wrong_declarations_are_refused(control: Connection) -> None:
    def problem(entity: Entity, change: Any = submit_entities) -> str:
        (result,) = change(control.session, no_progress, [entity])
        assert result.error is not None
        return str(result.error.message)

    nowhere = process("other", sql=INSERT, inputs=None, profile="east")
    assert "refers to profile east, which does not exist" in problem(nowhere)
    moved = process(sql=INSERT, inputs=None, end="2013-01-03")
    assert "the profile cannot change from west" in problem(moved, update_entities)
    with pytest.raises((Error, PalimpsestError), match="process daily depend"):
        delete_entity(control.session, no_progress, EntityKind.PROFILE, "west")
