"""What does a major compaction cost, against a plain Spark copy of the same files?

Every round compacts a fresh copy of the warehouse (segments by hard link), from seal to swap,
with the same warm worker that runs the copy. Reads afterwards are held against plain Parquet.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gateway
from bench import lineitem
from bench.contenders import TABLE, Gateway, loaded_gateway, plain
from bench.current_view import CASES, PARQUET
from bench.measure import OURS, Promise, Report, Run
from bench.options import Options, read_options
from bench.peers import Peer, peer
from journal.records.report import JobReport
from journal.stores.embedded.journal import Journal
from spark_compaction.contract import silent
from spark_compaction.engines.client import SparkEngine, SparkOptions
from spark_compaction.programs.compaction import CompactJob
from spark_compaction.runner import RunOptions, run_job

SPARK_COPY = "spark copy"
DELTA_RS = "delta-rs merge, optimize"
_LIMITS = {1: 1.3, 10: 1.6}
_READ_LIMIT = 1.05
_READS_MIN = 5
_JUDGED_FROM_MS = 20.0


def copy(cluster: Any, task: dict[str, Any], _progress: Any) -> float:
    """The plain copy job: read these Parquet files, write them, nothing else."""
    began = time.perf_counter()
    rows = cluster.spark.read.parquet(*task["files"])
    rows.write.mode("overwrite").parquet(task["target"])
    return time.perf_counter() - began


def measure(options: Options) -> Report:
    """Load, change in steps, and after each compare compaction with a copy."""
    report = Report("compaction", options.rows)
    if options.cpu:
        report.clock = time.process_time
        report.notes.append("reads by processor time of all threads, jobs by time that passes")
    source = lineitem.lineitem_file(options.work, options.rows)
    conf = {"spark.driver.memory": "2g"}
    engine = SparkEngine(SparkOptions(master=f"local[{len(os.sched_getaffinity(0))}]", conf=conf))
    try:
        with peer(options.work, options.peers) as other:
            for percent in (1, 10):
                _measure(report, options, engine, other, source, percent)
    finally:
        engine.close()
    report.notes.append(
        "ours is the whole job: seal, plan, stage, checksums before and after, swap, retire;"
        " the Spark session is warm for both"
    )
    return report


def _measure(
    report: Report,
    options: Options,
    engine: SparkEngine,
    other: Peer | None,
    source: Path,
    percent: int,
) -> None:
    template = options.work / "compaction"
    with loaded_gateway(template, source) as ours:
        for step in (1, 10):
            if step <= percent:
                for statement in lineitem.changes(TABLE, step):
                    ours.run(statement)
        ours.rows("CALL system.flush()")
        ours.connection.close()
        files = [str(p) for p in sorted(template.glob("bench/*/*/*.parquet"))]
        _compare(report, options, engine, other, source, percent, files)


def _compare(
    report: Report,
    options: Options,
    engine: SparkEngine,
    other: Peer | None,
    source: Path,
    percent: int,
    files: list[str],
) -> None:
    template, work = options.work / "compaction", options.work / "compaction_round"
    reports: list[JobReport] = []

    def compact() -> float:
        with copied(template, work) as journal:
            began = time.perf_counter()
            table_id = next(iter(journal.state.tables))
            found = run_job(
                journal, CompactJob("major"), table_id, engine, options=RunOptions(grace_us=0)
            )
            reports.append(found)
            return time.perf_counter() - began

    def spark_copy() -> float:
        target = str(options.work / "compaction_copy")
        began = time.perf_counter()
        engine.run("bench.compaction:copy", {"files": files, "target": target}, silent)
        return time.perf_counter() - began

    case = f"{percent:>2} % changed"
    contenders: dict[str, Run] = {SPARK_COPY: spark_copy, OURS: compact}
    promises = [Promise(SPARK_COPY, _LIMITS[percent])]
    if other is not None:
        contenders[DELTA_RS] = _delta(other, options, source, percent)
        promises.append(Promise(DELTA_RS, 1.0))
    cpu: dict[str, list[float]] = {}
    for name, run in list(contenders.items()):
        contenders[name] = _with_cpu(run, cpu.setdefault(name, []))
    report.compare(case, contenders, options.repeats, promises)
    for name, seconds in cpu.items():
        report.facts[f"{case}: CPU seconds, {name}"] = [round(s, 2) for s in seconds[1:]]
    report.facts[f"{case}: read"] = reports[-1].read.bytes
    report.facts[f"{case}: written"] = reports[-1].written.bytes
    report.facts[f"{case}: seconds per step"] = dict(reports[-1].seconds)
    with copied(template, work) as journal:
        table_id = next(iter(journal.state.tables))
        run_job(journal, CompactJob("major"), table_id, engine, options=RunOptions(grace_us=0))
    _reads(report, options, work, percent)
    shutil.rmtree(work, ignore_errors=True)


def _delta(other: Peer, options: Options, source: Path, percent: int) -> Callable[[], float]:
    """The same change by MERGE and OPTIMIZE of delta-rs."""
    changed = options.work / f"compaction-changes-{options.rows}-{percent}.parquet"
    after = lineitem.changed_file(options.work, options.rows, percent)
    store = plain()
    store.execute(
        f"COPY (SELECT a.*, 'u' AS op FROM '{after}' a ANTI JOIN '{source}' b"
        " ON a.k = b.k AND a.l_quantity = b.l_quantity"
        f" UNION ALL SELECT b.*, 'd' FROM '{source}' b ANTI JOIN '{after}' a ON a.k = b.k)"
        f" TO '{changed}' (FORMAT parquet)"
    )
    store.close()
    other.call("delta_load", path=str(options.work / "compaction_delta"), parquet=str(source))
    return lambda: float(other.call("delta_merge", changes=str(changed)))


def _with_cpu(run: Run, spent: list[float]) -> Run:
    """Note what a run costs this process and all it has started; wall time depends on the load."""

    def measured() -> float | None:
        before = _cpu_seconds()
        seconds = run()
        spent.append(_cpu_seconds() - before)
        return seconds

    return measured


def _cpu_seconds() -> float:
    """User and system time of this process and its descendants, those that ended included."""
    found: dict[int, tuple[int, int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found[int(stat.parent.name)] = (int(fields[1]), sum(int(f) for f in fields[11:15]))
    total, wanted = 0, [os.getpid()]
    while wanted:
        pid = wanted.pop()
        total += found.get(pid, (0, 0))[1]
        wanted += [child for child, (parent, _) in found.items() if parent == pid]
    return total / os.sysconf("SC_CLK_TCK")


@contextmanager
def copied(template: Path, target: Path) -> Iterator[Journal]:
    """A copy of a warehouse, open; segments are the same files by hard link."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(template, target, copy_function=_link)
    connection = gateway.connect(f"palimpsest:///{target}", autocommit=True)
    try:
        yield connection.session.journal
    finally:
        connection.close()


def _link(source: str, target: str) -> None:
    if source.endswith(".parquet"):
        os.link(source, target)
    else:
        shutil.copy2(source, target)


def _reads(report: Report, options: Options, folder: Path, percent: int) -> None:
    """The compacted table against a plain Parquet file of the same rows."""
    table = lineitem.changed_file(options.work, options.rows, percent)
    orders = lineitem.orders_file(options.work, options.rows)
    connection = gateway.connect(f"palimpsest:///{folder}", autocommit=True)
    ours, store = Gateway(connection), plain()
    try:
        for case in CASES:
            asked = case.sql.format(t=TABLE, o=f"read_parquet('{orders}')")
            wanted = case.sql.format(t=f"'{table}'", o=f"'{orders}'")
            name = f"{percent:>2} % compacted, {case.name}"
            contenders: dict[str, Run] = {
                PARQUET: _reading(lambda: store.sql(wanted).to_arrow_table()),  # noqa: B023
                OURS: _reading(lambda: ours.arrow(asked)),  # noqa: B023
            }
            report.compare(name, contenders, max(_READS_MIN, options.repeats))
            if report.median_ms(name, PARQUET) >= _JUDGED_FROM_MS:
                report.judge_times(name, Promise(PARQUET, _READ_LIMIT))
    finally:
        store.close()
        connection.close()


def _reading(run: Callable[[], Any]) -> Run:
    def timed() -> None:
        run()

    return timed


if __name__ == "__main__":
    chosen = read_options(__doc__ or "")
    measure(chosen).finish(chosen.json)
