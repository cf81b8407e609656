"""Erasures: unseen at once, gone for good, nobody else touched, and never back."""

from __future__ import annotations

import dataclasses
import signal
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import duckdb
import pytest

import gateway
from gateway.procedures.procedures import embedded
from journal.erasure import audit_check
from journal.erasure.erased import Erased
from journal.erasure.erasure_spec import ErasureSpec, find_request, requests
from journal.erasure.requests import ErasureRequest, State
from journal.erasure.scope import put_scope
from journal.files.staging import open_folders
from journal.model.errors import PalimpsestError
from journal.stores.embedded.file_rewrite import rewrite_without
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.verification import verify
from spark_compaction.backends.embedded_erasure.erasure import WarehouseErasure
from spark_compaction.backends.embedded_erasure.purge import REWRITE
from spark_compaction.engines.client import SparkEngine
from spark_compaction.engines.local import LocalEngine
from spark_compaction.erasure import purging
from spark_compaction.erasure.acceptance import accept, cancel, dry_run
from tests.conftest import ROOT
from tests.support.client import Client
from tests.support.erasures import backend_of
from tests.support.spark import spark
from tests.support.tiers import in_tiers
from tests.support.traces import holders
from tests.support.warm_python import warm_python

__all__ = ["spark"]
TOKEN = "Qz7-unmistakable-Xk9"
MAIL = f"{TOKEN}@example.org"
PEOPLE = (
    "CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR, n INTEGER)"
    " WITH (erasure = 'email LOWER')"
)


def _journal(run: Client) -> Journal:
    return embedded(run.connection.session, "the test")


def _submit(run: Client, *values: str, **options: Any) -> ErasureRequest:
    wanted = ErasureSpec({"email": list(values)}, **options)
    return accept(backend_of(run), wanted, "tester")


def _purge(run: Client, **options: Any) -> Erased:
    return purging.purge(backend_of(run), "tester", engine=LocalEngine(), **options)


def _people(run: Client, rows: int = 300) -> int:
    """People of whom one, with id 7, goes by the token; some changed since. The last version."""
    run(PEOPLE)
    run("INSERT INTO people SELECT i, 'u' || i || '@x.example', i FROM range(?) t(i)", rows)
    run("UPDATE people SET email = ? WHERE id = 7", MAIL)
    run("CALL system.flush('people')")
    run("UPDATE people SET n = n + 1 WHERE id IN (7, 8, 9)")
    run("DELETE FROM people WHERE id = 10")
    run("CALL system.flush('people')")
    run("UPDATE people SET email = 'changed@x.example' WHERE id = 7")
    return _journal(run).state.version


def _holders(run: Client) -> list[str]:
    return holders(run.root, TOKEN)


def _shapes(version: int, person: int) -> list[str]:
    return [
        f"SELECT count(*) FROM people WHERE id = {person}",
        f"SELECT count(*) FROM people_journal WHERE id = {person}",
        f"SELECT count(*) FROM people VERSION AS OF {version} WHERE id = {person}",
        f"SELECT count(*) FROM people FOR SYSTEM_TIME ALL WHERE id = {person}",
        f"SELECT sum(n) FROM people WHERE id = {person} GROUP BY ALL HAVING count(*) > 0",
        f"SELECT count(*) FROM people p JOIN people q USING (id) WHERE q.email ILIKE '%{TOKEN}%'",
    ]


def _others(run: Client, versions: Iterable[int]) -> list[Any]:
    states = [run.sorted(f"SELECT * FROM people VERSION AS OF {v} WHERE id <> 7") for v in versions]
    history = run.sorted("SELECT * FROM people_journal WHERE id <> 7")
    return [*states, history, run.sorted("SELECT * FROM people WHERE id <> 7")]


def test_a_restored_past_does_not_bring_anybody_back(run: Client) -> None:
    version = _people(run)
    _submit(run, MAIL)
    run(f"RESTORE TABLE people TO VERSION AS OF {version}")
    _purge(run)
    run(f"RESTORE TABLE people TO VERSION AS OF {version}")
    assert run("SELECT count(*), count(*) FILTER (id = 7) FROM people") == [(298, 0)]
    assert _holders(run) == []


NESTED = (
    "CREATE TABLE orders (email VARCHAR, who STRUCT(mail VARCHAR), copies STRUCT(mail VARCHAR)[],"
    " tags MAP(VARCHAR, BIGINT[]), customer BIGINT) WITH (erasure ="
    " 'email LOWER, who.mail AS email, copies[].mail AS email, tags{keys} AS email,"
    " tags{}[] AS customer, customer')"
)


def test_identifiers_are_found_inside_nested_values(run: Client) -> None:
    run(NESTED)
    for where in range(5):
        row = ["NULL", "NULL", "NULL", "NULL", str(where)]
        row[min(where, 4)] = [
            f"'{MAIL}'",
            f"{{'mail': '{MAIL}'}}",
            f"[{{'mail': NULL}}, {{'mail': '{MAIL}'}}]",
            f"MAP {{'{MAIL}': [1, 2]}}",
            "4",
        ][where]
        run(f"INSERT INTO orders VALUES ({', '.join(row)})")
    run("INSERT INTO orders VALUES (NULL, NULL, NULL, MAP {'x': [3, 17]}, NULL)")
    run("INSERT INTO orders SELECT 'a', NULL, [], NULL, NULL FROM range(10)")
    run("CALL system.flush('orders')")
    assert _submit(run, MAIL).targets[0].keys == 4
    assert accept(backend_of(run), ErasureSpec({"customer": ["017"]}), "t").targets[0].keys == 1
    assert run("SELECT count(*) FROM orders") == [(11,)]
    _purge(run)
    assert run("SELECT count(*) FROM orders") == [(11,)]
    assert _holders(run) == []


@pytest.mark.long
def test_a_condition_erases_rows_that_met_it_in_any_version(run: Client) -> None:
    version = _people(run)
    shown = run("ERASE FROM people WHERE email LIKE 'Qz7%' OR id = 8 REASON 'ticket 1'")
    assert [(row[1], row[2], row[3], row[4]) for row in shown] == [
        ("ACCEPTED", "main.people", "PENDING", 2)
    ]
    assert run(f"SELECT count(*) FROM people VERSION AS OF {version} WHERE id IN (7, 8)") == [(0,)]
    _purge(run)
    assert _holders(run) == []
    assert run("SELECT count(*) FROM people") == [(297,)]
    assert run.error("INSERT INTO people VALUES (8, 'u', 0)")[0] == "PAL-306"
    run("CREATE TABLE bare (a INTEGER)")
    run("INSERT INTO bare VALUES (1), (2), (NULL)")
    run("ERASE FROM bare AS b WHERE b.a = ?", 1)
    _purge(run)
    assert run.sorted("SELECT * FROM bare") == [(2,), (None,)]


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("ERASE FROM people", "PAL-101"),
        ("ERASE people WHERE id = 1", "PAL-101"),
        ("ERASE FROM people WHERE", "PAL-101"),
        ("ERASE FROM nobody WHERE id = 1", "PAL-201"),
        ("ERASE FROM people WHERE nothing = 1", "PAL-202"),
        ("ALTER TABLE people SET TBLPROPERTIES ('erasure' = 'nothing')", "PAL-211"),
        ("CREATE TABLE x (a DOUBLE) WITH (erasure = 'a')", "PAL-211"),
    ],
)
def test_what_is_not_understood_is_refused(run: Client, sql: str, code: str) -> None:
    run(PEOPLE)
    assert run.error(sql)[0] == code
    assert requests(_journal(run)) == []


def test_tables_can_be_onboarded_later(run: Client) -> None:
    run("CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR)")
    run("INSERT INTO people VALUES (1, ?), (2, NULL)", MAIL)
    run("CALL system.flush()")
    with pytest.raises(PalimpsestError, match="PAL-510"):
        _submit(run, MAIL)
    run("ALTER TABLE people SET TBLPROPERTIES ('erasure' = 'email LOWER')")
    run("ALTER TABLE people RENAME COLUMN email TO mail")
    assert _submit(run, MAIL).targets[0].files_searched == 1
    _purge(run)
    assert _holders(run) == []
    assert run("SELECT * FROM people") == [(2, None)]
    run("ALTER TABLE people DROP COLUMN mail")
    assert run("INSERT INTO people VALUES (3)") == 1


def test_searched_in_vain_is_not_the_same_as_not_searched(run: Client) -> None:
    _people(run)
    run("CREATE TABLE hidden (email VARCHAR) WITH (erasure = 'email LOWER')")
    run("CREATE TABLE plain (email VARCHAR)")
    run("CREATE TABLE others (nick VARCHAR) WITH (erasure = 'nick')")
    with _journal(run).exclusive_session() as session:
        put_scope(session, ["main"], ["main.hid*"])
        session.commit()
    _submit(run, "nobody@x.example")
    (done,) = _purge(run).requests
    assert done.state is State.COMPLETED
    assert [(t.table, t.outcome.value, t.why) for t in done.targets] == [
        ("main.people", "SEARCHED_NONE", ""),
        ("main.hidden", "NOT_SEARCHED", "denied by main.hid*"),
        ("main.plain", "NOT_SEARCHED", "not onboarded: it has no erasure descriptor"),
        ("main.others", "NOT_SEARCHED", "identifies people by nick"),
    ]


def test_a_dry_run_counts_and_changes_nothing(run: Client) -> None:
    _people(run)
    state = _journal(run).state
    told = dry_run(backend_of(run), ErasureSpec({"email": [MAIL]}))
    (target,) = told.targets
    assert (target.keys, target.versions_removed, target.files_rewritten) == (1, 7, 2)
    assert target.bytes_rewritten > 0
    assert _journal(run).state is state
    assert not list(run.root.rglob("*.keys"))
    assert requests(_journal(run)) == []


def test_a_request_can_be_cancelled_until_it_is_purged(run: Client) -> None:
    version = _people(run)
    before = run(_shapes(version, 7)[1])
    request = _submit(run, MAIL)
    cancel(backend_of(run), request, "tester")
    assert run(_shapes(version, 7)[1]) == before
    assert run(f"INSERT INTO people VALUES (7000, '{MAIL}', 0)") == 1
    assert not list(run.root.rglob("*.keys"))
    again = _submit(run, MAIL)
    _purge(run)
    with pytest.raises(PalimpsestError, match="PAL-510"):
        cancel(backend_of(run), find_request(_journal(run), again.id), "tester")


def test_statements_that_still_read_delay_completion(connect: Callable[..., Client]) -> None:
    run = connect()
    _people(run, rows=5000)
    cursor = connect().connection.cursor()
    cursor.execute("SELECT * FROM people")
    cursor.fetchone()
    _submit(run, MAIL)
    impatient = WarehouseErasure(_journal(run), idle_wait_s=0.0)
    (waiting,) = purging.purge(impatient, "tester").requests
    assert waiting.state is State.PURGED
    assert "statements" in waiting.waits_for
    assert len(cursor.fetchall()) == 4998
    cursor.close()
    purging.complete(backend_of(run), "tester")
    assert find_request(_journal(run), waiting.id).state is State.COMPLETED
    assert _holders(run) == []


@pytest.mark.long
def test_a_purge_that_was_interrupted_is_taken_up(
    run: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    _people(run)
    _submit(run, MAIL)

    class Failing(LocalEngine):
        """Breaks down after the first unit."""

        def map(self, function: str, units: Any, progress: Any) -> Any:
            super().map(function, units[:1], progress)
            raise PalimpsestError(gateway.errors.Code.JOB_FAILED, "broke down")

    broken = purging.purge(backend_of(run), "tester", engine=Failing())
    assert list(broken.failures) == ["main.people"]
    assert broken.requests[0].state is State.ACCEPTED
    assert run("SELECT * FROM people WHERE id = 7") == []
    assert verify(_journal(run)).is_clean
    assert _purge(run).requests[0].state is State.COMPLETED
    assert _holders(run) == []


def test_the_audit_log_shows_what_was_tampered_with(run: Client) -> None:
    _people(run)
    journal = _journal(run)
    assert audit_check.verify(journal).entries == 0
    _submit(run, MAIL)
    _purge(run)
    whole = audit_check.verify(journal)
    assert (whole.entries, whole.problems) == (3, ())
    for sql, found in (
        ("UPDATE _palimpsest.audit SET actor = 'another' WHERE seq = 2", "altered"),
        ("DELETE FROM _palimpsest.audit WHERE seq = 1", "missing"),
    ):
        with journal.exclusive_session() as session:
            session.text(sql)
            session.commit()
        assert any(found in p for p in audit_check.verify(journal).problems)
    with journal.exclusive_session() as session:
        session.text("DELETE FROM _palimpsest.audit WHERE seq = 3")
        session.commit()
    assert any("end" in p for p in audit_check.verify(journal, whole.head).problems)


def test_a_rewritten_file_loses_the_keys_and_nothing_else(run: Client, tmp_path: Path) -> None:
    assert REWRITE.endswith(f":{rewrite_without.__name__}")
    source, keys = tmp_path / "a.parquet", tmp_path / "k.parquet"
    duckdb.sql(
        f"COPY (SELECT CASE WHEN i > 0 THEN i END AS k, {{'x': [i, NULL]}} AS v, i AS vn,"
        f" NULL::BIGINT AS sn FROM range(9) t(i)) TO '{source}'"
    )
    duckdb.sql(f"COPY (SELECT 3 AS k UNION SELECT 4) TO '{keys}' (FORMAT parquet)")
    unit = {
        "files": [{"source": str(source), "target": str(tmp_path / "new" / "b.parquet")}],
        "keys": [str(keys)],
        "casts": {"k": 'CAST("k" AS BIGINT)'},
        "version": "vn",
        "subsequent": "sn",
        "options": {"COMPRESSION": "lz4_raw"},
        "bounded": "k",
        "fields": [["k", "BIGINT"], ["v", "STRUCT(x BIGINT[])"]],
        "filters": "",
    }
    open_folders(tmp_path, ["new"])
    (done,) = rewrite_without(unit)
    assert (done["before"]["rows"], done["gone"]["rows"], done["after"]["rows"]) == (9, 2, 7)
    total = int(done["before"]["digest"]) - int(done["gone"]["digest"])
    assert total == int(done["after"]["digest"])
    assert done["file"]["key_low"] == 1
    left = duckdb.sql(f"SELECT k FROM '{tmp_path / 'new' / done['name']}'").fetchall()
    assert left == [(None,), (1,), (2,), (5,), (6,), (7,), (8,)]


def test_requests_hold_no_identifier(run: Client) -> None:
    _people(run)
    request = _submit(run, MAIL)
    assert TOKEN.lower() not in str(dataclasses.asdict(request)).lower()


def test_backups_and_retired_segments_bring_nobody_back(run: Client) -> None:
    _people(run)
    run("SET job_engine = 'local'")
    run("CALL system.backup(table => 'people', name => 'before')")
    run("CALL system.compact(table => 'people')")
    run("UPDATE people SET n = -1 WHERE id = 20")
    _submit(run, MAIL)
    (row,) = run("CALL system.purge(table => 'people')")
    assert row[3] == "SUCCEEDED"
    assert requests(_journal(run))[0].state is State.COMPLETED
    assert _holders(run) == []
    run("CALL system.restore(table => 'people', backup => 'before')")
    assert run("SELECT n FROM people WHERE id IN (7, 20)") == [(20,)]
    assert _holders(run) == []
    assert verify(_journal(run)).is_clean


@pytest.mark.long
def test_a_purge_on_spark(run: Client, spark: SparkEngine) -> None:
    version = _people(run)
    before = _others(run, [version])
    _submit(run, MAIL)
    (done,) = purging.purge(backend_of(run), "tester", engine=spark).requests
    assert done.state is State.COMPLETED
    assert _holders(run) == []
    assert _others(run, [version]) == before


STEPS = ("accept", "stage", "swap", "retired", "receipts", "scrub", "closing")


@pytest.mark.first(1)
@pytest.mark.parametrize("step", in_tiers(STEPS, {"accept", "swap", "receipts"}))
def test_killed_at_any_step_a_rerun_finishes(
    connect: Callable[..., Client], tmp_path: Path, step: str
) -> None:
    run = connect()
    version = _people(run)
    before = _others(run, [version])
    run.close()
    words = ["-m", "tests.support.killed_eraser", str(run.root), step, "1", MAIL]
    command = [warm_python(), *words]
    killed = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    run = connect()
    journal = _journal(run)
    assert verify(journal).is_clean
    if step == "accept":
        assert requests(journal) == []
        assert not list(run.root.rglob("*.keys"))
        _submit(run, MAIL)
    assert run("SELECT * FROM people WHERE id = 7") == []
    _purge(run)
    assert [r.state for r in requests(journal)] == [State.COMPLETED]
    assert _holders(run) == []
    assert _others(run, [version]) == before
    assert audit_check.verify(journal).problems == ()


def test_a_file_that_a_transaction_has_just_written_stays(
    run: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    _people(run)
    _submit(run, MAIL)
    journal = _journal(run)
    (live, *_) = run.files()
    name = f"{live.parent.parent.relative_to(run.root)}/fresh/part_0.parquet"
    path = run.root / name
    path.parent.mkdir()
    path.write_bytes(live.read_bytes())
    when_idle = journal.store.when_idle

    def later(action: Any, wait_s: float) -> bool:
        journal.staged.add(name)
        return when_idle(action, wait_s)

    monkeypatch.setattr(journal.store, "when_idle", later)
    assert _purge(run).requests[0].state is State.COMPLETED
    assert path.exists()
