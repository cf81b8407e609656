"""The seeded differential fuzzer: random programs on the gateway and on the oracle.

    python -m tests.differential.fuzz --seeds 0..2000 --config plain

Prints progress and, for each divergence, a minimised program. `--engine oracle` compares the
oracle with itself, which tests the fuzzer.
"""

import argparse
import itertools
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.engine import Engine
from tests.support.gateway_engine import GatewayEngine
from tests.support.logic.runner import CONFIGURATIONS, Disturbance
from tests.support.oracle import Oracle
from tests.support.programs.program import random_program
from tests.support.programs.step import Step
from tests.support.replay import Divergence, Tally, replay, shrink

PROGRAMS_PER_WAREHOUSE = 100
PROGRAMS_PER_RESTARTING_WAREHOUSE = 10


@dataclass(frozen=True, slots=True)
class Finding:
    """A seed whose program diverges, the steps that suffice, and how it ends."""

    seed: int
    steps: tuple[Step, ...]
    divergence: Divergence

    def __str__(self) -> str:
        body = "".join(f"{step.sql};\n" for step in self.steps)
        return f"== seed {self.seed}\n{body}{self.divergence}\n"


@dataclass(slots=True)
class Fuzzer:
    """Runs programs in one warehouse after the other."""

    folder: Path
    disturbance: Disturbance
    self_test: bool = False
    skip: str = ""
    tally: Tally = field(default_factory=Tally)
    _engine: Engine | None = None
    _used: int = 0
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def run(self, seed: int, *, minimise: bool = True, length: int = 16) -> Finding | None:
        """Run one program; return a finding when it diverges."""
        program = random_program(seed, length)
        self.tally.programs += 1
        steps: Sequence[Step] = program.steps
        if self.skip:
            steps = [step for step in steps if not re.search(self.skip, step.sql)]
        divergence = self._replay(steps)
        if divergence is None:
            return None
        steps = steps[: divergence.place + 1]
        if minimise:
            reason = divergence.reason
            steps = shrink(steps, lambda shorter: self._parts_alike(shorter, reason))
            divergence = self._replay(steps) or divergence
        return Finding(seed, tuple(steps), divergence)

    def close(self) -> None:
        """Let go of the current warehouse."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def _parts_alike(self, steps: Sequence[Step], reason: str) -> bool:
        found = self._replay(steps)
        return found is not None and _outline(found.reason) == _outline(reason)

    def _replay(self, steps: Sequence[Step]) -> Divergence | None:
        oracle = Oracle()
        tested = self._tested()
        schema = f"fz{next(self._numbers)}"
        try:
            return replay(steps, schema, oracle, tested, self.disturbance, self.tally)
        finally:
            oracle.close()
            tested.session("fuzz").run("ROLLBACK")
            if self.disturbance.flush or self.disturbance.restart:
                tested.session("fuzz").run(f"DROP SCHEMA {schema} CASCADE")

    def _tested(self) -> Engine:
        limit = PROGRAMS_PER_WAREHOUSE
        if self.disturbance.restart or self.disturbance.flush:
            limit = PROGRAMS_PER_RESTARTING_WAREHOUSE
        if self._used >= limit:
            self.close()
        if self._engine is None:
            self._used = 0
            name = f"warehouse_{next(self._numbers)}"
            self._engine = Oracle() if self.self_test else GatewayEngine(self.folder / name)
        self._used += 1
        return self._engine


def _outline(reason: str) -> str:
    return "".join(letter for letter in reason if not letter.isdigit()).split("(")[0]


def main() -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential.fuzz")
    parser.add_argument("--seeds", default="0..2000", help="first..last, the last excluded")
    parser.add_argument("--config", choices=sorted(CONFIGURATIONS), default="plain")
    parser.add_argument("--engine", choices=("gateway", "oracle"), default="gateway")
    parser.add_argument("--length", type=int, default=16)
    parser.add_argument("--stop-after", type=int, default=10, help="findings")
    parser.add_argument("--skip", default="", help="leave out statements that match")
    parser.add_argument("--no-minimise", action="store_true")
    options = parser.parse_args()
    first, last = (int(part) for part in options.seeds.split(".."))
    findings = 0
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        fuzzer = Fuzzer(
            Path(folder),
            CONFIGURATIONS[options.config],
            self_test=options.engine == "oracle",
            skip=options.skip,
        )
        for seed in range(first, last):
            finding = fuzzer.run(seed, minimise=not options.no_minimise, length=options.length)
            if finding is not None:
                findings += 1
                sys.stdout.write(f"{finding}\n")
            if (seed + 1 - first) % 100 == 0:
                _progress(fuzzer.tally, findings, started)
            if findings >= options.stop_after:
                break
        fuzzer.close()
    _progress(fuzzer.tally, findings, started)
    for message, count in sorted(fuzzer.tally.refused.items(), key=lambda item: -item[1]):
        sys.stdout.write(f"refused {count:6d}  {message}\n")
    return 1 if findings else 0


def _progress(tally: Tally, findings: int, started: float) -> None:
    sys.stdout.write(
        f"{tally.programs} programs, {tally.statements} statements ({tally.failures} failing as"
        f" they should), {findings} divergences, {time.monotonic() - started:.0f} s\n"
    )
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
