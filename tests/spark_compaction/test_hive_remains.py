"""What a purged request on a Hive store waits for, by what is left of its rows."""

from __future__ import annotations

from spark_compaction.backends.hive.erasure import waits_for


def test_each_kind_of_remains_is_named_with_what_makes_it_go() -> None:
    assert waits_for([], [], []) == ""
    assert waits_for(["t/s1", "t/s2"], [], []) == (
        "transactions that may still read the partitions t/s1, t/s2"
    )
    told = waits_for(["t/s1"], ["t/s3"], ["scratch/palimpsest-1"])
    first, second, third = told.split("; and for ")
    assert first.endswith("t/s1")
    assert "neither committed nor ended their partitions t/s3; VACUUM" in second
    assert third.startswith("scratch/palimpsest-1, which a killed process left")
