"""Ctrl-C while a statement runs in the store: in a program, in ``query`` and in the shell."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest

from tests.conftest import ROOT
from tests.support.stores.store import Capability, Store
from tests.support.warm_python import warm_python

pytestmark = pytest.mark.needs(Capability.ACCESS_CONTROL)

SLOW = (
    "SELECT count(*) FROM t a, t b, t c, t d, t e, t f, t g, t h, t i"
    " WHERE (a.k * b.k + c.k * d.k + e.k * f.k + g.k * h.k + i.k) % 7 = 9"
)
"""A cross join that takes hours over a table of sixteen rows."""
PATIENCE_S = 15
"""A second where nothing else goes on; a statement that nobody stops takes hours."""

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
    """The URL of a store with a table of sixteen rows."""
    with store.connect() as con:
        con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
        con.execute("INSERT INTO t SELECT i FROM range(16) r(i)")
    return store.url


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
def test_a_program_hears_ctrl_c(place: str) -> None:
    seconds, output, errors = _interrupted("-c", _PROGRAM, place, SLOW)
    assert output.split("\n")[:2] == ["stopped", "[(16,)]"], errors
    assert seconds < PATIENCE_S


@pytest.mark.also_on("hive", "postgres")
def test_the_shell_hears_ctrl_c_and_goes_on(place: str) -> None:
    script = ("-c", "\\echo begins", "-c", SLOW, "-c", "\\echo stopped", "-c", "SELECT 7 AS n")
    seconds, output, errors = _interrupted("-m", "gateway.cli", "shell", place, *script)
    assert "PAL-407 (57014)" in errors
    assert output.startswith("stopped\n")
    assert " 7\n" in output
    assert seconds < PATIENCE_S


@pytest.mark.also_on("hive", "postgres")
def test_query_hears_ctrl_c(place: str) -> None:
    words = ("query", "-w", place, "--format", "csv", f"SELECT 'begins' AS begins; {SLOW}")
    seconds, output, errors = _interrupted("-m", "gateway.cli", *words)
    assert output == "", errors
    assert "57014" in errors
    assert seconds < PATIENCE_S
