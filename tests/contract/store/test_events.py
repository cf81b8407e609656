"""Events and safe mode lie in the records of every store (rows F14, F15 and F59)."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from gateway.dbapi.connection import Connection
from gateway.governance.declarations import Declaration
from gateway.governance.entity import Entity, EntityKind
from gateway.governance.entity_operations import (
    delete_entity,
    list_entities,
    submit_entities,
    update_entities,
)
from gateway.governance.entity_schema import read_entity
from gateway.governance.events import EventName, EventStatus, record_event, record_failure
from gateway.governance.safe_mode import begin_safe_mode, end_safe_mode
from gateway.notifications.event_patterns import parse_patterns
from gateway.notifications.outbox import finish_batch, take_batch
from gateway.session.operations import no_progress
from journal.erasure import audit_check
from journal.model.errors import Code, PalimpsestError
from journal.records import event_rows
from journal.records.event_rows import event_counts, load_events
from tests.support.declared import dataset
from tests.support.stores.store import Capability, Store

pytestmark = pytest.mark.timeout(600)
DATASET = EntityKind.DATASET


def _dataset(**more: str) -> Entity:
    return read_entity(dataset("flights", **more))


@pytest.fixture
def con(store: Store) -> Connection:
    """A store with the table that datasets name."""
    con = store.connect()
    con.execute("CREATE TABLE flights (day DATE, delay INTEGER)")
    return con


def _events(con: Connection) -> list[tuple[object, ...]]:
    return con.execute(
        "SELECT name, status, entity_kind, entity FROM system.events ORDER BY seq"
    ).fetchall()


@pytest.mark.also_on("hive")
def test_f59_what_is_done_to_entities_is_an_event_also_where_it_fails(con: Connection) -> None:
    submit_entities(con.session, no_progress, [_dataset()])
    submit_entities(con.session, no_progress, [_dataset()])
    submit_entities(con.session, no_progress, [_dataset(owner="ann")])
    update_entities(con.session, no_progress, [_dataset(owner="ann")])
    delete_entity(con.session, no_progress, DATASET, "flights")
    with pytest.raises(PalimpsestError):
        delete_entity(con.session, no_progress, DATASET, "rides")
    assert _events(con) == [
        ("entity.submit", "SUCCEEDED", "dataset", "flights"),
        ("entity.submit", "FAILED", "dataset", "flights"),
        ("entity.update", "SUCCEEDED", "dataset", "flights"),
        ("entity.delete", "SUCCEEDED", "dataset", "flights"),
        ("entity.delete", "FAILED", "dataset", "rides"),
    ]
    (failed,) = con.execute("SELECT data FROM system.events WHERE seq = 2").fetchall()
    assert json.loads(str(failed[0]))["code"] == "PAL-263"


@pytest.mark.also_on("hive")
def test_f59_of_events_the_newest_stay_and_all_are_counted(
    con: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_rows, "KEPT_ROWS", 5)
    monkeypatch.setattr(event_rows, "_PRUNE_EVERY", 4)
    with con.session.journal.exclusive_session() as records:
        for _ in range(12):
            record_event(
                *(con.session, records, EventName.INSTANCE_RUN, "process", "daily"),
                status=EventStatus.FAILED,
                duration_s=0.5,
            )
        records.commit()
    with con.session.journal.reading_session() as records:
        assert [row.seq for row in load_events(records)] == [8, 9, 10, 11, 12]
        assert [row.seq for row in load_events(records, 9, 2)] == [10, 11]
        (count,) = event_counts(records)
    assert (count.name, count.status, count.events) == ("instance.run", "FAILED", 12)
    assert count.duration_us == 6_000_000


@pytest.mark.also_on("hive")
def test_an_event_is_there_only_with_what_it_tells_of(con: Connection) -> None:
    with con.session.journal.exclusive_session() as records:
        record_event(con.session, records, EventName.INSTANCE_KILL, "process", "daily")
    assert _events(con) == []


def test_f14_safe_mode_refuses_what_is_new_also_after_a_restart(
    store: Store, con: Connection
) -> None:
    submit_entities(con.session, no_progress, [_dataset()])
    con.execute("CALL system.safe_mode(on => true, reason => 'moving')")
    begin_safe_mode(con.session, no_progress, "again")
    con.close()
    other = store.connect()
    assert [row.name for row in list_entities(other.session, no_progress, None)] == ["flights"]
    for change in (submit_entities, update_entities):
        (result,) = change(other.session, no_progress, [_dataset(owner="ann")])
        assert result.error is not None
        assert result.error.code is Code.SAFE_MODE
        assert "moving" in result.error.message
    with pytest.raises(PalimpsestError) as refused:
        delete_entity(other.session, no_progress, DATASET, "flights")
    assert refused.value.code is Code.SAFE_MODE
    assert other.execute("SELECT is_on, reason FROM system.safe_mode").fetchall() == [
        (True, "moving")
    ]
    end_safe_mode(other.session, no_progress)
    (result,) = update_entities(other.session, no_progress, [_dataset(owner="ann")])
    assert result.outcome == "UPDATED"
    if other.session.journal.capabilities.access_control:
        found = audit_check.verify(other.session.journal)  # type: ignore[arg-type]
        assert found.problems == ()


@pytest.mark.needs(Capability.ERASURE)
@pytest.mark.also_on("postgres", "hive")
def test_f14_safe_mode_refuses_to_erase(con: Connection) -> None:
    con.execute("INSERT INTO flights VALUES (DATE '2013-01-01', 1)")
    begin_safe_mode(con.session, no_progress, "")
    with pytest.raises(Exception, match="safe mode refuses to erase"):
        con.execute("ERASE FROM flights WHERE delay = 1")
    con.execute("UPDATE flights SET delay = 2")
    end_safe_mode(con.session, no_progress)
    con.execute("ERASE FROM flights WHERE delay = 2")
    assert con.execute("SELECT count(*) FROM flights").fetchall() == [(0,)]


@pytest.mark.also_on("postgres", "hive")
@pytest.mark.needs(Capability.ACCESS_CONTROL)
def test_f14_only_an_administrator_begins_and_ends_it(con: Connection) -> None:
    con.execute("CREATE ROLE ann")
    con.execute("CREATE ROLE ops")
    con.execute("GRANT ADMIN ON SYSTEM TO ops")
    con.execute("SET ROLE ann")
    for text in ("CALL system.safe_mode(on => true)", "CALL system.safe_mode()"):
        with pytest.raises(Exception, match="permission denied"):
            con.execute(text)
    with pytest.raises(PalimpsestError, match="permission denied to end safe mode"):
        end_safe_mode(con.session, no_progress)
    con.execute("SET ROLE ops")
    con.execute("CALL system.safe_mode(on => true)")
    con.execute("CALL system.safe_mode(on => false)")
    con.execute("RESET ROLE")
    assert [row[0] for row in _events(con)] == ["safe_mode.on", "safe_mode.off"]


def _profile(url: str, **more: str) -> Entity:
    fields = {"kind": "profile", "name": "night", "url": url, **more}
    return read_entity(Declaration(fields))


@pytest.mark.also_on("hive")
def test_f15_a_profile_that_is_referred_to_moves_only_in_safe_mode(con: Connection) -> None:
    here = _profile("palimpsest://a.example:5433/w")
    submit_entities(con.session, no_progress, [here, _dataset(profile="night")])
    there = _profile("palimpsest://b.example/w?sslmode=require")
    (refused,) = update_entities(con.session, no_progress, [there])
    assert refused.error is not None
    assert (refused.error.code, "needs safe mode" in refused.error.message) == (
        Code.SAFE_MODE,
        True,
    )
    (told,) = update_entities(con.session, no_progress, [_profile(here.fields["url"], owner="ops")])
    assert told.outcome == "UPDATED"
    begin_safe_mode(con.session, no_progress, "")
    other = _profile("palimpsest://b.example/x")
    (refused,) = update_entities(con.session, no_progress, [other])
    assert refused.error is not None
    assert "names another store" in refused.error.message
    (moved,) = update_entities(con.session, no_progress, [there])
    assert moved.outcome == "UPDATED"


@pytest.mark.also_on("postgres", "hive")
def test_f63_a_channel_is_told_each_event_and_one_sender_at_a_time(con: Connection) -> None:
    session, patterns = con.session, parse_patterns("entity.*")

    def take(owner: str) -> list[str | None] | None:
        found = take_batch(session, no_progress, "c", owner, patterns, timedelta())
        return None if found is None else [event.entity for event in found.events]

    assert take("one") is None
    submit_entities(session, no_progress, [_dataset()])
    begin_safe_mode(session, no_progress, "")
    assert take("one") == ["flights"]
    assert take("two") is None
    assert take("one") == ["flights"]
    assert not finish_batch(session, no_progress, "c", "two", 2)
    assert finish_batch(session, no_progress, "c", "one", 2)
    assert take("two") is None


@pytest.mark.also_on("hive")
def test_no_event_keeps_what_an_error_quotes_of_rows(con: Connection) -> None:
    told = PalimpsestError(Code.REPLICATION, "its target is an older copy of itself")
    quoting = PalimpsestError(Code.RAISED, "no ada@x.example")
    quoting.quotes = True
    for error in (
        told,
        quoting,
        PalimpsestError(Code.DUPLICATE_KEY, "the key (ada@x.example) is there twice"),
        PalimpsestError(Code.CONVERSION, "'ada@x.example' is no INTEGER"),
    ):
        record_failure(con.session, EventName.DATA_REPLICATE, None, "flights", error)
    found = con.execute("SELECT data FROM system.events ORDER BY seq").fetchall()
    assert [json.loads(data)["error"] for (data,) in found] == [
        told.message,
        *(code.value.title for code in (Code.RAISED, Code.DUPLICATE_KEY, Code.CONVERSION)),
    ]
