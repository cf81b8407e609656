"""A table of many partitions on a Thrift Server: adopting it, planning queries, and point reads.

    python -m bench.hive_partitions [--partitions 10000] [--runs 5]

``PALIMPSEST_THRIFT_SERVER=host:port`` names a server; else one is started. Prints JSON: seconds, of
reads the median. ``direct`` is the same question to the adopted table, sent by the driver alone.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import gateway
from gateway.procedures.adopting import adopt
from journal.stores.hive.journal import HiveJournal
from tests.support.thrift_server import shared

_NAMES = ("_journal", "version_number", "subsequent_version_number")
_ROWS = 10


def _lake(folder: Path, partitions: int) -> None:
    """One small file for each partition."""
    for number in range(partitions):
        place = folder / f"day={number}"
        place.mkdir(parents=True)
        first = number * _ROWS
        rows = pa.table({"k": range(first, first + _ROWS), "v": [f"v{number}"] * _ROWS})
        pq.write_table(rows, place / "a.parquet")


def timed(work: Callable[[], object]) -> float:
    """Seconds of one run."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def measured(folder: Path, url: str, partitions: int, runs: int) -> dict[str, object]:
    """Adopt a folder of so many partitions, and ask for one row."""
    lake = folder / "lake"
    _lake(lake, partitions)
    with gateway.connect(url, autocommit=True) as con:
        journal = con.session.journal
        assert isinstance(journal, HiveJournal)
        con.execute("CREATE SCHEMA lake")

        def take(*, run: bool) -> None:
            adopt(con.session, "lake.t", ("k",), _NAMES, run=run, folder=str(lake))

        found: dict[str, object] = {"partitions": partitions, "rows": partitions * _ROWS}
        found["dry_run_s"] = timed(lambda: take(run=False))
        found["adopt_s"] = timed(lambda: take(run=True))
        last = partitions - 1
        where = {
            "partition_and_key": f"day = {last} AND k = {last * _ROWS}",
            "partition": f"day = {last}",
            "key": f"k = {last * _ROWS}",
        }
        database = journal.names.schema("lake")
        with journal.store.connection() as plain:

            def median(work: Callable[[], object]) -> float:
                work()
                return statistics.median(timed(work) for _ in range(runs))

            for changed in (False, True):
                if changed:
                    con.execute(f"UPDATE lake.t SET v = 'new' WHERE k = 0 AND day = {last // 2}")
                    con.execute(f"DELETE FROM lake.t WHERE {where['partition_and_key']}")
                times = {}
                for name, condition in where.items():
                    ours = f"SELECT count(*), max(v) FROM lake.t WHERE {condition}"
                    theirs = f"SELECT count(*), max(v) FROM {database}.t_adopted WHERE {condition}"
                    times[name] = {
                        "gateway_s": median(lambda q=ours: con.execute(q).fetchall()),  # type: ignore[misc]
                        "direct_s": median(lambda q=theirs: plain.run(q)),  # type: ignore[misc]
                        "plan_s": median(lambda q=ours: con.execute(f"EXPLAIN {q}").fetchall()),  # type: ignore[misc]
                    }
                found["changed" if changed else "as_adopted"] = times
    return found


def main() -> None:
    """Run it, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made, shared(Path(made)) as server:
        url = server.url(f"b{uuid.uuid4().hex[:8]}_", Path(made) / "catalog.db")
        found = measured(Path(made), url, options.partitions, options.runs)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
