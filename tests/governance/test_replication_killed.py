"""A replication that is killed at any step leaves the target whole, as before or after."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.errors import Error
from tests.support.killed_replication import BOTH_ENDS, replicate_killed
from tests.support.killed_step import Step
from tests.support.replicated import (
    PEOPLE,
    opened,
    replicated,
    rows,
    submit_erasure,
    url_of,
    with_people,
)

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
OF_PARTS: dict[str, Step] = {
    "after the keys were kept": BOTH_ENDS["after the keys were kept"],
    "after the view": ("spark_compaction.programs.replica_receiving", "union_of_parts", 1),
    "before the commit": STEPS["before the commit"],
    "after the commit": STEPS["after the commit"],
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


@pytest.mark.slow
@pytest.mark.parametrize("step", OF_PARTS)
def test_f40_a_killed_run_of_a_second_source_has_happened_or_not(tmp_path: Path, step: str) -> None:
    first, second, target = (tmp_path / name for name in ("first", "second", "target"))
    for folder, erased in ((first, "p1@x.org"), (second, "p2@x.org")):
        with opened(folder) as source:
            with_people(source, 5)
            submit_erasure(source, erased)
            clause = f"TO '{url_of(target)}', PARTITION (region = '{folder.name}')"
            source.execute(f"ALTER TABLE hr.people SET POLICY (REPLICATION = ({clause}))")
            if folder == first:
                replicated(source, target)
    replicate_killed(url_of(second), url_of(target), OF_PARTS[step])
    ids = "SELECT region, list(id ORDER BY id) FROM hr.people GROUP BY region ORDER BY region"
    before, after = ("first", [0, 2, 3, 4]), ("second", [0, 1, 3, 4])
    with opened(target) as there:
        assert rows(there, ids) in ([before], [before, after])
    with opened(second) as source:
        replicated(source, target)
    with opened(target) as there:
        assert rows(there, ids) == [before, after]
        for region in ("first", "second"):
            there.execute(f"CALL system.promote('hr.people_{region}')")
        with pytest.raises(Error, match="was erased"):
            there.execute("INSERT INTO hr.people_second VALUES (50, 'p2@x.org', 1)")
        there.execute("INSERT INTO hr.people_second VALUES (51, 'p1@x.org', 1)")
