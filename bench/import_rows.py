"""How fast are rows imported, against DuckDB's own COPY of the same rows to Parquet?

Ours checks the primary key, stamps every row, computes a checksum and commits; COPY does not.
"""

from __future__ import annotations

import shutil
from itertools import count

from bench import lineitem
from bench.contenders import Gateway, fresh_gateway, plain
from bench.measure import OURS, Promise, Report
from bench.options import Options, read_options

COPY = "duckdb copy to parquet"
_ROUNDS_MAX = 5
# At least 0.7 of COPY's speed is at most 1 / 0.7 of its time.
_SLOWER_AT_MOST = round(1 / 0.7, 3)


def measure(options: Options) -> Report:
    """Import a sorted file, and one whose keys are shuffled."""
    report = Report("import", options.rows)
    source = lineitem.lineitem_file(options.work, options.rows)
    target = options.work / "copied.parquet"
    numbers = count()
    with fresh_gateway(options.work / "import") as ours, plain() as store:
        ours.run("CREATE SCHEMA bench")

        def copy() -> None:
            store.execute(f"COPY (SELECT * FROM '{source}') TO '{target}' (FORMAT parquet)")

        def insert() -> None:
            _import(ours, f"bench.t{next(numbers)}", str(source), options.rows)

        report.compare(
            "sorted by key",
            {COPY: copy, OURS: insert},
            min(options.repeats, _ROUNDS_MAX),
            (Promise(COPY, _SLOWER_AT_MOST),),
        )
    target.unlink()
    shutil.rmtree(options.work / "import", ignore_errors=True)
    for name in (COPY, OURS):
        seconds = report.median_ms("sorted by key", name) / 1e3
        report.facts[f"{name}, rows a second"] = round(options.rows / seconds)
    return report


def _import(ours: Gateway, table: str, source: str, rows: int) -> None:
    ours.run(lineitem.create_table(table))
    changed = ours.run(f"INSERT INTO {table} SELECT * FROM read_parquet('{source}')")
    assert changed == rows


if __name__ == "__main__":
    chosen = read_options(__doc__ or "")
    measure(chosen).finish(chosen.json)
