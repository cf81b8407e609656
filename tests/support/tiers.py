"""Cases of a test of which ``make test`` runs some, and other commands the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any

import pytest


def in_tiers(cases: Iterable[Any], quick: Collection[Any]) -> list[Any]:
    """Parameters of a test, those that are not among ``quick`` marked ``slow``.

    A tuple is a case of several parameters. Raises AssertionError for a quick case that there is
    not, which would otherwise be run by nobody.
    """
    found = list(cases)
    assert set(quick) <= set(found), set(quick) - set(found)
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=() if case in quick else pytest.mark.slow,
        )
        for case in found
    ]


def mark_later_cases(items: Iterable[pytest.Item]) -> None:
    """Mark ``long`` the cases of a test that come after those that ``first(n)`` lets it begin with.

    A test of several stores begins with so many on each. Cases that are ``slow`` do not count.
    """
    met: Counter[tuple[str, str]] = Counter()
    for item in items:
        first = item.get_closest_marker("first")
        if first is None or item.get_closest_marker("slow"):
            continue
        store = getattr(item, "callspec").params.get("store")  # noqa: B009 - no Item has one
        test = (item.nodeid.partition("[")[0], str(getattr(store, "name", "")))
        met[test] += 1
        if met[test] > first.args[0]:
            item.add_marker(pytest.mark.long)
