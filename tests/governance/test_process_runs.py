"""Declared processes run: they wait for inputs, and their effects are there exactly once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.governance.entity_operations import submit_entities
from gateway.session.operations import no_progress
from journal.model.errors import Code
from tests.support.processes import (
    dataset,
    day,
    flights,
    make_tables,
    process,
    run,
    schedule,
    seen,
    states,
)


@pytest.fixture
def con() -> Iterator[Connection]:
    with gateway.connect("palimpsest://", autocommit=True) as con:
        make_tables(con)
        yield con


def _delays(con: Connection) -> list[tuple[Any, ...]]:
    rows = con.execute("SELECT day, total, made_by FROM delays ORDER BY day").fetchall()
    return [(when.day, total, made_by) for when, total, made_by in rows]


def test_f19_an_instance_waits_for_its_inputs_and_names_them(con: Connection) -> None:
    schedule(con, day(1), flights(), process())
    assert run(con, day(1, 12)) == []
    assert states(con) == []
    assert run(con, day(3, 12)) == []
    assert states(con) == [(2, "WAITING"), (3, "WAITING")]
    missing = con.execute("SELECT missing FROM system.instances ORDER BY nominal").fetchall()
    assert missing == [(["flights@2013-01-01T00:00Z"],), (["flights@2013-01-02T00:00Z"],)]
    con.execute("INSERT INTO flights VALUES (DATE '2013-01-02', 7), (DATE '2013-01-02', 8)")
    assert seen(run(con, day(3, 13))) == [(3, "SUCCEEDED")]
    assert _delays(con) == [(2, 15, "daily@2013-01-03T00:00Z")]
    assert states(con) == [(2, "WAITING"), (3, "SUCCEEDED")]
    assert run(con, day(3, 14)) == []
    shown = con.execute("SELECT consumed, produced FROM system.instances WHERE state <> 'WAITING'")
    ((consumed, produced),) = shown.fetchall()
    versions = [v for (v,) in con.execute("SELECT version FROM system.transactions").fetchall()]
    assert json.loads(consumed)["versions"]["flights"] in versions
    assert json.loads(produced)["version"] in versions
    attempts = con.execute("SELECT instance, n, step, state FROM system.attempts").fetchall()
    assert attempts == [("daily@2013-01-03T00:00Z", 1, "sql", "SUCCEEDED")]


def test_f19_a_flag_and_a_producer_show_that_data_is_there(con: Connection, tmp_path: Path) -> None:
    flag = str(tmp_path / "{yyyy-MM-dd}" / "_SUCCESS")
    outputs = [{"dataset": "delays", "instance": "yesterday(0, 0)"}]
    reads = [{"dataset": "delays", "from": "yesterday(0, 0)", "to": "yesterday(0, 0)"}]
    schedule(
        *(con, day(1), flights(flag=flag, available="flag"), dataset("delays")),
        process(outputs=outputs),
        process("weekly", inputs=reads, sql="SELECT 1"),
    )
    assert run(con, day(2, 1)) == []
    assert states(con) == [(2, "WAITING"), (2, "WAITING")]
    (tmp_path / "2013-01-01").mkdir()
    (tmp_path / "2013-01-01" / "_SUCCESS").touch()
    ran = run(con, day(2, 2))
    assert [(r.entity, r.state) for r in ran] == [("daily", "SUCCEEDED"), ("weekly", "SUCCEEDED")]


def test_f48_a_failure_is_tried_again_as_the_policy_says(con: Connection) -> None:
    retry = {"policy": "exponential", "delay": "10 minutes", "attempts": "2"}
    broken = "INSERT INTO delays SELECT CAST('x' || delay AS INTEGER), 1, '' FROM flights"
    schedule(con, day(1), flights(), process(sql=broken, retry=retry))
    con.execute("INSERT INTO flights VALUES (DATE '2013-01-01', 7)")
    assert seen(run(con, day(2))) == [(2, "READY")]
    assert run(con, day(2).replace(minute=9)) == []
    assert seen(run(con, day(2).replace(minute=10))) == [(2, "READY")]
    assert run(con, day(2).replace(minute=29)) == []
    assert seen(run(con, day(2).replace(minute=30))) == [(2, "FAILED")]
    assert run(con, day(2, 5)) == []
    events = con.execute("SELECT name FROM system.events WHERE name LIKE 'instance.retr%'")
    assert sorted(name for (name,) in events.fetchall()) == [
        *("instance.retries_exhausted", "instance.retry", "instance.retry")
    ]
    (attempt,) = con.execute(
        "SELECT state, error_code, error FROM system.attempts ORDER BY n DESC LIMIT 1"
    ).fetchall()
    assert attempt[0] == "FAILED"
    assert "x7" not in (attempt[2] or "")


_RAISES = "RAISE EXCEPTION 'no %', NEW.name"
_CLASHES = "MERGE INTO taken USING people ON true WHEN MATCHED THEN UPDATE SET name = people.name"


@pytest.mark.parametrize(
    ("body", "statement"),
    [
        (_RAISES, "INSERT INTO taken SELECT name FROM people"),
        (f"{_RAISES} USING ERRCODE = '42501'", "INSERT INTO taken SELECT name FROM people"),
        ("RETURN NEW", _CLASHES),
        ("RETURN NEW", "INSERT INTO taken SELECT name FROM people"),
    ],
)
def test_no_record_keeps_what_an_error_quotes(body: str, statement: str) -> None:
    """Not where a trigger tells of it, nor where a key does, whatever the state of the error."""
    with gateway.connect("palimpsest://", autocommit=True, dialect="postgres") as other:
        make_tables(other)
        for sql in (
            "CREATE TABLE people (name TEXT PRIMARY KEY)",
            "CREATE TABLE taken (name TEXT PRIMARY KEY)",
            "INSERT INTO taken VALUES ('quoted-1')",
            "INSERT INTO people VALUES ('quoted-1'), ('quoted-2')",
            f"CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN {body}; END$$",
            "CREATE TRIGGER t BEFORE INSERT ON taken FOR EACH ROW EXECUTE FUNCTION f()",
        ):
            other.execute(sql)
        with pytest.raises(gateway.Error, match="quoted-"):
            other.execute(statement)
        schedule(other, day(1), process(sql=statement, inputs=[]))
        assert [r.state for r in run(other, day(2))] == ["FAILED"]
        for name in ("attempts", "instances", "events"):
            kept = str(other.execute(f"SELECT * FROM system.{name}").fetchall())
            assert "quoted-" not in kept, name


@pytest.mark.parametrize(
    ("order", "expected"),
    [("FIFO", [2, 3, 4]), ("LIFO", [4, 3, 2]), ("LAST_ONLY", [4])],
)
def test_f49_which_of_several_runs_first(con: Connection, order: str, expected: list[int]) -> None:
    schedule(con, day(1), flights(), process(order=order, inputs=None, sql="SELECT 1"))
    assert [nominal for nominal, _ in seen(run(con, day(4, 1)))] == expected
    if order == "LAST_ONLY":
        assert states(con) == [(2, "KILLED"), (3, "KILLED"), (4, "SUCCEEDED")]


def test_f49_an_instance_waits_for_so_long(con: Connection) -> None:
    schedule(con, day(1), flights(), process(timeout="3 hours"), process("other"))
    run(con, day(2))
    run(con, day(2, 2))
    assert states(con) == [(2, "WAITING"), (2, "WAITING")]
    run(con, day(2, 3))
    assert sorted(states(con)) == [(2, "TIMED_OUT"), (2, "WAITING")]


@pytest.mark.parametrize(
    ("catch_up", "expected"), [("ALL", [2, 3, 4, 5]), ("LAST", [2, 5]), ("NONE", [2])]
)
def test_catching_up_after_no_scheduler_ran(
    con: Connection, catch_up: str, expected: list[int]
) -> None:
    alone = process(catch_up=catch_up, inputs=None, sql="SELECT 1")
    schedule(con, day(1), alone)
    run(con, day(2, 1))
    run(con, day(5, 1))
    assert [nominal for nominal, _ in states(con)] == expected
    run(con, day(3))  # A clock that goes back.
    assert [nominal for nominal, _ in states(con)] == expected
    run(con, day(6))
    assert [nominal for nominal, _ in states(con)] == [*expected, 6]


def test_parameters_are_values(con: Connection) -> None:
    con.execute("CREATE TABLE seen (id VARCHAR, at TIMESTAMPTZ, said VARCHAR, since TIMESTAMPTZ)")
    text = "INSERT INTO seen VALUES ($instance, $nominal, $said, $since)"
    parameters = {"said": "formatTime(now(0, 0), 'yyyy-MM')", "since": "yesterday(1, 0)"}
    schedule(con, day(1), process(sql=text, inputs=None, parameters=parameters))
    run(con, day(2))
    ((instance, at, text, since),) = con.execute("SELECT * FROM seen").fetchall()
    assert (instance, at, text, since) == ("daily@2013-01-02T00:00Z", day(2), "2013-01", day(1, 1))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"sql": "BEGIN; SELECT 1; COMMIT"}, "begins or ends a transaction"),
        ({"sql": "SELECT $unknown"}, "no parameter unknown"),
        ({"sql": None, "job": {"kind": "tidy", "tables": ["flights"]}}, "no job tidy"),
        ({"late_data": {"delay": "1 hour"}}, "has no cut-off"),
    ],
)
def test_f50_what_cannot_run_is_refused(con: Connection, more: dict[str, Any], said: str) -> None:
    _, result = submit_entities(con.session, no_progress, [flights(), process(**more)])
    assert result.error is not None
    assert result.error.code is Code.ENTITY
    assert said in result.error.message


def test_f35_a_cut_off_is_shorter_than_the_retention(con: Connection) -> None:
    con.execute("ALTER TABLE flights SET POLICY (RETENTION = 2 DAYS ON COLUMN day)")
    (result,) = submit_entities(con.session, no_progress, [flights(late_arrival="2 days")])
    assert result.error is not None
    assert "not shorter than the retention" in result.error.message
    (result,) = submit_entities(con.session, no_progress, [flights(late_arrival="1 day")])
    assert result.error is None


def test_a_job_of_ours_runs_and_a_repeat_takes_what_failed(con: Connection) -> None:
    con.execute("INSERT INTO flights VALUES (DATE '2013-01-01', 7)")
    job = {"kind": "verify", "tables": ["flights", "delays"]}
    schedule(con, day(1), process(sql=None, inputs=None, job=job))
    assert seen(run(con, day(2))) == [(2, "SUCCEEDED")]
    ((produced,),) = con.execute("SELECT produced FROM system.instances").fetchall()
    assert set(json.loads(produced)["tables"]) == {"flights", "delays"}


@pytest.mark.parametrize("policy", ["PERIODIC", "EXPONENTIAL", "FINAL"])
def test_f45_f46_late_data_runs_an_instance_again_up_to_the_cut_off(
    con: Connection, policy: str
) -> None:
    late = {"policy": policy, "delay": "1 hour"}
    schedule(con, day(1), flights(late_arrival="2 days"), process(late_data=late))
    con.execute("INSERT INTO flights VALUES (DATE '2013-01-01', 7)")
    assert seen(run(con, day(2))) == [(2, "SUCCEEDED")]
    con.execute("INSERT INTO flights VALUES (DATE '2012-12-31', 99)")  # Of another day.
    assert run(con, day(2, 2)) == []
    con.execute("INSERT INTO flights VALUES (DATE '2013-01-01', 1)")
    when = day(3) if policy == "FINAL" else day(2, 10)
    assert seen(run(con, when)) == [(2, "SUCCEEDED")]
    assert _delays(con)[0][:2] == (1, 8)
    con.execute("INSERT INTO flights VALUES (DATE '2013-01-01', 1)")
    assert [r for r in run(con, day(4, 1)) if r.nominal == day(2)] == []
    assert _delays(con)[0][:2] == (1, 8)
    names = con.execute(
        "SELECT name FROM system.events WHERE name LIKE '%late%' OR name LIKE '%past%'"
    )
    assert [name for (name,) in names.fetchall()] == [
        "instance.late_data",
        "instance.past_cut_off",
    ]
    assert run(con, day(5)) == []


def test_f45_a_late_handler_runs_instead(con: Connection) -> None:
    handler = "INSERT INTO delays SELECT CAST($flights_from AS DATE), -1, $instance"
    late = {
        "policy": "PERIODIC",
        "delay": "1 hour",
        "inputs": [{"dataset": "flights", "sql": handler}],
    }
    schedule(con, day(1), flights(late_arrival="2 days"), process(late_data=late))
    con.execute("INSERT INTO flights VALUES (DATE '2013-01-01', 7)")
    run(con, day(2))
    con.execute("INSERT INTO flights VALUES (DATE '2013-01-01', 1)")
    run(con, day(2, 1))
    assert sorted(row[1] for row in _delays(con)) == [-1, 7]
    steps = con.execute("SELECT step FROM system.attempts ORDER BY n").fetchall()
    assert steps == [("sql",), ("late",)]
