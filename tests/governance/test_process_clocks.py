"""Instances of processes when clocks change, go back, or leap: each once, and none is lost."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.governance.instance_operations import find_instances
from gateway.session.operations import no_progress
from journal.records.instance_rows import InstanceFilter
from tests.support.processes import day, make_tables, process, run, schedule, seen

NEW_YORK = {"timezone": "America/New_York", "inputs": None}
NOTE = "INSERT INTO delays SELECT CAST($nominal AS DATE), 1, $instance"


@pytest.fixture
def con() -> Iterator[Connection]:
    with gateway.connect("palimpsest://", autocommit=True) as con:
        make_tables(con)
        yield con


def _nominal(con: Connection) -> list[str]:
    rows = find_instances(con.session, no_progress, InstanceFilter(states=("SUCCEEDED",)))
    made = con.execute("SELECT made_by FROM delays ORDER BY made_by").fetchall()
    assert sorted(row.id for row in rows) == [name for (name,) in made]
    return [f"{row.nominal:%d %H:%M}" for row in rows]


def test_f51_a_time_of_day_that_clocks_skip_has_its_instance(con: Connection) -> None:
    """Half past two of 10 March 2013 is half past three in New York, and comes once."""
    declared = process(sql=NOTE, start="2013-03-08T02:30", end="2013-03-12", **NEW_YORK)
    schedule(con, day(8, month=3), declared)
    for hour in range(6, 24 * 5, 12):
        run(con, datetime(2013, 3, 8 + hour // 24, hour % 24, tzinfo=UTC))
    assert _nominal(con) == ["08 07:30", "09 07:30", "10 07:30", "11 06:30"]


def test_f51_a_time_of_day_that_comes_twice_has_one_instance(con: Connection) -> None:
    """Half past one of 3 November 2013 comes at 05:30 and at 06:30 in UTC."""
    declared = process(sql=NOTE, start="2013-11-02T01:30", end="2013-11-05", **NEW_YORK)
    schedule(con, day(1, month=11), declared)
    for hour, minute in ((5, 0), (5, 30), (6, 0), (6, 30), (7, 0)):
        run(con, datetime(2013, 11, 3, hour, minute, tzinfo=UTC))
    run(con, day(5, month=11))
    assert _nominal(con) == ["02 05:30", "03 05:30", "04 06:30"]


@pytest.mark.slow
@pytest.mark.parametrize(("date", "hours"), [("2013-03-10", 23), ("2013-11-03", 25)])
def test_an_hourly_process_runs_each_hour_of_a_day_on_which_clocks_change(
    con: Connection, date: str, hours: int
) -> None:
    begin = datetime.fromisoformat(date)
    after = begin.replace(day=begin.day + 1)
    declared = process(
        sql="SELECT 1",
        every="1 hour",
        start=f"{begin:%Y-%m-%d}",
        end=f"{after:%Y-%m-%d}",
        **NEW_YORK,
    )
    schedule(con, begin.replace(tzinfo=UTC), declared)
    assert len(run(con, after.replace(hour=12, tzinfo=UTC))) == hours


def test_p21_a_clock_that_goes_back_makes_nothing_and_nothing_twice(con: Connection) -> None:
    schedule(con, day(1), process(sql=NOTE, inputs=None))
    assert seen(run(con, day(4))) == [(2, "SUCCEEDED"), (3, "SUCCEEDED"), (4, "SUCCEEDED")]
    for earlier in (day(2), day(3, 12), day(1)):
        assert run(con, earlier) == []
    assert seen(run(con, day(5))) == [(5, "SUCCEEDED")]
    assert seen(run(con, day(7))) == [(6, "SUCCEEDED"), (7, "SUCCEEDED")]
    assert len(_nominal(con)) == 6


def test_p21_a_retry_waits_for_the_clock_that_went_back(con: Connection) -> None:
    retry = {"policy": "periodic", "delay": "10 minutes", "attempts": "1"}
    broken = "INSERT INTO delays SELECT CAST('x' AS DATE), 1, $instance"
    schedule(con, day(1), process(sql=broken, inputs=None, retry=retry))
    assert seen(run(con, day(2, 12))) == [(2, "READY")]
    assert run(con, day(2)) == []
    assert seen(run(con, day(2, 13))) == [(2, "FAILED")]
