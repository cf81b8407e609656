"""What does lineage cost the statements that it follows?

Turns in one process, on one warehouse, with lineage and without: statements whose plans are cached,
and, text by text, statements that were never seen, of the shape of one that was and of a new one.
Of a new shape two things are told apart: reading its tree, once for all of its runs, and recording
its edges in the transaction of the commit.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from datetime import date
from functools import partial
from itertools import count
from typing import Any

from bench import lineitem
from bench.contenders import TABLE, Gateway, loaded_gateway
from bench.measure import OURS, Promise, Report
from bench.options import Options, read_options
from bench.rewrite import STATEMENTS, TABLES
from gateway.lineage.ledger import LineageLedger
from journal.model.lineage import CommittedLineage

OFF = "without lineage"
_CACHED, _COLD, _RECORDED = 1.02, 1.05, 1.15
_BATCH = 10
_ROUNDS, _QUICK_ROUNDS = 40, 12
_ROWS_MAX = 1_000_000

_NEW_SHAPE = "insert from a query, a new shape"

Statements = Iterator[tuple[str, tuple[Any, ...]]]
"""Texts with their parameters."""


def measure(options: Options) -> Report:
    """Run the same kind of statement with lineage and without."""
    rows = min(options.rows, _ROWS_MAX)
    report = Report("what lineage costs", rows)
    source = lineitem.lineitem_file(options.work, rows)
    with loaded_gateway(options.work / "lineage_cost", source) as ours:
        for made in ("CREATE TABLE copied (k BIGINT, priced DECIMAL(15,2), told VARCHAR)", *TABLES):
            ours.run(made)
        rounds = options.repeats * (_QUICK_ROUNDS if options.quick else _ROUNDS)
        for case, (most, statements) in (_cases(rows) | _rewritten()).items():
            run = partial(_timed, options, ours, statements)
            contenders = {OURS: partial(run, on=True), OFF: partial(run, on=False)}
            report.compare(case, contenders, rounds, (Promise(OFF, most),), warm_ups=5)
        _read_alone(report, options, ours, rounds)
    report.notes.append(f"each run is the mean of {_BATCH} statements")
    return report


def _read_alone(report: Report, options: Options, ours: Gateway, rounds: int) -> None:
    """The same new shapes, whose trees are read while nothing of them is recorded."""
    executor = ours.connection.session.executor
    own = executor.lineage
    _, statements = _cases(report.rows)[_NEW_SHAPE]
    executor.lineage = executor.planner.lineage = _Unrecorded(own.journal)
    try:
        run = partial(_timed, options, ours, statements)
        contenders = {OURS: partial(run, on=True), OFF: partial(run, on=False)}
        promises = (Promise(OFF, _COLD),)
        report.compare(f"{_NEW_SHAPE}, its tree alone", contenders, rounds, promises, warm_ups=5)
    finally:
        executor.lineage.close()
        executor.lineage = executor.planner.lineage = own


class _Unrecorded(LineageLedger):
    """Reads what statements bring, and takes it to be on record."""

    def _is_news(self, found: CommittedLineage) -> bool:
        return False


def _cases(rows: int) -> dict[str, tuple[float, Statements]]:
    """Statements by case, and what they may take at most."""
    keys, numbers = random.Random(3), count(1)

    def key() -> int:
        return keys.randint(1, rows)

    read = f"SELECT * FROM {TABLE} WHERE k = "
    update = f"UPDATE {TABLE} SET l_comment = 'changed' WHERE k = "
    insert = (
        f"INSERT INTO copied SELECT k, l_extendedprice * l_tax AS c, 'x' FROM {TABLE} WHERE k ="
    )

    def cached(text: str) -> Statements:
        return ((f"{text} ?", (key(),)) for _ in numbers)

    def unseen(text: str) -> Statements:
        return ((f"{text} {key()} AND k > -{number}", ()) for number in numbers)

    def of_new_shape(text: str) -> Statements:
        return ((f"{text.replace(' AS c', f' AS c{n}')} {key()}", ()) for n in numbers)

    return {
        "read by key, cached": (_CACHED, cached(read)),
        "update by key, cached": (_CACHED, cached(update)),
        "insert from a query, cached": (_CACHED, cached(insert)),
        "update, another text of its shape": (_COLD, unseen(update)),
        "insert from a query, another text of its shape": (_COLD, unseen(insert)),
        _NEW_SHAPE: (_RECORDED, of_new_shape(insert)),
    }


def _rewritten() -> dict[str, tuple[float, Statements]]:
    """The statements of ``bench.rewrite``, run with their plans cached."""
    ids, changed = count(10), count(10)  # each row that was inserted is changed once
    values: dict[str, Callable[[], tuple[Any, ...]]] = {
        "point read": lambda: (1,),
        "join and group": lambda: (date(2024, 1, 1),),
        "insert": lambda: (next(ids), 7, 9.99, 1),
        "update by key": lambda: (next(changed),),
        "delete": lambda: (-1,),
    }

    def cached(text: str, chosen: Callable[[], tuple[Any, ...]]) -> Statements:
        return ((text, chosen()) for _ in count())

    return {
        f"rewrite: {name}, cached": (_CACHED, cached(text, values[name]))
        for name, text in STATEMENTS
    }


def _timed(options: Options, ours: Gateway, statements: Statements, *, on: bool) -> float:
    ours.connection.session.executor.lineage.is_on = on
    clock: Callable[[], float] = time.process_time if options.cpu else time.perf_counter
    chosen = [next(statements) for _ in range(_BATCH)]
    began = clock()
    for sql, values in chosen:
        ours.cursor.execute(sql, values or None)
        if ours.cursor.description is not None:
            ours.cursor.fetchall()
    return (clock() - began) / _BATCH


if __name__ == "__main__":
    given = read_options(__doc__ or "")
    measure(given).finish(given.json)
