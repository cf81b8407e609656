"""A replication that is killed at any step leaves the target whole, as before or after."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.killed_replication import BOTH_ENDS, replicate_killed
from tests.support.killed_step import Step
from tests.support.replicated import PEOPLE, opened, replicated, rows, url_of, with_people

FILES = "spark_compaction.backends.embedded.replicas"
JOURNAL = "journal.stores.embedded.journal.Journal"
STEPS: dict[str, Step] = {
    "before the files": (FILES, "copy_wanted", 0),
    "after the files": (FILES, "copy_wanted", 1),
    "after the erased rows went": (FILES, "without_erased", 1),
    "after the manifest": (f"{FILES}.commits", "write_catalog", 1),
    "before the commit": (JOURNAL, "publish_records", 0),
    "after the commit": (JOURNAL, "publish_records", 1),
    "after the old files went": (f"{FILES}.retired_files", "reap", 1),
    **BOTH_ENDS,
}
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
    replicate_killed(url_of(source), url_of(target), STEPS[step])
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
