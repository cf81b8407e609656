"""What a condition that is asked again later may contain: nothing that would make it mean more."""

from __future__ import annotations

import pytest
import sqlglot

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Column, Table, TableName
from rewriter.definitions.lasting_conditions import check_lasts

_TABLE = Table(
    1,
    TableName("main", "t"),
    (
        Column("k", "k", "INTEGER"),
        Column("name", "name", "VARCHAR"),
        Column("at", "at", "TIMESTAMP"),
        Column("moment", "moment", "TIMESTAMPTZ"),
        Column("day", "day", "DATE"),
    ),
    ("k",),
)


def _check(where: str) -> None:
    check_lasts(sqlglot.parse_one(where, dialect="duckdb"), _TABLE, "a hold")


@pytest.mark.parametrize(
    "where",
    [
        "lower(name) = 'a' AND k > 1",
        "at < '2024-01-01' AND CAST(at AS DATE) = DATE '2024-01-01'",
        "age(at, TIMESTAMP '2024-01-01') > INTERVAL 1 DAY AND k > 1",
        "day >= DATE '2024-01-01'",
        "moment IS NULL OR NOT moment IS NULL",
        "moment < '2024-01-01 00:00:00+01'",
        "moment >= TIMESTAMPTZ '2024-01-01T00:00Z'",
        "moment BETWEEN '2024-01-01 00:00:00+00' AND ((TIMESTAMPTZ '2024-02-01 00:00:00.5-0330'))",
        "moment IN ('2024-01-01 00:00:00+00', NULL)",
        "CAST(moment AT TIME ZONE 'Europe/Berlin' AS DATE) = DATE '2024-01-01'",
    ],
)
def test_what_means_the_same_for_everybody_is_kept(where: str) -> None:
    _check(where)


@pytest.mark.parametrize(
    ("where", "named"),
    [
        ("day > CURRENT_DATE - 30 AND k = 1", "CURRENT_DATE"),
        ("at < now()", "NOW"),
        ("age(at) > INTERVAL 1 DAY", "AGE"),
        ("day < DATE 'today'", "today"),
        ("name = CURRENT_USER", "CURRENT_USER"),
        ("name = current_setting('x')", "CURRENT_SETTING"),
        ("name = getvariable('x')", "GETVARIABLE"),
        ("random() < 0.5", "RANDOM"),
        ("moment < '2024-01-01'", "time zone"),
        ("moment < DATE '2024-01-01'", "time zone"),
        ("moment = at", "time zone"),
        ("moment < CAST(at AS TIMESTAMPTZ)", "time zone"),
        ("CAST(moment AS DATE) = DATE '2024-01-01'", "time zone"),
        ("CAST(moment AS VARCHAR) LIKE '2024%'", "time zone"),
        ("date_trunc('day', moment) = at", "time zone"),
        ("year(moment) = 2024", "time zone"),
        ("TIMESTAMPTZ '2024-01-01' < moment", "time zone"),
        ("moment AT TIME ZONE name = at", "time zone"),
    ],
)
def test_what_depends_on_who_asks_or_when_is_refused(where: str, named: str) -> None:
    with pytest.raises(PalimpsestError) as refused:
        _check(where)
    assert refused.value.code is Code.NOT_SUPPORTED
    assert named in refused.value.message
