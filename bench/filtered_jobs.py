"""What do filters cost whoever waits: a whole import, and a whole compaction, with and without?

`python -m bench.filters --jobs`. The same rows go into a table that is onboarded with one identity
column and into one that is not, in turns: through the gateway, which reads, checks, sorts, writes,
syncs and commits, and by `CALL system.compact` after 1 % of the rows have changed. Two runs differ
by more than filters take, so the step that builds them is timed by itself, too. Nothing is promised
of it: the promise is about the write, and bench.filters judges it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import duckdb

from bench import visits
from bench.contenders import Gateway, fresh_gateway
from bench.filter_steps import Steps, watched
from bench.measure import OURS, Report, quartiles
from bench.options import Options

WITHOUT = "without filters"
IDENTITY = "visitor"
_IMPORT, _COMPACT = "import", "compaction"
_CHANGED = 100
"""One row in so many is changed before a compaction."""


@dataclass(slots=True)
class _Spent:
    """Seconds of the processor and of a clock, and those of ``Steps``, round by round."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    steps: list[Steps] = field(default_factory=list)

    def run(self, work: Callable[[], object]) -> float:
        """Do some work; how long it took by the clock."""
        began = time.process_time(), time.perf_counter()
        with watched() as steps:
            work()
        self.cpu.append(time.process_time() - began[0])
        self.wall.append(time.perf_counter() - began[1])
        self.steps.append(steps)
        return self.wall[-1]


def measure(
    options: Options, count: int, creates: dict[str, str], columns: dict[str, str]
) -> Report:
    """Import and compact rows of each shape: ``CREATE TABLE`` by its name, and what it takes."""
    report = Report("filters in whole jobs", count)
    for case, create in creates.items():
        source = options.work / "filtered_jobs.parquet"
        duckdb.execute(
            f"COPY (SELECT {columns[case]} FROM ({visits.rows(count, count)})) TO '{source}'"
        )
        with fresh_gateway(options.work / "filtered_jobs") as ours:
            ours.run("SET job_engine = 'local'")
            _imports(report, ours, case, create, source, options)
            _compactions(report, ours, case, create, source, options)
        source.unlink()
    return report


def _shapes(create: str) -> dict[str, str]:
    """The table with an identity column, and without."""
    bare = create.partition(" WITH (")[0]
    return {OURS: f"{bare} WITH (erasure = '{IDENTITY}')", WITHOUT: bare}


def _imports(
    report: Report, ours: Gateway, case: str, create: str, source: Path, options: Options
) -> None:
    spent = {name: _Spent() for name in (OURS, WITHOUT)}

    def load(name: str) -> float:
        ours.run(_shapes(create)[name])
        taken = spent[name].run(
            lambda: ours.run(f"INSERT INTO visits SELECT * FROM read_parquet('{source}')")
        )
        ours.run("DROP TABLE visits")
        ours.rows("CALL system.vacuum()")
        return taken

    title = f"{_IMPORT}, {case}"
    report.compare(title, {n: (lambda n=n: load(n)) for n in spent}, options.repeats)
    _tell(report, title, spent, options.repeats)


def _compactions(
    report: Report, ours: Gateway, case: str, create: str, source: Path, options: Options
) -> None:
    spent = {name: _Spent() for name in (OURS, WITHOUT)}
    tables = {OURS: "onboarded", WITHOUT: "bare"}
    for name, table in tables.items():
        ours.run(_shapes(create)[name].replace("TABLE visits", f"TABLE {table}"))
        ours.run(f"INSERT INTO {table} SELECT * FROM read_parquet('{source}')")

    def compact(name: str) -> float:
        table = tables[name]
        ours.run(f"UPDATE {table} SET price = price + 1 WHERE k % {_CHANGED} = 0")
        ours.rows(f"CALL system.flush('{table}')")
        taken = spent[name].run(
            lambda: ours.rows(f"CALL system.compact(table => '{table}', mode => 'major')")
        )
        ours.rows("CALL system.vacuum()")
        return taken

    title = f"{_COMPACT}, {case}"
    report.compare(title, {n: (lambda n=n: compact(n)) for n in spent}, options.repeats)
    _tell(report, title, spent, options.repeats)


def _tell(report: Report, title: str, spent: dict[str, _Spent], rounds: int) -> None:
    """How much more each took with filters, within the rounds, and how far that varies."""
    ours, bare = spent[OURS], spent[WITHOUT]
    beside = list(zip(ours.steps, bare.steps, strict=True))
    for word, mine, theirs, steps in (
        ("processor time", ours.cpu, bare.cpu, [a.filters_cpu for a, _ in beside]),
        ("time that passes", ours.wall, bare.wall, [a.finishing - b.finishing for a, b in beside]),
    ):
        pairs = list(zip(mine, theirs, steps, strict=True))[-rounds:]
        low, middle, high = quartiles([with_ / without - 1 for with_, without, _ in pairs])
        share = median(step / without for _, without, step in pairs)
        report.facts[f"{title}: {word}"] = (
            f"building them is {share:.1%}; the whole differs by {middle:+.1%}"
            f" ({low:+.1%} .. {high:+.1%})"
        )
