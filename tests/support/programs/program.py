"""Random programs: a schema, rows, and a course of writes, reads, ALTERs and transactions."""

import random
from dataclasses import dataclass, field, replace

from tests.support.programs.changes import Fresh, random_change, random_index
from tests.support.programs.reads import random_read
from tests.support.programs.step import Step
from tests.support.programs.tables import NO_KINDS, SCHEMA, Kinds, Table, random_table
from tests.support.programs.upkeep import Keeper, Upkeep
from tests.support.programs.writes import random_write, seed_rows, updates_by_size

_TABLE_NAMES = ("t0", "t1", '"T two"')


@dataclass(frozen=True, slots=True)
class Program:
    """A program; its first `fixed` steps create the tables."""

    seed: int
    steps: tuple[Step, ...]
    fixed: int
    tables: tuple[Table, ...]


def random_program(
    seed: int,
    length: int = 16,
    lacks: Kinds = NO_KINDS,
    upkeep: Upkeep | None = None,
    rows: int = 0,
) -> Program:
    """Return the program of a seed, without columns of the kinds that a store lacks.

    With ``upkeep`` tables lie as it says, and its jobs run now and then. With ``rows`` a table
    begins with up to so many.
    """
    rng = random.Random(seed)
    count = rng.choice((1, 2, 2, 3))
    tables = tuple(random_table(rng, _TABLE_NAMES[place], lacks) for place in range(count))
    keeper = None if upkeep is None else Keeper(rng, upkeep)
    created = [Step(f"CREATE SCHEMA {SCHEMA}")]
    for table in tables:
        created += [Step(table.ddl())] if keeper is None else keeper.created(table)
    seeds = [seed_rows(rng, table, rows) for table in tables]
    indexed: list[Table] = []
    for place, table in enumerate(tables):
        made = random_index(rng, table, Fresh(f"first{place}")) if rng.random() < 0.4 else None
        indexed.append(table if made is None else made.table)
        seeds += () if made is None else made.steps
    course = _Course(rng, indexed, seeds, lacks, keeper, sizes_differ=rows > 0)
    course.run(length)
    final = [Step(f"SELECT * FROM {table.reference}") for table in course.tables]
    final += [Step(f"SELECT * FROM {table.reference}") for table in course.past]
    return Program(seed, (*created, *course.steps, *final), len(created), tables)


@dataclass(slots=True)
class _Course:
    """What happens after the tables are there; knows what they look like at each step."""

    rng: random.Random
    tables: list[Table]
    steps: list[Step]
    lacks: Kinds
    keeper: Keeper | None
    sizes_differ: bool = False
    past: list[Table] = field(default_factory=list)
    # Of the open transaction: the tables at BEGIN, and at each savepoint.
    before: list[Table] | None = None
    points: list[tuple[str, list[Table]]] = field(default_factory=list)
    numbers: int = 0

    def run(self, length: int) -> None:
        """Add steps until there are enough."""
        while len(self.steps) < length:
            if self.before is None:
                self._outside()
            elif self.rng.random() < 0.35:
                self.steps.append(Step(self._inside()))
            if self.sizes_differ and self.rng.random() < 0.3:
                self.steps += updates_by_size(self.rng, self.rng.choice(self.tables))
            self._statement()
        if self.before is not None:
            self.steps.append(Step("ROLLBACK"))
            self.tables = self.before

    def _statement(self) -> None:
        choice = self.rng.random()
        if choice < 0.07:
            place = self.rng.randrange(len(self.tables))
            self.numbers += 1
            lasting = self.keeper is not None and self.keeper.upkeep.layout != "tiered"
            fresh = Fresh(f"n{self.numbers}", self.lacks, lasting)
            changed = random_change(self.rng, self.tables[place], fresh)
            self.tables[place] = changed.table
            self.steps += changed.steps
        else:
            chosen = random_write if choice < 0.6 else random_read
            seen = [*self.tables, *self.past] if self.rng.random() < 0.4 else self.tables
            step = chosen(self.rng, seen)
            # Outside of a transaction a restart may come in between, which ends what is prepared.
            if chosen is random_read and self.before is not None and self.rng.random() < 0.2:
                self.steps.append(
                    replace(step, sql=f"PREPARE prepared AS {step.sql}", ordered=False)
                )
                step = replace(step, sql="EXECUTE prepared")
            self.steps.append(step)

    def _outside(self) -> None:
        choice = self.rng.random()
        if choice < 0.12:
            self.steps.append(Step(self.rng.choice(("BEGIN", "BEGIN", "BEGIN TRANSACTION"))))
            self.before, self.points = list(self.tables), []
        elif choice < 0.22:
            self.numbers += 1
            mark = f"m{self.numbers}"
            self.steps.append(Step(f"-- {mark}", mark=mark))
            self.past = [table.at(mark) for table in self.tables]
        elif self.keeper is not None and choice < 0.36:
            job = self.keeper.job(self.tables)
            self.steps += job
            if any(step.removes for step in job):
                self.past = []

    def _inside(self) -> str:
        choice = self.rng.random()
        if choice < 0.35:
            self.before = None
            return "COMMIT"
        if choice < 0.55:
            self.tables, self.before = self.before or [], None
            return "ROLLBACK"
        if choice < 0.8 or not self.points:
            name = f"s{len(self.points)}"
            self.points.append((name, list(self.tables)))
            return f"SAVEPOINT {name}"
        place = self.rng.randrange(len(self.points))
        name, tables = self.points[place]
        if choice < 0.95:
            self.points = self.points[: place + 1]
            self.tables = list(tables)
            return f"ROLLBACK TO SAVEPOINT {name}"
        self.points = self.points[:place]
        return f"RELEASE SAVEPOINT {name}"
