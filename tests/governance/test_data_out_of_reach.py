"""Data that cannot be looked at: instances say why they wait, and nothing else waits for it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.governance.declarations import Declaration
from gateway.governance.entity import Entity
from gateway.governance.entity_operations import update_entities
from gateway.governance.entity_schema import read_entity
from gateway.governance.instance_operations import find_instances
from gateway.session.operations import no_progress
from journal.records.instance_rows import InstanceFilter
from tests.support.processes import day, flights, make_tables, process, run, schedule, seen

AWAY = "which cannot be looked at (PAL-624 the store of profile west cannot be reached: there is"
LATE = {"policy": "PERIODIC", "delay": "1 hour"}


def _missing(con: Connection) -> list[str]:
    rows = find_instances(con.session, no_progress, InstanceFilter(entity="daily"))
    return [text for row in rows for text in row.missing]


def _profile(folder: Path) -> Entity:
    fields = {"kind": "profile", "name": "west", "url": f"palimpsest:///{folder}"}
    return read_entity(Declaration(fields))


@pytest.mark.long
def test_a_condition_that_fails_stops_nothing_else() -> None:
    with gateway.connect("palimpsest://", autocommit=True) as con:
        make_tables(con)
        other = process("other", sql="INSERT INTO delays VALUES (NULL, 1, 'other')", inputs=None)
        schedule(con, day(1), flights(), process(end="2013-01-03"), other)
        con.execute("INSERT INTO flights VALUES (DATE '2013-01-01', 7)")
        con.execute("ALTER TABLE flights RENAME COLUMN day TO date")
        assert [run_.id for run_ in run(con, day(2))] == ["other@2013-01-02T00:00Z"]
        (told,) = _missing(con)
        said = 'flights@2013-01-01T00:00Z, which cannot be looked at (PAL-202 column "day" does'
        assert told.startswith(said)
        con.execute("ALTER TABLE flights RENAME COLUMN date TO day")
        assert seen(run(con, day(2, 1))) == [(2, "SUCCEEDED")]


@pytest.mark.long
def test_an_instance_says_which_store_it_waits_for(tmp_path: Path) -> None:
    west, text = tmp_path / "west", "INSERT INTO delays VALUES (NULL, 1, $instance)"
    with gateway.connect(f"palimpsest:///{west}", autocommit=True) as con:
        make_tables(con)
        con.execute("INSERT INTO flights VALUES (DATE '2013-01-01', 7)")
    shutil.move(west, tmp_path / "away")
    with gateway.connect(f"palimpsest:///{tmp_path}/control", autocommit=True) as con:
        days = flights(profile="west")
        schedule(con, day(1), _profile(west), days, process(sql=text, profile="west"))
        assert run(con, day(2)) == []
        (told,) = _missing(con)
        assert told.startswith(f"flights@2013-01-01T00:00Z, {AWAY}")
        assert str(west) in told
        shutil.move(tmp_path / "away", west)
        assert seen(run(con, day(2, 1))) == [(2, "SUCCEEDED")]


@pytest.mark.long
@pytest.mark.parametrize("stated", [True, False])
def test_late_data_is_found_though_its_store_was_away(tmp_path: Path, stated: bool) -> None:
    west, text = tmp_path / "west", "INSERT INTO delays VALUES (NULL, 1, $instance)"
    with gateway.connect(f"palimpsest:///{west}", autocommit=True) as there:
        make_tables(there)
        there.execute("ALTER TABLE flights SET POLICY (LATE_ARRIVAL = 2 DAYS)")
        there.execute("INSERT INTO flights VALUES (DATE '2013-01-01', 7)")
    with gateway.connect(f"palimpsest:///{tmp_path}/control", autocommit=True) as con:
        days = flights(profile="west", late_arrival="2 days")
        daily = process(sql=text, late_data=LATE, profile="west", end="2013-01-03")
        schedule(con, day(1), _profile(west), days, daily)
        if not stated:  # The cut-off is the policy of the table there from now on.
            (done,) = update_entities(con.session, no_progress, [flights(profile="west")])
            assert done.error is None
        assert seen(run(con, day(2))) == [(2, "SUCCEEDED")]
        with gateway.connect(f"palimpsest:///{west}", autocommit=True) as there:
            there.execute("INSERT INTO flights VALUES (DATE '2013-01-01', 1)")
        shutil.move(west, tmp_path / "away")
        assert run(con, day(2, 2)) == []  # Neither late data nor none: nobody knows.
        shutil.move(tmp_path / "away", west)
        assert seen(run(con, day(2, 3))) == [(2, "SUCCEEDED")]
        with gateway.connect(f"palimpsest:///{west}", autocommit=True) as there:
            there.execute("INSERT INTO flights VALUES (DATE '2013-01-01', 2)")
        shutil.move(west, tmp_path / "away")
        assert run(con, day(4)) == []  # The last look would have been this one.
        shutil.move(tmp_path / "away", west)
        assert run(con, day(5)) == []
        names = con.execute("SELECT name FROM system.events WHERE name LIKE '%past%'").fetchall()
        assert names == [("instance.past_cut_off",)]
