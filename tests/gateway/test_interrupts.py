"""Ctrl-C while the shell or the command line waits for a statement."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import gateway
from gateway.shell.running import run_cancellable


def test_ctrl_c_before_the_statement_has_begun(tmp_path: Path) -> None:
    slow = "SELECT count(*) FROM range(3000000000) a, range(1000) b WHERE a.range + b.range < 0"
    pressed = threading.Event()

    def press() -> None:
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, signal.SIGINT)
        pressed.set()

    with gateway.connect(f"palimpsest:///{tmp_path}", autocommit=True) as connection:

        def late() -> object:
            assert pressed.wait(10)
            time.sleep(0.3)
            return connection.execute(slow)

        threading.Timer(0.2, press).start()
        with pytest.raises(gateway.Error) as raised:
            run_cancellable(connection, late)
        assert raised.value.code == "PAL-407"


_PROGRAM = """
import os, signal, sys, threading, time
import gateway
with gateway.connect("palimpsest://", autocommit=True) as connection:
    connection.execute("CREATE TABLE kept (a INTEGER)")
    pressed = []
    def press():
        time.sleep(0.5)
        pressed.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=press, daemon=True).start()
    try:
        connection.execute(sys.argv[1]).fetchall()
    except KeyboardInterrupt:
        print("stopped", time.monotonic() - pressed[0])
    print(connection.execute("SELECT name FROM system.tables").fetchall())
"""


@pytest.mark.first(1)
@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE t AS SELECT i FROM range(100000000000) r(i)",
        "SELECT count(*) FROM range(1000000) a(i), range(1000000) b(j) WHERE (i * j) % 7 = 3",
        "SELECT sum(i) FROM range(100000000000) r(i)",
    ],
)
def test_ctrl_c_in_a_program_is_raised_soon(sql: str) -> None:
    words = [sys.executable, "-c", _PROGRAM, sql]
    done = subprocess.run(words, capture_output=True, text=True, timeout=100, check=False)
    stopped, tables = done.stdout.splitlines()
    # A second where nothing else goes on; a statement that nobody stops takes minutes.
    assert float(stopped.removeprefix("stopped ")) < 5
    assert tables == "[('kept',)]"


def test_a_wake_up_file_of_the_program_stays(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    before = signal.set_wakeup_fd(write)
    try:
        with gateway.connect(f"palimpsest:///{tmp_path}", autocommit=True) as connection:
            connection.execute("SELECT 1").fetchall()
            assert signal.set_wakeup_fd(write) == write
    finally:
        signal.set_wakeup_fd(before)
        os.close(read)
        os.close(write)


@pytest.mark.long
def test_what_does_not_raise_cancels_nothing(tmp_path: Path) -> None:
    noted: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: noted.append(number))
    try:
        with gateway.connect(f"palimpsest:///{tmp_path}", autocommit=True) as connection:
            timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            sql = "SELECT count(*) FROM range(15000) a(i), range(15000) b(j) WHERE (i * j) % 7 = 9"
            assert connection.execute(sql).fetchall() == [(0,)]
            timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert noted == [signal.SIGINT]
