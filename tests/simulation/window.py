"""The window workload: a row of numbers that moves on, read by key, range, index, ends and counts.

    python -m tests.simulation.window --processes 3 --store postgres --servers 2

A move deletes the lowest number of ``line`` and inserts the one behind the highest: in each
snapshot the numbers are WIDTH ones without a gap. Children refer to numbers, so none is ever left
without its parent; of two moves from one snapshot the first to commit wins. Meanwhile columns
change names, others come and go, as do indexes, and heads are sealed or journals compacted: what a
session has planned before must not be what it goes on with.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import gateway
from gateway.dbapi.connection import Connection
from tests.simulation.places import in_processes, place_options, placed
from tests.support.upkeep import disturb

WIDTH = 12
DEFINITIONS = (
    "CREATE SCHEMA win",
    "CREATE TABLE win.line (k INTEGER PRIMARY KEY, s VARCHAR UNIQUE, n INTEGER)",
    "CREATE TABLE win.child (id BIGINT PRIMARY KEY, k INTEGER NOT NULL REFERENCES win.line (k))",
    "CREATE TABLE win.marks (k INTEGER PRIMARY KEY, g INTEGER, a INTEGER, b INTEGER)",
    "INSERT INTO win.marks VALUES (1, 0, 1, 2)",
)
_SWAP = (
    "BEGIN",
    "ALTER TABLE win.marks RENAME COLUMN a TO c",
    "ALTER TABLE win.marks RENAME COLUMN b TO a",
    "ALTER TABLE win.marks RENAME COLUMN c TO b",
    "UPDATE win.marks SET g = g + 1 WHERE k = 1",
    "COMMIT",
)
_CHANGES = (
    _SWAP,
    ("CREATE INDEX i ON win.line (n)",),
    _SWAP,
    ("ALTER TABLE win.line ADD COLUMN more INTEGER DEFAULT 5",),
    ("DROP INDEX win.i",),
    _SWAP,
    ("ALTER TABLE win.line DROP COLUMN more",),
)
_LOST = frozenset({"40001", "23505", "23503"})
"""What a move or a child may meet that came too late."""
_PAUSE_S = 0.3


@dataclass(slots=True)
class Report:
    """What the threads of a process did, and what they saw that must not be."""

    moves: int = 0
    lost: int = 0
    looks: int = 0
    changes: int = 0
    wrong: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Work:
    url: str
    threads: int
    seconds: float
    seed: int
    number: int

    def run(self) -> Report:
        """Run the threads of this process."""
        found = _Threads(self, Report())
        workers = [threading.Thread(target=found.run, args=(n,)) for n in range(self.threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return found.report


@dataclass(slots=True)
class _Threads:
    work: _Work
    report: Report
    acknowledged: int = 0
    """The highest number that a thread of this process has moved to."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, number: int) -> None:
        """Move and look until the time is over."""
        rng = random.Random(self.work.seed + 100 * self.work.number + number)
        ids = itertools.count((self.work.number * 100 + number + 1) * 1_000_000)
        until = time.monotonic() + self.work.seconds
        try:
            with gateway.connect(self.work.url, autocommit=True) as con:
                while time.monotonic() < until:
                    act = rng.choice((self._move, self._look, self._look, self._add_child))
                    try:
                        act(con, rng, ids)
                    except gateway.Error as error:
                        con.rollback()
                        if error.sqlstate not in _LOST:
                            raise
                        with self.lock:
                            self.report.lost += 1
        except Exception as error:  # noqa: BLE001 - whatever ends a thread is a finding
            self._complain(f"a thread ends: {type(error).__name__}: {error}")

    def _complain(self, what: str) -> None:
        with self.lock:
            self.report.wrong.append(what)

    def _move(self, con: Connection, rng: random.Random, ids: itertools.count[int]) -> None:
        con.execute("BEGIN")
        ((low, high),) = asked(con, rng, "SELECT min(k), max(k) FROM win.line")
        asked(con, rng, "DELETE FROM win.child WHERE k = {}", low)
        asked(con, rng, "DELETE FROM win.line WHERE k = {}", low)
        new = high + 1
        asked(con, rng, "INSERT INTO win.line (k, s, n) VALUES ({}, {}, 0)", new, f"s{new}")
        con.execute("COMMIT")
        with self.lock:
            self.acknowledged = max(self.acknowledged, new)
            self.report.moves += 1

    def _add_child(self, con: Connection, rng: random.Random, ids: itertools.count[int]) -> None:
        ((high,),) = asked(con, rng, "SELECT max(k) FROM win.line")
        parent = high - rng.randrange(WIDTH + 1)
        asked(con, rng, "INSERT INTO win.child VALUES ({}, {})", next(ids), parent)

    def _look(self, con: Connection, rng: random.Random, ids: itertools.count[int]) -> None:
        before = self.acknowledged
        con.execute("BEGIN")
        ((low, high, count),) = asked(con, rng, "SELECT min(k), max(k), count(*) FROM win.line")
        if (count, high - low + 1) != (WIDTH, WIDTH) or high < before:
            self._complain(f"from {low} to {high} there are {count}; known before: {before}")
        asks = rng.sample(_questions(low, high), 6)
        for sql, values, wanted in asks:
            found = asked(con, rng, sql, *values)
            if found != wanted:
                self._complain(f"{sql} {values}: {found} instead of {wanted}")
        ((turn,),) = asked(con, rng, "SELECT g FROM win.marks WHERE k = {}", 1)
        for sql in ("SELECT a FROM win.marks WHERE k = {}", "SELECT max(a) FROM win.marks"):
            found = asked(con, rng, sql, *((1,) if "{}" in sql else ()))
            if found != [(1 + turn % 2,)]:
                self._complain(f"{sql}: {found} at turn {turn}")
        if rng.random() < 0.2:
            asked(con, rng, "UPDATE win.line SET n = n + 1 WHERE k = {}", high)
        con.execute("COMMIT")
        with self.lock:
            self.report.looks += 1


def _questions(low: int, high: int) -> list[tuple[str, tuple[object, ...], list[tuple[object]]]]:
    """Questions about a window, their values and the answers."""
    by_key, by_index = "SELECT k FROM win.line WHERE k = {}", "SELECT k FROM win.line WHERE s = {}"
    orphans = "SELECT count(*) FROM win.child WHERE k NOT IN (SELECT k FROM win.line)"
    return [
        (by_key, (low,), [(low,)]), (by_key, (high,), [(high,)]),
        (by_key, (low - 1,), []), (by_key, (high + 1,), []),
        (by_index, (f"s{low}",), [(low,)]), (by_index, (f"s{high}",), [(high,)]),
        (by_index, (f"s{low - 1}",), []), (by_index, (f"s{high + 1}",), []),
        ("SELECT count(*) FROM win.line WHERE k BETWEEN {} AND {}", (low - 5, high), [(WIDTH,)]),
        ("SELECT count(*) FROM win.line WHERE k > {}", (low,), [(WIDTH - 1,)]),
        ("SELECT count(DISTINCT s) FROM win.line", (), [(WIDTH,)]),
        ("SELECT k FROM win.line ORDER BY k LIMIT 1", (), [(low,)]),
        ("SELECT k FROM win.line ORDER BY k DESC LIMIT 1", (), [(high,)]),
        ("SELECT max(k) FROM win.line WHERE k < {}", (high,), [(high - 1,)]),
        ("SELECT k FROM win.line WHERE (k = {} AND s = {})", (low, f"s{high}"), []),
        ("SELECT k FROM win.line WHERE (k, s) = ({}, {})", (high, f"s{high}"), [(high,)]),
        (orphans, (), [(0,)]), (orphans, (), [(0,)]),
    ]  # fmt: skip


def asked(con: Connection, rng: random.Random, sql: str, *values: object) -> list[tuple[object]]:
    """The rows of a statement with its values as parameters, or in its text."""
    if values and rng.random() < 0.5:
        cursor = con.execute(sql.format(*("?" for _ in values)), values)
    else:
        cursor = con.execute(sql.format(*(f"'{v}'" if isinstance(v, str) else v for v in values)))
    return [] if cursor.description is None else [tuple(row) for row in cursor.fetchall()]


def run_window(
    *urls: str, threads: int, seconds: float, seed: int, processes: int = 0
) -> tuple[Report, int]:
    """Run the workload; return what happened, and by how much the window has moved.

    The threads are this process's, or those of other ``processes``, which take turns in the URLs.
    """
    report = Report()
    with gateway.connect(urls[0], autocommit=True) as con:
        for sql in DEFINITIONS:
            con.execute(sql)
        rows = [(k, f"s{k}", 0) for k in range(WIDTH)]
        con.executemany("INSERT INTO win.line VALUES (?, ?, ?)", rows)
        stop = threading.Event()
        changer = threading.Thread(target=_change, args=(urls[0], report, stop))
        changer.start()
        places = [urls[number % len(urls)] for number in range(processes or 1)]
        work = [_Work(url, threads, seconds, seed, n) for n, url in enumerate(places)]
        found = in_processes(_Work.run, work) if processes else [w.run() for w in work]
        stop.set()
        changer.join()
        for other in found:
            report.moves, report.lost = report.moves + other.moves, report.lost + other.lost
            report.looks += other.looks
            report.wrong += other.wrong
        ((low,),) = con.execute("SELECT min(k) FROM win.line").fetchall()
    return report, low


def _change(url: str, report: Report, stop: threading.Event) -> None:
    """Change definitions, and seal or compact, until told to stop."""
    with gateway.connect(url, autocommit=True) as con:
        for changes in itertools.cycle(_CHANGES):
            while not stop.wait(_PAUSE_S) and not _changed(con, changes, report):
                pass
            if stop.is_set():
                return
            for table in ("win.line", "win.marks", "win.child"):
                _changed(con, (disturb(url, table),), report)


def _changed(con: Connection, statements: Sequence[str], report: Report) -> bool:
    try:
        for sql in statements:
            con.execute(sql).close()
    except gateway.Error as error:
        con.rollback()
        if error.sqlstate != "40001":
            report.wrong.append(f"{statements}: {error.sqlstate}: {error}")
            return True
        return False
    report.changes += 1
    return True


def main() -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.window")
    parser.add_argument("--threads", type=int, default=3, help="of each process")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--seed", type=int, default=1)
    place_options(parser)
    options = parser.parse_args()
    with placed(options.store, options.servers) as urls:
        report, moved = run_window(
            *urls,
            threads=options.threads,
            seconds=options.seconds,
            seed=options.seed,
            processes=options.processes,
        )
    wrong = [*report.wrong]
    if moved != report.moves:
        wrong.append(f"the window moved by {moved}, and {report.moves} moves were acknowledged")
    sys.stdout.write(
        f"{report.moves} moves, {report.lost} too late, {report.looks} looks,"
        f" {report.changes} changes, {len(wrong)} wrong\n"
    )
    for line in wrong[:10]:
        sys.stdout.write(f"{line}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
