"""What does it cost to erase one person for good, against writing the whole table anew?

Times are of the processor, of this process and of all that Spark runs, for the work is spread over
processes and the machine has other work; the seconds on the clock stand among the facts.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from bench import visits
from bench.measure import OURS, Promise, Report
from bench.options import Options, options_of, parser
from gateway.config import Settings
from gateway.jobs.engines import ENGINES
from journal.erasure.erasure_spec import ErasureSpec
from journal.erasure.requests import State
from spark_compaction.backends.embedded_erasure.erasure import WarehouseErasure
from spark_compaction.contract import silent
from spark_compaction.engines.client import SparkEngine, SparkOptions
from spark_compaction.erasure import purging
from spark_compaction.erasure.acceptance import accept

REWRITE = "spark rewrites the table"
SUBMIT = "accept alone"
_COPY = "bench.spark_files:copy"
_ROUNDS = 3


_ENGINES = ("auto", "spark", "local")


def measure(options: Options, where: str = "auto") -> Report:
    """Accept and purge a person at a time; the search, the swap and the last scrub included."""
    per_file = visits.per_file(options.rows)
    report = Report("purging one person", per_file * visits.FILES)
    report.facts["files"] = visits.FILES
    report.facts["engine"] = where
    engine = SparkEngine(SparkOptions(master="local[2]", conf={"spark.driver.memory": "2g"}))
    try:
        with visits.visits(options.work, per_file) as (ours, journal):
            found = ours.rows("SELECT DISTINCT visitor FROM visits WHERE k % 41 = 0")
            people = iter([row[0] for row in found])
            segments = journal.state.tables[1].manifest.segments
            report.facts["bytes"] = sum(s.bytes for s in segments)

            def submit() -> None:
                accept(WarehouseErasure(journal), ErasureSpec({"visitor": [next(people)]}), "bench")

            def purge() -> None:
                settings = Settings().with_setting("job_engine", where)
                chosen = engine if where == "spark" else ENGINES.choose_late(settings, 0)
                done = purging.purge(WarehouseErasure(journal), "bench", engine=chosen).requests
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
                    case = f"round {turn + 1}"
                    timed = _processor(run, engine.start(), report.facts, f"{case} {name}")
                    report.compare(case, {name: timed}, 1, warm_ups=0)
            _judge(report)
    finally:
        engine.close()
    return report


def _processor(
    run: Callable[[], None], worker: int, facts: dict[str, object], case: str
) -> Callable[[], float]:
    """A run that gives the processor time it took here and in the worker's processes."""

    def timed() -> float:
        began, clock = time.process_time() + _spent_by(worker), time.perf_counter()
        run()
        facts[f"{case}: seconds on the clock"] = round(time.perf_counter() - clock, 2)
        return time.process_time() + _spent_by(worker) - began

    return timed


def _spent_by(worker: int) -> float:
    """Processor seconds of the session that a process leads, children that have ended included."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == worker:
            ticks += sum(int(n) for n in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def _judge(report: Report) -> None:
    times = {
        name: [m.median_ms for m in report.measured if m.contender == name]
        for name in (SUBMIT, OURS, REWRITE)
    }
    pairs = zip(times[SUBMIT], times[OURS], times[REWRITE], strict=True)
    both = [(submit + purge) / theirs for submit, purge, theirs in pairs]
    report.judge("accept and purge", Promise(REWRITE, 1 / 30), both)


def _main() -> None:
    made = parser(__doc__ or "")
    made.add_argument("--engine", choices=_ENGINES, default="auto", help="where files are written")
    parsed = made.parse_args()
    options = options_of(parsed)
    measure(options, parsed.engine).finish(options.json)


if __name__ == "__main__":
    _main()
