"""What do a compaction and a purge in this process take, beside DuckDB's COPY of the same files?

    python -m bench.in_process --rows 2000000 --repeats 3 --cpu

A compaction merges all of a table, of which 1 and 10 % have changed; a purge erases one visitor,
who is in 8 of 400 files. COPY reads the files that the job reads and writes their rows, packed as
ours are: it checks nothing, leaves nothing out and sorts nothing.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from bench import lineitem, visits
from bench.compaction import copied
from bench.contenders import TABLE, loaded_gateway, plain
from bench.measure import OURS, Promise, Report, timed
from bench.options import Options, read_options
from journal.erasure.erasure_spec import ErasureSpec
from journal.erasure.requests import State
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.warehouse import PARQUET_OPTIONS
from spark_compaction.backends.embedded_erasure.erasure import WarehouseErasure
from spark_compaction.engines.local import LocalEngine
from spark_compaction.erasure import purging
from spark_compaction.erasure.acceptance import accept
from spark_compaction.programs.compaction import CompactJob
from spark_compaction.runner import RunOptions, run_job

COPY = "duckdb copy of the same files"
_AT_MOST = 1.5
_PACKED = f"FORMAT parquet, COMPRESSION {PARQUET_OPTIONS['COMPRESSION']}, PARQUET_VERSION v2"


def measure(options: Options) -> Report:
    """Compact a table at each percentage, then purge one person after the other."""
    report = Report("jobs in process", options.rows)
    if options.cpu:
        report.clock = time.process_time
        report.notes.append("processor time of all threads, not time that passes")
    for percent in (1, 10):
        _compactions(report, options, percent)
    _purges(report, options)
    return report


def _compactions(report: Report, options: Options, percent: int) -> None:
    template, work = options.work / "in_process", options.work / "in_process_round"
    with loaded_gateway(template, lineitem.lineitem_file(options.work, options.rows)) as ours:
        for step in (1, 10):
            for statement in lineitem.changes(TABLE, step) if step <= percent else ():
                ours.run(statement)
        ours.rows("CALL system.flush()")
        ours.connection.close()
        files = sorted(template.glob("bench/*/*/*.parquet"))

        def compact() -> float:
            with copied(template, work) as journal:
                (table,) = journal.state.tables
                start = report.clock()
                job = CompactJob("major")
                run_job(journal, job, table, LocalEngine(), options=RunOptions(grace_us=0))
                return report.clock() - start

        report.compare(
            f"compaction, {percent} % changed",
            {COPY: lambda: _copy(report, files, options.work), OURS: compact},
            options.repeats,
            (Promise(COPY, _AT_MOST),),
        )
    shutil.rmtree(work, ignore_errors=True)


def _copy(report: Report, files: Sequence[Path], work: Path) -> float:
    """Write the rows of some files to another; the seconds of it."""
    target, listed = work / "in_process_copy.parquet", [str(f) for f in files]
    with plain() as store:
        start = report.clock()
        read = f"read_parquet({listed}, union_by_name = true)"
        store.execute(f"COPY (SELECT * FROM {read}) TO '{target}' ({_PACKED})")
        spent = report.clock() - start
    target.unlink()
    return spent


def _purges(report: Report, options: Options) -> None:
    """A purge, and a copy of the files that it has written anew, which are kept for it."""
    kept = options.work / "in_process_kept"
    ratios: list[float] = []
    with visits.visits(options.work, visits.per_file(options.rows)) as (ours, journal):
        found = ours.rows("SELECT DISTINCT visitor FROM visits WHERE k % 41 = 0 ORDER BY ALL")
        for turn, (person,) in enumerate(found[: options.repeats + 1]):
            accept(WarehouseErasure(journal), ErasureSpec({"visitor": [person]}), "bench")
            before = _linked(journal, kept)
            ours_s = timed(lambda: _purge(journal), report.clock)
            gone = sorted(before.keys() - _files(journal))
            theirs_s = _copy(report, [before[f] for f in gone], options.work)
            shutil.rmtree(kept)
            # The first purge finds nothing that is warm, and is not measured.
            if turn:
                case = f"purge of one person, {len(gone)} files, {turn}"
                runs = {COPY: lambda s=theirs_s: s, OURS: lambda s=ours_s: s}
                report.compare(case, runs, 1, warm_ups=0)
                ratios.append(ours_s / theirs_s)
    report.judge("purge of one person", Promise(COPY, _AT_MOST), ratios)


def _purge(journal: Journal) -> None:
    done = purging.purge(WarehouseErasure(journal), "bench", engine=LocalEngine()).requests
    open_ones = [r for r in done if r.state is not State.COMPLETED]
    assert not open_ones, open_ones


def _files(journal: Journal) -> set[str]:
    segments = journal.state.tables[1].manifest.segments
    return {str(journal.root / f.path) for s in segments for f in s.files}


def _linked(journal: Journal, folder: Path) -> dict[str, Path]:
    """Links to a journal's files that stay when those are gone, by what they are links to."""
    folder.mkdir()
    links = {file: folder / f"{i}.parquet" for i, file in enumerate(sorted(_files(journal)))}
    for file, link in links.items():
        os.link(file, link)
    return links


if __name__ == "__main__":
    chosen = read_options(__doc__ or "")
    measure(chosen).finish(chosen.json)
