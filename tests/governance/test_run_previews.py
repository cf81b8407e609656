"""What an instance would run can be read beforehand (row F66), and is what runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.governance.run_previews import RunPreview, preview_runs
from tests.support.processes import day, flights, make_tables, process, run, schedule, seen


@pytest.fixture
def con() -> Iterator[Connection]:
    with gateway.connect("palimpsest://", autocommit=True) as con:
        make_tables(con)
        con.execute("INSERT INTO flights VALUES (DATE '2013-01-02', 7), (DATE '2013-01-02', 8)")
        yield con


def _preview(con: Connection) -> RunPreview:
    (found,) = con.client_session.perform(preview_runs, "daily", day(3), None)
    return found


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark"])
def test_f66_statements_that_are_shown_do_what_the_instance_does(
    con: Connection, dialect: str
) -> None:
    text = (
        "INSERT INTO delays SELECT {0}, sum(delay), '$made:by ' || {1} FROM flights WHERE day ="
        " CAST({2} AS DATE); UPDATE delays SET made_by = made_by || {3} WHERE day = {0}"
    )
    sign = "$" if dialect == "duckdb" else ":"
    names = ("CAST({}flights_from AS DATE)", "{}instance", "{}flights_to", "{}month")
    sql = text.format(*(name.format(sign) for name in names))
    month = {"month": "formatTime(today(0, 0), 'yyyy''''MM')"}
    schedule(con, day(1), flights(), process(sql=sql, dialect=dialect, parameters=month))
    shown = _preview(con)
    assert (shown.id, shown.missing) == ("daily@2013-01-03T00:00Z", ())
    assert not any(f"{sign}{name}" in " ".join(shown.statements) for name in ("instance", "month"))
    assert con.execute("SELECT count(*) FROM delays").fetchall() == [(0,)]
    before = con.execute("SELECT count(*) FROM system.transactions").fetchall()
    with gateway.connect("palimpsest://", autocommit=True, dialect=dialect) as other:
        for table in ("flights", "delays"):
            other.execute(f"CREATE TABLE {table} (day DATE, " + _REST[table])
        other.execute("INSERT INTO flights VALUES (DATE '2013-01-02', 7), (DATE '2013-01-02', 8)")
        for statement in shown.statements:
            other.execute(statement)
        expected = other.execute("SELECT * FROM delays").fetchall()
    assert con.execute("SELECT count(*) FROM system.transactions").fetchall() == before
    assert seen(run(con, day(3, 12))) == [(3, "SUCCEEDED")]
    assert con.execute("SELECT * FROM delays").fetchall() == expected != []


_REST = {"flights": "delay INTEGER)", "delays": "total BIGINT, made_by VARCHAR(99))"}


def test_f66_jobs_and_applications_are_shown_and_data_that_is_waited_for(con: Connection) -> None:
    con.execute("DELETE FROM flights")
    spark = {"app": "a.py", "args": ["{flights_from}", "{instance}"]}
    schedule(con, day(1), flights(), process(sql=None, spark=spark))
    shown = _preview(con)
    assert shown.missing == ("flights@2013-01-02T00:00Z",)
    assert shown.words[1:] == ("a.py", "2013-01-02T00:00:00+00:00", "daily@2013-01-03T00:00Z")
    assert shown.statements == ()
