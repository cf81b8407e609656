"""What a look of the scheduler costs does not grow with what there is, nor does what it keeps."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.governance import waiting_instances
from gateway.governance.process_scheduler import ProcessScheduler
from journal.local_engine.session import DuckDBSession
from tests.support.processes import (
    dataset,
    day,
    flights,
    make_tables,
    process,
    run,
    schedule,
    states,
)


@pytest.fixture
def con() -> Iterator[Connection]:
    with gateway.connect("palimpsest://", autocommit=True) as con:
        make_tables(con)
        yield con


@contextmanager
def _counted_statements(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The statements of this thread; others may still close what earlier tests left open."""
    texts: list[str] = []
    text = DuckDBSession.text
    thread = threading.get_ident()

    def counting(self: DuckDBSession, sql: str, values: Any = ()) -> list[tuple[Any, ...]]:
        if threading.get_ident() == thread:
            texts.append(sql)
        return text(self, sql, values)

    with monkeypatch.context() as patch:
        patch.setattr(DuckDBSession, "text", counting)
        yield texts


def _filled_and_read(number: int) -> list[dict[str, Any]]:
    """A process that fills a dataset of its own, and one that waits for it."""
    name = f"data-{number}"
    reads = [{"dataset": name, "from": "today(0, 0)", "to": "today(0, 0)"}]
    fills = [{"dataset": name, "instance": "today(0, 0)"}]
    return [
        dataset(name, table="delays", available="produced"),
        process(f"fills-{number}", sql="SELECT 1", inputs=None, outputs=fills),
        process(f"reads-{number}", sql="SELECT 1", inputs=reads),
    ]


def test_statements_of_a_look_do_not_grow_with_what_is_due(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = []
    for number in (1, 4):
        with gateway.connect("palimpsest://", autocommit=True) as con:
            make_tables(con)
            schedule(con, day(1), *[one for n in range(number) for one in _filled_and_read(n)])
            with ProcessScheduler(lambda con=con: con.session, now=lambda: day(2)) as scheduler:
                with _counted_statements(monkeypatch) as texts:
                    scheduler.tick()
            counts.append(len(texts))
            assert len(states(con)) == 2 * number
    assert counts[0] == counts[1]


def test_who_waits_for_files_takes_no_turn_from_who_waits_for_data(
    con: Connection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(waiting_instances, "ASKED_AT_ONCE", 1)
    flagged = [
        dataset(f"file-{n}", table="delays", flag=str(tmp_path / "never"), available="flag")
        for n in range(2)
    ]
    reading = [
        process(
            f"a-{n}",
            sql="SELECT 1",
            inputs=[{"dataset": f"file-{n}", "from": "today(0, 0)", "to": "today(0, 0)"}],
        )
        for n in range(2)
    ]
    schedule(con, day(1), *flagged, flights(), *reading, process(), process("later"))
    con.execute("INSERT INTO flights VALUES (DATE '2013-01-01', 7)")
    ran = run(con, day(2, 1))
    assert sorted((one.entity, one.state) for one in ran) == [
        *(("daily", "SUCCEEDED"), ("later", "SUCCEEDED"))
    ]


def test_what_waits_is_asked_again_only_after_a_change(
    con: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule(con, day(1), *_filled_and_read(1), *_filled_and_read(2))
    asked: list[str] = []
    inputs = waiting_instances.instance_inputs

    def asking(process: Any, known: Any, nominal: Any, is_there: Any, *more: Any) -> Any:
        if is_there.__name__ == "is_there":
            asked.append(process.name)
        return inputs(process, known, nominal, is_there, *more)

    monkeypatch.setattr(waiting_instances, "instance_inputs", asking)
    con.execute("CREATE TABLE other (a INTEGER)")
    with ProcessScheduler(lambda: con.session, now=lambda: day(2)) as scheduler:
        (first,) = scheduler.tick()
        assert sorted(asked) == ["fills-1", "fills-2", "reads-1", "reads-2"]
        asked.clear()
        scheduler.tick()
        con.execute("INSERT INTO other VALUES (1)")
        scheduler.tick()
        assert asked == []
        scheduler._submit([first])
        scheduler._futures[first.row.id, first.row.fence].result()
        scheduler.tick()
        # The other waits for another dataset.
        assert asked == ["reads-1" if first.row.entity == "fills-1" else "reads-2"]
    runs = run(con, day(2))
    assert {r.state for r in runs} == {"SUCCEEDED"}
    assert states(con) == [(2, "SUCCEEDED")] * 4


@pytest.mark.parametrize(
    # In the long one the list of recent statements, 500 of them, is full before the first look.
    ("days", "first"),
    [
        pytest.param(14, 6, marks=pytest.mark.long),
        pytest.param(365, 260, marks=pytest.mark.slow),
    ],
)
def test_memory_stays_flat_over_simulated_days(con: Connection, days: int, first: int) -> None:
    name = {"timezone": "America/New_York", "every": "1 day", "start": "2013-01-01"}
    reads = [{"dataset": "data", "from": "today(0, 0)", "to": "today(0, 0)"}]
    fills = [{"dataset": "data", "instance": "today(0, 0)"}]
    schedule(
        *(con, day(1), dataset("data", table="delays", available="produced", **name)),
        process("fills", sql="SELECT 1", inputs=None, outputs=fills, **name),
        process("reads", sql="SELECT 1", inputs=reads, **name),
    )
    now = [datetime(2013, 1, 1, 12, tzinfo=UTC)]
    sizes = []
    with ProcessScheduler(lambda: con.session, now=lambda: now[0]) as scheduler:
        for number in range(days):
            assert len(scheduler.once()) == 2
            now[0] += timedelta(days=1)
            if number in (first, days - 1):
                gc.collect()
                sizes.append(len(gc.get_objects()))
    before, after = sizes
    assert after - before < 0.02 * before
    found = con.execute("SELECT state, count(*) FROM system.instances GROUP BY state").fetchall()
    assert found == [("SUCCEEDED", 2 * days)]
