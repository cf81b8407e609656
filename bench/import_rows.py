"""How fast are rows imported, against DuckDB's own COPY of the same rows to Parquet?

Ours checks the primary key, stamps every row, computes a checksum and commits; COPY does not.
"""

from __future__ import annotations

import shutil
from functools import partial
from itertools import count, product
from pathlib import Path

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
    sources = {
        "sorted by key": lineitem.lineitem_file(options.work, options.rows),
        "keys shuffled": lineitem.shuffled_file(options.work, options.rows),
    }
    target = options.work / "copied.parquet"
    numbers = count()
    with fresh_gateway(options.work / "import") as ours, plain() as store:
        ours.run("CREATE SCHEMA bench")

        def copy(source: Path) -> None:
            store.execute(f"COPY (SELECT * FROM '{source}') TO '{target}' (FORMAT parquet)")

        def insert(source: Path) -> None:
            table = f"bench.t{next(numbers)}"
            _import(ours, table, str(source), options.rows)
            ours.run(f"DROP TABLE {table}")

        for case, source in sources.items():
            report.compare(
                case,
                {COPY: partial(copy, source), OURS: partial(insert, source)},
                min(options.repeats, _ROUNDS_MAX),
                (Promise(COPY, _SLOWER_AT_MOST),),
            )
    target.unlink()
    shutil.rmtree(options.work / "import", ignore_errors=True)
    for case, name in product(sources, (COPY, OURS)):
        seconds = report.median_ms(case, name) / 1e3
        report.facts[f"{case}: {name}, rows a second"] = round(options.rows / seconds)
    return report


def _import(ours: Gateway, table: str, source: str, rows: int) -> None:
    ours.run(lineitem.create_table(table))
    changed = ours.run(f"INSERT INTO {table} SELECT * FROM read_parquet('{source}')")
    assert changed == rows


if __name__ == "__main__":
    chosen = read_options(__doc__ or "")
    measure(chosen).finish(chosen.json)
