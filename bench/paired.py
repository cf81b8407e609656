"""Two contenders in pairs: ours, theirs, theirs, ours, and how far apart the rounds find them.

A machine that slows down or speeds up does so to both halves of such a round; what is left is told
as the median of the rounds with an interval that holds it in 95 of 100 runs. Decides nothing about
what is measured.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Work = Callable[[], object]
_LEAST_ROUNDS, _MOST_ROUNDS = 8, 2000
_SURE = 1.96


@dataclass(frozen=True, slots=True)
class Between:
    """A median, and between which values it is."""

    low: float
    middle: float
    high: float

    @staticmethod
    def of(values: Sequence[float]) -> Between:
        """The median of the values, and the interval that their order gives."""
        ordered = sorted(values)
        off = math.floor(len(ordered) / 2 - _SURE * math.sqrt(len(ordered)) / 2)
        place = max(off, 0)
        return Between(ordered[place], statistics.median(ordered), ordered[-1 - place])

    def verdict(self, at_most: float) -> str:
        """Whether it keeps a promise, and whether the runs suffice to say so."""
        if self.high <= at_most:
            return "kept"
        if self.low > at_most:
            return "BROKEN"
        return "kept, not surely" if self.middle <= at_most else "BROKEN, not surely"


@dataclass(frozen=True, slots=True)
class Paired:
    """What rounds of two contenders have found."""

    rounds: int
    ours_ms: float
    theirs_ms: float
    difference_ms: Between
    mean_difference_ms: float
    ratio: Between


def compare(
    case: str, ours: Work, theirs: Work, *, seconds: float, prepare: Work = lambda: None
) -> Paired:
    """Run two contenders in turns for so many seconds, after a fifth of that to warm up.

    Each round begins with ``prepare``, which is not timed.
    """
    print(f"  {case} ..", file=sys.stderr, flush=True)
    began = time.perf_counter()
    found: list[tuple[float, float]] = []
    while len(found) < _MOST_ROUNDS:
        passed = time.perf_counter() - began
        if passed > seconds * 1.2 and len(found) >= _LEAST_ROUNDS:
            break
        prepare()
        times = [_timed(work) for work in (ours, theirs, theirs, ours)]
        if passed > seconds * 0.2:
            found.append(((times[0] + times[3]) / 2, (times[1] + times[2]) / 2))
    apart = [(a - b) * 1e3 for a, b in found]
    return Paired(
        len(found),
        statistics.median(a for a, _ in found) * 1e3,
        statistics.median(b for _, b in found) * 1e3,
        Between.of(apart),
        statistics.fmean(apart),
        Between.of([a / b for a, b in found]),
    )


def _timed(work: Work) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
