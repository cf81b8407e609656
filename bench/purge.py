"""What does it cost to erase one person for good, against writing the whole table anew?"""

from __future__ import annotations

import shutil

from bench import visits
from bench.measure import OURS, Promise, Report
from bench.options import Options, read_options
from journal.erasure.acceptance import Wanted, accept
from journal.erasure.requests import State
from journal.jobs.contract import silent
from spark_compaction.client import SparkEngine, SparkOptions
from spark_compaction.erasing import erase

REWRITE = "spark rewrites the table"
SUBMIT = "accept alone"
_COPY = "bench.spark_files:copy"
_ROUNDS = 3


def measure(options: Options) -> Report:
    """Accept and purge a person at a time; the search, the swap and the last scrub included."""
    per_file = visits.per_file(options.rows)
    report = Report("purging one person", per_file * visits.FILES)
    report.facts["files"] = visits.FILES
    engine = SparkEngine(SparkOptions(master="local[2]", conf={"spark.driver.memory": "2g"}))
    try:
        with visits.visits(options.work, per_file) as (ours, journal):
            found = ours.rows("SELECT DISTINCT visitor FROM visits WHERE k % 41 = 0")
            people = iter([row[0] for row in found])
            segments = journal.state.tables[1].manifest.segments
            report.facts["bytes"] = sum(s.bytes for s in segments)

            def submit() -> None:
                accept(journal, Wanted({"visitor": [next(people)]}), "bench")

            def purge() -> None:
                done = erase(journal, engine, "bench").requests
                open_ones = [r for r in done if r.state is not State.COMPLETED]
                assert not open_ones, open_ones
                target = done[-1].targets[0]
                report.facts["files rewritten"] = target.files_rewritten

            def rewrite() -> None:
                live = journal.state.tables[1].manifest.segments
                files = [str(journal.root / f.path) for s in live for f in s.files]
                target = str(options.work / "copied")
                engine.run(_COPY, {"files": files, "target": target}, silent)
                shutil.rmtree(target)

            # The first purge starts the worker, and is not measured.
            submit()
            purge()
            rounds = min(options.repeats, _ROUNDS)
            # The order is fixed: what is accepted is what is purged.
            for turn in range(rounds):
                for name, run in ((SUBMIT, submit), (OURS, purge), (REWRITE, rewrite)):
                    report.compare(f"round {turn + 1}", {name: run}, 1, warm_ups=0)
            _judge(report)
    finally:
        engine.close()
    return report


def _judge(report: Report) -> None:
    times = {
        name: [m.median_ms for m in report.measured if m.contender == name]
        for name in (SUBMIT, OURS, REWRITE)
    }
    pairs = zip(times[SUBMIT], times[OURS], times[REWRITE], strict=True)
    both = [(submit + purge) / theirs for submit, purge, theirs in pairs]
    report.judge("accept and purge", Promise(REWRITE, 1 / 30), both)


if __name__ == "__main__":
    chosen = read_options(__doc__ or "")
    measure(chosen).finish(chosen.json)
