"""Jobs as clients run them: CALL, VACUUM, system.jobs, attempts, plug-ins, and the command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import gateway
from gateway.cli import main
from gateway.jobs import kind_names, kinds
from gateway.jobs.context import JobContext, JobKind
from gateway.jobs.job_locks import job_slot
from gateway.jobs.runs import Request, run_all
from journal.model.errors import Code, PalimpsestError
from journal.records.report import JobReport
from journal.stores.embedded.recovery import unlisted_files
from journal.stores.embedded.verification import verify
from tests.support.client import Client
from tests.support.prepared_warehouse import prepared_warehouse

TABLES = (
    "CREATE SCHEMA hr",
    "CREATE TABLE hr.t (id INT PRIMARY KEY, ds DATE, n INT)",
    "INSERT INTO hr.t SELECT i, DATE '2020-01-01' + i::INT, 0 FROM range(100) r(i)",
    "CALL system.flush()",
    "CREATE TABLE hr.u (id INT PRIMARY KEY, n INT)",
)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Client]:
    prepared_warehouse(tmp_path / "warehouse", TABLES)
    client = Client(tmp_path / "warehouse")
    yield client
    if not client.connection.closed:
        client.close()


def call(run: Client, sql: str) -> dict[str, Any]:
    """The one row of a CALL by column, its report taken apart."""
    with run.connection.cursor() as cursor:
        cursor.execute(sql)
        names = [d[0] for d in cursor.description]
        (row,) = cursor.fetchall()
    found = dict(zip(names, row, strict=True))
    found["report"] = json.loads(found["report"])
    return found


def is_whole(run: Client) -> bool:
    journal = run.connection.session.journal
    return verify(journal).problems == [] and unlisted_files(journal) == []


def test_retention_by_sql_is_a_row_and_a_record(run: Client) -> None:
    run("ALTER TABLE hr.t SET POLICY (RETENTION = 1 YEAR ON COLUMN ds)")
    planned = call(run, "CALL system.retain('hr.t', now => '2021-01-11', dry_run => true)")
    assert (planned["state"], planned["report"]["details"]["rows"]["open"]) == ("PLANNED", 10)
    done = call(run, "CALL system.retain(table => 'hr.t', now => '2021-01-11')")
    assert (done["state"], done["rows_removed"]) == ("SUCCEEDED", 10)
    assert run("SELECT min(ds)::VARCHAR, count(*) FROM hr.t") == [("2020-01-11", 90)]
    rows = run(
        "SELECT kind, table_name, state, attempt, dry_run, cause, rows_removed, len(log) > 1,"
        " ended_at >= started_at FROM system.jobs ORDER BY started_at"
    )
    assert rows == [
        ("retain", "hr.t", "PLANNED", 1, True, "manual", 10, True, True),
        ("retain", "hr.t", "SUCCEEDED", 1, False, "manual", 10, True, True),
    ]
    assert is_whole(run)


@pytest.mark.long
def test_restore_brings_back_what_retention_removed(run: Client) -> None:
    before = run.sorted("SELECT * FROM hr.t")
    run("ALTER TABLE hr.t SET POLICY (RETENTION = 1 YEAR ON COLUMN ds)")
    run("CALL system.retain('hr.t', now => '2021-01-11')")
    run("UPDATE hr.t SET n = 5 WHERE id = 50")
    version = run("SELECT max(version) FROM system.transactions")[0][0]
    assert call(run, "CALL system.restore('hr.t', key => '3')")["rows_written"] == 1
    assert run("SELECT count(*) FROM hr.t") == [(91,)]
    planned = call(run, "CALL system.restore('hr.t', dry_run => true)")
    assert (planned["state"], planned["rows_written"]) == ("PLANNED", 10)
    done = call(run, "CALL system.restore('hr.t')")
    assert done["rows_written"] == 10
    assert run.sorted("SELECT * FROM hr.t") == before
    assert run(f"SELECT count(*) FROM hr.t FOR SYSTEM_VERSION AS OF {version}") == [(90,)]
    trash = done["report"]["details"]["trash"]
    assert call(run, f"CALL system.restore('hr.t', backup => '{trash}')")["rows_written"] == 10
    assert run("SELECT n FROM hr.t WHERE id = 50") == [(5,)]
    assert is_whole(run)


def test_compaction_by_sql(run: Client) -> None:
    run("UPDATE hr.t SET n = 1 WHERE id < 5")
    before = run.sorted("SELECT * FROM hr.t")
    done = call(run, "OPTIMIZE hr.t")
    assert (done["kind"], done["state"]) == ("compact", "SUCCEEDED")
    assert {t for (t,) in run("SELECT tier FROM system.segments")} == {"base", "history"}
    assert call(run, "OPTIMIZE TABLE hr.t FULL")["state"] == "NOTHING"
    assert call(run, "CALL system.compact(table => 'hr.t', mode => 'auto')")["state"] == "NOTHING"
    assert run.sorted("SELECT * FROM hr.t") == before
    assert run.error("CALL system.compact('hr.t', mode => 'wild')")[0] == "PAL-222"
    assert is_whole(run)


def test_named_backups(run: Client) -> None:
    assert call(run, "CALL system.backup('hr.t', name => 'b1')")["state"] == "SUCCEEDED"
    assert run.error("CALL system.backup('hr.t', name => 'b1')") == ("PAL-705", "55000")
    run("UPDATE hr.t SET n = id WHERE id < 7")
    run("DELETE FROM hr.t WHERE id = 99")
    run("INSERT INTO hr.t VALUES (200, NULL, 1)")
    assert run("SELECT name, kind, rows FROM system.backups") == [("b1", "named", 100)]
    done = call(run, "CALL system.restore('hr.t', backup => 'b1', where => 'id < 5')")
    assert done["rows_written"] == 4
    assert run("SELECT count(*), sum(n) FROM hr.t WHERE id < 7") == [(7, 11)]
    assert call(run, "CALL system.restore('hr.t', backup => 'b1')")["rows_written"] == 4
    assert run("SELECT count(*), sum(n), max(id) FROM hr.t") == [(100, 0, 99)]
    assert call(run, "CALL system.restore('hr.t', backup => 'b1')")["state"] == "NOTHING"
    assert run.error("CALL system.restore('hr.t', backup => 'b2')") == ("PAL-705", "55000")
    call(run, "CALL system.backup('hr.t', name => 'b1', drop => true)")
    assert run("SELECT count(*) FROM system.backups WHERE kind = 'named'") == [(0,)]


def test_nothing_and_empty_backups_are_refused(run: Client) -> None:
    assert run.error("CALL system.restore('hr.t')") == ("PAL-705", "55000")
    run("CALL system.backup('hr.u', name => 'empty')")
    assert run.error("CALL system.restore('hr.u', backup => 'empty')") == ("PAL-705", "55000")
    assert call(run, "CALL system.backup('hr.u', name => 'empty', drop => true)")
    assert run.error("CALL system.restore('hr.u', backup => 'empty')") == ("PAL-705", "55000")
    with pytest.raises(gateway.Error, match=r"no rows of hr\.t are archived"):
        run(f"CALL system.backup('hr.t', name => 'a', archive => true, to => '{run.root}-away')")


def test_archived_rows_come_back_and_replace_nothing(run: Client) -> None:
    run("ALTER TABLE hr.t SET POLICY (RETENTION = 1 YEAR ON COLUMN ds ACTION = ARCHIVE)")
    run("CALL system.retain('hr.t', now => '2021-01-11')")
    run("INSERT INTO hr.t VALUES (3, DATE '2024-01-01', 77)")
    run("VACUUM hr.t RETAIN 1 MINUTE")
    done = call(run, "CALL system.restore('hr.t', backup => 'archive')")
    assert done["rows_written"] == 9
    assert run("SELECT n FROM hr.t WHERE id = 3") == [(77,)]
    assert run("SELECT count(*) FROM hr.t") == [(100,)]
    assert is_whole(run)


def test_a_restore_across_a_changed_definition(run: Client) -> None:
    run("CALL system.backup('hr.t', name => 'b1')")
    run("ALTER TABLE hr.t ADD COLUMN note VARCHAR DEFAULT 'none'")
    run("DELETE FROM hr.t WHERE id < 50")
    assert call(run, "CALL system.restore('hr.t', backup => 'b1')")["rows_written"] == 50
    assert run("SELECT DISTINCT note FROM hr.t") == [("none",)]
    assert is_whole(run)


def test_vacuum_removes_by_age_and_never_what_a_backup_holds(run: Client) -> None:
    run("ALTER TABLE hr.t SET POLICY (RETENTION = 1 YEAR ON COLUMN ds)")
    run("CALL system.backup('hr.t', name => 'b1')")
    run("CALL system.retain('hr.t', now => '2021-01-11')")
    assert len(run.files()) == 2
    assert call(run, "VACUUM hr.t")["state"] == "NOTHING"
    far = "CALL system.vacuum('hr.t', versions => 1, dry_run => true)"
    assert call(run, far)["state"] == "NOTHING"
    run("CALL system.retain('hr.t', now => '2021-01-12')")
    assert len(run.files()) == 3
    planned = call(run, "CALL system.vacuum('hr.t', versions => 1, dry_run => true)")
    assert planned["rows_removed"] == 0, "the first run's segment belongs to a named backup"
    call(run, "CALL system.backup('hr.t', name => 'b1', drop => true)")
    planned = call(run, "CALL system.vacuum('hr.t', versions => 1, dry_run => true)")
    assert planned["rows_removed"] == 100
    assert len(run.files()) == 3
    done = call(run, "CALL system.vacuum('hr.t', versions => 1)")
    assert done["bytes_removed"] == planned["bytes_removed"]
    assert len(run.files()) == 2
    assert is_whole(run)


def test_expired_backups_are_forgotten(run: Client) -> None:
    run("CALL system.backup('hr.t', name => 'b1', expires => '1 minute')")
    session = run.connection.session
    table = next(t for t in session.journal.state.catalog.tables() if t.name.name == "t")
    later = JobKind("vacuum", "", kinds.find_kind("vacuum").run, ("retain", "versions", "backups"))
    assert later.name == "vacuum"
    request = Request("vacuum", now=datetime(2999, 1, 1, tzinfo=UTC))
    (done,) = run_all(session, request, [table])
    assert done.report is not None
    assert done.report.details["backups_forgotten"] == ["b1"]
    assert run("SELECT count(*) FROM system.backups") == [(0,)]


def test_g25_what_a_restore_replaced_goes_when_its_time_is_over(run: Client) -> None:
    run("CALL system.backup('hr.t', name => 'b1')")
    run("UPDATE hr.t SET n = -1")
    report = call(run, "CALL system.restore('hr.t', backup => 'b1')")["report"]
    session = run.connection.session
    table = next(t for t in session.journal.state.catalog.tables() if t.name.name == "t")
    forgotten = []
    for days in (29, 31):
        request = Request("vacuum", now=datetime.now(UTC) + timedelta(days=days))
        (done,) = run_all(session, request, [table])
        assert done.report is not None
        forgotten.append(done.report.details.get("backups_forgotten", []))
    assert forgotten == [[], [report["details"]["trash"]]]


def test_one_failing_table_stops_none_of_the_others(
    run: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def fail_on_t(context: JobContext) -> JobReport:
        calls.append(context.table.name.name)
        if context.table.name.name == "t":
            raise ValueError("no luck")
        return JobReport(context.job_id, "plug", str(context.table.name), "done")

    _plug(monkeypatch, JobKind("plug", "for this test", fail_on_t, ("word",)))
    assert "plug" in kind_names.kind_names()
    assert run.error("CALL system.plug()") == ("PAL-701", "58000")
    assert sorted(calls) == ["t", "u"]
    states = run("SELECT table_name, state, error FROM system.jobs ORDER BY 1")
    assert states == [("hr.t", "FAILED", "ValueError: no luck"), ("hr.u", "SUCCEEDED", None)]
    calls.clear()
    session = run.connection.session
    tables = list(session.journal.state.catalog.tables())
    for attempt in (2, 3):
        runs = run_all(session, Request("plug", named=False), tables)
        assert calls[0] == "t", "what failed comes first"
        assert runs[0].attempt == attempt
        calls.clear()
    runs = run_all(session, Request("plug", named=False), tables)
    assert calls == ["u"]
    assert [r.state for r in runs if r.failed] == ["GIVEN UP"]
    run_all(session, Request("plug", named=True, parallel=2), tables)
    assert sorted(calls) == ["t", "u", "u"]
    run_all(session, Request("plug", named=False, units=1), tables[1:])
    assert run.error("CALL system.plug(nothing => 1)")[0] == "PAL-222"


def test_g7_bounded_runs_go_on_where_the_last_one_ended(
    run: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def note(context: JobContext) -> JobReport:
        calls.append(context.table.name.name)
        return JobReport(context.job_id, "plug", str(context.table.name), "done")

    _plug(monkeypatch, JobKind("plug", "for this test", note))
    run("CREATE TABLE hr.a (k INTEGER PRIMARY KEY)")
    session = run.connection.session
    tables = list(session.journal.state.catalog.tables())
    for _ in range(3):
        run_all(session, Request("plug", named=False, units=2), tables)
    assert calls == ["a", "t", "u", "a", "t", "u"]


def _plug(monkeypatch: pytest.MonkeyPatch, kind: JobKind) -> None:
    class Found(EntryPoint):
        def load(self) -> Any:
            return kind

    entry = Found(kind.name, "nowhere:KIND", kind_names.GROUP)
    monkeypatch.setattr(kind_names, "entry_points", lambda group: [entry] if group else [])


def test_so_many_at_once_and_no_more(run: Client) -> None:
    alone = run.connection.session.journal.exclusive
    with job_slot(alone, 1, 2), job_slot(alone, 1, 2), job_slot(alone, 2, 1):
        with pytest.raises(PalimpsestError) as raised, job_slot(alone, 1, 2, wait_s=0.01):
            pass
        assert raised.value.code is Code.JOB_BUSY
    with job_slot(alone, 1, 1):
        pass


def test_an_entry_point_that_is_no_kind(run: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    _plug(monkeypatch, JobKind("plug", "", lambda c: JobReport("", "", "", "done")))
    found = kind_names.entry_points(group=kind_names.GROUP)[0]
    monkeypatch.setattr(type(found), "load", lambda self: "a word")
    with pytest.raises(PalimpsestError) as raised:
        kinds.find_kind("plug")
    assert raised.value.code is Code.JOB_FAILED


def test_a_run_that_the_process_did_not_outlive(run: Client) -> None:
    journal = run.connection.session.journal
    with journal.exclusive_session() as session:
        session.text(
            "INSERT INTO _palimpsest.jobs (id, kind, table_id, state, attempt, dry_run, started_at)"
            " VALUES ('x', 'retain', 1, 'RUNNING', 1, false, now())"
        )
        session.commit()
    run.close()
    again = Client(run.root)
    assert again("SELECT state FROM system.jobs") == [("INTERRUPTED",)]
    again.close()


def test_jobs_do_not_run_inside_a_transaction(run: Client) -> None:
    run("BEGIN")
    run("INSERT INTO hr.u VALUES (1, 1)")
    assert run.error("CALL system.retain()")[0] == "PAL-405"
    run("ROLLBACK")


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("CALL system.knit('hr.t')", "PAL-208"),
        ("CALL system.retain('hr.nothing')", "PAL-201"),
        ("CALL system.retain('hr.t', now => 'soon')", "PAL-222"),
        ("CALL system.restore('hr.t', where => 'id = 1', key => '1', backup => 'b')", "PAL-222"),
        ("CALL system.restore('hr.t', key => '1,2', backup => 'b')", "PAL-222"),
        ("CALL system.vacuum('hr.t', versions => 0)", "PAL-222"),
        ("VACUUM hr.t RETAIN 3", "PAL-240"),
        ("VACUUM hr.t RETAIN DRY RUN", "PAL-101"),
        ("OPTIMIZE", "PAL-101"),
        ("SET job_engine = 'steam'; CALL system.retain('hr.t')", "PAL-222"),
    ],
)
def test_wrong_calls_of_jobs_are_refused(run: Client, sql: str, code: str) -> None:
    run("CALL system.backup('hr.t', name => 'b')")
    run("ALTER TABLE hr.t SET POLICY (RETENTION = 1 YEAR ON COLUMN ds)")
    assert run.error(sql)[0] == code


def cli(run: Client, *words: str) -> Any:
    run.close()
    return CliRunner().invoke(main, [*words, "--warehouse", str(run.root)])


def test_the_command_line(run: Client) -> None:
    run("ALTER TABLE hr.t SET POLICY (RETENTION = 1 YEAR ON COLUMN ds)")
    found = cli(run, "job", "retain", "hr.t", "--dry-run", "--json", "--now", "2021-01-11")
    assert found.exit_code == 0
    assert json.loads(found.output)[0]["report"]["details"]["rows"]["open"] == 10
    found = cli(run, "job", "retain", "--all")
    assert found.exit_code == 0
    assert "retain hr.t: succeeded: 100 journal rows are past their time" in found.output
    assert "retain hr.u: nothing: no policy removes anything" in found.output
    found = cli(run, "job", "restore", "hr.t", "--key", "7")
    assert found.exit_code == 0, found.output
    assert "1 row written" in found.output
    found = cli(run, "job", "restore", "hr.t", "--backup", "never")
    assert found.exit_code == 1
    assert cli(run, "job", "retain").exit_code == 2
    assert cli(run, "job", "retain", "hr.t", "--option", "now").exit_code == 2
    assert cli(run, "job", "verify", "--all", "--parallel", "2").exit_code == 0


def test_holds_at_the_prompt(run: Client) -> None:
    found = cli(run, "hold", "place", "hr.t", "--reason", "matter 1", "--json")
    assert found.exit_code == 0, found.output
    hold = json.loads(found.output)[0]["hold"]
    found = cli(run, "hold", "list", "--json")
    assert [h["reason"] for h in json.loads(found.output)] == ["matter 1"]
    assert cli(run, "hold", "release", hold).exit_code == 0
    assert json.loads(cli(run, "hold", "list", "--json").output) == []


def test_a_hold_of_a_dropped_table_is_not_listed_as_one_of_every_table(
    run: Client, connect_again: Callable[[], Client]
) -> None:
    assert cli(run, "hold", "place", "hr.t", "--reason", "matter 1").exit_code == 0
    run = connect_again()
    run("DROP TABLE hr.t")
    (listed,) = json.loads(cli(run, "hold", "list", "--json").output)
    assert listed["table"].startswith("dropped table ")


def test_verify_finds_damage(run: Client, connect_again: Callable[[], Client]) -> None:
    path = run.files()[0]
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert run.error("CALL system.verify('hr.t')")[0] == "PAL-702"


@pytest.fixture
def connect_again(run: Client) -> Callable[[], Client]:
    return lambda: Client(run.root)


def test_what_was_deleted_a_moment_ago_comes_back_from_the_last_good_backup(run: Client) -> None:
    run("CALL system.backup('hr.t', name => 'b')")
    run("DELETE FROM hr.t WHERE id = 5")
    assert call(run, "CALL system.restore('hr.t', key => 5)")["rows_written"] == 1
    assert run("SELECT count(*) FROM hr.t") == [(100,)]


def test_a_vacuum_forgets_backups_of_its_own_table_alone(run: Client) -> None:
    for table in ("hr.t", "hr.u"):
        run(f"INSERT INTO {table} (id) VALUES (1000)")
        for name in ("a", "b"):
            run(f"CALL system.backup('{table}', name => '{name}')")
    done = call(run, "CALL system.vacuum('hr.t', backups => 1)")
    assert done["report"]["details"]["backups_forgotten"] == ["a"]
    assert run("SELECT count(*) FROM system.backups WHERE table_name = 'hr.u'") == [(2,)]


def test_a_dry_run_of_retention_counts_recent_rows_as_the_run_does(run: Client) -> None:
    run("ALTER TABLE hr.t SET POLICY (RETENTION = 1 YEAR ON COLUMN ds)")
    run("UPDATE hr.t SET n = 1 WHERE id < 20")
    run("INSERT INTO hr.t VALUES (500, DATE '2020-01-01', 0)")
    arguments = "'hr.t', now => '2021-01-11'"
    planned = call(run, f"CALL system.retain({arguments}, dry_run => true)")
    done = call(run, f"CALL system.retain({arguments})")
    assert planned["rows_removed"] == done["rows_removed"] == 31
    assert planned["report"]["details"]["rows"] == done["report"]["details"]["rows"]
    assert planned["why"] == done["why"]
