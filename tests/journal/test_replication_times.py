"""When replications run: frequency, delay and window, and what a policy may not say."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from journal.model.errors import Code, PalimpsestError
from journal.model.replica_parts import Partition
from journal.model.replication import Replication, read_replications, write_replications


def _at(text: str) -> datetime:
    return datetime.fromisoformat(f"2024-05-{text}:00+00:00")


def _clause(text: str) -> Replication:
    (found,) = read_replications(text)
    return found


@pytest.mark.parametrize(
    ("now", "nominal"),
    [
        ("01T09:00", "01T08:00"),
        ("01T10:59", "01T08:00"),
        ("01T11:00", "01T10:00"),
        ("01T00:30", "30T22:00"),
    ],
)
def test_f38_a_delay_moves_the_run_behind_its_nominal_time(now: str, nominal: str) -> None:
    clause = _clause("TO 'dr', EVERY 2 HOURS, DELAY 1 HOUR")
    wanted = _at(nominal) if not nominal.startswith("30") else _at("01T00:00") - timedelta(hours=2)
    assert clause.nominal(_at(now)) == wanted


def test_f38_an_instance_runs_once() -> None:
    clause = _clause("TO 'dr', EVERY 2 HOURS, DELAY 1 HOUR")
    assert clause.is_due(None, _at("01T09:10"))
    assert clause.is_due(_at("01T08:59"), _at("01T09:10"))
    assert not clause.is_due(_at("01T09:01"), _at("01T10:59"))
    assert clause.is_due(_at("01T09:01"), _at("01T11:00"))
    assert clause.following(_at("01T09:10")) == _at("01T11:00")


def test_f39_the_window_is_what_both_sides_have_in_common() -> None:
    clause = _clause("TO 'dr', EVERY 1 DAY, START '2024-05-02', END '2024-05-20'")
    both = clause.within(_at("03T00:00"), _at("30T00:00"))
    assert (both.start, both.end) == (_at("03T00:00"), _at("20T00:00"))
    assert not both.is_due(None, _at("02T12:00"))
    assert both.nominal(_at("25T12:00")) == _at("19T00:00")
    assert both.is_due(_at("18T12:00"), _at("25T12:00"))
    assert not both.is_due(_at("19T01:00"), _at("25T12:00"))
    assert both.following(_at("25T12:00")) is None


def test_several_targets_are_clauses_of_one_policy() -> None:
    text = "TO 'dr', EVERY 2 HOURS, TO 'palimpsest:////vault', EVERY 1 DAYS, PARALLEL 8"
    found = read_replications(text)
    assert [c.target for c in found] == ["dr", "palimpsest:////vault"]
    assert read_replications(write_replications(found)) == found
    assert found[1].parallel == 8


def test_f40_a_part_is_stated_with_its_target() -> None:
    text = "TO 'dr', PARTITION ( region = 'zurich' ), EVERY 1 DAYS, TO 'other'"
    found = read_replications(text)
    assert found[0].partition == Partition("region", "zurich")
    assert found[1].partition is None
    assert write_replications(found).startswith("TO 'dr', PARTITION (region = 'zurich'), EVERY")
    assert read_replications(write_replications(found)) == found


@pytest.mark.parametrize(
    "text",
    [
        "EVERY 2 HOURS",
        "TO 'dr', EVERY 0 HOURS",
        "TO 'dr', EVERY 1 MONTH",
        "TO 'dr', DELAY 1 HOUR",
        "TO 'dr', TO 'dr'",
        "TO 'dr', EVERY 1 HOUR, EVERY 2 HOURS",
        "TO 'dr', START '2024-05-02', END '2024-05-01'",
        "TO 'dr', PARALLEL 0",
        "TO 'dr', NOISE 3",
        "TO 'dr', PARTITION region",
        "TO 'dr', PARTITION (region = 'a-b')",
        "TO 'dr', PARTITION (region = 'a', land = 'b')",
        "TO 'dr', PARTITION (region = 1)",
        "TO",
    ],
)
def test_what_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(PalimpsestError) as caught:
        read_replications(text)
    assert caught.value.code is Code.POLICY
