"""How long does it take to find a person in 400 files: with filters, and by a scan of all?"""

from __future__ import annotations

import random
from collections.abc import Sequence

from bench import visits
from bench.measure import OURS, Promise, Report
from bench.options import Options, read_options
from journal.identity.descriptor import descriptor_of
from journal.stores.embedded.journal import Journal
from spark_compaction.backends.embedded_erasure.locate import Locator
from spark_compaction.contract import silent
from spark_compaction.engines.client import SparkEngine, SparkOptions
from spark_compaction.erasure.search import Search

SCAN, PRUNED = "spark scan", "spark, pruned files"
_FIND = "bench.spark_files:find"


def measure(options: Options) -> Report:
    """One person in 2 % of the files, then a thousand in the same 15."""
    per_file = visits.per_file(options.rows)
    report = Report("finding people", per_file * visits.FILES)
    report.facts["files"] = visits.FILES
    engine = SparkEngine(SparkOptions(master="local[2]", conf={"spark.driver.memory": "2g"}))
    try:
        with visits.visits(options.work, per_file) as (ours, journal):
            picked = random.Random(5)
            found = ours.rows("SELECT DISTINCT visitor FROM visits WHERE k % 37 = 0")
            people = [row[0] for row in found]
            crowd = ours.rows("SELECT DISTINCT account FROM visits WHERE account LIKE 'acct-3-%'")
            accounts = sorted(row[0] for row in crowd)[:1000]
            report.facts["people in the batch"] = len(accounts)
            _case(
                *(report, "one of 2 %", journal, engine, "visitor"),
                *([[picked.choice(people)] for _ in range(64)], options.repeats, 20),
            )
            batches = [accounts] * 64
            _case(
                report, "1,000 in 15 files", journal, engine, "account", batches, options.repeats, 5
            )
    finally:
        engine.close()
    return report


def _case(
    report: Report,
    case: str,
    journal: Journal,
    engine: SparkEngine,
    column: str,
    wanted: list[list[str]],
    repeats: int,
    faster: int,
) -> None:
    table = journal.state.catalog.by_id(1)
    assert table is not None
    segments = journal.state.tables[1].manifest.segments
    files = [str(journal.root / f.path) for s in segments for f in s.files]
    turn = iter(wanted)
    current: list[str] = []

    def ours() -> None:
        current[:] = next(turn)
        with journal.reading_session() as session:
            found = Search()
            given = (descriptor_of(table), {column: current}, found)
            locator = Locator(session, journal.root, table, *given)
            locator.sealed(segments, found.live, journal.checker)
        keys = sum(k.num_rows for k in found.keys)
        assert keys
        report.facts[f"{case}: files read"] = found.live.read
        report.facts[f"{case}: rows found"] = keys

    def scan(paths: Sequence[str]) -> None:
        values = current or wanted[0]
        task = {"files": list(paths), "column": column, "values": values}
        assert engine.run(_FIND, task, silent)

    def pruned() -> None:
        with journal.reading_session() as session:
            given = (descriptor_of(table), {column: current or wanted[0]}, Search())
            locator = Locator(session, journal.root, table, *given)
            fields = segments[0].fields
            listed = [f for s in segments for f in s.files]
            identity = next(i for i in locator.identities if i.type == column)
            chosen = locator.candidates(listed, fields, [identity])
        scan([str(journal.root / path) for path, found in chosen.items() if found])

    contenders = {OURS: ours, SCAN: lambda: scan(files), PRUNED: pruned}
    report.compare(case, contenders, min(repeats, 5), (Promise(SCAN, 1 / faster),))


if __name__ == "__main__":
    chosen = read_options(__doc__ or "")
    measure(chosen).finish(chosen.json)
