"""What does a small statement cost in a catalog of many tables, beside one of a single table?

    python -m bench.many_tables --cpu

The table that is read and written was made after 1,500 others (50 with ``--quick``). All statements
come again and again but one, whose text is new each time. ``--rows`` says nothing here.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count

import gateway
from bench.measure import Promise, Report, Run
from bench.options import Options, read_options
from gateway.dbapi.connection import Connection

MANY, ONE = "many tables", "one table"
_TABLES, _QUICK_TABLES = 1_500, 50
_ROWS = 1_000
_TIMES = 100
_AT_MOST = 1.2
_CASES: dict[str, Callable[[int], str]] = {
    "row by key": lambda _: "SELECT * FROM t WHERE id = ?",
    "group by": lambda _: "SELECT a, count(*) FROM t WHERE id >= ? GROUP BY a",
    "text that is new": lambda number: f"SELECT a, {number} AS n FROM t WHERE id = ?",
    "update by key": lambda _: "UPDATE t SET a = a + 1 WHERE id = ?",
}


def measure(options: Options) -> Report:
    """The same statements in both catalogs, in turns."""
    report = Report("small statements by the size of the catalog", _ROWS)
    if options.cpu:
        report.clock = time.process_time
        report.notes.append("processor time, not time that passes")
    with _opened(_QUICK_TABLES if options.quick else _TABLES) as many, _opened(0) as one:
        for case, text in _CASES.items():
            contenders = {MANY: _run(many, text), ONE: _run(one, text)}
            report.compare(case, contenders, options.repeats)
            report.judge_against(case, MANY, Promise(ONE, _AT_MOST))
    return report


def _opened(others: int) -> Connection:
    """A store in memory with so many tables besides the one that is asked for."""
    con = gateway.connect("palimpsest://", autocommit=True)
    tables = [f"CREATE TABLE x{i} (id INTEGER, a INTEGER)" for i in range(others)]
    con.execute("; ".join(("BEGIN", *tables, "COMMIT")))
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)")
    con.execute("INSERT INTO t SELECT range, 1 FROM range(?)", [_ROWS])
    return con


def _run(con: Connection, text: Callable[[int], str]) -> Run:
    numbers = count()

    def run() -> None:
        for number in (next(numbers) for _ in range(_TIMES)):
            cursor = con.execute(text(number), [number % _ROWS])
            if cursor.description is not None:
                cursor.fetchall()

    return run


if __name__ == "__main__":
    given = read_options(__doc__ or "")
    measure(given).finish(given.json)
