"""Runs random programs on an engine and on the oracle, and minimises what diverges.

Knows nothing of the command line.
"""

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.engine import Engine
from tests.support.gateway_engine import GatewayEngine
from tests.support.logic.runner import Disturbance
from tests.support.oracle import Oracle
from tests.support.postgres_oracle import PostgresOracle
from tests.support.programs.objects import random_object_program
from tests.support.programs.program import random_program
from tests.support.programs.repeated.program import repeating_program
from tests.support.programs.step import Step
from tests.support.programs.tables import NO_KINDS, Kinds
from tests.support.programs.upkeep import Upkeep
from tests.support.replay import Divergence, Replay, Tally, replay, shrink
from tests.support.wire_engine import WireEngine

# Tables that were dropped stay in the warehouse, and make each restart slower.
PROGRAMS_PER_WAREHOUSE = 100
PROGRAMS_PER_DISTURBED_WAREHOUSE = 10
HIVE_LACKS: Kinds = frozenset({"huge", "time"})
"""Kinds of columns that a Hive store keeps as others, which clients see."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A seed whose program diverges, the steps that suffice, and how it ends."""

    seed: int
    steps: tuple[Step, ...]
    divergence: Divergence

    def __str__(self) -> str:
        body = "".join(f"{step}\n" for step in self.steps)
        return f"== seed {self.seed}\n{body}{self.divergence}\n"


@dataclass(slots=True)
class Fuzzer:
    """Runs programs in one warehouse after the other."""

    folder: Path
    disturbance: Disturbance
    self_test: bool = False
    skip: re.Pattern[str] | None = None
    length: int = 16
    minimise: bool = True
    new_url: Callable[[], str] | None = None
    """Names a new warehouse on a server; without it they are folders."""
    lacks: Kinds = NO_KINDS
    """Kinds of columns that the store does not have."""
    upkeep: Upkeep | None = None
    """How the tables of programs lie, and which jobs run on them in between."""
    postgres: str = ""
    """A PostgreSQL database: programs are in its dialect, with it as oracle."""
    repeats: bool = False
    """Programs repeat their statements with other values; else those of a PostgreSQL oracle are
    over indexes, sequences and their like."""
    wire: bool = False
    """Statements go through the PostgreSQL server of the gateway."""
    _tally: Tally = field(default_factory=Tally)
    _engine: Engine | None = None
    _used: int = 0
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def run(self, seeds: Sequence[int]) -> list[Finding]:
        """Run the programs of these seeds side by side; return a finding for each divergence."""
        programs = [self._steps(seed) for seed in seeds]
        self._tally.programs += len(programs)
        ends = self._replay(programs, self._tally)
        return [
            self._finding(seed, steps, divergence)
            for seed, steps, divergence in zip(seeds, programs, ends, strict=True)
            if divergence is not None
        ]

    def take_tally(self) -> Tally:
        """Return what happened since the last call."""
        tally, self._tally = self._tally, Tally()
        return tally

    def close(self) -> None:
        """Let go of the current warehouse."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def _steps(self, seed: int) -> list[Step]:
        if self.repeats:
            steps = repeating_program(seed, self.length, postgres=bool(self.postgres)).steps
        elif self.postgres:
            steps = random_object_program(seed, self.length).steps
        else:
            rows = self.disturbance.seed_rows
            steps = random_program(seed, self.length, self.lacks, self.upkeep, rows).steps
        return [step for step in steps if self.skip is None or not self.skip.search(step.sql)]

    def _finding(self, seed: int, steps: Sequence[Step], divergence: Divergence) -> Finding:
        steps = steps[: divergence.place + 1]
        if self.minimise and self._parts_alike(steps, divergence.reason):
            reason = divergence.reason
            steps = shrink(steps, lambda shorter: self._parts_alike(shorter, reason))
            divergence = self._replay([steps], Tally())[0] or divergence
        return Finding(seed, tuple(steps), divergence)

    def _parts_alike(self, steps: Sequence[Step], reason: str) -> bool:
        found = self._replay([steps], Tally())[0]
        return found is not None and _outline(found.reason) == _outline(reason)

    def _replay(self, programs: Sequence[Sequence[Step]], tally: Tally) -> list[Divergence | None]:
        tested = self._tested(len(programs))
        replays = [
            Replay(steps, f"fz{next(self._numbers)}", self._oracle(), tested, tally, f"fuzz{place}")
            for place, steps in enumerate(programs)
        ]
        try:
            replay(replays, tested, self.disturbance)
        finally:
            for program in replays:
                for name in sorted(program.used | {""}, reverse=True):
                    tested.session(program.session + name).run("ROLLBACK")
                if self.disturbance.flush or self.disturbance.restart:
                    tested.session(program.session).run(f"DROP SCHEMA {program.schema} CASCADE")
                if self.postgres or self.repeats:
                    for name in program.used | {""}:
                        tested.end(program.session + name)
                if self.postgres:
                    for name in program.used:
                        program.expected.session(f"fuzz{name}").run("ROLLBACK")
                    program.expected.session("fuzz").run("ROLLBACK")
                    program.expected.session("fuzz").run(f"DROP SCHEMA {program.schema} CASCADE")
                program.expected.close()
        return [program.divergence for program in replays]

    def _tested(self, programs: int) -> Engine:
        disturbed = self.disturbance.restart or self.disturbance.flush
        limit = PROGRAMS_PER_DISTURBED_WAREHOUSE if disturbed else PROGRAMS_PER_WAREHOUSE
        if self._used >= limit:
            self.close()
        if self._engine is None:
            self._used = 0
            name = f"warehouse_{next(self._numbers)}"
            self._engine = self._made(name)
        self._used += programs
        return self._engine

    def _made(self, name: str) -> Engine:
        if self.self_test:
            return Oracle()
        dialect = "postgres" if self.postgres else "duckdb"
        place = self.folder / name if self.new_url is None else self.new_url()
        if self.wire:
            return WireEngine(place)
        return GatewayEngine(place, dialect, self.disturbance.memory_rows)

    def _oracle(self) -> Engine:
        return PostgresOracle(self.postgres) if self.postgres else Oracle()


def _outline(reason: str) -> str:
    return "".join(letter for letter in reason if not letter.isdigit()).split("(")[0]
