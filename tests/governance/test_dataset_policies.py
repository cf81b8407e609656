"""Datasets state policies of the tables that they are made of: one truth, which jobs obey."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.governance.declarations import Declaration
from gateway.governance.entity import Entity, EntityKind
from gateway.governance.entity_operations import (
    delete_entity,
    submit_entities,
    update_entities,
)
from gateway.governance.entity_scheduling import schedule_entities
from gateway.governance.entity_schema import read_entity
from gateway.governance.scheduled_submissions import submit_and_schedule
from gateway.governance.table_datasets import datasets_of_table
from gateway.session.operations import no_progress
from journal.model.errors import Code, PalimpsestError
from tests.support.processes import dataset, make_tables, process

POLICIES = {"retention": "6 MONTHS ON COLUMN day", "schedule_compact": "0 3 * * *"}


@pytest.fixture
def con() -> Iterator[Connection]:
    with gateway.connect("palimpsest://", autocommit=True) as con:
        make_tables(con)
        yield con


def _of_several(name: str, *tables: str, **policies: str) -> Entity:
    fields: dict[str, Any] = {"kind": "dataset", "name": name, "tables": list(tables)}
    return read_entity(Declaration({**fields, "policies": policies}))


def _submitted(con: Connection, *entities: Entity) -> None:
    for result in submit_entities(con.session, no_progress, entities):
        assert result.error is None, result.error


def _effective(con: Connection, table: str, rule: str) -> tuple[Any, ...]:
    rows = con.execute(f"SHOW EFFECTIVE POLICY {table}").fetchall()
    return next(tuple(row[1:4]) for row in rows if row[0] == rule)


def test_what_a_dataset_states_is_the_policy_of_its_table(con: Connection) -> None:
    _submitted(con, dataset("flights", policies=POLICIES))
    text = "6 MONTHS ON COLUMN day ACTION = DELETE"
    assert _effective(con, "flights", "RETENTION") == (text, "dataset", "flights")
    assert _effective(con, "flights", "SCHEDULE_COMPACT") == ("0 3 * * *", "dataset", "flights")
    assert _effective(con, "delays", "RETENTION") == (None, None, None)
    con.execute("INSERT INTO flights VALUES (DATE '2012-01-01', 1), (DATE '2013-12-01', 2)")
    con.execute("CALL system.retain('flights', now => '2014-01-01')")
    assert con.execute("SELECT delay FROM flights").fetchall() == [(2,)]
    again = submit_entities(con.session, no_progress, [dataset("flights", policies=POLICIES)])
    assert again[0].outcome == "UNCHANGED"


def test_the_nearest_scope_counts(con: Connection) -> None:
    """Table, then dataset by the most exact pattern, then schema, then database."""
    con.execute("ALTER DATABASE SET POLICY (HISTORY = 9 YEARS)")
    con.execute("ALTER SCHEMA main SET POLICY (HISTORY = 8 YEARS)")
    assert _effective(con, "flights", "HISTORY") == ("8 YEARS", "schema", "main")
    _submitted(con, _of_several("all", "*.*", history="7 YEARS"))
    assert _effective(con, "flights", "HISTORY") == ("7 YEARS", "dataset", "all")
    _submitted(con, _of_several("some", "main.fl*", "main.de*", history="6 YEARS"))
    assert _effective(con, "flights", "HISTORY") == ("6 YEARS", "dataset", "some")
    _submitted(con, dataset("one", table="flights", policies={"history": "5 YEARS"}))
    assert _effective(con, "flights", "HISTORY") == ("5 YEARS", "dataset", "one")
    assert _effective(con, "delays", "HISTORY") == ("6 YEARS", "dataset", "some")
    con.execute("ALTER TABLE flights SET POLICY (HISTORY = 4 YEARS)")
    assert _effective(con, "flights", "HISTORY") == ("4 YEARS", "table", "main.flights")
    con.execute("CREATE TABLE flown (a INTEGER)")
    assert _effective(con, "flown", "HISTORY") == ("6 YEARS", "dataset", "some")
    names = [row.name for row in datasets_of_table(con.session, no_progress, "flights")]
    assert names == ["all", "one", "some"]


def test_updates_and_deletion_change_it_in_the_same_commit(con: Connection) -> None:
    _submitted(con, dataset("flights", policies={"history": "5 YEARS", "backup": "30 DAYS"}))
    changed = dataset("flights", policies={"history": "1 YEAR"})
    assert update_entities(con.session, no_progress, [changed])[0].outcome == "UPDATED"
    assert _effective(con, "flights", "HISTORY") == ("1 YEAR", "dataset", "flights")
    assert _effective(con, "flights", "BACKUP")[1] is None
    before = con.execute("SELECT max(version) FROM system.transactions").fetchall()
    wrong = dataset(
        "flights", policies={"retention": "1 YEAR ON COLUMN day", "late_arrival": "2 YEARS"}
    )
    (failed,) = update_entities(con.session, no_progress, [wrong])
    assert failed.error is not None
    assert failed.error.code is Code.POLICY
    assert con.execute("SELECT max(version) FROM system.transactions").fetchall() == before
    assert _effective(con, "flights", "HISTORY") == ("1 YEAR", "dataset", "flights")
    delete_entity(con.session, no_progress, EntityKind.DATASET, "flights")
    assert _effective(con, "flights", "HISTORY")[1] is None
    events = con.execute("SELECT name, status FROM system.events ORDER BY seq").fetchall()
    assert events == [
        ("entity.submit", "SUCCEEDED"),
        ("entity.update", "SUCCEEDED"),
        ("entity.update", "FAILED"),
        ("entity.delete", "SUCCEEDED"),
    ]


def test_an_operation_that_fails_takes_its_policy_back(con: Connection) -> None:
    good = dataset("flights", policies={"history": "5 YEARS"})
    bad = process(sql="INSERT INTO missing_table SELECT 1", inputs=None, outputs=[
        {"dataset": "nothing", "instance": "today(0, 0)"}
    ])  # fmt: skip
    with pytest.raises(PalimpsestError):
        submit_and_schedule(con.session, no_progress, [good, bad])
    assert _effective(con, "flights", "HISTORY")[1] is None


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"policies": {"history": "soon"}}, "policies.history"),
        ({"policies": {"history": "1 YEAR, BACKUP = 2 DAYS"}}, "policies.history"),
        ({"policies": {"hystory": "1 YEAR"}}, "policies.hystory"),
        ({"tables": ["main.*"], "policies": {"history": "1 YEAR"}}, "both table and tables"),
        ({"late_arrival": "1 DAY", "policies": {"late_arrival": "1 DAY"}}, "late_arrival"),
        ({"every": None}, "lacks the field every"),
    ],
)
def test_what_cannot_hold_is_refused(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(PalimpsestError) as caught:
        dataset("flights", **fields)
    assert caught.value.code is Code.ENTITY
    assert said in caught.value.message


def test_a_dataset_of_several_tables_has_no_instances(con: Connection) -> None:
    several = _of_several("all", "main.*", history="7 YEARS")
    _submitted(con, several)
    (refused,) = schedule_entities(con.session, no_progress, [several.key])
    assert refused.error is not None
    reads = [{"dataset": "all", "from": "now(0, 0)", "to": "now(0, 0)"}]
    (refused,) = submit_entities(con.session, no_progress, [process(inputs=reads, sql="SELECT 1")])
    assert "has no instances" in str(refused.error)


def test_a_name_with_wildcards_is_that_table_alone(con: Connection) -> None:
    con.execute('CREATE TABLE "a*" (day DATE)')
    con.execute("CREATE TABLE ab (day DATE)")
    _submitted(con, dataset("star", table='"a*"', policies={"history": "1 YEAR"}))
    assert _effective(con, '"a*"', "HISTORY") == ("1 YEAR", "dataset", "star")
    assert _effective(con, "ab", "HISTORY")[1] is None
