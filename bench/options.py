"""The command line every benchmark shares."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

FULL_ROWS = 10_000_000
QUICK_ROWS = 200_000
_WORK = Path("build") / "bench"


@dataclass(frozen=True, slots=True)
class Options:
    """How large, how often, where."""

    rows: int
    repeats: int
    work: Path
    json: Path | None
    peers: bool
    quick: bool
    cpu: bool = False


def parser(about: str) -> argparse.ArgumentParser:
    """The options, before parsing."""
    made = argparse.ArgumentParser(description=about)
    made.add_argument("--rows", type=int, help=f"rows of the table (default {FULL_ROWS:,})")
    made.add_argument("--repeats", type=int, help="measured rounds (default 9; 3 with --quick)")
    made.add_argument("--quick", action="store_true", help=f"small: {QUICK_ROWS:,} rows, 3 rounds")
    made.add_argument("--json", type=Path, help="write the result to this file")
    made.add_argument("--work", type=Path, default=_WORK, help=f"scratch folder (default {_WORK})")
    about_cpu = "processor time, not time that passes: other work disturbs it less"
    made.add_argument("--cpu", action="store_true", help=about_cpu)
    made.add_argument("--no-peers", action="store_true", help="leave out what pip must install")
    return made


def options_of(parsed: argparse.Namespace) -> Options:
    """The options as values."""
    rows = parsed.rows or (QUICK_ROWS if parsed.quick else FULL_ROWS)
    repeats = parsed.repeats or (3 if parsed.quick else 9)
    work = parsed.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    return Options(rows, repeats, work, parsed.json, not parsed.no_peers, parsed.quick, parsed.cpu)


def read_options(about: str) -> Options:
    """The options of this process."""
    return options_of(parser(about).parse_args())
