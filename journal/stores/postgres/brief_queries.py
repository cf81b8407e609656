"""Which queries go to the server in one trip with the state that they assume.

If the state turns out to be another one, such a query was run in vain, and its rows are held until
that is known. So it is for those that gave few rows soon when they were run last. Knows times and
numbers of rows; runs nothing.
"""

from __future__ import annotations

import time

from journal.model.plan import Query

_PLACE = "postgres brief"
_BRIEF_S = 0.02


def is_brief(query: Query) -> bool:
    """True for a query that was brief when it ran last."""
    return bool(query.memo.get(_PLACE))


def note_run(query: Query, began: float, *, is_whole: bool) -> None:
    """Note that a query that ``began`` at a monotonic time has given its first rows now.

    ``is_whole``: they were all, and it means the same each time.
    """
    query.memo[_PLACE] = is_whole and time.monotonic() - began < _BRIEF_S
