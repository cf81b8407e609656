"""Kills a writing child at random moments and checks what is there after reopening.

    python -m tests.simulation.crash --kills 200 [--engine postgres]

Checked after every kill: each acknowledged transaction is there, whole; none that was rolled back;
besides at most the one that was being committed, whole too; the accounts' sum is what it was; and
`palimpsest verify` finds nothing.
"""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import gateway
from tests.simulation.crash_child import ACCOUNTS, OPENING_BALANCE, ROWS_PER_TRANSACTION

START_LIMIT_S = 60.0
POLL_S = 0.005
ENDED = (b"done", b"undone")


class Broken(Exception):
    """A promise that did not hold after a crash."""


@dataclass(frozen=True, slots=True)
class Log:
    """The child's log: which transactions began, were acknowledged, were undone."""

    started: frozenset[int]
    done: frozenset[int]
    undone: frozenset[int]
    last_started: int


@dataclass(slots=True)
class CrashRun:
    """A store whose gateway is killed again and again: in ``folder``, or on ``server``."""

    folder: Path
    rng: random.Random
    server: str | None = None
    longest_s: float = 1.5
    kills: int = 0
    in_doubt: int = 0

    @property
    def warehouse(self) -> Path:
        """Return the warehouse's directory."""
        return self.folder / "warehouse"

    @property
    def url(self) -> str:
        """Return where the journals are."""
        return self.server or f"palimpsest:///{self.warehouse}"

    @property
    def log_path(self) -> Path:
        """Return the child's log."""
        return self.folder / "acknowledged.log"

    def kill_once(self) -> None:
        """Start the child, kill it at a random moment, and check the warehouse."""
        self.log_path.touch()
        first = read_log(self.log_path).last_started + 1
        size = self.log_path.stat().st_size
        command = [sys.executable, "-m", "tests.simulation.crash_child"]
        arguments = [self.url, str(self.log_path), str(first), str(self.kills)]
        child = subprocess.Popen(
            [*command, *arguments], stderr=subprocess.PIPE, cwd=Path(__file__).parents[2]
        )
        try:
            if self.rng.random() < 0.1:
                # Now and then while it is still opening the warehouse.
                time.sleep(self.rng.uniform(0.2, 1.0))
            else:
                self._wait_for_an_acknowledgment(child, size)
                time.sleep(self.rng.uniform(0, self.longest_s))
        finally:
            died = child.poll() is not None
            child.send_signal(signal.SIGKILL)
            _, errors = child.communicate()
        if died:
            raise Broken(f"the child ended by itself:\n{errors.decode()}")
        self.kills += 1
        self.check()

    def _wait_for_an_acknowledgment(self, child: "subprocess.Popen[bytes]", size: int) -> None:
        """Until a transaction has ended since the log had that size, however slow the server."""
        limit = time.monotonic() + START_LIMIT_S
        while not any(line.startswith(ENDED) for line in self._lines_behind(size)):
            if child.poll() is not None:
                return
            if time.monotonic() > limit:
                raise Broken("the child ended no transaction in time")
            time.sleep(POLL_S)

    def _lines_behind(self, size: int) -> list[bytes]:
        with self.log_path.open("rb") as log:
            log.seek(size)
            return log.read().split(b"\n")[:-1]

    def check(self) -> None:
        """Raise Broken when the warehouse does not hold what was acknowledged."""
        if self.server is None and not self.warehouse.exists():
            return
        log = read_log(self.log_path)
        with gateway.connect(self.url, autocommit=True) as connection:
            cursor = connection.cursor()
            try:
                cursor.execute(
                    "SELECT id, count(*), count(DISTINCT line) FROM crash.ledger GROUP BY id"
                )
            except gateway.ProgrammingError as error:
                if log.started:
                    raise Broken("the tables are gone") from error
                return
            ledger = {row[0]: (row[1], row[2]) for row in cursor.fetchall()}
            cursor.execute("SELECT id, n FROM crash.totals")
            totals = dict(cursor.fetchall())
            cursor.execute("SELECT count(*), sum(balance) FROM crash.accounts")
            accounts = cursor.fetchall()
        self._judge(log, ledger, totals)
        if accounts != [(ACCOUNTS, ACCOUNTS * OPENING_BALANCE)]:
            raise Broken(f"accounts: {accounts}")
        verify(self.url)

    def _judge(self, log: Log, ledger: dict[int, tuple[int, int]], totals: dict[int, int]) -> None:
        whole = (ROWS_PER_TRANSACTION, ROWS_PER_TRANSACTION)
        halves = {number: rows for number, rows in ledger.items() if rows != whole}
        if halves or set(ledger) != set(totals) or set(totals.values()) - {ROWS_PER_TRANSACTION}:
            odd = set(ledger) ^ set(totals)
            raise Broken(f"half transactions: {halves} {sorted(odd)[:10]}")
        present = set(ledger)
        if log.done - present:
            raise Broken(f"acknowledged but lost: {sorted(log.done - present)[:10]}")
        extra = present - log.done
        if extra & log.undone:
            raise Broken(f"rolled back but there: {sorted(extra & log.undone)[:10]}")
        # A commit is in doubt when the child died between it and its line in the log.
        if len(extra) > self.kills or not extra <= log.started:
            raise Broken(f"there without having been committed: {sorted(extra)[:10]}")
        self.in_doubt = len(extra)


def read_log(path: Path) -> Log:
    """Read the child's log; a torn last line is none."""
    entries: dict[str, set[int]] = {"start": set(), "done": set(), "undone": set(), "ready": set()}
    last = 0
    for line in path.read_bytes().split(b"\n")[:-1]:
        kind, _, number = line.decode().partition(" ")
        entries[kind].add(int(number))
        if kind == "start":
            last = int(number)
    return Log(
        frozenset(entries["start"]), frozenset(entries["done"]), frozenset(entries["undone"]), last
    )


def verify(url: str) -> None:
    """Run `palimpsest verify`; raise Broken when it complains."""
    command = [sys.executable, "-m", "gateway.cli", "verify", "--warehouse", url]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root)
    if done.returncode != 0:
        raise Broken(f"palimpsest verify:\n{done.stdout}{done.stderr}")


def main() -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.crash")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", choices=("embedded", "postgres"), default="embedded")
    options = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, _server(options.engine) as server:
        run = CrashRun(Path(folder), random.Random(options.seed), server)
        while run.kills < options.kills:
            try:
                run.kill_once()
            except Broken as broken:
                sys.stdout.write(f"after kill {run.kills}: {broken}\n")
                return 1
            if run.kills % 10 == 0:
                seconds = time.monotonic() - started
                sys.stdout.write(f"{run.kills} kills, {_summary(run)}, {seconds:.0f} s\n")
                sys.stdout.flush()
    return 0


@contextmanager
def _server(engine: str) -> Iterator[str | None]:
    """A database of a server of our own, unless the store is embedded."""
    if engine == "embedded":
        yield None
        return
    from tests.support.postgres import running

    with running() as cluster:
        yield cluster.url(cluster.database())


def _summary(run: CrashRun) -> str:
    log = read_log(run.log_path)
    return f"{len(log.done)} acknowledged, {run.in_doubt} in doubt, nothing lost"


if __name__ == "__main__":
    sys.exit(main())
