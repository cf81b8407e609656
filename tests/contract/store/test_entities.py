"""Declared entities lie in the records of every store, whole or not at all (rows F9 and F10)."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from gateway.dbapi.connection import Connection
from gateway.governance import entity_operations
from gateway.governance.declarations import Declaration
from gateway.governance.entity import Entity, EntityKind
from gateway.governance.entity_operations import (
    delete_entity,
    entity_history,
    list_entities,
    submit_entities,
    update_entities,
)
from gateway.governance.entity_schema import read_entity
from gateway.session.operations import no_progress
from journal.model.errors import Code, PalimpsestError
from journal.records.entity_rows import EntityRow
from tests.support.declared import dataset
from tests.support.stores.store import Capability, Store

pytestmark = pytest.mark.timeout(600)
DATASET, PROCESS = EntityKind.DATASET, EntityKind.PROCESS


def _dataset(**more: str) -> Entity:
    return read_entity(dataset("flights", **more))


def _process() -> Entity:
    use = {"dataset": "flights", "from": "today(0, 0)", "to": "today(0, 0)"}
    fields = {"kind": "process", "name": "daily", "every": "1 day", "start": "2013-01-01"}
    return read_entity(Declaration({**fields, "sql": "SELECT 1", "inputs": [use]}))


@pytest.fixture
def con(store: Store) -> Connection:
    """A store with the table that datasets name."""
    con = store.connect()
    con.execute("CREATE TABLE flights (day DATE, delay INTEGER)")
    return con


def _history(con: Connection, kind: EntityKind, name: str) -> list[EntityRow]:
    return entity_history(con.session, no_progress, kind, name)


def _outcomes(results: list[entity_operations.EntityResult]) -> list[str]:
    return [result.outcome for result in results]


@pytest.mark.also_on("hive")
def test_what_a_dataset_states_is_the_policy_of_its_tables(store: Store, con: Connection) -> None:
    stated = {"history": "5 YEARS", "schedule_compact": "0 3 * * *"}
    fields = {"kind": "dataset", "name": "all", "tables": ["*.fl*"], "policies": stated}
    several = read_entity(Declaration(fields))
    assert _outcomes(submit_entities(con.session, no_progress, [several])) == ["SUBMITTED"]
    con.close()
    other = store.connect()
    assert _stated(other) == {"HISTORY": ("5 YEARS", "dataset", "all")} | {
        "SCHEDULE_COMPACT": ("0 3 * * *", "dataset", "all")
    }
    shorter = read_entity(Declaration({**fields, "policies": {"history": "1 YEAR"}}))
    assert _outcomes(update_entities(other.session, no_progress, [shorter])) == ["UPDATED"]
    assert _stated(other) == {"HISTORY": ("1 YEAR", "dataset", "all")}
    assert delete_entity(other.session, no_progress, DATASET, "all").outcome == "DELETED"
    assert _stated(other) == {}
    assert [row.version for row in _history(other, DATASET, "all")] == [1, 2]


def _stated(con: Connection) -> dict[str, tuple[str, str, str]]:
    rows = con.execute("SHOW EFFECTIVE POLICY flights").fetchall()
    return {row[0]: (row[1], row[2], row[3]) for row in rows if row[1] is not None}


@pytest.mark.also_on("hive")
def test_f9_definitions_are_there_for_whoever_comes_next(store: Store, con: Connection) -> None:
    submitted = submit_entities(con.session, no_progress, [_process(), _dataset()])
    assert _outcomes(submitted) == ["SUBMITTED", "SUBMITTED"]
    con.close()
    other = store.connect(user="bob")
    rows = list_entities(other.session, no_progress, None)
    assert [(row.kind, row.name, row.version) for row in rows] == [
        ("dataset", "flights", 1),
        ("process", "daily", 1),
    ]
    update_entities(other.session, no_progress, [_dataset(owner="bob")])
    first, second = _history(other, DATASET, "flights")
    assert first.ended_at is not None
    assert (second.ended_at, second.user_name) == (None, "bob")
    with pytest.raises(PalimpsestError) as refused:
        delete_entity(other.session, no_progress, DATASET, "flights")
    assert refused.value.code is Code.DEPENDENT_OBJECTS
    assert "process daily" in refused.value.message
    assert delete_entity(other.session, no_progress, PROCESS, "daily").outcome == "DELETED"
    assert delete_entity(other.session, no_progress, DATASET, "flights").outcome == "DELETED"
    assert list_entities(other.session, no_progress, None) == []
    shown = other.execute(
        'SELECT kind, name, version, "user", ended_at IS NULL FROM system.entities'
        " WHERE name = 'flights' ORDER BY version"
    ).fetchall()
    assert [(*row[:3], row[4]) for row in shown] == [
        ("dataset", "flights", 1, False),
        ("dataset", "flights", 2, False),
    ]
    assert [row[3] == "bob" for row in shown] == [False, True]


def test_f10_an_update_that_breaks_off_leaves_the_definition_as_it_was(
    con: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit_entities(con.session, no_progress, [_dataset()])

    def break_off(*_given: object) -> None:
        raise KeyboardInterrupt

    for step in ("add_entity", "end_entity"):
        with monkeypatch.context() as patched:
            patched.setattr(entity_operations.entity_rows, step, break_off)
            with pytest.raises(KeyboardInterrupt):
                update_entities(con.session, no_progress, [_dataset(owner="ann")])
        (row,) = _history(con, DATASET, "flights")
        assert row.ended_at is None
    assert _outcomes(update_entities(con.session, no_progress, [_dataset(owner="ann")])) == [
        "UPDATED"
    ]


def test_f11_of_submissions_at_once_one_is_had(con: Connection) -> None:
    with ThreadPoolExecutor(4) as pool:
        calls = [
            pool.submit(submit_entities, con.session, no_progress, [_dataset()]) for _ in range(4)
        ]
        outcomes = sorted(_outcomes(call.result())[0] for call in calls)
    assert outcomes == ["SUBMITTED", "UNCHANGED", "UNCHANGED", "UNCHANGED"]
    assert len(_history(con, DATASET, "flights")) == 1


@pytest.mark.also_on("postgres", "hive")
@pytest.mark.needs(Capability.ACCESS_CONTROL)
def test_f56_a_role_declares_what_it_may_and_no_more(con: Connection) -> None:
    for text in ("CREATE ROLE ann", "CREATE ROLE bob", "SET ROLE ann"):
        con.execute(text)
    with pytest.raises(PalimpsestError) as refused:
        submit_entities(con.session, no_progress, [_dataset()])
    assert refused.value.code is Code.PRIVILEGE
    con.execute("RESET ROLE")
    con.execute("GRANT CREATE ON SYSTEM TO ann")
    con.execute("GRANT POLICY ON flights TO ann")
    con.execute("SET ROLE ann")
    assert _outcomes(submit_entities(con.session, no_progress, [_dataset(), _process()])) == [
        "SUBMITTED",
        "SUBMITTED",
    ]
    assert _outcomes(submit_entities(con.session, no_progress, [_process()])) == ["UNCHANGED"]
    (row,) = _history(con, PROCESS, "daily")
    assert tuple(json.loads(row.definition)[n] for n in ("owner", "run_as")) == ("ann", "ann")
    con.execute("SET ROLE bob")
    assert list_entities(con.session, no_progress, None) == []
    with pytest.raises(PalimpsestError) as refused:
        delete_entity(con.session, no_progress, DATASET, "flights")
    assert refused.value.code is Code.PRIVILEGE
    con.execute("SET ROLE ann")
    assert delete_entity(con.session, no_progress, PROCESS, "daily").outcome == "DELETED"
    con.execute("RESET ROLE")
    assert len(list_entities(con.session, no_progress, None)) == 1
