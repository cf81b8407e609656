"""The list-append workload: many threads append to and read lists; records what each saw.

Lists are texts of numbers in one table, so that any table can hold them. Some transactions are
rolled back on purpose; one thread seals heads all the time.

    python -m tests.simulation.list_append --threads 8 --transactions 200
"""

import argparse
import itertools
import random
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import gateway
from gateway.dbapi.connection import Connection
from gateway.dbapi.cursor import Cursor
from tests.simulation.histories import Append, Read, Transaction, Values, find_anomalies
from tests.support.upkeep import disturb

ROLLBACK_SHARE = 0.1
READ_SHARE = 0.5
FLUSH_PAUSE_S = 0.05
MAX_OPERATIONS = 5


@dataclass(slots=True)
class Recorder:
    """Collects the transactions of all threads."""

    history: list[Transaction] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    conflicts: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def number(self) -> int:
        """Return a number never given before."""
        with self._lock:
            return next(self._numbers)

    def add(self, transaction: Transaction) -> None:
        """Record an ended transaction."""
        with self._lock:
            self.history.append(transaction)
            self.conflicts += not transaction.committed

    def complain(self, error: str) -> None:
        """Record an error no transaction should meet."""
        with self._lock:
            self.unexpected.append(error)


def run_workload(
    url: str, *, threads: int, transactions: int, keys: int, seed: int
) -> tuple[Recorder, dict[int, Values]]:
    """Run the workload and return what was recorded and the final lists."""
    with gateway.connect(url, autocommit=True) as connection:
        cursor = connection.cursor()
        cursor.execute("CREATE SCHEMA IF NOT EXISTS sim")
        cursor.execute("CREATE TABLE sim.lists (k INTEGER PRIMARY KEY, vals VARCHAR NOT NULL)")
        cursor.executemany("INSERT INTO sim.lists VALUES (?, '')", [(key,) for key in range(keys)])
        recorder = Recorder()
        workers = [
            threading.Thread(
                target=_work, args=(url, recorder, random.Random(seed + number), transactions, keys)
            )
            for number in range(threads)
        ]
        stop = threading.Event()
        flusher = threading.Thread(target=_flush, args=(url, recorder, stop))
        for thread in (*workers, flusher):
            thread.start()
        for thread in workers:
            thread.join()
        stop.set()
        flusher.join()
        cursor.execute("SELECT k, vals FROM sim.lists")
        final = {key: _parse(text) for key, text in cursor.fetchall()}
    return recorder, final


def _work(url: str, recorder: Recorder, rng: random.Random, transactions: int, keys: int) -> None:
    with gateway.connect(url, autocommit=True) as connection:
        for _ in range(transactions):
            _one_transaction(connection, recorder, rng, keys)


def _one_transaction(
    connection: Connection, recorder: Recorder, rng: random.Random, keys: int
) -> None:
    cursor = connection.cursor()
    operations: list[Append | Read] = []
    number = recorder.number()
    began = time.monotonic()
    committed = False
    try:
        cursor.execute("BEGIN")
        for _ in range(rng.randint(1, MAX_OPERATIONS)):
            operations.append(_operation(cursor, recorder, rng, keys))
        if rng.random() < ROLLBACK_SHARE:
            cursor.execute("ROLLBACK")
        else:
            cursor.execute("COMMIT")
            committed = True
    except gateway.Error as error:
        if error.sqlstate != "40001":
            recorder.complain(f"{error.sqlstate}: {error}")
        connection.rollback()
    ended = time.monotonic()
    recorder.add(Transaction(number, tuple(operations), committed, began, ended))


def _operation(cursor: Cursor, recorder: Recorder, rng: random.Random, keys: int) -> Append | Read:
    key = rng.randrange(keys)
    if rng.random() < READ_SHARE:
        cursor.execute("SELECT vals FROM sim.lists WHERE k = ?", [key])
        rows = cursor.fetchall()
        return Read(key, _parse(rows[0][0]))
    value = recorder.number()
    cursor.execute("UPDATE sim.lists SET vals = vals || ? WHERE k = ?", [f"{value},", key])
    return Append(key, value)


def _flush(url: str, recorder: Recorder, stop: threading.Event) -> None:
    with gateway.connect(url, autocommit=True) as connection:
        cursor = connection.cursor()
        while not stop.wait(FLUSH_PAUSE_S):
            try:
                cursor.execute(disturb(url, "sim.lists"))
            except gateway.Error as error:
                recorder.complain(f"flush: {error.sqlstate}: {error}")


def _parse(text: str) -> Values:
    return tuple(int(part) for part in text.split(",") if part)


def main() -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.list_append")
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--transactions", type=int, default=200, help="per thread")
    parser.add_argument("--keys", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        recorder, final = run_workload(
            f"palimpsest:///{Path(folder) / 'warehouse'}",
            threads=options.threads,
            transactions=options.transactions,
            keys=options.keys,
            seed=options.seed,
        )
    anomalies = find_anomalies(recorder.history, final)
    committed = sum(transaction.committed for transaction in recorder.history)
    sys.stdout.write(
        f"{committed} committed, {recorder.conflicts} not, {len(anomalies)} anomalies,"
        f" {len(recorder.unexpected)} unexpected errors, {time.monotonic() - started:.0f} s\n"
    )
    for found in [*anomalies[:10], *recorder.unexpected[:10]]:
        sys.stdout.write(f"{found}\n")
    return 1 if anomalies or recorder.unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
