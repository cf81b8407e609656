"""Compares the gateway with plain DuckDB over DuckDB's own test suite, which is not in this tree.

    python -m tests.differential.duckdb_suite duckdb/test/sql/insert duckdb/test/sql/cte
    python -m tests.differential.duckdb_suite --postgres --every 10 --json found.jsonl FOLDER

Files of SQLite's sqllogictest are taken as well. Each file has a process of its own and a limit of
time. Prints how many records agree, with and without those about DuckDB's own machinery, then the
causes by how often they stand; `--json` has every difference as a line.
"""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.differential.duckdb_suite.comparison import compare_file
from tests.differential.suites.processes import compare_in_process
from tests.differential.suites.report import run_files, suite_options
from tests.support.postgres import running


def main() -> int:
    """Run the command line; return the exit code: 1 if a process ended or hung."""
    parser = suite_options("python -m tests.differential.duckdb_suite", seconds=60)
    parser.add_argument("--root", type=Path, default=Path.cwd(), help="where data/ of DuckDB lies")
    options = parser.parse_args()
    with ExitStack() as stack:
        cluster = stack.enter_context(running()) if options.postgres else None

        def run(file: str) -> dict[str, Any]:
            url = None if cluster is None else cluster.url(cluster.database())
            root = str(options.root)
            return compare_in_process(compare_file, file, url, root, seconds=options.seconds)

        return run_files(options, "*.test", run)


if __name__ == "__main__":
    sys.exit(main())
