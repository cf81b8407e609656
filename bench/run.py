"""Every benchmark after another; each leaves a JSON file, and the summary says which promises hold.

`python -m bench` and `python -m bench.run` are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from bench import (
    bulk_update,
    changes,
    commands,
    compaction,
    current_view,
    filtered_read,
    filters,
    import_rows,
    in_process,
    lineage,
    lineage_cost,
    lineage_scripts,
    locate,
    many_tables,
    on_conflict,
    point_read,
    purge,
    replication,
    rewrite,
    server,
    small_statements,
    stream,
    tpch,
    update_by_key,
)
from bench.measure import Report
from bench.options import Options, options_of, parser

SCRIPTS: dict[str, Callable[[Options], Report]] = {
    "rewrite": rewrite.measure,
    "current_view": current_view.measure,
    "point_read": point_read.measure,
    "update_by_key": update_by_key.measure,
    "many_tables": many_tables.measure,
    "small_statements": small_statements.measure,
    "on_conflict": on_conflict.measure,
    "bulk_update": bulk_update.measure,
    "import_rows": import_rows.measure,
    "changes": changes.measure,
    "commands": commands.measure,
    "server": server.measure,
    "compaction": compaction.measure,
    "in_process": in_process.measure,
    "replication": replication.measure,
    "stream": stream.measure,
    "tpch": tpch.measure,
    "filters": filters.measure,
    "lineage": lineage.measure,
    "lineage_cost": lineage_cost.measure,
    "locate": locate.measure,
    "filtered_read": filtered_read.measure,
    "lineage_scripts": lineage_scripts.measure,
    "purge": purge.measure,
}
_RESULTS = Path("bench") / "results" / "local"


def main() -> None:
    """Run all of them, or those named."""
    arguments = parser(__doc__ or "")
    arguments.add_argument("--only", nargs="+", choices=tuple(SCRIPTS), help="just these")
    arguments.add_argument("--out", type=Path, default=_RESULTS, help=f"folder ({_RESULTS})")
    parsed = arguments.parse_args()
    options = options_of(parsed)
    reports: list[Report] = []
    for name in parsed.only or SCRIPTS:
        report = SCRIPTS[name](replace(options, json=None))
        report.finish(parsed.out / f"{name}.json")
        reports.append(report)
    summary(reports)


def summary(reports: list[Report]) -> None:
    """Print each promise and whether it holds."""
    verdicts = [(r.question, v) for r in reports for v in r.verdicts]
    broken = [(question, v) for question, v in verdicts if not v.kept]
    print(f"\n{len(verdicts) - len(broken)} of {len(verdicts)} promises kept")
    for question, verdict in broken:
        print(
            f"  BROKEN {question}, {verdict.case}: {verdict.ratio:.3g}x {verdict.against},"
            f" promised at most {verdict.at_most:g}x"
        )


if __name__ == "__main__":
    main()
