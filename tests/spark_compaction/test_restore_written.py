"""Rows that units of an engine write for a restore: constraints, other writers, and kill -9."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

import gateway
from gateway.jobs.engines import ENGINES
from journal.stores.embedded.recovery import unlisted_files
from journal.stores.embedded.verification import verify
from spark_compaction.contract import Engine, Progress
from spark_compaction.engines.client import SparkEngine
from spark_compaction.engines.local import LocalEngine
from spark_compaction.programs import differences, restored
from tests.support.client import Client
from tests.support.tiers import in_tiers
from tests.support.warm_python import warm_python


class _Handed(LocalEngine):
    """An engine that is not this process's own, as Spark is; something happens after its units."""

    def __init__(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        super().__init__()
        self.written = 0
        self._meanwhile = meanwhile

    def map(self, function: str, units: Sequence[Any], progress: Progress) -> list[Any]:
        found = super().map(function, units, progress)
        if function == restored.UNIT:
            self.written += 1
            if self.written == 1:
                self._meanwhile()
        return found


@pytest.fixture
def by(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """A function that lets jobs run by an engine, in ranges of few rows."""
    monkeypatch.setattr(differences, "_ROWS", 300)

    def go(engine: Engine) -> None:
        monkeypatch.setattr(ENGINES, "choose", lambda _settings, _size: engine)
        monkeypatch.setattr("gateway.jobs.restore.LocalEngine", _Never)

    return go


class _Never(LocalEngine):
    """No engine of a test."""


def _filled(run: Client, more: str = "") -> list[Any]:
    run(f"CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, who VARCHAR{more})")
    run("INSERT INTO t SELECT i, i, 'p' || i FROM range(1000) r(i)")
    before: list[Any] = run("SELECT * FROM t ORDER BY id")
    run("CALL system.backup('t', name => 'b')")
    run("UPDATE t SET n = -1 WHERE id % 3 = 1")
    run("DELETE FROM t WHERE id % 7 = 2")
    run("INSERT INTO t SELECT i, i, 'q' || i FROM range(2000, 2040) r(i)")
    return before


def _is_clean(run: Client) -> bool:
    journal = run.connection.session.journal
    assert verify(journal).problems == []
    assert unlisted_files(journal) == []
    folders = {path for path in run.root.glob("*/*/*") if path.is_dir()}
    assert folders == {path.parent for path in run.files()}
    return True


def test_the_owner_writes_none_of_the_rows(
    run: Client, by: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _filled(run)
    later = run("SELECT max(version) FROM system.transactions")[0][0]
    changed = run("SELECT * FROM t ORDER BY id")
    engine = _Handed()
    by(engine)
    monkeypatch.setattr("journal.stores.embedded.statement.append_rows", None)
    run("CALL system.restore('t', backup => 'b')")
    assert engine.written == 1
    assert run("SELECT * FROM t ORDER BY id") == before
    assert run(f"SELECT * FROM t FOR VERSION AS OF {later} ORDER BY id") == changed
    assert _is_clean(run)


def test_what_breaks_a_constraint_is_refused(run: Client, by: Callable[[Any], None]) -> None:
    run("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)")
    run("INSERT INTO t SELECT i, CASE i WHEN 5 THEN NULL ELSE i END FROM range(50) r(i)")
    run("CALL system.backup('t', name => 'b')")
    run("UPDATE t SET n = 0")
    run("ALTER TABLE t ALTER COLUMN n SET NOT NULL")
    engine = _Handed()
    by(engine)
    with pytest.raises(gateway.IntegrityError, match="NOT NULL"):
        run("CALL system.restore('t', backup => 'b')")
    assert engine.written == 1
    assert run("SELECT sum(n) FROM t") == [(0,)]
    assert _is_clean(run)
    run("CALL system.restore('t', backup => 'b', where => 'n IS NOT NULL AND id <> 5')")
    assert run("SELECT sum(n) FROM t") == [(sum(range(50)) - 5,)]


def _nothing_written(run: Client, sql: str, *, match: str) -> None:
    before = run("SELECT * FROM t ORDER BY id")
    for dry_run in ("true", "false"):
        with pytest.raises(gateway.IntegrityError, match=match):
            run(sql.replace(")", f", dry_run => {dry_run})"))
    assert run("SELECT * FROM t ORDER BY id") == before
    assert _is_clean(run)


@pytest.mark.long
def test_unique_values_wander_between_units(run: Client, by: Callable[[Any], None]) -> None:
    before = _filled(run, ", UNIQUE (who), UNIQUE (n, who)")
    run("UPDATE t SET who = 'p' || (999 - id) WHERE id < 1000")
    engine = _Handed()
    by(engine)
    run("CALL system.restore('t', backup => 'b')")
    assert (engine.written, run("SELECT * FROM t ORDER BY id")) == (1, before)
    assert _is_clean(run)


@pytest.mark.long
def test_unique_values_that_others_have_are_refused(run: Client, by: Callable[[Any], None]) -> None:
    _filled(run, ", UNIQUE (who)")
    run("UPDATE t SET who = 'gone' WHERE id = 4")
    run("UPDATE t SET who = 'p4' WHERE id = 2030")
    run("CALL system.flush('t')")  # A dry run hands out what is sealed.
    engine = _Handed()
    by(engine)
    call = "CALL system.restore('t', backup => 'b', where => 'id < 1000')"
    _nothing_written(run, call, match="who")
    assert engine.written == 2
    run("UPDATE t SET who = 'free' WHERE id = 2030")
    run(call)
    assert run("SELECT who FROM t WHERE id IN (4, 2030) ORDER BY id") == [("p4",), ("free",)]


@pytest.mark.stores
def test_foreign_keys_are_looked_at_across_units(run: Client, by: Callable[[Any], None]) -> None:
    run("CREATE TABLE p (id INTEGER PRIMARY KEY)")
    run("INSERT INTO p VALUES (1), (2)")
    run(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, p INTEGER REFERENCES p (id),"
        " next INTEGER REFERENCES t (id))"
    )
    run("INSERT INTO t SELECT i, 1 + i % 2, 999 - i FROM range(1000) r(i)")
    run("CREATE TABLE child (id INTEGER PRIMARY KEY, t INTEGER REFERENCES t (id))")
    before = run("SELECT * FROM t ORDER BY id")
    run("CALL system.backup('t', name => 'b')")
    run("UPDATE t SET p = 1, next = NULL")
    run("DELETE FROM t WHERE id % 3 = 1")
    run("DELETE FROM p WHERE id = 2")
    run("INSERT INTO t VALUES (5000, 1, NULL)")
    run("INSERT INTO child VALUES (1, 5000)")
    engine = _Handed()
    by(engine)
    call = "CALL system.restore('t', backup => 'b')"
    _nothing_written(run, call, match="p")
    run("INSERT INTO p VALUES (2)")
    _nothing_written(run, call, match="5000")
    run("DELETE FROM child")
    engine.written = 0
    run(call)
    assert (engine.written, run("SELECT * FROM t ORDER BY id")) == (1, before)
    assert _is_clean(run)


def test_a_condition_on_another_table(run: Client, by: Callable[[Any], None]) -> None:
    _filled(run)
    run("CREATE TABLE wanted AS SELECT 4 AS id")
    engine = _Handed()
    by(engine)
    run("CALL system.restore('t', backup => 'b', where => 'id IN (SELECT id FROM wanted)')")
    assert engine.written == 0
    assert run("SELECT id, n FROM t WHERE id IN (1, 4) ORDER BY 1") == [(1, -1), (4, 4)]


@pytest.mark.long
@pytest.mark.parametrize("table", in_tiers(["t", "other"], {"t"}))
def test_others_commit_meanwhile(run: Client, by: Callable[[Any], None], table: str) -> None:
    before = _filled(run)
    run("CREATE TABLE other (id INTEGER PRIMARY KEY, n INTEGER)")
    run("INSERT INTO other VALUES (4, 0)")
    second = Client(run.root)
    engine = _Handed(lambda: second(f"UPDATE {table} SET n = 77 WHERE id = 4"))
    by(engine)
    run("CALL system.restore('t', backup => 'b')")
    assert engine.written == (2 if table == "t" else 1), "in vain, if they were the same rows"
    assert run("SELECT * FROM t ORDER BY id") == before
    assert _is_clean(run)
    second.close()


@pytest.mark.parametrize("zone", ["Asia/Tokyo", None])
def test_a_condition_is_read_in_the_zone_of_the_client(
    run: Client, by: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch, zone: str | None
) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(_Handed, "map", lambda *given: sent.extend(given[2]) or _MAP(*given))
    run("CREATE TABLE t (id INTEGER PRIMARY KEY, at TIMESTAMPTZ)")
    run("SET timezone = 'UTC'")
    run("INSERT INTO t VALUES (1, '2024-01-01 20:00'), (2, '2024-01-02 20:00')")
    run("CALL system.backup('t', name => 'b')")
    run("DELETE FROM t")
    run("RESET timezone" if zone is None else f"SET timezone = '{zone}'")
    (own,) = duckdb.connect().execute(_ASK_ZONE).fetchone() or ("",)
    by(_Handed())
    run("CALL system.restore('t', backup => 'b', where => 'at::DATE = DATE ''2024-01-02''')")
    assert {unit["timezone"] for unit in sent if "timezone" in unit} == {zone or own}
    if zone is not None:
        assert run("SELECT id FROM t") == [(1,)]


_ASK_ZONE = "SELECT current_setting('TimeZone')"
_MAP = _Handed.map
_OWNER = """
import os, pathlib, signal, sys
from gateway.jobs.engines import ENGINES
from spark_compaction.programs import differences, restored
from spark_compaction.engines.local import LocalEngine
from tests.support.client import Client

class Dying(LocalEngine):
    def map(self, function, units, progress):
        if function != restored.UNIT:
            return super().map(function, units, progress)
        super().map(function, units[: len(units) // 2 if sys.argv[2] == "half" else None], progress)
        os.kill(os.getpid(), signal.SIGKILL)

class Other(LocalEngine):
    pass

import gateway.jobs.restore
gateway.jobs.restore.LocalEngine = Other
differences._ROWS = 300
ENGINES.choose = lambda _settings, _size: Dying()
Client(pathlib.Path(sys.argv[1]))("CALL system.restore('t', backup => 'b')")
"""


@pytest.mark.long
@pytest.mark.parametrize("step", in_tiers(["half", "all"], {"all"}))
def test_the_owner_is_killed(tmp_path: Path, root: Path, step: str) -> None:
    first = Client(tmp_path / "warehouse")
    before = _filled(first)
    changed = first("SELECT * FROM t ORDER BY id")
    first.close()
    words = [warm_python(), "-c", _OWNER, str(first.root), step]
    done = subprocess.run(words, cwd=root, capture_output=True, timeout=250)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    run = Client(first.root)
    assert run("SELECT * FROM t ORDER BY id") == changed
    assert _is_clean(run)
    run("CALL system.restore('t', backup => 'b')")
    assert run("SELECT * FROM t ORDER BY id") == before
    assert _is_clean(run)
    run.close()


class _Killing(SparkEngine):
    """Kills the driver of another engine, or an executor, while rows are written."""

    def __init__(self, other: SparkEngine, run: Client, marker: Path | None) -> None:
        self._other, self._run, self._marker = other, run, marker

    def map(self, function: str, units: Sequence[Any], progress: Progress) -> list[Any]:
        if function != restored.UNIT:
            return self._other.map(function, units, progress)
        if self._marker is not None:
            given = {"function": function, "marker": str(self._marker)}
            units = [{**given, "unit": unit} for unit in units]
            return self._other.map("tests.support.spark:do_and_die_once", units, progress)
        pid, known = self._other.start(), set(self._run.root.glob("*/*/*/**/*"))

        def kill() -> None:
            while set(self._run.root.glob("*/*/*/**/*")) <= known:
                time.sleep(0.001)
            os.kill(pid, signal.SIGKILL)

        threading.Thread(target=kill, daemon=True).start()
        return self._other.map(function, units, progress)


@pytest.mark.slow
@pytest.mark.parametrize("who", ["driver", "executor"])
def test_spark_is_killed(
    run: Client, by: Callable[[Any], None], spark: SparkEngine, tmp_path: Path, who: str
) -> None:
    before = _filled(run)
    changed = run("SELECT * FROM t ORDER BY id")
    marker = tmp_path / "died" if who == "executor" else None
    by(_Killing(spark, run, marker))
    if who == "driver":
        with pytest.raises(gateway.Error, match="PAL-701"):
            run("CALL system.restore('t', backup => 'b')")
        assert run("SELECT * FROM t ORDER BY id") == changed
        assert _is_clean(run)
        by(spark)
    run("CALL system.restore('t', backup => 'b')")
    assert marker is None or marker.exists()
    assert run("SELECT * FROM t ORDER BY id") == before
    assert _is_clean(run)
