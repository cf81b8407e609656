"""The owner is killed at random moments under clients of each kind: nothing is lost or done twice.

Each client adds rows of its own: by statements that commit by themselves, by transactions, and by
commands. What it was told to be committed must be there; what it was told to have failed must not
be, unless the error said that nobody knows (08007), and then the transaction's name settles it.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from gateway.sharing import folder
from tests.sharing.programs import Program

KILLS = int(os.environ.get("PALIMPSEST_OWNER_KILLS", "12"))
_MAIN = "from gateway.cli import main; main()"


class Client(threading.Thread):
    """Adds rows (client, n) one after the other until it is told to stop."""

    def __init__(self, root: Path, number: int, over: threading.Event) -> None:
        super().__init__()
        self.root, self.number, self.over = root, number, over
        self.told: set[int] = set()
        self.doubtful: dict[int, str] = {}
        self.refused: set[int] = set()
        self.error: BaseException | None = None

    def run(self) -> None:
        """Work until it is over."""
        try:
            self.work()
        except BaseException as error:  # noqa: BLE001 - shown by the test
            self.error = error

    def work(self) -> None:
        """Add rows until it is over, as the kind of client does."""

    def take(self, n: int, answer: dict[str, object] | None) -> None:
        """Note what was said of row ``n``."""
        if answer is None or "error" not in answer:
            self.told.add(n)
        elif answer["sqlstate"] == "08007":
            self.doubtful[n] = str(answer["message"]).split("transaction ")[1].split()[0]
        elif answer["sqlstate"] in {"08006", "40001"}:
            self.refused.add(n)
        else:
            raise AssertionError(answer)


class Statements(Client):
    """Each statement commits by itself; it never hears of an owner that dies."""

    def work(self) -> None:
        with Program(self.root) as program:
            n = 0
            while not self.over.is_set():
                n += 1
                answer = program.ask("execute", "INSERT INTO r VALUES (?, ?)", [self.number, n])
                assert "error" not in answer, answer
                self.told.add(n)


class Transactions(Client):
    """Two statements and a COMMIT."""

    def work(self) -> None:
        with Program(self.root, autocommit=False) as program:
            n = 0
            while not self.over.is_set():
                n += 1
                answer = program.ask("execute", "INSERT INTO r VALUES (?, ?)", [self.number, n])
                if "error" not in answer:
                    answer = program.ask("execute", "UPDATE c SET n = n + 1", None)
                if "error" in answer:
                    program.ask("rollback")
                else:
                    answer = program.ask("commit")
                self.take(n, answer)


class Commands(Client):
    """A process for each statement."""

    def work(self) -> None:
        n = 0
        while not self.over.is_set():
            n += 1
            sql = f"INSERT INTO r VALUES ({self.number}, {n})"
            words = [sys.executable, "-c", _MAIN, "query", "-q", "-w", str(self.root), sql]
            process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
            _, said = process.communicate(timeout=180)
            # A command that was killed as the owner has told nobody anything.
            if process.returncode == 0:
                self.told.add(n)
            elif process.returncode != -signal.SIGKILL:
                raise AssertionError(said)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_nothing_is_lost_or_done_twice_when_owners_are_killed(root: Path) -> None:
    random.seed(7)
    with Program(root) as first:
        first.ask("execute", "CREATE TABLE r (client INTEGER, n INTEGER)", None)
        first.ask("execute", "CREATE TABLE c (k INTEGER PRIMARY KEY, n INTEGER)", None)
        first.ask("execute", "INSERT INTO c VALUES (1, 0)", None)
        assert first.end() == 0
    over = threading.Event()
    kinds = [Statements, Transactions, Commands, Statements, Transactions, Commands]
    clients = [kind(root, number, over) for number, kind in enumerate(kinds)]
    own = {os.getpid()}
    for client in clients:
        client.start()
    for _ in range(KILLS):
        time.sleep(random.uniform(0.5, 3.0))
        owner = folder.owner_of(root)
        if owner is not None and owner.pid not in own:
            try:
                os.kill(owner.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
    time.sleep(2)
    over.set()
    for client in clients:
        client.join(300)
        assert not client.is_alive(), f"client {client.number} hangs"
    with Program(root) as last:
        assert [c.error for c in clients if c.error and "JSON" not in type(c.error).__name__] == []
        for client in clients:
            rows = last.rows(
                "SELECT n, count(*) FROM r WHERE client = ? GROUP BY n", [client.number]
            )
            found = dict(rows)
            assert set(found.values()) <= {1}, f"client {client.number}: a row twice"
            assert client.told <= found.keys(), f"client {client.number}: rows are lost"
            assert not client.refused & found.keys(), f"client {client.number}: refused, yet there"
            for n, name in client.doubtful.items():
                query = "SELECT count(*) FROM system.transactions WHERE transaction_id = ?"
                assert last.rows(query, [name]) == [[int(n in found)]]
        ((counted,),) = last.rows("SELECT n FROM c", None)
        done = last.rows("SELECT count(*) FROM r WHERE client IN (1, 4)", None)
        assert [[counted]] == done
