"""A replication that is killed at any step leaves the target whole, as before or after."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT
from tests.support.replicated import PEOPLE, opened, replicated, rows, with_people
from tests.support.warm_python import warm_python

TARGET = "spark_compaction.backends.embedded.replica_target"
RECORDS = "spark_compaction.backends.embedded.replica_records"
STEPS = {
    "before the files": (TARGET, "copy_wanted", 0),
    "after the files": (TARGET, "copy_wanted", 1),
    "after the erased rows went": (TARGET, "without_erased", 1),
    "before the records": (RECORDS, "carry_suppressions", 0),
    "after the holds": (RECORDS, "carry_holds", 1),
    "after the manifest": (f"{TARGET}.section", "write_catalog", 1),
    "before the commit": ("journal.stores.embedded.journal.Journal", "publish_records", 0),
    "after the commit": ("journal.stores.embedded.journal.Journal", "publish_records", 1),
    "after the old files went": (f"{TARGET}.retired_files", "reap", 1),
    "before the source records it": ("gateway.jobs.replicate", "_finished_row", 0),
    "after the source recorded it": ("gateway.jobs.replicate", "_complete_erasures", 0),
}
PROGRAM = """
import os, pkgutil, signal, sys
from pathlib import Path
from tests.support.replicated import opened, replicated

source, target, place, name, after = sys.argv[1:]
owner = pkgutil.resolve_name(place)
step = getattr(owner, name)

def killed(*given, **named):
    if after == "1":
        step(*given, **named)
    os.kill(os.getpid(), signal.SIGKILL)

with opened(Path(source)) as connection:
    setattr(owner, name, killed)
    replicated(connection, Path(target))
"""
ALL = "SELECT * FROM hr.people ORDER BY id"


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_a_killed_replication_has_happened_or_not(tmp_path: Path, step: str) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    with opened(source) as connection:
        with_people(connection)
        replicated(connection, target)
        before = rows(connection, ALL)
        connection.execute("UPDATE hr.people SET dept = 77 WHERE id > 40")
        connection.execute("CALL system.compact('hr.people')")
        connection.execute("ALTER TABLE hr.people ADD COLUMN age INTEGER")
        after = rows(connection, ALL)
    place, name, behind = STEPS[step]
    done = subprocess.run(
        [warm_python(), "-c", PROGRAM, str(source), str(target), place, name, str(behind)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    with opened(target) as connection:
        assert rows(connection, ALL) in (before, after)
        connection.execute("CALL system.verify('hr.people')")  # It raises what is damaged.
    with opened(source) as connection:
        replicated(connection, target, PEOPLE)
        with opened(target) as there:
            assert rows(there, ALL) == after
            files = {str(p.relative_to(target)) for p in target.glob("hr/*/*/*.parquet")}
            segments = rows(there, "SELECT paths FROM system.segments")
            assert files == {path for (paths,) in segments for path in paths}
