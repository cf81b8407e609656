"""Policies: lengths of time, how they are written, and what is refused when set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from journal.model.duration import Duration, Unit
from journal.model.errors import Code, PalimpsestError
from journal.model.policy import Policy, RetentionAction, read_policy
from tests.support.client import Client

NOW = datetime(2024, 3, 31, 12, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("30 MINUTES", datetime(2024, 3, 31, 12, 0, tzinfo=UTC)),
        ("1 hour", datetime(2024, 3, 31, 11, 30, tzinfo=UTC)),
        ("10 hours", datetime(2024, 3, 31, 2, 30, tzinfo=UTC)),
        ("90 days", datetime(2024, 1, 1, 12, 30, tzinfo=UTC)),
        ("2 weeks", datetime(2024, 3, 17, 12, 30, tzinfo=UTC)),
        ("1 MONTH", datetime(2024, 2, 29, 12, 30, tzinfo=UTC)),
        ("13 months", datetime(2023, 2, 28, 12, 30, tzinfo=UTC)),
        ("7 YEARS", datetime(2017, 3, 31, 12, 30, tzinfo=UTC)),
        ("9999 years", datetime(1, 1, 1, tzinfo=UTC)),
    ],
)
def test_what_lies_that_far_back(text: str, before: datetime) -> None:
    assert Duration.parse(text).before(NOW) == before


def test_a_leap_day_a_year_back_is_the_last_of_february() -> None:
    leap = datetime(2024, 2, 29, tzinfo=UTC)
    assert Duration.parse("1 year").before(leap) == datetime(2023, 2, 28, tzinfo=UTC)
    assert Duration.parse("1 month").after(datetime(2024, 1, 31, tzinfo=UTC)) == leap


@pytest.mark.parametrize("text", ["", "90", "days", "0 days", "-1 day", "1.5 days", "3 fortnights"])
def test_what_is_no_length_of_time(text: str) -> None:
    with pytest.raises(PalimpsestError) as raised:
        Duration.parse(text)
    assert raised.value.code is Code.POLICY
    assert raised.value.advice


def test_a_duration_knows_its_shortest_and_longest_length() -> None:
    assert Duration(1, Unit.MONTHS).shortest == timedelta(days=28)
    assert Duration(1, Unit.MONTHS).longest == timedelta(days=31)
    assert Duration(1_000_000, Unit.YEARS).longest > timedelta(days=10_000)
    assert str(Duration(1, Unit.DAYS)) == "1 DAY"
    assert str(Duration(2, Unit.DAYS)) == "2 DAYS"


@pytest.mark.parametrize(
    ("limit", "hours"), [("30 minutes", 6), ("23 hours", 6), ("24 hours", 24), ("90 days", 24)]
)
def test_how_often_retention_runs(limit: str, hours: int) -> None:
    assert Policy(retention=Duration.parse(limit)).every() == timedelta(hours=hours)


def test_properties_make_a_policy() -> None:
    found = read_policy(
        {
            "POLICY_RETENTION": "90 DAYS",
            "policy_retention_column": "ds",
            "policy_retention_action": "archive",
            "policy_versions": "5",
            "policy_schedule_compact": "0 3 * * *",
            "owner": "somebody",
        }
    )
    assert found.retention == Duration(90, Unit.DAYS)
    assert found.action is RetentionAction.ARCHIVE
    assert (found.column, found.versions) == ("ds", 5)
    assert found.schedules == (("compact", "0 3 * * *"),)
    assert found.removes


@pytest.fixture
def table(run: Client) -> Client:
    run("CREATE TABLE t (id INT PRIMARY KEY, ds DATE, note VARCHAR, n INT)")
    return run


FULL = (
    "ALTER TABLE t SET POLICY (RETENTION = 90 DAYS ON COLUMN ds ACTION = ARCHIVE,"
    " HISTORY = 7 YEARS, VERSIONS = 5, BACKUP = 30 DAYS, LATE_ARRIVAL = 2 DAYS,"
    " SCHEDULE_COMPACT = '0 3 * * *', MAX_ATTEMPTS = 2, ARCHIVE = 's3://vault/old')"
)
SHOWN = [
    ("RETENTION", "90 DAYS ON COLUMN ds ACTION = ARCHIVE"),
    ("ARCHIVE", "s3://vault/old"),
    ("HISTORY", "7 YEARS"),
    ("VERSIONS", "5"),
    ("BACKUP", "30 DAYS"),
    ("LATE_ARRIVAL", "2 DAYS"),
    ("MAX_ATTEMPTS", "2"),
    ("SCHEDULE_COMPACT", "0 3 * * *"),
]


def test_a_policy_is_set_shown_and_taken_away(table: Client) -> None:
    table(FULL)
    assert table("SHOW POLICY t") == SHOWN
    assert table("DESCRIBE POLICY main.t") == SHOWN
    assert table("SHOW POLICIES") == [("main.t", *row) for row in SHOWN]
    assert table("SELECT policy, value FROM system.policies") == SHOWN
    table("ALTER TABLE t SET POLICY (VERSIONS = NONE, HISTORY = '2 years')")
    assert ("HISTORY", "2 YEARS") in table("SHOW POLICY t")
    assert ("VERSIONS", "NONE") in table("SHOW POLICY t"), "what a schema states would count"
    table("ALTER TABLE t UNSET POLICY (VERSIONS)")
    assert "VERSIONS" not in dict(table("SHOW POLICY t"))
    table("ALTER TABLE t UNSET POLICY (RETENTION, LATE_ARRIVAL, ARCHIVE)")
    assert "RETENTION" not in dict(table("SHOW POLICY t"))
    table("ALTER TABLE t UNSET POLICY")
    assert table("SHOW POLICY FOR t") == []


def test_the_same_as_properties(table: Client) -> None:
    table("ALTER TABLE t SET (policy_retention = '1 month', policy_retention_column = 'ds')")
    assert dict(table("SHOW POLICY t")) == {"RETENTION": "1 MONTH ON COLUMN ds ACTION = DELETE"}
    options = "policy_retention = '9 hours', policy_retention_column = 'DS'"
    table(f"CREATE TABLE u (ds TIMESTAMP) WITH ({options})")
    assert dict(table("SHOW POLICY u")) == {"RETENTION": "9 HOURS ON COLUMN ds ACTION = DELETE"}
    table("ALTER TABLE t SET TBLPROPERTIES ('owner' = 'ops')")
    assert ("owner", "ops") in table("SHOW TBLPROPERTIES t")
    table("ALTER TABLE t UNSET TBLPROPERTIES IF EXISTS ('owner')")
    assert "owner" not in dict(table("SHOW TBLPROPERTIES t"))


def test_a_policy_follows_its_column_and_survives_a_restart(connect: object, table: Client) -> None:
    table("ALTER TABLE t SET POLICY (RETENTION = 1 DAY ON COLUMN ds)")
    table("ALTER TABLE t RENAME COLUMN ds TO day")
    assert dict(table("SHOW POLICY t"))["RETENTION"] == "1 DAY ON COLUMN day ACTION = DELETE"
    table.close()
    again = connect()  # type: ignore[operator]
    assert dict(again("SHOW POLICY t"))["RETENTION"] == "1 DAY ON COLUMN day ACTION = DELETE"
    assert again.error("ALTER TABLE t DROP COLUMN day") == ("PAL-240", "22023")


@pytest.mark.parametrize(
    "policy",
    [
        "RETENTION = 90 DAYS",
        "RETENTION = 90 DAYS ON COLUMN missing",
        "RETENTION = 90 DAYS ON COLUMN n",
        "RETENTION = 0 DAYS ON COLUMN ds",
        "RETENTION = 90 SMIDGENS ON COLUMN ds",
        "RETENTION = 90 DAYS ON COLUMN ds ACTION = SHRED",
        "RETENTION = 2 DAYS ON COLUMN ds, LATE_ARRIVAL = 2 DAYS",
        "HISTORY = 1 HOUR, LATE_ARRIVAL = 1 DAY",
        "RETENTION = 1 MONTH ON COLUMN ds, LATE_ARRIVAL = 30 DAYS",
        "VERSIONS = 0",
        "VERSIONS = many",
        "FOREVER = 1 DAY",
        "SCHEDULE_COMPACT = 'whenever'",
        "ARCHIVE = 's3://vault/old'",
        "RETENTION = 90 DAYS ON COLUMN ds, ARCHIVE = 's3://vault/old'",
        *(
            f"RETENTION = 90 DAYS ON COLUMN ds ACTION = ARCHIVE, ARCHIVE = '{place}'"
            for place in ("s3:/vault", "memory://x", "old", "s3://me:secret@vault/x", "a::b://c")
        ),
    ],
)
def test_nonsense_is_refused_when_set(table: Client, policy: str) -> None:
    assert table.error(f"ALTER TABLE t SET POLICY ({policy})") == ("PAL-240", "22023")
    assert table("SHOW POLICY t") == []


@pytest.mark.parametrize(
    "action",
    ["SET POLICY", "SET POLICY ()", "SET POLICY (VERSIONS)", "SET POLICY (VERSIONS = 5,)"],
)
def test_what_is_no_policy_at_all_is_a_syntax_error(table: Client, action: str) -> None:
    assert table.error(f"ALTER TABLE t {action}") == ("PAL-101", "42601")


def test_journal_options_stay(table: Client) -> None:
    assert table.error("ALTER TABLE t SET (journal_suffix = '_x')") == ("PAL-211", "42P16")
