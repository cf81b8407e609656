"""Compaction changes no answer: not the current view, not the past, of no type, in no layout."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import gateway
from journal.files.filters.sidecar import read_sidecar
from journal.model.limits import Slo
from journal.model.segment import Tier
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.recovery import unlisted_files
from journal.stores.embedded.verification import verify
from spark_compaction.engines.client import SparkEngine
from spark_compaction.engines.local import LocalEngine
from spark_compaction.programs.compaction import CompactJob
from spark_compaction.runner import RunOptions, run_job
from tests.support.client import Client

NOW = RunOptions(grace_us=0)


def _journal(run: Client) -> Journal:
    return run.connection.session.journal


def _compact(run: Client, mode: str = "major", engine: Any = None, **options: Any) -> Any:
    journal = _journal(run)
    table_id = max(journal.state.tables)
    job = CompactJob(mode, **options)
    return run_job(journal, job, table_id, engine or LocalEngine(), options=NOW)


def _tiers(run: Client) -> dict[Tier, int]:
    state = _journal(run).state
    manifest = state.tables[max(state.tables)].manifest
    return {
        t: sum(s.counts.total for s in manifest.in_tier(t)) for t in Tier if manifest.in_tier(t)
    }


def _versions(run: Client) -> list[int]:
    return [v for (v,) in run("SELECT version FROM system.transactions ORDER BY 1")]


def _answers(run: Client, table: str = "t") -> list[Any]:
    """The current view, and the table at each version there ever was."""
    found = [run.sorted(f"SELECT * FROM {table}")]
    found.append(run.sorted(f"SELECT * FROM {table} FOR SYSTEM_TIME ALL"))
    for version in _versions(run):
        try:
            found.append(run.sorted(f"SELECT * FROM {table} FOR VERSION AS OF {version}"))
        except gateway.Error as error:
            found.append(type(error).__name__)
    return found


def _changed(run: Client) -> None:
    run("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR)")
    run("INSERT INTO t SELECT i, 'a' || i FROM range(1000) r(i)")
    run("CALL system.flush('t')")
    run("UPDATE t SET v = v || 'b' WHERE k % 10 = 0")
    run("DELETE FROM t WHERE k % 10 = 1")
    run("CALL system.flush('t')")
    run("INSERT INTO t SELECT i, 'again' FROM range(1, 500, 20) r(i)")
    run("UPDATE t SET v = v || 'c' WHERE k % 20 = 0")


def _is_whole(run: Client) -> bool:
    report = verify(_journal(run))
    assert report.problems == []
    assert unlisted_files(_journal(run)) == []
    return True


@pytest.mark.parametrize("mode", ["minor", "major"])
def test_a_compaction_changes_no_answer(run: Client, mode: str) -> None:
    _changed(run)
    before = _answers(run)
    report = _compact(run, mode)
    assert report.state == "done"
    assert _answers(run) == before
    assert _is_whole(run)


def test_a_compaction_on_spark_changes_no_answer(run: Client, spark: SparkEngine) -> None:
    _changed(run)
    before = _answers(run)
    report = _compact(run, "major", spark)
    assert report.state == "done"
    assert report.details["unchanged"]["versions"] != "0"
    assert _answers(run) == before
    assert _is_whole(run)


def test_major_leaves_base_and_history_only(run: Client) -> None:
    _changed(run)
    _compact(run)
    rows = run("SELECT count(*) FROM t")[0][0]
    assert _tiers(run) == {Tier.BASE: rows, Tier.HISTORY: 250}
    assert _compact(run).state == "nothing"


def test_minor_leaves_one_delta_and_archives_what_came_and_went(run: Client) -> None:
    _changed(run)
    _compact(run, "minor")
    manifest = _journal(run).state.tables[1].manifest
    assert len(manifest.in_tier(Tier.DELTA)) == 1
    assert _tiers(run)[Tier.HISTORY] == 50
    before = _answers(run)
    _compact(run, "major")
    assert _answers(run) == before
    assert _is_whole(run)


def test_minor_merges_small_inserts(run: Client) -> None:
    run("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR)")
    for k in range(5):
        run("INSERT INTO t VALUES (?, 'x')", k)
        run("CALL system.flush('t')")
    before = _answers(run)
    _compact(run, "minor")
    assert len(run.files()) == 1
    assert _answers(run) == before
    assert _is_whole(run)


def test_only_touched_files_are_rewritten(run: Client) -> None:
    run("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR)")
    for start in range(0, 5000, 1000):
        run(f"INSERT INTO t SELECT i, 'x' FROM range({start}, {start + 1000}) r(i)")
        run("CALL system.flush('t')")
    run("UPDATE t SET v = 'y' WHERE k = 2500")
    before, files = _answers(run), set(run.files())
    report = _compact(run, rows_max=1000, small_files_min=100)
    assert [s.why for s in report.skipped] == ["no change lies among its keys"] * 4
    assert report.read.rows == 1002
    assert len(set(run.files()) & files) == 4
    assert _answers(run) == before
    assert _is_whole(run)


def test_many_rows_are_cut_into_units(run: Client) -> None:
    run("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR)")
    for step in range(3):
        run(f"INSERT INTO t SELECT i * 3 + {step}, 'x' FROM range(1000) r(i)")
        run("CALL system.flush('t')")
    run("UPDATE t SET v = 'y' WHERE k % 7 = 0")
    before = _answers(run)
    report = _compact(run, rows_max=500)
    assert report.details["units"] == 8
    assert _answers(run) == before
    bounds = sorted(
        (f.key_low, f.key_high)
        for s in _journal(run).state.tables[1].manifest.in_tier(Tier.BASE)
        for f in s.files
    )
    assert all(a[1] < b[0] for a, b in pairwise(bounds))
    assert _is_whole(run)


@pytest.mark.long
def test_files_outside_the_range_of_a_unit_hide_nothing(run: Client) -> None:
    run("CREATE TABLE t (k BIGINT PRIMARY KEY, v VARCHAR)")
    for start in (-1000, 0, 1000):
        run(f"INSERT INTO t SELECT i, 'x' FROM range({start}, {start + 1000}) r(i)")
        run("CALL system.flush('t')")
    for low, high in ((-1000, -900), (0, 10), (-1000, 2000)):
        run(f"UPDATE t SET v = v || 'y' WHERE k >= {low} AND k < {high} AND k % 7 = 0")
        run("CALL system.flush('t')")
    run("DELETE FROM t WHERE k % 11 = 0")
    run("CALL system.flush('t')")
    before = _answers(run)
    report = _compact(run, rows_max=250, small_files_min=2)
    assert report.details["units"] > 6
    assert _answers(run) == before
    assert _is_whole(run)
    for segment in _journal(run).state.tables[1].manifest.in_tier(Tier.BASE):
        for file in segment.files:
            schema = pq.read_schema(run.root / file.path)
            assert [f.nullable for f in schema] == [False, False, False, True]


@pytest.mark.long
def test_layouts_are_kept_apart(run: Client) -> None:
    run("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR, w INTEGER)")
    run("INSERT INTO t SELECT i, 'x', i FROM range(100) r(i)")
    run("UPDATE t SET v = 'y' WHERE k < 10")
    run("ALTER TABLE t ADD COLUMN n INTEGER DEFAULT 7")
    run("UPDATE t SET n = 8 WHERE k < 20")
    run("ALTER TABLE t DROP COLUMN w")
    run("ALTER TABLE t ALTER COLUMN n TYPE BIGINT")
    run("DELETE FROM t WHERE k < 5")
    run("INSERT INTO t VALUES (1000, 'z', 10000000000)")
    before = _answers(run)
    for mode in ("minor", "major", "minor", "major"):
        _compact(run, mode)
        assert _answers(run) == before
    assert _is_whole(run)
    assert {Tier.BASE, Tier.HISTORY} == set(_tiers(run))


def test_history_is_merged_when_it_lies_in_many_pieces(run: Client) -> None:
    _changed(run)
    for n in range(4):
        run("UPDATE t SET v = ?  WHERE k < 10", f"v{n}")
        _compact(run, history_segments_max=2)
    before = _answers(run)
    run("UPDATE t SET v = 'last' WHERE k < 10")
    _compact(run, history_segments_max=2)
    assert _answers(run)[1:] != before
    assert len(_journal(run).state.tables[1].manifest.in_tier(Tier.HISTORY)) <= 3
    assert _is_whole(run)


def test_auto_does_what_the_limits_ask_for(run: Client) -> None:
    _changed(run)
    assert _compact(run, "auto", slo=Slo(9.0, changes_min=1)).why == "no limit is exceeded"
    run("ALTER TABLE t SET TBLPROPERTIES ('compact_changes_min' = '1')")
    report = _compact(run, "auto")
    assert report.details["mode"] == "major"
    assert "plain scans" in report.why
    assert _compact(run, "auto").state == "nothing"


@pytest.mark.first(2)
@pytest.mark.parametrize("kind", ["INTEGER", "VARCHAR"])
@pytest.mark.parametrize("waits", ["all of it", "changes", "nothing"])
def test_a_dry_run_says_what_would_be_done(run: Client, kind: str, waits: str) -> None:
    """Also of rows that wait in the head, which it leaves there."""
    run(f"CREATE TABLE t (k {kind} PRIMARY KEY, v VARCHAR)")
    for start in range(1000, 5000, 1000):
        run(f"INSERT INTO t SELECT i, 'x' FROM range({start}, {start + 1000}) r(i)")
        if waits != "all of it":
            run("CALL system.flush('t')")
    run("UPDATE t SET v = 'y' WHERE k = ?", "2500" if kind == "VARCHAR" else 2500)
    if waits == "nothing":
        run("CALL system.flush('t')")
    before = run.files(), _tiers(run), _journal(run).state.tables[1].head_counts
    job = CompactJob("major", rows_max=1000, small_files_min=100)
    options = RunOptions(dry_run=True)
    planned = run_job(_journal(run), job, 1, LocalEngine(), options=options)
    assert planned.state == "planned"
    assert (run.files(), _tiers(run), _journal(run).state.tables[1].head_counts) == before
    done = _compact(run, rows_max=1000, small_files_min=100)
    assert planned.read.rows == done.read.rows == (4002 if waits == "all of it" else 1002)
    assert (planned.read.files, planned.skipped) == (done.read.files, done.skipped)
    assert (planned.written.rows, planned.removed.rows) == (done.written.rows, 1)
    assert done.removed.rows == 1
    assert ("read.bytes" in planned.inexact) == (waits != "nothing")


def test_an_empty_table_is_nothing_to_do(run: Client) -> None:
    run("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    assert _compact(run).state == "nothing"
    run("INSERT INTO t VALUES (1)")
    run("DELETE FROM t")
    assert _compact(run).state == "done"
    assert run("SELECT * FROM t") == []
    assert _is_whole(run)


def test_a_table_without_a_key(run: Client) -> None:
    run("CREATE TABLE t (v VARCHAR)")
    run("INSERT INTO t VALUES ('a'), ('a'), (NULL)")
    run("DELETE FROM t WHERE v = 'a'")
    run("INSERT INTO t VALUES ('a')")
    before = _answers(run)
    _compact(run)
    assert _answers(run) == before
    assert _is_whole(run)


def test_rows_closed_while_the_job_runs(run: Client, connect: Callable[..., Client]) -> None:
    _changed(run)
    other = connect()

    class Slow(LocalEngine):
        def map(self, function: str, units: Any, progress: Any) -> Any:
            other("UPDATE t SET v = 'meanwhile' WHERE k = 500")
            other("DELETE FROM t WHERE k = 510")
            found = super().map(function, units, progress)
            other("CALL system.flush('t')")
            other("UPDATE t SET v = 'after' WHERE k IN (500, 520)")
            return found

    report = _compact(run, "major", Slow())
    assert report.replans == 0
    assert run("SELECT v FROM t WHERE k IN (500, 510, 520) ORDER BY k") == [("after",), ("after",)]
    before = _answers(run)
    _compact(run)
    assert _answers(run) == before
    assert _is_whole(run)


def test_columns_without_nulls_stay_required(run: Client) -> None:
    """They are read faster so, and sealed segments have them so."""
    _changed(run)
    _compact(run)
    for segment in _journal(run).state.tables[1].manifest.in_tier(Tier.BASE):
        for file in segment.files:
            schema = pq.read_schema(run.root / file.path)
            assert [f.nullable for f in schema] == [False, False, False, True]


def test_filters_are_written_with_the_files(run: Client) -> None:
    run("CREATE TABLE t (k INTEGER PRIMARY KEY, email VARCHAR) WITH (erasure = 'email')")
    run("INSERT INTO t SELECT i, 'u' || i FROM range(100) r(i)")
    run("CALL system.flush('t')")
    run("UPDATE t SET email = 'new' || k WHERE k < 10")
    _compact(run)
    folders = {path.parent for path in run.files()}
    assert len(folders) == 2
    for folder in folders:
        names = {path.name for path in folder.glob("*.parquet")}
        assert set(read_sidecar(folder)) == names


def test_no_view_names_files_that_are_gone(run: Client) -> None:
    run("CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER)")
    run("INSERT INTO t SELECT i, i FROM range(100) r(i)")
    run("UPDATE t SET v = -1 WHERE k < 10")
    run("CALL system.flush('t')")
    _compact(run)
    with _journal(run).reading_session() as session:
        views = [
            sql for (sql,) in session.text("SELECT sql FROM duckdb_views() WHERE NOT internal")
        ]
    named = {path for sql in views for path in re.findall(r"'([^']*\.parquet)'", sql)}
    assert named
    assert all(Path(path).exists() for path in named)
    run("UPDATE t SET v = -2 WHERE k = 3")
    run("CALL system.flush('t')")
    assert run("SELECT count(*) FILTER (v = -2), count(*) FROM t") == [(1, 100)]
