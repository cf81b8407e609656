"""Compares the gateway with plain DuckDB over DuckDB's own test suite, which is not in this tree.

    python -m tests.differential.duckdb_suite duckdb/test/sql/insert duckdb/test/sql/cte
    python -m tests.differential.duckdb_suite --postgres --every 10 --json found.jsonl FOLDER

Each file has a process of its own and a limit of time. Prints how many records agree, with and
without those about DuckDB's own machinery, then the causes by how often they stand; `--json` has
every difference as a line.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.differential.duckdb_suite.processes import compare_in_process
from tests.support.postgres import running


def main() -> int:
    """Run the command line; return the exit code: 1 if a process ended or hung."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential.duckdb_suite")
    parser.add_argument("places", nargs="+", type=Path, help="folders or files of the suite")
    parser.add_argument("--postgres", action="store_true", help="on a PostgreSQL server of its own")
    parser.add_argument("--root", type=Path, default=Path.cwd(), help="where data/ of DuckDB lies")
    parser.add_argument("--seconds", type=float, default=60, help="limit of one file")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--causes", type=int, default=40, help="how many causes are printed")
    parser.add_argument("--json", type=Path, help="file of differences, one JSON object a line")
    parser.add_argument("--every", type=int, default=1, help="take each so manieth file only")
    options = parser.parse_args()
    files = [str(file.resolve()) for place in options.places for file in _files(place)]
    files = files[:: options.every]

    results: list[dict[str, Any]] = []
    with ThreadPoolExecutor(options.jobs) as pool, ExitStack() as stack:
        cluster = stack.enter_context(running()) if options.postgres else None

        def run(file: str) -> dict[str, Any]:
            url = None if cluster is None else cluster.url(cluster.database())
            return compare_in_process(file, url, str(options.root), options.seconds)

        report = stack.enter_context(options.json.open("w")) if options.json is not None else None
        for result in pool.map(run, files):
            results.append(result)
            if report is not None:
                report.writelines(f"{json.dumps(d)}\n" for d in result.get("differences", ()))
                report.flush()
    sys.stdout.write("\n".join(_summary(results, options.causes)) + "\n")
    return int(any("lost" in result for result in results))


def _files(place: Path) -> list[Path]:
    return [place] if place.is_file() else sorted(place.rglob("*.test"))


def _summary(results: list[dict[str, Any]], causes: int) -> Iterator[str]:
    found = [d for r in results for d in r.get("differences", ())]
    run, internal = (sum(r.get(name, 0) for r in results) for name in ("run", "internal"))
    lost = [r["lost"] for r in results if "lost" in r]
    left = Counter(r["left"] for r in results if "left" in r)
    yield f"{len(results)} files, {sum(left.values())} left out, {len(lost)} without an end"
    yield f"all records: {_share(run, len(found))}"
    ours = sum(not d["internal"] for d in found)
    behind = len(found) - ours
    rest = _share(run - max(internal, behind), ours)
    yield f"but for DuckDB's own machinery, and what is refused on purpose: {rest}"
    yield from (f"  lost: {text}" for text in lost)
    yield "left out: " + ", ".join(f"{reason} {n}" for reason, n in left.most_common(12))
    counted = Counter((d["internal"], d["cause"]) for d in found)
    for (own, cause), number in counted.most_common(causes):
        yield f"{number:6} {'(internal) ' if own else ''}{cause}"


def _share(run: int, differing: int) -> str:
    return f"{run - differing} of {run} alike ({100 * (run - differing) / max(run, 1):.2f} %)"


if __name__ == "__main__":
    sys.exit(main())
