"""Operations of several transactions happen whole or not at all, also by kills (row F10)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.governance import scheduled_submissions
from gateway.governance.declarations import Declaration
from gateway.governance.entity import Entity, EntityKind
from gateway.governance.entity_operations import list_entities, update_entities
from gateway.governance.entity_scheduling import entity_status
from gateway.governance.entity_schema import read_entity
from gateway.governance.scheduled_submissions import submit_and_schedule, undo_interrupted
from gateway.session.operations import no_progress
from journal.model.errors import Code, PalimpsestError
from tests.support.declared import dataset
from tests.support.killed_step import run_killed

MODULE = "gateway.governance.scheduled_submissions"
JOURNAL = "gateway.governance.undoable_operations"
STEPS = {
    "before it is noted": (JOURNAL, "add_operation", 1, 0),
    "before the first submission": (MODULE, "submit_entities", 1, 0),
    "between the submissions": (MODULE, "submit_entities", 2, 0),
    "after the submissions": (MODULE, "schedule_entities", 1, 0),
    "between the schedules": (MODULE, "schedule_entities", 2, 0),
    "after the schedules": (MODULE, "schedule_entities", 2, 1),
    "before the end is noted": (JOURNAL, "end_operation", 1, 0),
    "after the end is noted": (JOURNAL, "_end", 1, 1),
}
PROGRAM = """
import os, pkgutil, signal, sys
import gateway
from gateway.governance.scheduled_submissions import submit_and_schedule
from gateway.session.operations import no_progress
from tests.governance.test_undoable_operations import both

url, place, name, count, after = sys.argv[1:]
owner, left = pkgutil.resolve_name(place), int(count)
step = getattr(owner, name)

def killed(*given, **named):
    global left
    left -= 1
    if left == 0 and after == "0":
        os.kill(os.getpid(), signal.SIGKILL)
    done = step(*given, **named)
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return done

with gateway.connect(url, autocommit=True) as con:
    con.execute("CREATE TABLE t (a INTEGER)")
    setattr(owner, name, killed)
    submit_and_schedule(con.session, no_progress, both())
"""


def both() -> list[Entity]:
    """A process, and the dataset that it reads."""
    use = {"dataset": "t", "from": "today(0, 0)", "to": "today(0, 0)"}
    fields = {"kind": "process", "name": "daily", "every": "1 day", "start": "2013-01-01"}
    return [
        read_entity(Declaration({**fields, "sql": "SELECT 1", "inputs": [use]})),
        read_entity(dataset("t")),
    ]


def _states(con: Connection) -> dict[str, str]:
    return {one.name: one.state for one in entity_status(con.session, no_progress)}


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_f10_killed_anywhere_it_has_happened_or_not(tmp_path: Path, step: str) -> None:
    kill_a_submission(f"palimpsest:///{tmp_path}/warehouse", step)


def kill_a_submission(url: str, step: str) -> None:
    """Kill a process at a step of submitting and scheduling in a store, and look what is there."""
    run_killed(PROGRAM, url, *map(str, STEPS[step]))
    with gateway.connect(url, autocommit=True) as con:
        undone = undo_interrupted(con.session, no_progress)
        if step == "after the end is noted":
            assert _states(con) == {"t": "SCHEDULED", "daily": "SCHEDULED"}
        else:
            assert _states(con) == {}
            assert len(undone) == (step != "before it is noted")
        assert undo_interrupted(con.session, no_progress) == []
        submit_and_schedule(con.session, no_progress, both())
        assert _states(con) == {"t": "SCHEDULED", "daily": "SCHEDULED"}


@pytest.fixture
def con() -> Iterator[Connection]:
    with gateway.connect("palimpsest://", autocommit=True) as con:
        con.execute("CREATE TABLE t (a INTEGER)")
        yield con


def _events(con: Connection) -> list[str]:
    found = con.execute("SELECT name FROM system.events WHERE name LIKE 'operation.%'").fetchall()
    return [row[0] for row in found]


def test_f2_f10_what_fails_leaves_nothing_behind(con: Connection) -> None:
    lost = read_entity(dataset("lost"))
    with pytest.raises(PalimpsestError) as refused:
        submit_and_schedule(con.session, no_progress, [*both(), lost])
    assert refused.value.code is Code.UNKNOWN_TABLE
    assert _states(con) == {}
    assert _events(con) == ["operation.rolled_back"]
    submit_and_schedule(con.session, no_progress, both())
    outcomes = [r.outcome for r in submit_and_schedule(con.session, no_progress, both())]
    assert outcomes == ["UNCHANGED"] * 4
    with pytest.raises(PalimpsestError):
        submit_and_schedule(con.session, no_progress, [*both(), lost])
    assert _states(con) == {"t": "SCHEDULED", "daily": "SCHEDULED"}


def test_f10_what_cannot_be_undone_is_an_event(
    con: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile(*_given: object) -> None:
        changed = read_entity(dataset("t", owner="bob"))
        update_entities(con.session, no_progress, [changed])
        raise PalimpsestError(Code.STORE_WRITE, "the disk is full", advice="")

    monkeypatch.setattr(scheduled_submissions, "schedule_entities", meanwhile)
    with pytest.raises(PalimpsestError, match="the disk is full"):
        submit_and_schedule(con.session, no_progress, both())
    assert _events(con) == ["operation.rollback_failed"]
    assert [row.name for row in list_entities(con.session, no_progress, EntityKind.DATASET)] == [
        "t"
    ]
    assert undo_interrupted(con.session, no_progress) == []
