"""The loop of jobs, with the smallest job: swapped, retired, reaped, planned anew, cleaned up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from journal.model.errors import Code, PalimpsestError
from journal.records import retired
from journal.stores.embedded import retired_files
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.recovery import unlisted_files
from journal.stores.embedded.verification import verify
from spark_compaction.contract import Progress
from spark_compaction.engines.client import SparkEngine
from spark_compaction.engines.local import LocalEngine
from spark_compaction.limits import PLANS_MAX
from spark_compaction.runner import RunOptions, run_job
from tests.support.client import Client
from tests.support.copy_job import CopyJob

NOW = RunOptions(grace_us=0)


@pytest.fixture
def table(run: Client) -> Client:
    run("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR)")
    run("INSERT INTO t SELECT i, 'x' FROM range(100) r(i)")
    run("CALL system.flush('t')")
    run("UPDATE t SET v = 'y' WHERE k < 10")
    return run


def _journal(run: Client) -> Journal:
    return run.connection.session.journal


def _is_whole(run: Client) -> bool:
    assert run("SELECT count(*), count(*) FILTER (v = 'y') FROM t") == [(100, 10)]
    assert unlisted_files(_journal(run)) == []
    return verify(_journal(run)).problems == []


def test_a_job_on_spark_from_end_to_end(table: Client, spark: SparkEngine) -> None:
    report = run_job(_journal(table), CopyJob(), 1, spark, options=NOW)
    assert report.state == "done"
    assert report.written.files == 2
    assert set(report.seconds) == {"seal", "plan", "stage", "verify", "swap", "retire"}
    assert report.reaped == 2
    assert len(table.files()) == 2
    assert _is_whole(table)


def test_retired_segments_stay_until_their_grace_ends(table: Client) -> None:
    journal = _journal(table)
    report = run_job(journal, CopyJob(), 1, LocalEngine())
    assert len(report.retired) == 2
    assert report.reaped == 0
    assert len(table.files()) == 4
    assert _is_whole(table)
    with journal.reading_session() as session:
        assert {r.id for r in retired.load(session)} == set(report.retired)
        assert {r.why.job_kind for r in retired.load(session)} == {"copy"}
    assert (
        len(retired_files.reap(journal, journal.clock.now() + 25 * 3600 * 1_000_000).removed) == 2
    )
    assert len(table.files()) == 2
    assert _is_whole(table)


def test_retired_segments_outlive_a_restart(table: Client, connect: Callable[..., Client]) -> None:
    run_job(_journal(table), CopyJob(), 1, LocalEngine())
    table.close()
    again = connect()
    assert len(again.files()) == 4
    assert _is_whole(again)


def test_what_a_statement_reads_is_not_removed(table: Client) -> None:
    journal = _journal(table)
    transaction = journal.begin(read_only=True)
    with journal.statement(transaction):
        report = run_job(journal, CopyJob(), 1, LocalEngine(), options=NOW)
        # The head was sealed after the statement began, so that segment was nothing to it.
        assert report.reaped == 1
        assert len(table.files()) == 3
    assert len(retired_files.reap(journal, journal.clock.now()).removed) == 1
    transaction.rollback()
    assert _is_whole(table)


def test_a_dry_run_changes_nothing(table: Client) -> None:
    generation = _journal(table).state.tables[1].manifest.generation
    report = run_job(_journal(table), CopyJob(), 1, LocalEngine(), options=RunOptions(dry_run=True))
    assert report.state == "planned"
    assert _journal(table).state.tables[1].manifest.generation == generation
    assert len(table.files()) == 1


def test_a_result_that_does_not_verify_is_not_listed(table: Client) -> None:
    with pytest.raises(PalimpsestError) as raised:
        run_job(_journal(table), CopyJob(spoil=True), 1, LocalEngine())
    assert raised.value.code is Code.JOB_VERIFICATION
    assert len(table.files()) == 2
    assert _is_whole(table)


def test_a_job_is_planned_anew_when_its_segments_changed(table: Client) -> None:
    journal = _journal(table)
    times: list[int] = []

    def interfere() -> None:
        if not times:
            times.append(1)
            journal.job_lock(1).release()
            run_job(journal, CopyJob(), 1, LocalEngine(), options=NOW)
            assert journal.job_lock(1).acquire(blocking=False)

    # Another job in between can only be had by letting go of the lock that keeps it out.
    report = run_job(journal, CopyJob(interfere), 1, LocalEngine(), options=NOW)
    assert report.replans == 1
    assert _is_whole(table)


def test_a_job_that_plans_in_vain_says_to_run_it_again(table: Client) -> None:
    journal = _journal(table)
    plans: list[int] = []

    def interfere() -> None:
        plans.append(1)
        journal.job_lock(1).release()
        run_job(journal, CopyJob(), 1, LocalEngine(), options=NOW)
        assert journal.job_lock(1).acquire(blocking=False)

    with pytest.raises(PalimpsestError) as raised:
        run_job(journal, CopyJob(interfere), 1, LocalEngine(), options=NOW)
    assert raised.value.code is Code.JOB_BUSY
    assert len(plans) == PLANS_MAX
    assert _is_whole(table)


def test_writers_meanwhile_need_no_new_plan(table: Client) -> None:
    def write() -> None:
        table("UPDATE t SET v = 'x' WHERE k = 0")
        table("CALL system.flush('t')")
        table("DELETE FROM t WHERE k = 99")

    report = run_job(_journal(table), CopyJob(write), 1, LocalEngine(), options=NOW)
    assert report.replans == 0
    assert table("SELECT count(*), count(*) FILTER (v = 'y') FROM t") == [(99, 9)]
    assert verify(_journal(table)).problems == []


def test_one_job_at_a_time(table: Client) -> None:
    def second() -> None:
        with pytest.raises(PalimpsestError) as raised:
            run_job(_journal(table), CopyJob(), 1, LocalEngine())
        assert raised.value.code is Code.JOB_BUSY

    run_job(_journal(table), CopyJob(second), 1, LocalEngine())


class _Losing(SparkEngine):
    """Has a file gone by the time another engine's executors read it."""

    def __init__(self, other: SparkEngine, lost: Path, place: Path) -> None:
        self._other, self._lost, self._place = other, lost, place

    def map(self, function: str, units: Sequence[Any], progress: Progress) -> list[Any]:
        self._lost.rename(self._place)
        return self._other.map(function, units, progress)


def test_a_failing_executor_leaves_nothing(table: Client, spark: SparkEngine) -> None:
    journal = _journal(table)
    table("CALL system.flush('t')")
    moved, first = table.root / "elsewhere", table.files()[0]
    with pytest.raises(PalimpsestError) as raised:
        run_job(journal, CopyJob(), 1, _Losing(spark, first, moved))
    assert raised.value.code is Code.JOB_FAILED
    moved.rename(first)
    assert len(table.files()) == 2
    assert _is_whole(table)
