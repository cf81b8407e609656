"""The options and the report of a comparison over an outside suite."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any


def suite_options(prog: str, seconds: float) -> argparse.ArgumentParser:
    """The options that every comparison takes; ``seconds`` is the default limit of one file."""
    parser = argparse.ArgumentParser(prog=prog)
    parser.add_argument("places", nargs="+", type=Path, help="folders or files of the suite")
    parser.add_argument("--postgres", action="store_true", help="on a PostgreSQL server of its own")
    parser.add_argument("--seconds", type=float, default=seconds, help="limit of one file")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--causes", type=int, default=40, help="how many causes are printed")
    parser.add_argument("--json", type=Path, help="file of differences, one JSON object a line")
    parser.add_argument("--every", type=int, default=1, help="take each so manieth file only")
    parser.add_argument("--first", type=int, default=0, help="files left out before the first")
    return parser


def run_files(
    options: argparse.Namespace, pattern: str, run: Callable[[str], dict[str, Any]]
) -> int:
    """Run all files and print the report; return the exit code: 1 if a process ended or hung."""
    files = [str(f.resolve()) for place in options.places for f in _files(place, pattern)]
    results: list[dict[str, Any]] = []
    report = options.json.open("w") if options.json is not None else None
    with ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(run, files[options.first :: options.every]):
            results.append(result)
            if report is not None:
                report.writelines(f"{json.dumps(d)}\n" for d in result.get("differences", ()))
                report.flush()
    if report is not None:
        report.close()
    sys.stdout.write("\n".join(_summary(results, options.causes)) + "\n")
    return int(any("lost" in result for result in results))


def _files(place: Path, pattern: str) -> list[Path]:
    return [place] if place.is_file() else sorted(place.rglob(pattern))


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
    yield f"but for the database's own machinery, and what is refused on purpose: {rest}"
    yield from (f"  lost: {text}" for text in lost)
    yield "left out: " + ", ".join(f"{reason} {n}" for reason, n in left.most_common(12))
    counted = Counter((d["internal"], d["cause"]) for d in found)
    for (own, cause), number in counted.most_common(causes):
        yield f"{number:6} {'(internal) ' if own else ''}{cause}"


def _share(run: int, differing: int) -> str:
    return f"{run - differing} of {run} alike ({100 * (run - differing) / max(run, 1):.2f} %)"
