"""Random histories through flush, minor and major, written to all the while: no answer changes.

The oracle is a dictionary in Python. After every step the table must say what the dictionary says;
in the end, at every version there was, what it said then.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gateway
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.recovery import unlisted_files
from journal.stores.embedded.verification import verify
from spark_compaction.contract import Engine, Progress
from spark_compaction.engines.client import SparkEngine
from spark_compaction.engines.local import LocalEngine
from spark_compaction.programs.compaction import CompactJob
from spark_compaction.runner import RunOptions, run_job
from tests.support.client import Client

_KEYS = 12
Step = tuple[Any, ...]

_key = st.integers(0, _KEYS - 1)
_text = st.sampled_from(["", " ", "a", "a ", "ä😀", "'", None])
_write = st.one_of(
    st.tuples(st.just("put"), _key, _text),
    st.tuples(st.just("delete"), _key),
    st.tuples(st.just("update"), _key, _key, _text),
    st.tuples(st.just("move"), _key, st.integers(1, 3)),
)
_job = st.tuples(
    st.sampled_from(["minor", "major"]),
    st.lists(_write, max_size=3),
    st.lists(_write, max_size=3),
    st.sampled_from([2, 5, 1000]),
)
_step = st.one_of(
    _write,
    _write,
    st.tuples(st.just("transaction"), st.lists(_write, min_size=1, max_size=4)),
    st.just(("flush",)),
    st.tuples(st.just("job"), _job),
    st.just(("restart",)),
    st.just(("alter",)),
)


class _Interrupted(LocalEngine):
    """Writers go on before and after the units of a job, and flush what they wrote."""

    def __init__(self, before: Callable[[], None], after: Callable[[], None]) -> None:
        super().__init__()
        self._before, self._after = before, after

    def map(self, function: str, units: Sequence[Any], progress: Progress) -> list[Any]:
        self._before()
        found = super().map(function, units, progress)
        self._after()
        return found


class _History:
    """The table, the dictionary beside it, and what the dictionary said at each version."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.run = Client(root)
        self.run("SET memory_rows = 3")
        self.run("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR)")
        self.rows: dict[int, str | None] = {}
        self.columns = 0
        self.past: list[tuple[int, dict[int, str | None]]] = []
        self.note()

    @property
    def journal(self) -> Journal:
        found: Journal = self.run.connection.session.journal
        return found

    def note(self) -> None:
        version = self.run("SELECT max(version) FROM system.transactions")[0][0]
        self.past.append((version, dict(self.rows)))

    def step(self, step: Step) -> None:
        match step:
            case ("transaction", writes):
                self.run("BEGIN")
                for write in writes:
                    self.write(write)
                self.run("COMMIT")
                self.note()
            case ("flush",):
                self.run("CALL system.flush('t')")
            case ("restart",):
                self.run.close()
                self.run = Client(self.root)
                self.run("SET memory_rows = 3")
            case ("alter",):
                self.columns += 1
                self.run(f"ALTER TABLE t ADD COLUMN c{self.columns} INTEGER DEFAULT {self.columns}")
                self.note()
            case ("job", (mode, before, after, rows_max)):
                self.job(mode, before, after, rows_max)
            case _:
                self.write(step)
                self.note()
        self.check()

    def write(self, step: Step) -> None:
        match step:
            case ("put", key, text):
                self.run(
                    "INSERT INTO t (k, v) VALUES (?, ?) ON CONFLICT (k)"
                    " DO UPDATE SET v = excluded.v",
                    key,
                    text,
                )
                self.rows[key] = text
            case ("delete", key):
                self.run("DELETE FROM t WHERE k = ?", key)
                self.rows.pop(key, None)
            case ("update", low, high, text):
                self.run("UPDATE t SET v = ? WHERE k BETWEEN ? AND ?", text, low, high)
                self.rows |= dict.fromkeys([k for k in self.rows if low <= k <= high], text)
            case ("move", key, by):
                if key + by not in self.rows:
                    self.run(f"UPDATE t SET k = k + {by} WHERE k BETWEEN {key} AND {key}")
                    if key in self.rows:
                        self.rows[key + by] = self.rows.pop(key)

    def job(self, mode: str, before: list[Step], after: list[Step], rows_max: int) -> None:
        def writing(writes: list[Step]) -> Callable[[], None]:
            def write() -> None:
                for one in writes:
                    self.write(one)
                    self.note()
                    self.run("CALL system.flush('t')")

            return write

        engine = _Interrupted(writing(before), writing(after))
        job = CompactJob(mode, rows_max=rows_max, small_files_min=2, history_segments_max=3)
        run_job(self.journal, job, 1, engine, options=RunOptions(grace_us=0))

    def check(self) -> None:
        assert dict(self.run("SELECT k, v FROM t")) == self.rows
        for key in range(0, _KEYS, 5):
            found = self.run("SELECT v FROM t WHERE k = ?", key)
            assert found == ([(self.rows[key],)] if key in self.rows else [])
        assert self.run("SELECT count(*), count(v), sum(k) FROM t") == [
            (
                len(self.rows),
                sum(v is not None for v in self.rows.values()),
                sum(self.rows) if self.rows else None,
            )
        ]

    def check_past(self) -> None:
        for version, rows in self.past:
            found = self.run(f"SELECT k, v FROM t FOR VERSION AS OF {version}")
            assert dict(found) == rows, version
        assert verify(self.journal).problems == []
        assert unlisted_files(self.journal) == []


def _follow(steps: list[Step]) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        history = _History(folder / "warehouse")
        try:
            for step in steps:
                history.step(step)
            every = history.run.sorted("SELECT k, v FROM t FOR SYSTEM_TIME ALL")
            history.step(("job", ("major", [], [], 3)))
            assert history.run.sorted("SELECT k, v FROM t FOR SYSTEM_TIME ALL") == every
            history.check_past()
        finally:
            history.run.close()
    finally:
        shutil.rmtree(folder)


@pytest.mark.long
@settings(max_examples=6)
@given(st.lists(_step, min_size=4, max_size=14))
def test_no_history_is_changed(steps: list[Step]) -> None:
    _follow(steps)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(max_examples=400)
@given(st.lists(_step, min_size=4, max_size=30))
def test_no_long_history_is_changed(steps: list[Step]) -> None:
    _follow(steps)


def _writer(client: Client, number: int, over: threading.Event, errors: list[str]) -> None:
    step = 0
    while not over.is_set():
        step += 1
        try:
            client("UPDATE accounts SET n = n + 1 WHERE id = ?", (number * 7 + step) % 50)
            client("BEGIN")
            client("UPDATE accounts SET n = n - 1 WHERE id = ?", (number + step) % 50)
            client("UPDATE accounts SET n = n + 1 WHERE id = ?", (number + step * 3) % 50)
            client("COMMIT" if step % 3 else "ROLLBACK")
            client("UPDATE accounts SET n = n - 1 WHERE id = ?", (number * 7 + step) % 50)
        except gateway.Error as error:
            if error.sqlstate != "40001":
                errors.append(str(error))
                return
            client("ROLLBACK")
            return


def _reader(client: Client, over: threading.Event, errors: list[str]) -> None:
    while not over.is_set():
        found = client("SELECT count(*), count(DISTINCT id) FROM accounts")
        if found != [(50, 50)]:
            errors.append(f"read {found}")
            return


@pytest.mark.long
def test_jobs_beside_writers_and_readers(tmp_path: Path) -> None:
    _beside_writers(tmp_path / "warehouse", LocalEngine())


@pytest.mark.slow
def test_jobs_on_spark_beside_writers_and_readers(tmp_path: Path, spark: SparkEngine) -> None:
    _beside_writers(tmp_path / "warehouse", spark)


def _beside_writers(root: Path, engine: Engine) -> None:
    clients = [Client(root) for _ in range(5)]
    run = clients[0]
    run("CREATE TABLE accounts (id INTEGER PRIMARY KEY, n INTEGER)")
    run("INSERT INTO accounts SELECT i, 0 FROM range(50) r(i)")
    over, errors = threading.Event(), list[str]()
    threads = [
        threading.Thread(target=_writer, args=(clients[n], n, over, errors)) for n in (1, 2, 3)
    ]
    threads.append(threading.Thread(target=_reader, args=(clients[4], over, errors)))
    for thread in threads:
        thread.start()
    journal = run.connection.session.journal
    began, jobs = time.monotonic(), 0
    while time.monotonic() - began < 6 or jobs < 4:
        job = CompactJob("major" if jobs % 2 else "minor", rows_max=20, small_files_min=2)
        run_job(journal, job, 1, engine, options=RunOptions(grace_us=0))
        jobs += 1
    over.set()
    for thread in threads:
        thread.join(60)
    assert errors == []
    assert verify(journal).problems == []
    assert unlisted_files(journal) == []
    for client in clients:
        client.close()
