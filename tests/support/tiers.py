"""Cases of a test of which ``make test`` runs some, and ``make test-all`` all."""

from __future__ import annotations

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
