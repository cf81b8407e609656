"""What does a small statement cost late in a transaction, and with its values in the text?

    python -m bench.small_statements --cpu

The last hundred statements of a transaction, after 1,000 others (200 with ``--quick``), beside the
first hundred of another; and a hundred statements with literals beside the same with parameters, as
well as an INSERT of 10,000 rows of literals beside ``executemany``. On the embedded store, and on a
PostgreSQL server that it starts. ``--rows`` says nothing here.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count

import gateway
from bench.measure import Promise, Report, Run
from bench.options import Options, read_options
from gateway.dbapi.connection import Connection
from tests.support.postgres import Cluster

LATE, EARLY = "after 1,000 others", "first in its transaction"
LITERALS, PARAMETERS = "literals", "parameters"
_OTHERS, _QUICK_OTHERS = 1_000, 200
_TIMES = 100
_MANY_ROWS = 10_000
_AT_MOST = {LATE: 1.5, LITERALS: 1.5}
_ROWS_AT_MOST = 2.5
_ROWS = 100_000
_CASES = {
    "insert": "INSERT INTO t VALUES ({new}, 'v', 1)",
    "update by key": "UPDATE t SET n = n + 1 WHERE id = {old}",
    "upsert": "INSERT INTO t VALUES ({new}, 'v', 1) ON CONFLICT (id) DO UPDATE SET n = excluded.n",
    "delete by key": "DELETE FROM t WHERE id = {old}",
    "row by key": "SELECT v, n FROM t WHERE id = {old}",
}
_Statement = Callable[[Connection], object]


def measure(options: Options) -> Report:
    """Every case on each store, in turns."""
    report = Report("small statements, late in a transaction and with literals", _ROWS)
    if options.cpu:
        report.clock = time.process_time
        report.notes.append("processor time of this process, not time that passes")
    others = _QUICK_OTHERS if options.quick else _OTHERS
    cluster = Cluster.start()
    try:
        for store, url in {
            "embedded": "palimpsest://",
            "postgresql": cluster.url(cluster.database()),
        }.items():
            with gateway.connect(url, autocommit=True) as con:
                _compare(report, store, con, others, options.repeats)
    finally:
        cluster.stop()
    return report


def _compare(report: Report, store: str, con: Connection, others: int, repeats: int) -> None:
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v VARCHAR, n INTEGER)")
    con.execute("INSERT INTO t SELECT range, 'v', 1 FROM range(?)", [_ROWS])
    numbers = count()
    for name, text in _CASES.items():
        case = f"{store}: {name}"
        given = _with_parameters(text, numbers)
        runs: dict[str, Run] = {
            LATE: _in_transaction(con, report, given, others),
            EARLY: _in_transaction(con, report, given, 0),
        }
        report.compare(case, runs, repeats)
        report.judge_against(case, LATE, Promise(EARLY, _AT_MOST[LATE]))
        case = f"{case}, in the text"
        runs = {
            LITERALS: _in_transaction(con, report, _with_literals(text, numbers), 0),
            PARAMETERS: _in_transaction(con, report, given, 0),
        }
        report.compare(case, runs, repeats)
        report.judge_against(case, LITERALS, Promise(PARAMETERS, _AT_MOST[LITERALS]))
    case = f"{store}: 10,000 rows of VALUES"
    report.compare(
        case, {LITERALS: _many_literals(con, report), PARAMETERS: _many(con, report)}, repeats
    )
    report.judge_against(case, LITERALS, Promise(PARAMETERS, _ROWS_AT_MOST))


def _with_parameters(text: str, numbers: count[int]) -> _Statement:
    sql, is_new = text.format(new="?", old="?"), "{new}" in text

    def run(con: Connection) -> object:
        return con.execute(sql, [_number(numbers, is_new=is_new)]).rowcount

    return run


def _with_literals(text: str, numbers: count[int]) -> _Statement:
    is_new = "{new}" in text

    def run(con: Connection) -> object:
        number = _number(numbers, is_new=is_new)
        return con.execute(text.format(new=number, old=number)).rowcount

    return run


def _number(numbers: count[int], *, is_new: bool) -> int:
    number = next(numbers)
    return _ROWS + number if is_new else number % _ROWS


def _in_transaction(con: Connection, report: Report, statement: _Statement, others: int) -> Run:
    """Times some statements of a transaction, after others, and rolls it back."""

    def run() -> float:
        con.execute("BEGIN")
        for _ in range(others):
            statement(con)
        began = report.clock()
        for _ in range(_TIMES):
            statement(con)
        seconds = report.clock() - began
        con.execute("ROLLBACK")
        return seconds

    return run


def _many_literals(con: Connection, report: Report) -> Run:
    rows = ", ".join(f"({number}, 'v{number}', {number})" for number in _new_rows())
    return _in_one(con, report, lambda: con.execute(f"INSERT INTO t VALUES {rows}"))


def _many(con: Connection, report: Report) -> Run:
    rows = [(number, f"v{number}", number) for number in _new_rows()]
    return _in_one(con, report, lambda: con.executemany("INSERT INTO t VALUES (?, ?, ?)", rows))


def _new_rows() -> range:
    return range(1_000_000_000, 1_000_000_000 + _MANY_ROWS)


def _in_one(con: Connection, report: Report, statement: Callable[[], object]) -> Run:
    def run() -> float:
        con.execute("BEGIN")
        began = report.clock()
        statement()
        seconds = report.clock() - began
        con.execute("ROLLBACK")
        return seconds

    return run


if __name__ == "__main__":
    given = read_options(__doc__ or "")
    measure(given).finish(given.json)
