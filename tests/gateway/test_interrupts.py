"""Ctrl-C while the shell or the command line waits for a statement."""

from __future__ import annotations

import signal
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
