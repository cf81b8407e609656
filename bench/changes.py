"""What do the changes of a table cost, beside a scan of its rows?

    python -m bench.changes --rows 10000000 --cpu

Rows are inserted by one statement, and a tenth of them is updated afterwards; what happened is read
by ``table_changes`` into Arrow, as the rows are by a scan.
"""

from __future__ import annotations

import time

from bench import lineitem
from bench.contenders import TABLE, Gateway, fresh_gateway
from bench.measure import OURS, Promise, Report, Run
from bench.options import Options, read_options

SCAN = "a scan"
_AT_MOST = 2.0
_NOW = "SELECT max(version) FROM system.transactions"


def measure(options: Options) -> Report:
    """Insert, read the changes, update a tenth, and read those and all of them."""
    report = Report("changes of a table", options.rows)
    if options.cpu:
        report.clock = time.process_time
        report.notes.append("processor time of all threads, not time that passes")
    source = lineitem.lineitem_file(options.work, options.rows)
    with fresh_gateway(options.work / "changes") as ours:
        ours.run("CREATE SCHEMA bench")
        ours.run(lineitem.create_table(TABLE))
        inserted = _committed(ours, f"INSERT INTO {TABLE} SELECT * FROM read_parquet('{source}')")
        _compare(report, options, ours, "rows inserted", (inserted, inserted))
        updated = _committed(ours, f"UPDATE {TABLE} SET l_tax = l_tax + 1 WHERE k % 10 = 3")
        _compare(report, options, ours, "a tenth updated", (updated, updated))
        _compare(report, options, ours, "both", (inserted, updated))
    return report


def _committed(ours: Gateway, statement: str) -> int:
    """Run a statement; the version of its commit."""
    ours.run(statement)
    return int(ours.rows(_NOW)[0][0])


def _compare(
    report: Report, options: Options, ours: Gateway, case: str, span: tuple[int, int]
) -> None:
    told: list[int] = []
    changes = f"SELECT * FROM table_changes('{TABLE}', {span[0]}, {span[1]})"

    def reading(query: str) -> Run:
        def run() -> None:
            told.append(ours.arrow(query).num_rows)

        return run

    runs = {SCAN: reading(f"SELECT * FROM {TABLE}"), OURS: reading(changes)}
    report.compare(case, runs, options.repeats, (Promise(SCAN, _AT_MOST),))
    report.facts[f"{case}: rows of the scan, and changes"] = sorted(set(told))


if __name__ == "__main__":
    chosen = read_options(__doc__ or "")
    measure(chosen).finish(chosen.json)
