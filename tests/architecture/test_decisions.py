"""Decision records: each has a number of its own."""

from __future__ import annotations

from collections import Counter

from tests.architecture.sources import ROOT


def test_no_number_is_given_twice() -> None:
    numbers = Counter(path.name[:4] for path in (ROOT / "docs" / "adr").glob("[0-9]*.md"))
    assert [number for number, count in numbers.items() if count > 1] == []
