"""Cron lines mean what cron means by them, and what can never run is refused when it is set."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from journal.model.cron import next_run
from journal.model.errors import PalimpsestError
from tests.support.client import Client

MONDAY = datetime(2024, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("line", "following"),
    [
        ("0 3 * * 0", "2024-01-07 03:00"),
        ("0 3 * * 7", "2024-01-07 03:00"),
        ("0 3 * * sun", "2024-01-07 03:00"),
        ("0 3 * * 1-5", "2024-01-02 03:00"),
        ("0 3 * * 6-7", "2024-01-06 03:00"),
        ("0 3 * * fri-mon", "2024-01-05 03:00"),
        ("0 3 15 * 3", "2024-01-03 03:00"),
        ("*/20 * * * *", "2024-01-01 12:00"),
        ("5/20 * * * *", "2024-01-01 12:05"),
        ("0 0 29 feb *", "2024-02-29 00:00"),
        ("0 0 1 jan-mar/2 *", "2024-03-01 00:00"),
    ],
)
def test_when_a_line_is_due(line: str, following: str) -> None:
    found = next_run(line, MONDAY - timedelta(seconds=1))
    assert f"{found:%Y-%m-%d %H:%M}" == following


@pytest.mark.parametrize(
    "line",
    ["", "0 3 * *", "60 3 * * *", "0 24 * * *", "0 3 0 * *", "0 3 * 13 *", "0 3 * * 8", "a * * * *",
     "0 0 31 2 *", "0 0 30-31 feb *", "5-3 * * * *", "*/0 * * * *", "1, * * * *", "\u0661 * * * *",
     "@daily", "0 0 L * *", "0 0 * * 1#2", "R R * * *", "* * * * * *"],
)  # fmt: skip
def test_texts_that_are_no_cron_lines_are_refused(line: str) -> None:
    with pytest.raises(PalimpsestError, match="PAL-240"):
        next_run(line, MONDAY)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    client = Client(tmp_path_factory.mktemp("schedules") / "warehouse")
    client("CREATE TABLE t (k INT PRIMARY KEY, ds DATE)")
    yield client
    client.close()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("SET POLICY (RETENTION = 90 DAYS ON COLUMN ds, RETENTION = 3 DAYS ON COLUMN ds)", 101),
        ("SET POLICY (VERSIONS = 3, versions = 4)", 101),
        ("SET POLICY (SCHEDULE_COMPACT = '61 3 * * *')", 240),
        ("SET POLICY (SCHEDULE_COMPACT = '0 0 31 2 *')", 240),
        ("SET POLICY (SCHEDULE_SHRED = '0 3 * * *')", 240),
        ("SET POLICY (MAX_ATTEMPTS = 0)", 240),
        ("SET TBLPROPERTIES ('compact_age_max_s' = 'soon')", 222),
        ("SET TBLPROPERTIES ('compact_age_max' = '3')", 222),
    ],
)
def test_what_means_nothing_is_refused_when_it_is_set(run: Client, change: str, code: int) -> None:
    assert run.error(f"ALTER TABLE t {change}")[0] == f"PAL-{code}"
    assert run("SHOW POLICY t") == []


def test_a_new_table_is_looked_at_as_well(run: Client) -> None:
    options = "WITH (compact_age_max_s = 'soon')", "WITH (policy_schedule_shred = '0 3 * * *')"
    for option, code in zip(options, ("PAL-222", "PAL-240"), strict=True):
        assert run.error(f"CREATE TABLE n (k INT PRIMARY KEY) {option}")[0] == code


def test_limits_of_one_table_do_not_stop_the_others(tmp_path: Path) -> None:
    from gateway.jobs.schedule import triggered_jobs
    from journal.model import limits

    client = Client(tmp_path / "warehouse")
    client("CREATE TABLE t (k INT PRIMARY KEY, email VARCHAR) WITH (erasure = 'email')")
    client("INSERT INTO t VALUES (1, 'a')")
    with pytest.MonkeyPatch.context() as patch:
        # As it was set before such properties were looked at.
        patch.setattr(limits.Slo, "of", staticmethod(lambda _table: limits.Slo()))
        client("CREATE TABLE u (k INT PRIMARY KEY) WITH (compact_age_max_s = 'soon')")
    client("ERASE FROM t WHERE k = 1")
    assert [d.kind for d in triggered_jobs(client.connection.session, {})] == ["purge"]
    client.close()
