"""Retention with a given clock: what goes, what stays to the row, holds, archives, and the past."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from journal.model.errors import PalimpsestError
from journal.records import retired
from journal.records.report import JobReport
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.recovery import unlisted_files
from journal.stores.embedded.verification import verify
from spark_compaction.engines.client import SparkEngine
from spark_compaction.engines.local import LocalEngine
from spark_compaction.programs.retention import Retention
from spark_compaction.runner import RunOptions, run_job
from tests.support.client import Client

NOW = datetime(2024, 4, 1, tzinfo=UTC)
EXPIRED = "ds < DATE '2024-03-02'"


def retain(run: Client, *, engine: Any = None, now: datetime = NOW, dry: bool = False) -> JobReport:
    journal = _journal(run)
    job = Retention(now)
    table = next(journal.state.catalog.tables())
    return run_job(
        journal,
        job,
        table.id,
        engine or LocalEngine(),
        options=RunOptions(dry_run=dry, grace_us=0),
        check=lambda state: job.check(journal, state, table.id),
    )


def _journal(run: Client) -> Journal:
    return run.connection.session.journal


def is_whole(run: Client) -> bool:
    assert unlisted_files(_journal(run)) == []
    assert verify(_journal(run)).problems == []
    current = run("SELECT count(*), sum(n), sum(id) FROM t")
    plain = run("SELECT count(*), sum(n), sum(id) FROM (SELECT DISTINCT * FROM t)")
    assert current == plain
    return True


@pytest.fixture
def table(run: Client) -> Client:
    """Ninety days up to NOW in three segments, some rows changed, some deleted, some undated."""
    run("CREATE TABLE t (id INT PRIMARY KEY, ds DATE, n INT)")
    for part in range(3):
        start = f"DATE '2024-01-02' + INTERVAL ({part * 30}) DAY"
        run(
            f"INSERT INTO t SELECT {part} * 30 + i, ({start} + INTERVAL (i) DAY)::DATE, i"
            " FROM range(30) r(i)"
        )
        run("CALL system.flush('t')")
    run("INSERT INTO t VALUES (1000, NULL, 7)")
    run("UPDATE t SET n = n + 100 WHERE id % 3 = 0")
    run("DELETE FROM t WHERE id % 7 = 0")
    run("CALL system.flush('t')")
    run("ALTER TABLE t SET POLICY (RETENTION = 30 DAYS ON COLUMN ds)")
    return run


@pytest.mark.long
def test_exactly_the_rows_past_their_date_go(table: Client, spark: SparkEngine) -> None:
    kept = table.sorted(f"SELECT * FROM t WHERE NOT coalesce({EXPIRED}, false)")
    planned = retain(table, dry=True)
    assert planned.state == "planned"
    before = table("SELECT count(*) FROM t_journal")[0][0]
    report = retain(table, engine=spark)
    assert report.state == "done"
    after = table("SELECT count(*) FROM t_journal")[0][0]
    assert before - after == report.removed.rows == sum(planned.details["rows"].values())
    assert table.sorted("SELECT * FROM t") == kept
    assert table("SELECT count(*) FROM t WHERE ds IS NULL") == [(1,)]
    assert table(f"SELECT count(*) FROM t_journal WHERE {EXPIRED}") == [(0,)]
    assert is_whole(table)
    assert retain(table).state == "nothing"


def test_the_boundary_is_exact(table: Client) -> None:
    report = retain(table, now=datetime(2024, 2, 1, tzinfo=UTC), dry=True)
    assert report.state == "nothing"
    retain(table, now=datetime(2024, 2, 1, 0, 0, 0, 1, tzinfo=UTC))
    assert table("SELECT min(ds)::VARCHAR FROM t") == [("2024-01-03",)]


def test_the_past_of_other_rows_is_untouched(table: Client) -> None:
    versions = [v for (v,) in table("SELECT version FROM system.transactions ORDER BY version")]
    rest = f"NOT coalesce({EXPIRED}, false)"
    query = f"SELECT * FROM t FOR SYSTEM_VERSION AS OF {{}} WHERE {rest}"
    before = [table.sorted(query.format(v)) for v in versions[1:6]]
    retain(table)
    assert [table.sorted(query.format(v)) for v in versions[1:6]] == before
    assert table(f"SELECT count(*) FROM t FOR SYSTEM_VERSION AS OF {versions[3]} WHERE {EXPIRED}")[
        0
    ] == (0,)


def test_whole_files_are_not_read_again(table: Client) -> None:
    report = retain(table, now=datetime(2024, 3, 2, tzinfo=UTC))
    assert any(s.why == "nothing past its time" for s in report.skipped)
    assert report.written.rows < report.read.rows


def test_archived_rows_are_kept_apart(table: Client) -> None:
    expired = table(f"SELECT count(*) FROM t_journal WHERE {EXPIRED}")[0][0]
    table("ALTER TABLE t SET POLICY (RETENTION = 30 DAYS ON COLUMN ds ACTION = ARCHIVE)")
    report = retain(table)
    assert report.removed.rows == expired
    with _journal(table).reading_session() as session:
        kept = [r for r in retired.load(session) if r.why.job_kind == retired.ARCHIVE]
    assert sum(r.segment.counts.total for r in kept) == expired
    assert all(r.why.until is None for r in kept)
    assert is_whole(table)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("TIMESTAMP", "ds::TIMESTAMP"),
        ("TIMESTAMPTZ", "(ds::VARCHAR || ' 00:00:00+00')::TIMESTAMPTZ"),
        ("VARCHAR", "coalesce(ds::VARCHAR, 'someFolder')"),
    ],
)
def test_other_types_date_rows_too(table: Client, kind: str, value: str) -> None:
    left = table(f"SELECT count(*) FROM t WHERE NOT coalesce({EXPIRED}, false)")
    table(f"CREATE TABLE u (id INT PRIMARY KEY, d {kind}, n INT)")
    table(f"INSERT INTO u SELECT id, {value}, n FROM t")
    table("DROP TABLE t")
    table("ALTER TABLE u SET POLICY (RETENTION = 30 DAYS ON COLUMN d)")
    retain(table)
    assert table("SELECT count(*) FROM u") == left


def test_a_nanosecond_decides(run: Client) -> None:
    run("CREATE TABLE t (k INT PRIMARY KEY, ds TIMESTAMP_NS)")
    for k, end in enumerate(("58.999999999", "59.000000000", "59.000000001")):
        run(f"INSERT INTO t VALUES ({k}, TIMESTAMP_NS '2024-03-01 01:00:{end}')")
    run("ALTER TABLE t SET POLICY (RETENTION = 1 DAY ON COLUMN ds)")
    run("CALL system.retain('t', now => '2024-03-02T01:00:59')")
    assert run("SELECT k FROM t ORDER BY k") == [(1,), (2,)]
    run("ALTER TABLE t SET POLICY (RETENTION = 900 YEARS ON COLUMN ds)")
    run("CALL system.retain('t', now => '2024-03-02T01:00:59')")
    assert run("SELECT count(*) FROM t") == [(2,)]


def test_old_layouts_are_judged_by_present_columns(run: Client) -> None:
    run("CREATE TABLE t (id INT PRIMARY KEY, n INT)")
    run("INSERT INTO t SELECT i, i FROM range(10) r(i)")
    run("CALL system.flush('t')")
    run("ALTER TABLE t ADD COLUMN ds DATE DEFAULT DATE '2024-03-20'")
    run("INSERT INTO t VALUES (100, 1, DATE '2024-01-01')")
    run("UPDATE t SET ds = DATE '2024-01-02' WHERE id < 3")
    run("CALL system.flush('t')")
    run("ALTER TABLE t SET POLICY (RETENTION = 30 DAYS ON COLUMN ds)")
    retain(run)
    assert run.sorted("SELECT id FROM t") == [(i,) for i in range(3, 10)]
    assert is_whole(run)
    retain(run, now=datetime(2024, 4, 20, tzinfo=UTC))
    assert run("SELECT count(*) FROM t") == [(0,)]
    assert is_whole(run)


@pytest.mark.long
def test_a_hold_keeps_all_versions_of_a_key(table: Client) -> None:
    ((hold, *_),) = table("PLACE HOLD ON t WHERE n = 100 REASON 'matter 1'")
    retain(table)
    assert table(f"SELECT id, n FROM t WHERE {EXPIRED} ORDER BY id") == [(30, 100)]
    assert is_whole(table)
    table(f"RELEASE HOLD '{hold}'")
    assert retain(table).state == "done"
    assert table(f"SELECT count(*) FROM t WHERE {EXPIRED}") == [(0,)]


def test_a_hold_on_the_table_stops_it(table: Client) -> None:
    table("PLACE HOLD ON t REASON 'matter 2'")
    report = retain(table)
    assert report.state == "nothing"
    assert "matter 2" in report.why


def test_history_goes_by_its_end_and_the_past_before_it_is_refused(run: Client) -> None:
    run("CREATE TABLE t (id INT PRIMARY KEY, ds DATE, n INT)")
    run("INSERT INTO t SELECT i, NULL, 0 FROM range(10) r(i)")
    for n in range(1, 4):
        run(f"UPDATE t SET n = {n} WHERE id < 5")
    run("DELETE FROM t WHERE id = 0")
    versions = [v for (v,) in run("SELECT version FROM system.transactions ORDER BY version")]
    run("ALTER TABLE t SET POLICY (HISTORY = 1 MINUTE)")
    state = run.sorted("SELECT * FROM t")
    third = run.sorted(f"SELECT * FROM t FOR SYSTEM_VERSION AS OF {versions[3]}")
    end = datetime.fromtimestamp(versions[3] / 1e6, UTC)
    retain(run, now=end.replace(minute=(end.minute + 1) % 60, hour=end.hour + (end.minute == 59)))
    assert run.sorted("SELECT * FROM t") == state
    assert run.sorted(f"SELECT * FROM t FOR SYSTEM_VERSION AS OF {versions[3]}") == third
    assert run.error(f"SELECT * FROM t FOR SYSTEM_VERSION AS OF {versions[2]}")[0] == "PAL-230"
    assert is_whole(run)


def test_at_most_so_many_versions(run: Client) -> None:
    run("CREATE TABLE t (id INT PRIMARY KEY, ds DATE, n INT)")
    run("INSERT INTO t SELECT i, NULL, 0 FROM range(4) r(i)")
    for n in range(1, 5):
        run(f"UPDATE t SET n = {n} WHERE id < 2")
    run("DELETE FROM t WHERE id = 1")
    run("ALTER TABLE t SET POLICY (VERSIONS = 2)")
    retain(run)
    history = "SELECT id, n FROM t FOR SYSTEM_TIME ALL ORDER BY id, n"
    assert run(history) == [(0, 3), (0, 4), (1, 3), (1, 4), (2, 0), (3, 0)]
    assert run.sorted("SELECT id, n FROM t") == [(0, 4), (2, 0), (3, 0)]
    assert is_whole(run)


def test_versions_that_an_open_transaction_reads_stay(run: Client, connect: Any) -> None:
    run("CREATE TABLE t (id INT PRIMARY KEY, ds DATE, n INT)")
    run("INSERT INTO t SELECT i, NULL, 0 FROM range(4) r(i)")
    run("ALTER TABLE t SET POLICY (VERSIONS = 1)")
    other = connect()
    other("BEGIN")
    assert other("SELECT sum(n), count(*) FROM t") == [(0, 4)]
    run("UPDATE t SET n = 1")
    assert retain(run).state == "nothing"
    assert other("SELECT sum(n), count(*) FROM t") == [(0, 4)]
    other("COMMIT")
    assert retain(run).removed.rows == 8
    assert run("SELECT sum(n), count(*) FROM t") == [(4, 4)]
    assert is_whole(run)


def test_a_transaction_that_ended_an_expired_row_conflicts(table: Client, connect: Any) -> None:
    other = connect()
    other("BEGIN")
    other("UPDATE t SET n = -1 WHERE id = 1")
    third = connect()
    third("BEGIN")
    third("UPDATE t SET n = -1 WHERE id = 80")
    retain(table)
    assert other.error("COMMIT") == ("PAL-401", "40001")
    third("COMMIT")
    assert table("SELECT n FROM t WHERE id = 80") == [(-1,)]
    assert is_whole(table)


def test_without_a_policy_there_is_nothing_to_do(run: Client) -> None:
    run("CREATE TABLE t (id INT PRIMARY KEY, ds DATE, n INT)")
    run("INSERT INTO t VALUES (1, DATE '1999-01-01', 1)")
    assert retain(run).why == "no policy removes anything"


def test_a_spoiled_result_is_not_listed(table: Client) -> None:
    class Spoiling(LocalEngine):
        def map(self, function: str, units: Any, progress: Any) -> Any:
            results = super().map(function, units, progress)
            results[0][0]["rows"] -= 1
            return results

    with pytest.raises(PalimpsestError) as raised:
        retain(table, engine=Spoiling())
    assert raised.value.code.value.code == "PAL-702"
    assert is_whole(table)


def test_an_earlier_version_does_not_come_back(run: Client) -> None:
    run("CREATE TABLE t (id INT PRIMARY KEY, ds DATE, n INT)")
    run("ALTER TABLE t SET POLICY (RETENTION = 30 DAYS ON COLUMN ds)")
    run("INSERT INTO t VALUES (1, NULL, 1), (2, NULL, 2)")
    before = run("SELECT max(version) FROM system.transactions")[0][0]
    run("UPDATE t SET ds = DATE '1999-01-01' WHERE id = 1")
    after = run("SELECT max(version) FROM system.transactions")[0][0]
    assert retain(run).removed.rows == 1
    assert run("SELECT n FROM t WHERE id = 1") == run("SELECT n FROM t WHERE id <= 1") == []
    assert run("UPDATE t SET n = 9 WHERE id = 1") == 0
    asked = "SELECT n FROM t FOR VERSION AS OF"
    assert run(f"{asked} {before} WHERE id = 1") == [(1,)]
    assert run(f"{asked} {after} WHERE id = 1") == run(f"{asked} {after} WHERE id <= 1") == []
    run("INSERT INTO t VALUES (1, NULL, 3)")
    assert run("SELECT n FROM t WHERE id = 1") == [(3,)]
    assert is_whole(run)


def test_rows_that_are_ended_meanwhile_wait_for_the_next_run(table: Client) -> None:
    other = Client(table.root)

    class Changing(LocalEngine):
        def map(self, function: str, units: Any, progress: Any) -> Any:
            other(f"UPDATE t SET n = -1 WHERE {EXPIRED} AND id % 5 = 1")
            other(f"DELETE FROM t WHERE {EXPIRED} AND id % 5 = 2")
            return super().map(function, units, progress)

    kept = table.sorted(f"SELECT * FROM t WHERE NOT coalesce({EXPIRED}, false)")
    report = retain(table, engine=Changing())
    assert (report.state, report.replans) == ("done", 0)
    assert is_whole(table)
    assert table.sorted(f"SELECT * FROM t WHERE NOT coalesce({EXPIRED}, false)") == kept
    assert retain(table).state == "done"
    assert table.sorted("SELECT * FROM t") == kept
    assert table(f"SELECT count(*) FROM t FOR SYSTEM_TIME ALL WHERE {EXPIRED}") == [(0,)]
    other.close()
    assert is_whole(table)


def test_a_held_person_stays(table: Client) -> None:
    hold = table("PLACE HOLD FOR SUBJECT id = '5' REASON 'matter 17'")[0][0]
    retain(table)
    assert table(f"SELECT id FROM t WHERE {EXPIRED}") == [(5,)]
    table(f"RELEASE HOLD '{hold}'")
    retain(table)
    assert table(f"SELECT id FROM t WHERE {EXPIRED}") == []


def test_rows_that_came_in_bulk_after_others_are_judged_and_backed_up(run: Client) -> None:
    run("CREATE TABLE t (id INT PRIMARY KEY, ds DATE, n INT)")
    run("ALTER TABLE t SET POLICY (RETENTION = 30 DAYS ON COLUMN ds)")
    run("INSERT INTO t VALUES (1, DATE '1999-01-01', 1)")
    run("SET memory_rows = 5")
    run("INSERT INTO t SELECT i, DATE '1999-01-01', 0 FROM range(2, 50) r(i)")
    run("CALL system.backup('t', name => 'all')")
    assert run("SELECT rows FROM system.backups WHERE name = 'all'") == [(49,)]
    run("INSERT INTO t VALUES (100, DATE '1999-01-01', 1)")
    run("INSERT INTO t SELECT i, DATE '1999-01-01', 0 FROM range(101, 150) r(i)")
    assert retain(run).removed.rows == 99
    assert is_whole(run)
