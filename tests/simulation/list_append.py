"""The list-append workload: many threads append to and read lists; records what each saw.

Lists are texts of numbers in one table, so that any table can hold them. They are read and appended
to by key, by a range, by an index and in scans, with values as parameters and in the text. Some
transactions are rolled back on purpose; one thread seals heads, or compacts, all the time, and
makes and drops an index.

    python -m tests.simulation.list_append --threads 8 --transactions 200
    python -m tests.simulation.list_append --store postgres --processes 3 --servers 2
"""

import argparse
import itertools
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import gateway
from gateway.dbapi.connection import Connection
from gateway.dbapi.cursor import Cursor
from tests.simulation.histories import Append, Read, Transaction, Values, find_anomalies
from tests.simulation.places import in_processes, place_options, placed
from tests.support.upkeep import disturb

ROLLBACK_SHARE = 0.1
READ_SHARE = 0.5
FLUSH_PAUSE_S = 0.05
MAX_OPERATIONS = 5
_NUMBERS = 1_000_000
"""How many numbers each process has for itself."""


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

    def take(self, other: "Recorder") -> None:
        """Add what another process recorded."""
        self.history += other.history
        self.unexpected += other.unexpected
        self.conflicts += other.conflicts

    def __reduce__(self) -> tuple[object, ...]:
        """What was recorded, as it goes to another process."""
        return Recorder, (self.history, self.unexpected, self.conflicts)


@dataclass(frozen=True, slots=True)
class _Work:
    """What a process does; ``number`` is its own."""

    url: str
    threads: int
    transactions: int
    keys: int
    seed: int
    number: int

    def run(self) -> Recorder:
        """Run the threads of this process."""
        recorder = Recorder(_numbers=itertools.count(self.number * _NUMBERS + 1))
        seeds = [self.seed + 100 * self.number + thread for thread in range(self.threads)]
        workers = [
            threading.Thread(
                target=_work,
                args=(self.url, recorder, random.Random(seed), self.transactions, self.keys),
            )
            for seed in seeds
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return recorder


def run_workload(
    *urls: str, threads: int, transactions: int, keys: int, seed: int, processes: int = 0
) -> tuple[Recorder, dict[int, Values]]:
    """Run the workload and return what was recorded and the final lists.

    The threads are this process's, or those of other ``processes``, which take turns in the URLs.
    """
    with gateway.connect(urls[0], autocommit=True) as connection:
        cursor = connection.cursor()
        cursor.execute("CREATE SCHEMA IF NOT EXISTS sim")
        cursor.execute(
            "CREATE TABLE sim.lists"
            " (k INTEGER PRIMARY KEY, tag VARCHAR NOT NULL UNIQUE, vals VARCHAR NOT NULL)"
        )
        rows = [(key, f"t{key}") for key in range(keys)]
        cursor.executemany("INSERT INTO sim.lists VALUES (?, ?, '')", rows)
        recorder = Recorder()
        stop = threading.Event()
        flusher = threading.Thread(target=_flush, args=(urls[0], recorder, stop))
        flusher.start()
        places = [urls[number % len(urls)] for number in range(processes or 1)]
        work = [_Work(url, threads, transactions, keys, seed, n) for n, url in enumerate(places)]
        for found in in_processes(_Work.run, work) if processes else map(_Work.run, work):
            recorder.take(found)
        stop.set()
        flusher.join()
        cursor.execute("SELECT k, vals FROM sim.lists")
        final = {key: _parse(text) for key, text in cursor.fetchall()}
    return recorder, final


def _work(url: str, recorder: Recorder, rng: random.Random, transactions: int, keys: int) -> None:
    try:
        with gateway.connect(url, autocommit=True) as connection:
            for _ in range(transactions):
                _one_transaction(connection, recorder, rng, keys)
    except Exception as error:  # noqa: BLE001 - whatever ends a thread is a finding
        recorder.complain(f"a thread ends: {type(error).__name__}: {error}")


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
            operations += _operation(cursor, recorder, rng, keys)
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


_PLACES: Sequence[tuple[str, Callable[[int], tuple[object, ...]]]] = (
    ("k = {}", lambda key: (key,)),
    ("k = {}", lambda key: (key,)),
    ("(k = {} AND tag = {})", lambda key: (key, f"t{key}")),
    ("k BETWEEN {} AND {}", lambda key: (key, key)),
    ("k > {} AND k < {}", lambda key: (key - 1, key + 1)),
    ("tag = {}", lambda key: (f"t{key}",)),
    ("tag IN ({}, {})", lambda key: (f"t{key}", "none")),
)
"""Conditions on the row of a key, and their values."""


def _operation(
    cursor: Cursor, recorder: Recorder, rng: random.Random, keys: int
) -> list[Append | Read]:
    key = rng.randrange(keys)
    where, values_of = rng.choice(_PLACES)
    values = values_of(key)
    if rng.random() < READ_SHARE:
        if rng.random() < 0.15:
            cursor.execute("SELECT k, vals FROM sim.lists")
            rows = cursor.fetchall()
            assert len(rows) == keys, rows
            return [Read(found, _parse(text)) for found, text in rows]
        shown = rng.choice(("vals", "vals", "max(vals)", "vals, k, tag"))
        _run(cursor, rng, f"SELECT {shown} FROM sim.lists WHERE {where}", values)
        rows = cursor.fetchall()
        return [Read(key, _parse(rows[0][0]))]
    value = recorder.number()
    sql = f"UPDATE sim.lists SET vals = vals || {{}} WHERE {where}"
    _run(cursor, rng, sql, (f"{value},", *values))
    assert cursor.rowcount == 1, sql
    return [Append(key, value)]


def _run(cursor: Cursor, rng: random.Random, sql: str, values: tuple[object, ...]) -> None:
    """Run a statement with its values as parameters, or in its text."""
    if rng.random() < 0.5:
        cursor.execute(sql.format(*("?" for _ in values)), values)
    else:
        shown = (f"'{value}'" if isinstance(value, str) else str(value) for value in values)
        cursor.execute(sql.format(*shown))


def _flush(url: str, recorder: Recorder, stop: threading.Event) -> None:
    index = itertools.cycle(("CREATE INDEX i ON sim.lists (vals)", "DROP INDEX sim.i"))
    with gateway.connect(url, autocommit=True) as connection:
        cursor = connection.cursor()
        for turn in itertools.count():
            if stop.wait(FLUSH_PAUSE_S):
                return
            try:
                cursor.execute(next(index) if turn % 4 == 0 else disturb(url, "sim.lists"))
            except gateway.Error as error:
                if error.sqlstate != "40001":
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
    place_options(parser)
    options = parser.parse_args()
    started = time.monotonic()
    with placed(options.store, options.servers) as urls:
        recorder, final = run_workload(
            *urls,
            threads=options.threads,
            transactions=options.transactions,
            keys=options.keys,
            seed=options.seed,
            processes=options.processes,
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
