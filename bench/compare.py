"""Two results of one benchmark side by side: what became faster or slower, beyond the noise.

`python -m bench.compare before.json after.json`, or two folders of such files. A difference counts
when the quartile ranges of the runs do not touch and the medians differ by more than the band.
Where a ratio to a peer was judged, ratios are compared: they do not depend on the machine's load.
The exit code is 1 when something became slower.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_BAND = 0.10


@dataclass(frozen=True, slots=True)
class Change:
    """One number before and after."""

    question: str
    name: str
    unit: str
    before: float
    after: float
    apart: bool

    def word(self, band: float) -> str:
        """faster, slower, or same."""
        ratio = self.after / self.before if self.before else 1.0
        if not self.apart or abs(ratio - 1) <= band:
            return "same"
        return "slower" if ratio > 1 else "faster"


def changes(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Change]:
    """The numbers that both results hold."""
    question = before["question"]
    judged = {(v["case"], v["against"]): v for v in before["verdicts"]}
    for new in after["verdicts"]:
        old = judged.get((new["case"], new["against"]))
        if old is not None:
            apart = new["low"] > old["high"] or new["high"] < old["low"]
            name = f"{new['case']} / {new['against']}"
            yield Change(question, name, "x", old["ratio"], new["ratio"], apart)
    runs = {(m["case"], m["contender"]): m for m in before["measured"]}
    for new in after["measured"]:
        old = runs.get((new["case"], new["contender"]))
        if old is not None:
            apart = new["low_ms"] > old["high_ms"] or new["high_ms"] < old["low_ms"]
            name = f"{new['case']}, {new['contender']}"
            yield Change(question, name, "ms", old["median_ms"], new["median_ms"], apart)


def pairs(before: Path, after: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The results to compare: two files, or the files of the same name in two folders."""
    if before.is_file():
        yield json.loads(before.read_text()), json.loads(after.read_text())
        return
    for path in sorted(before.glob("*.json")):
        if (after / path.name).exists():
            yield json.loads(path.read_text()), json.loads((after / path.name).read_text())


def main() -> int:
    """Print the table; 1 when a judged ratio became worse."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("before", type=Path)
    arguments.add_argument("after", type=Path)
    arguments.add_argument("--band", type=float, default=_BAND, help="noise band (default 0.10)")
    arguments.add_argument("--all", action="store_true", help="show what stayed the same, too")
    parsed = arguments.parse_args()
    worse = 0
    for old, new in pairs(parsed.before, parsed.after):
        if old["rows"] != new["rows"]:
            print(f"{old['question']}: {old['rows']:,} and {new['rows']:,} rows cannot be compared")
            continue
        for change in changes(old, new):
            word = change.word(parsed.band)
            worse += word == "slower" and change.unit == "x"
            if word != "same" or parsed.all:
                print(
                    f"{word:<7} {change.question}: {change.name}:"
                    f" {change.before:.3g} -> {change.after:.3g} {change.unit}"
                )
    print(f"{worse} judged ratios became worse")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
