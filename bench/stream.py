"""Does reading every row of a large table take bounded memory?

A process of its own opens the warehouse and reads the table with ``fetchmany``; what counts is how
much its resident memory grew while it did, for a small and for a large table.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import gateway
from bench import lineitem
from bench.contenders import TABLE, loaded_gateway
from bench.measure import OURS, Measured, Promise, Report
from bench.options import Options, read_options

_GROWTH_MB_MAX = 512
_FETCH_ROWS = 10_000
_CHILD = "--child"


def measure(options: Options) -> Report:
    """Stream a tenth of the rows, then all of them."""
    report = Report("streaming rows out", options.rows)
    for rows in (options.rows // 10, options.rows):
        source = lineitem.lineitem_file(options.work, rows)
        folder = options.work / "stream"
        with loaded_gateway(folder, source) as ours:
            # Some changes, so that the current view is not just the files.
            ours.run(lineitem.changes(TABLE, 1)[0])
            ours.connection.close()
            found = _in_child(folder)
        assert found["rows"] == rows
        case = f"{rows:,} rows"
        spent = found["seconds"] * 1e3
        report.measured.append(Measured(case, OURS, spent, spent, spent, 1))
        report.facts[f"{case}: memory before, MB"] = found["before_mb"]
        report.facts[f"{case}: memory grew by MB"] = found["grew_mb"]
        promise = Promise(f"{_GROWTH_MB_MAX} MB of growth", 1.0)
        report.judge(case, promise, [found["grew_mb"] / _GROWTH_MB_MAX])
    return report


def _in_child(folder: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.stream", _CHILD, str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def stream(folder: str) -> dict[str, float]:
    """Read every row, and say how many, how fast and in how much memory."""
    connection = gateway.connect(f"palimpsest:///{folder}", autocommit=True)
    cursor = connection.cursor()
    cursor.execute(f"SELECT count(*) FROM {TABLE}")
    cursor.fetchall()
    before = _peak_mb()
    start = time.perf_counter()
    cursor.execute(f"SELECT * FROM {TABLE}")
    count = 0
    while rows := cursor.fetchmany(_FETCH_ROWS):
        count += len(rows)
    seconds = time.perf_counter() - start
    connection.close()
    grew = round(_peak_mb() - before, 1)
    return {"rows": count, "seconds": seconds, "before_mb": round(before, 1), "grew_mb": grew}


def _peak_mb() -> float:
    # On Linux a child takes over the peak that getrusage reports from the process that started it,
    # which would hide any growth here; VmHWM belongs to this program alone.
    status = Path("/proc/self/status")
    if status.exists():
        line = next(x for x in status.read_text().splitlines() if x.startswith("VmHWM"))
        return int(line.split()[1]) / 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


if __name__ == "__main__":
    if sys.argv[1:2] == [_CHILD]:
        print(json.dumps(stream(sys.argv[2])))
    else:
        chosen = read_options(__doc__ or "")
        measure(chosen).finish(chosen.json)
