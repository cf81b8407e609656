"""Random programs: a schema, rows, and a course of writes, reads and transactions."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from tests.support.programs.reads import random_read
from tests.support.programs.step import Step
from tests.support.programs.tables import SCHEMA, Table, random_table
from tests.support.programs.writes import random_write, seed_rows

_TABLE_NAMES = ("t0", "t1", '"T two"')


@dataclass(frozen=True, slots=True)
class Program:
    """A program; its first `fixed` steps create the tables."""

    seed: int
    steps: tuple[Step, ...]
    fixed: int
    tables: tuple[Table, ...]


def random_program(seed: int, length: int = 16) -> Program:
    """Return the program of a seed."""
    rng = random.Random(seed)
    count = rng.choice((1, 2, 2, 3))
    tables = tuple(random_table(rng, _TABLE_NAMES[place]) for place in range(count))
    created = [Step(f"CREATE SCHEMA {SCHEMA}"), *(Step(table.ddl()) for table in tables)]
    steps = [seed_rows(rng, table) for table in tables]
    steps += _course(rng, tables, length)
    final = [Step(f"SELECT * FROM {table.reference}") for table in tables]
    return Program(seed, (*created, *steps, *final), len(created), tables)


def _course(rng: random.Random, tables: Sequence[Table], length: int) -> list[Step]:
    steps: list[Step] = []
    open_points: list[str] | None = None
    while len(steps) < length:
        if open_points is None:
            if rng.random() < 0.12:
                steps.append(Step(rng.choice(("BEGIN", "BEGIN", "BEGIN TRANSACTION"))))
                open_points = []
        elif rng.random() < 0.35:
            step, open_points = _inside(rng, open_points)
            steps.append(step)
        chosen = random_write if rng.random() < 0.6 else random_read
        steps.append(chosen(rng, tables))
    if open_points is not None:
        steps.append(Step("ROLLBACK"))
    return steps


def _inside(rng: random.Random, points: list[str]) -> tuple[Step, list[str] | None]:
    choice = rng.random()
    if choice < 0.35:
        return Step("COMMIT"), None
    if choice < 0.55:
        return Step("ROLLBACK"), None
    if choice < 0.8 or not points:
        name = f"s{len(points)}"
        return Step(f"SAVEPOINT {name}"), [*points, name]
    place = rng.randrange(len(points))
    if choice < 0.95:
        return Step(f"ROLLBACK TO SAVEPOINT {points[place]}"), points[: place + 1]
    return Step(f"RELEASE SAVEPOINT {points[place]}"), points[:place]
