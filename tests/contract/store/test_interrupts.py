"""Ctrl-C and time limits while a statement or a job runs in the store."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time

import pytest

import gateway
from gateway.jobs.runs import run_named
from tests.conftest import ROOT
from tests.support.kept import rows
from tests.support.stores.store import Capability, Store
from tests.support.warm_python import warm_python

pytestmark = pytest.mark.needs(Capability.ACCESS_CONTROL)

PATIENCE_S = 15
"""A second where nothing else goes on; a statement that nobody stops takes longer, or hours."""

_PROGRAM = """
import sys
import gateway
with gateway.connect(sys.argv[1], autocommit=True) as connection:
    print("begins", flush=True)
    try:
        connection.execute(sys.argv[2]).fetchall()
    except KeyboardInterrupt:
        print("stopped", flush=True)
    print(connection.execute("SELECT count(*) FROM t").fetchall(), flush=True)
"""


@pytest.fixture
def place(store: Store) -> str:
    """The URL of a store with a table of twenty rows."""
    with store.connect() as con:
        con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
        con.execute("INSERT INTO t SELECT i FROM range(20) r(i)")
    return store.url


@pytest.fixture
def slow(place: str) -> str:
    """A cross join that takes hours, and on Spark most of a minute.

    Spark looks only between two rows of the first table whether a task is to stop, so what others
    are told is cancelled goes on, and takes a core from all tests that follow.
    """
    names = "abcdef" if "hive" in place else "abcdefghi"
    tables, terms = (", ".join(f"t {n}" for n in names), " + ".join(f"{n}.k * a.k" for n in names))
    return f"SELECT count(*) FROM {tables} WHERE ({terms}) % 7 = 9"


def _interrupted(*words: str) -> tuple[float, str, str]:
    """Seconds from Ctrl-C until the process says something; its output and its errors."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([warm_python(), *words], env=environment, **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout.readline().strip() == "begins"
        time.sleep(2)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        pressed = time.monotonic()
        said = next((line for line in process.stdout if line != "begins\n"), "")
        seconds = time.monotonic() - pressed
        output, errors = process.communicate(timeout=120)
    return seconds, said + output, errors


@pytest.mark.also_on("hive", "postgres")
def test_a_program_hears_ctrl_c(place: str, slow: str) -> None:
    seconds, output, errors = _interrupted("-c", _PROGRAM, place, slow)
    assert output.split("\n")[:2] == ["stopped", "[(20,)]"], errors
    assert seconds < PATIENCE_S


@pytest.mark.also_on("hive", "postgres")
def test_the_shell_hears_ctrl_c_and_goes_on(place: str, slow: str) -> None:
    script = ("-c", "\\echo begins", "-c", slow, "-c", "\\echo stopped", "-c", "SELECT 7 AS n")
    seconds, output, errors = _interrupted("-m", "gateway.cli", "shell", place, *script)
    assert "PAL-407 (57014)" in errors
    assert output.startswith("stopped\n")
    assert " 7\n" in output
    assert seconds < PATIENCE_S


@pytest.mark.also_on("hive", "postgres")
def test_query_hears_ctrl_c(place: str, slow: str) -> None:
    words = ("query", "-w", place, "--format", "csv", f"SELECT 'begins' AS begins; {slow}")
    seconds, output, errors = _interrupted("-m", "gateway.cli", *words)
    assert output == "", errors
    assert "57014" in errors
    assert seconds < PATIENCE_S


@pytest.mark.parametrize("step", ["plan", "stage"])
@pytest.mark.also_on("hive", "postgres")
def test_a_stopped_job_leaves_everything_as_it_was(store: Store, step: str) -> None:
    with store.connect() as con:
        con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, name VARCHAR)")
        con.execute("INSERT INTO t SELECT i, 'n' || i FROM range(200) r(i)")
        con.execute("UPDATE t SET name = 'other' WHERE k < 100")
        before = rows(con, "SELECT * FROM t FOR SYSTEM_TIME ALL ORDER BY ALL")

        def stop(told: str, _done: int, _total: int) -> None:
            if told == step:
                threading.Thread(target=con.cancel).start()
                time.sleep(0.2)

        (run,) = con.session.perform_watched(stop, run_named, "compact", {}, ["t"])
        assert (run.state, run.report) == ("CANCELLED", None)
        assert rows(con, "SELECT state, error_code FROM system.jobs") == [("CANCELLED", "PAL-407")]
        assert rows(con, "SELECT * FROM t FOR SYSTEM_TIME ALL ORDER BY ALL") == before
        (again,) = con.session.perform(run_named, "compact", {}, ["t"])
        assert (again.state, again.attempt) == ("SUCCEEDED", 1)


@pytest.mark.also_on("hive", "postgres")
def test_statement_timeout_ends_a_job(store: Store) -> None:
    with store.connect() as con:
        con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
        con.execute("INSERT INTO t VALUES (1)")
        con.execute("SET statement_timeout = '1ms'")
        with pytest.raises(gateway.OperationalError, match="statement timeout of 1ms"):
            con.execute("CALL system.verify('t')")
