"""Compares the gateway in the postgres dialect with a plain PostgreSQL over scripts of psql.

    python -m tests.differential.postgres_suite postgres/src/test/regress/sql/insert.sql
    python -m tests.differential.postgres_suite --postgres --json found.jsonl FOLDER

PostgreSQL's own regression tests are such scripts; they are not in this tree. The plain database is
one of the server that `make postgres` provides. Prints how many statements agree, with and without
those about PostgreSQL's own machinery, then the causes by how often they stand.
"""

import sys
from typing import Any

from tests.differential.postgres_suite.comparison import compare_script
from tests.differential.suites.processes import compare_in_process
from tests.differential.suites.report import run_files, suite_options
from tests.support.postgres import running


def main() -> int:
    """Run the command line; return the exit code: 1 if a process ended or hung."""
    options = suite_options("python -m tests.differential.postgres_suite", seconds=180).parse_args()
    with running() as cluster:

        def run(file: str) -> dict[str, Any]:
            plain = cluster.conninfo(cluster.database())
            url = cluster.url(cluster.database()) if options.postgres else None
            return compare_in_process(compare_script, file, plain, url, seconds=options.seconds)

        return run_files(options, "*.sql", run)


if __name__ == "__main__":
    sys.exit(main())
