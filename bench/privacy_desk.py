"""How long the privacy desk takes to accept many people, and to erase them beside one person.

    python -m bench.privacy_desk                  50 tables of 20,000 rows
    python -m bench.privacy_desk --full           50 tables of 1,000,000 rows
    python -m bench.privacy_desk --tables 10 --rows 200000 --people 10000

Makes a warehouse in a temporary folder, sealed; submits one person and executes that, then the
many in one submission and in one batch. Prints seconds by the clock and of processors, which do
not grow with what else the machine does; changes nothing elsewhere.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import gateway
from gateway.dbapi.connection import Connection
from gateway.privacy_desk import running
from gateway.privacy_desk.desk_policy import PrivacyAction
from gateway.privacy_desk.submission import NewRequest, SubmissionTerms, submit
from gateway.session.operations import no_progress


def main() -> None:
    """Measure, and print."""
    options = argparse.ArgumentParser()
    options.add_argument("--tables", type=int, default=50)
    options.add_argument("--rows", type=int, default=20_000)
    options.add_argument("--people", type=int, default=10_000)
    options.add_argument("--full", action="store_true", help="tables of a million rows")
    given = options.parse_args()
    if given.full:
        given.rows = 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        url = f"palimpsest:///{Path(folder) / 'warehouse'}"
        with gateway.connect(url, autocommit=True) as con:
            _fill(con, given.tables, given.rows)
            # Of the file that has all the others, where a table has several.
            one = [f"p{min(given.people, given.rows - 1)}@x.example"]
            many = [f"p{n}@x.example" for n in range(given.people)]
            print(f"{given.tables} tables of {given.rows:,} rows")
            spent = []
            for people in (one, many):
                accepted, executed, processors = _measure(con, people)
                spent.append((executed, processors))
                count = f"{len(people):,} {'person' if len(people) == 1 else 'people'}"
                print(
                    f"{count}: accepted in {accepted:.2f} s, executed in {executed:.2f} s,"
                    f" {processors:.2f} s of processors"
                )
            (one_s, one_cpu), (many_s, many_cpu) = spent
            print(
                f"ratio: {many_s / one_s:.2f} by the clock, {many_cpu / one_cpu:.2f} of processors"
            )


def _fill(con: Connection, tables: int, rows: int) -> None:
    for number in range(tables):
        con.execute(
            f"CREATE TABLE t{number} (id INTEGER PRIMARY KEY, email VARCHAR, v DOUBLE)"
            " WITH (erasure = 'email LOWER')"
        )
        con.execute(
            f"INSERT INTO t{number} SELECT i, concat('p', i, '@x.example'), i / 3.0"
            f" FROM range({rows}) r(i)"
        )
    con.execute("CALL system.flush()")


def _measure(con: Connection, people: list[str]) -> tuple[float, float, float]:
    began = time.perf_counter()
    requests = [NewRequest((("email", one),)) for one in people]
    submit(con.session, no_progress, SubmissionTerms(PrivacyAction.ERASURE), requests)
    accepted, processors = time.perf_counter(), time.process_time()
    (batch,) = running.run(con.session, no_progress)
    if batch.step != "COMPLETED":
        raise SystemExit(f"the batch is {batch.step}: {batch.detail.get('error')}")
    ended = time.perf_counter()
    return accepted - began, ended - accepted, time.process_time() - processors


if __name__ == "__main__":
    main()
