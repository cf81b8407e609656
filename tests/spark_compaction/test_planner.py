"""The planner by itself: what is due, and which files a compaction touches."""

from __future__ import annotations

from dataclasses import replace

import pytest

from journal.model.errors import PalimpsestError
from journal.model.limits import Slo
from journal.model.schema import Column, Table, TableName
from journal.model.segment import Manifest, RowCounts, Segment, SegmentFile, Tier
from spark_compaction.planner import (
    BaseFile,
    Stretch,
    amplification,
    due,
    rewrite_groups,
    stretches,
)

_NOW = 1_000_000_000


def _segment(name: str, tier: Tier, counts: RowCounts, size: int = 100) -> Segment:
    file = SegmentFile(f"s/t/{name}/part_0.parquet", size, counts.total, 0)
    return Segment(name, tier, (file,), (), counts, 1, 2)


def _manifest(*segments: Segment) -> Manifest:
    return Manifest(1, (), segments)


def _base(rows: int) -> Segment:
    return _segment("base", Tier.BASE, RowCounts(open=rows))


def test_a_base_alone_costs_a_plain_scan() -> None:
    assert amplification(_manifest(_base(1000))) == 1.0
    assert amplification(_manifest()) == 1.0


@pytest.mark.parametrize(("changed", "cost"), [(10, 1.045), (100, 1.441)])
def test_changes_cost_about_twice_their_share(changed: int, cost: float) -> None:
    counts = RowCounts(open=changed, closing=changed)
    found = amplification(_manifest(_base(1000), _segment("d", Tier.DELTA, counts)))
    assert found == cost


def test_rows_in_heads_count() -> None:
    heads = RowCounts(open=100, closing=100)
    assert amplification(_manifest(_base(1000)), heads) == 1.44


def test_many_changes_are_worked_into_the_base() -> None:
    delta = _segment("d", Tier.DELTA, RowCounts(open=100, closing=100))
    found = due(_manifest(_base(1000), delta), Slo(changes_min=1), _NOW)
    assert found is not None
    assert found.mode == "major"
    assert "1.44" in found.why
    assert due(_manifest(_base(1000), delta), Slo(2.0, changes_min=1), _NOW) is None
    assert due(_manifest(_base(1000), delta), Slo(), _NOW) is None


@pytest.mark.parametrize("limits", [{"delta_bytes_max": 99}, {"age_max_s": 10.0}])
def test_limits_of_bytes_and_age_call_for_a_major_compaction(limits: dict[str, float]) -> None:
    delta = _segment("d", Tier.DELTA, RowCounts(open=1, closing=1))
    found = due(_manifest(_base(1000), delta), Slo(**limits), _NOW)  # type: ignore[arg-type]
    assert found is not None
    assert found.mode == "major"
    assert due(_manifest(_base(1000)), Slo(**limits), _NOW) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("tier", [Tier.BASE, Tier.DELTA])
def test_small_segments_are_merged(tier: Tier) -> None:
    counts = RowCounts(open=1)
    many = [_segment(f"s{n}", tier, counts) for n in range(4)]
    found = due(_manifest(_base(1000), *many), Slo(deltas_max=2, amplification_max=None), _NOW)
    assert found is not None
    assert found.mode == "minor"
    large = [_segment(f"s{n}", tier, counts, size=1 << 30) for n in range(4)]
    assert due(_manifest(*large), Slo(deltas_max=2, amplification_max=None), _NOW) is None


def _piece(low: int, high: int, rows: int = 100) -> BaseFile:
    return BaseFile("s", SegmentFile(f"{low}-{high}", rows, rows, 0), 0, low, high)


def test_overlapping_files_are_one_stretch() -> None:
    found = stretches([_piece(20, 30), _piece(0, 9), _piece(5, 15)])
    assert [(s.low, len(s.pieces)) for s in found] == [(None, 2), (20, 1)]


def test_an_empty_base_is_one_stretch() -> None:
    assert stretches([]) == [Stretch((), None)]


def test_cuts_are_taken_between_files() -> None:
    found = stretches([_piece(0, 9), _piece(20, 30)], cuts=[5, 15, 40])
    assert [s.low for s in found] == [None, 15, 20, 40]


def _row(*changes: int) -> list[Stretch]:
    return [
        Stretch((_piece(n * 10, n * 10 + 9),), n * 10 or None, changed)
        for n, changed in enumerate(changes)
    ]


def test_only_what_is_touched_is_rewritten() -> None:
    row = _row(0, 3, 0, 0)
    assert rewrite_groups(row, rows_target=100, small_min=4) == [[row[1]]]
    assert rewrite_groups(row, rows_target=10_000, small_min=9) == [[row[1]]]
    assert rewrite_groups(_row(0, 0, 0), rows_target=100, small_min=4) == []


def test_touched_neighbours_and_what_lies_between_become_one() -> None:
    row = _row(0, 1, 0, 1)
    assert rewrite_groups(row, rows_target=10_000, small_min=9) == [row[1:]]


def test_many_small_neighbours_are_merged() -> None:
    row = _row(0, 0, 0, 0)
    assert rewrite_groups(row, rows_target=10_000, small_min=4) == [row]


def test_overlapping_files_are_rewritten_without_a_change() -> None:
    stretch = Stretch((_piece(0, 9), _piece(5, 15)), None)
    assert rewrite_groups([stretch], rows_target=100, small_min=9) == [[stretch]]


def test_limits_are_properties_of_the_table() -> None:
    columns = (Column("k", "k", "INTEGER", not_null=True),)
    table = Table(1, TableName("s", "t"), columns, ("k",))
    assert Slo.of(table) == Slo()
    properties = (("COMPACT_AGE_MAX_S", "1.5"), ("compact_deltas_max", "never"), ("other", "x"))
    assert Slo.of(replace(table, properties=properties)) == Slo(age_max_s=1.5, deltas_max=None)
    for wrong in ("soon", "-1", "inf", "nan"):
        with pytest.raises(PalimpsestError, match="compact_age_max_s"):
            Slo.of(replace(table, properties=(("compact_age_max_s", wrong),)))
