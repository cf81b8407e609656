"""A process that begins a job on table a and never ends it; it says ``begun``. Word: URL."""

from __future__ import annotations

import sys
import time

import gateway
from gateway.jobs import compact
from gateway.jobs.context import JobContext
from journal.model.errors import Code, PalimpsestError
from journal.records.report import JobReport


def _never(_context: JobContext) -> JobReport:
    sys.stdout.write("begun\n")
    sys.stdout.flush()
    time.sleep(600)
    raise PalimpsestError(Code.JOB_FAILED, "nobody killed this process")


def main() -> None:
    """Begin the job."""
    kind = compact.KIND
    compact.KIND = type(kind)(kind.name, "", _never, kind.options)
    connection = gateway.connect(sys.argv[1], autocommit=True)
    connection.execute("CALL system.compact('a')")


if __name__ == "__main__":
    main()
