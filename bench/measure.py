"""Timing: interleaved rounds, medians, ratios of pairs, a table for people and JSON for machines.

Contenders take turns within each round, so a busy machine slows all of them; a ratio is the median
of the ratios within the rounds. Decides nothing about what is measured.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import sqlglot

Seconds = float
Run = Callable[[], Seconds | None]
"""One run of one contender; it may time itself, or return None to be timed from outside."""

OURS = "palimpsest"


@dataclass(frozen=True, slots=True)
class Promise:
    """A ratio that must hold: ``OURS`` takes at most ``at_most`` times as long as ``against``."""

    against: str
    at_most: float


@dataclass(frozen=True, slots=True)
class Measured:
    """The runs of one contender at one case."""

    case: str
    contender: str
    median_ms: float
    low_ms: float
    high_ms: float
    runs: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """A promise held against what was measured; ``low`` and ``high`` are the ratio's quartiles."""

    case: str
    against: str
    ratio: float
    low: float
    high: float
    at_most: float
    kept: bool


@dataclass(slots=True)
class Report:
    """Everything one question's script measured."""

    question: str
    rows: int
    measured: list[Measured] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    clock: Callable[[], Seconds] = time.perf_counter
    _times: dict[tuple[str, str], list[Seconds]] = field(default_factory=dict)

    def compare(
        self,
        case: str,
        contenders: Mapping[str, Run],
        repeats: int,
        promises: Sequence[Promise] = (),
        warm_ups: int = 1,
    ) -> None:
        """Run the contenders in turns and judge the promises among them."""
        times: dict[str, list[Seconds]] = {name: [] for name in contenders}
        names = list(contenders)
        print(f"  {case} ..", file=sys.stderr, flush=True)
        for turn in range(warm_ups + repeats):
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                seconds = timed(contenders[name], self.clock)
                if turn >= warm_ups:
                    times[name].append(seconds)
        for name, found in times.items():
            self._times[case, name] = found
            low, middle, high = quartiles(found)
            self.measured.append(
                Measured(case, name, middle * 1e3, low * 1e3, high * 1e3, len(found))
            )
        for promise in promises:
            self.judge_times(case, promise)

    def judge_times(self, case: str, promise: Promise) -> None:
        """Judge a promise among contenders that were compared; nothing if one was not there."""
        self.judge_against(case, OURS, promise)

    def judge_against(self, case: str, contender: str, promise: Promise) -> None:
        """Judge a promise of another contender than ours; it is named with the case."""
        ours = self._times.get((case, contender))
        theirs = self._times.get((case, promise.against))
        if ours and theirs:
            named = case if contender == OURS else f"{case}, {contender}"
            self.judge(named, promise, ratios(ours, theirs))

    def judge(self, case: str, promise: Promise, found: Sequence[float]) -> None:
        """Note whether the median of these ratios keeps a promise."""
        low, middle, high = quartiles(found)
        kept = middle <= promise.at_most
        self.verdicts.append(
            Verdict(case, promise.against, middle, low, high, promise.at_most, kept)
        )

    def median_ms(self, case: str, contender: str) -> float:
        """The median of a contender that was measured."""
        for entry in self.measured:
            if (entry.case, entry.contender) == (case, contender):
                return entry.median_ms
        raise KeyError((case, contender))

    def to_json(self) -> dict[str, Any]:
        """The report as plain values."""
        return {
            "question": self.question,
            "rows": self.rows,
            "machine": machine(),
            "facts": self.facts,
            "verdicts": [asdict(v) for v in self.verdicts],
            "measured": [asdict(m) for m in self.measured],
            "notes": self.notes,
        }

    def show(self) -> str:
        """The report as text."""
        lines = [f"{self.question} ({self.rows:,} rows)"]
        width = max((len(m.case) for m in self.measured), default=4)
        for entry in self.measured:
            spread = f"{entry.low_ms:.2f} .. {entry.high_ms:.2f}"
            lines.append(
                f"  {entry.case:<{width}}  {entry.contender:<22} {entry.median_ms:>12.2f} ms"
                f"   {spread:>24}   n={entry.runs}"
            )
        for verdict in self.verdicts:
            mark = "kept  " if verdict.kept else "BROKEN"
            lines.append(
                f"  {mark} {verdict.case:<{width}}  {verdict.ratio:.3g}x {verdict.against}"
                f" ({verdict.low:.3g} .. {verdict.high:.3g}), promised at most {verdict.at_most:g}x"
            )
        lines += [f"  {name}: {value}" for name, value in self.facts.items()]
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)

    def finish(self, path: Path | None) -> None:
        """Print the report and write it as JSON if a path is given."""
        print(self.show(), flush=True)
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(self.to_json(), indent=1) + "\n")


def timed(run: Run, clock: Callable[[], Seconds] = time.perf_counter) -> Seconds:
    """The seconds of one run."""
    start = clock()
    own = run()
    return clock() - start if own is None else own


def repeated(execute: Callable[[str], Any], sql: str, often: int) -> Run:
    """A run that reads all rows of a statement so often; ``execute`` gives a cursor."""

    def run() -> None:
        for _ in range(often):
            execute(sql).fetchall()

    return run


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """First quartile, median, third quartile."""
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def ratios(ours: Sequence[Seconds], theirs: Sequence[Seconds]) -> list[float]:
    """The ratio within each round."""
    return [a / b for a, b in zip(ours, theirs, strict=True)]


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    return {
        "cores": len(os.sched_getaffinity(0)),
        "architecture": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "duckdb": duckdb.__version__,
        "sqlglot": sqlglot.__version__,
        "load_1m": round(os.getloadavg()[0], 2),
    }
