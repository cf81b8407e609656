"""How long does it take to read the rows of a person in 400 files, with filters and without?

The same SELECT by a column that is not the key, with its filters asked and with them left alone, on
a sealed table, and again while some of its rows have changed and lie in the head.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bench import visits
from bench.contenders import Gateway
from bench.measure import OURS, Promise, Report
from bench.options import Options, read_options
from journal.files.filters.key_filters import KeyFilters
from journal.model.schema import Table

WITHOUT = "all files"
_ASK = "SELECT k, price, url FROM visits WHERE visitor = ?"
_PEOPLE = 64
_CHANGED = 100


def measure(options: Options) -> Report:
    """People in 2 % of the files, each asked for in both ways."""
    per_file = visits.per_file(options.rows)
    report = Report("reading the rows of a person", per_file * visits.FILES)
    report.facts["files"] = visits.FILES
    with visits.visits(options.work, per_file) as (ours, _):
        found = ours.rows("SELECT DISTINCT visitor FROM visits WHERE k % 37 = 0")
        people = random.Random(5).sample(sorted(row[0] for row in found), _PEOPLE)
        _case(report, ours, "sealed", people, options.repeats)
        ours.run(f"UPDATE visits SET price = price + 1 WHERE k < {_CHANGED}")
        _case(report, ours, f"{_CHANGED} rows changed", people, options.repeats)
    return report


def _case(report: Report, ours: Gateway, case: str, people: Sequence[str], repeats: int) -> None:
    turns = {name: iter(people * repeats) for name in (OURS, WITHOUT)}

    def read(name: str) -> None:
        rows = ours.rows(_ASK, (next(turns[name]),))
        assert rows

    def unseen() -> None:
        with patch.object(KeyFilters, "matching_paths", _all):
            read(WITHOUT)

    report.compare(
        case, {OURS: lambda: read(OURS), WITHOUT: unseen}, repeats, (Promise(WITHOUT, 1),)
    )


def _all(
    filters: KeyFilters, root: Path, table: Table, paths: Sequence[str], *what: Any
) -> list[str]:
    return list(paths)


if __name__ == "__main__":
    chosen = read_options(__doc__ or "")
    measure(chosen).finish(chosen.json)
