"""Programs that repeat their statements with other values; see the package."""

import random
from dataclasses import dataclass, field, replace

from tests.support.programs.program import Program
from tests.support.programs.repeated.changes import ROLE, Course, random_change
from tests.support.programs.repeated.shapes import Shape, inserted, random_shape
from tests.support.programs.repeated.tables import Table, random_table
from tests.support.programs.repeated.values import filled
from tests.support.programs.step import Step
from tests.support.programs.tables import SCHEMA

OTHERS = ("-b", "-b", "-p!")
"""Other connections: of the same process, and of another one."""
_SHAPES_MAX = 5


def repeating_program(seed: int, length: int = 40, *, postgres: bool = False) -> Program:
    """The program of a seed, in DuckDB's dialect or in PostgreSQL's."""
    rng = random.Random(f"repeats {seed}")
    tables = [random_table(rng, name, postgres=postgres) for name in ("t", "u")]
    writer = _Writer(rng, Course(rng, postgres, tables))
    writer.begin_tables()
    created = len(writer.steps)
    while len(writer.steps) < created + length:
        writer.advance()
    if writer.inside:
        writer.add(rng.choice(("COMMIT", "ROLLBACK")))
    for table in writer.course.tables:
        writer.add(f"SELECT * FROM {table.name}")
    return Program(seed, tuple(writer.steps), created, ())


@dataclass(slots=True)
class _Writer:
    """Writes a program; ``inside``: what the main connection did in its transaction, if any."""

    rng: random.Random
    course: Course
    steps: list[Step] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)
    inside: str = ""
    points: int = 0
    kept: list[Table] = field(default_factory=list)
    """The tables as they were before the transaction."""

    def add(self, sql: str, session: str = "", values: tuple[object, ...] | None = None) -> None:
        """A step of its own."""
        self.steps.append(Step(sql, session=session, values=values))

    def begin_tables(self) -> None:
        """What creates the tables, a view and a macro, and gives them rows."""
        self.add(f"CREATE SCHEMA {SCHEMA}")
        for table in self.course.tables:
            self.add(table.ddl(postgres=self.course.postgres))
        if self.course.postgres:
            self.add(f"SET search_path = {SCHEMA}")
            self.add(f"CREATE ROLE {ROLE}")
            self.add(f"GRANT ALL ON SCHEMA {SCHEMA} TO {ROLE}")
            for table in self.course.tables:
                self.add(f"GRANT ALL ON {table.name} TO {ROLE}")
        self._fill(*self.course.tables * 4)

    def _fill(self, *tables: Table) -> None:
        for table in tables:
            self._filled(Shape(inserted(self.rng, table), table.name), parameters=0.0, odd=0.0)

    def advance(self) -> None:
        """A shape several times, or what is to make it stale."""
        chance = self.rng.random()
        if chance < 0.12:
            self._transaction()
        elif chance < 0.22:
            self._change()
        elif chance < 0.27 and not self.inside:
            self._upkeep()
        elif chance < 0.35 and self.inside in {"", "writes"}:
            self._fill(*self.course.tables)
        else:
            self._repeat()

    def _repeat(self) -> None:
        if len(self.shapes) < _SHAPES_MAX and (len(self.shapes) < 2 or self.rng.random() < 0.4):
            made = random_shape(self.rng, self.course.tables, postgres=self.course.postgres)
            self.shapes.append(replace(made, made=self.course.changes))
        shape = self.rng.choice(self.shapes[-_SHAPES_MAX:])
        if self.rng.random() < 0.1:
            self.shapes.remove(shape)
        if self.course.postgres and self.rng.random() < (0.5 if self.course.is_shadowed else 0.2):
            shape = replace(shape, text=shape.text.replace(f"{SCHEMA}.", ""), looked_at="")
        parameters = self.rng.choice((0.0, 0.0, 1.0, 1.0, 0.5))
        is_other = self.course.postgres and self.inside != "overtaken" and self.rng.random() < 0.2
        if is_other:
            self.add(f"SET ROLE {ROLE}")
        odd = self.rng.choice((0.0, 0.0, 0.15))
        for _ in range(self.rng.choice((1, 2, 3, 3, 4, 5))):
            session = "" if is_other else self._session(shape)
            self._filled(shape, parameters, odd=odd, session=session)
            if self.rng.random() < 0.1:
                parameters = 1.0 - parameters
        if is_other:
            self.add("RESET ROLE")
        if shape.looked_at and self.rng.random() < 0.5:
            self.add(f"SELECT * FROM {shape.looked_at}", self._session(Shape("")))

    def _session(self, shape: Shape) -> str:
        """Who runs a shape: others read while a transaction writes, and write while none does."""
        is_overtaken = self.inside == "overtaken" and shape.looked_at
        if self.inside == "defines" or (self.rng.random() < 0.7 and not is_overtaken):
            return ""
        return "" if self.inside == "writes" and shape.looked_at else self.rng.choice(OTHERS)

    def _filled(self, shape: Shape, parameters: float, odd: float, session: str = "") -> None:
        sql, values, is_odd = filled(
            self.rng, shape.text, postgres=self.course.postgres, parameters=parameters, odd=odd
        )
        self.steps.append(
            Step(
                sql, session=session, values=values, odd=is_odd or shape.made < self.course.changes
            )
        )
        if shape.looked_at and self.inside == "reads":
            self.inside = "overtaken" if session else "writes"

    def _change(self) -> None:
        if self.inside and (self.inside != "writes" or self.rng.random() < 0.5):
            return
        for sql in random_change(self.course):
            self.add(sql)
        if self.inside:
            self.inside = "defines"

    def _transaction(self) -> None:
        if not self.inside:
            begins = "BEGIN ISOLATION LEVEL REPEATABLE READ" if self.course.postgres else "BEGIN"
            self.add(begins)
            self.add(f"SELECT count(*) FROM {self.course.tables[0].name}")
            self.inside, self.points = "reads", 0
            self.kept = list(self.course.tables)
            if self.rng.random() < 0.7:
                self.inside = "writes"
        elif self.rng.random() < 0.3:
            self.points += 1
            self.add(f"SAVEPOINT s{self.points}")
        elif self.points and self.rng.random() < 0.4:
            self.add(f"ROLLBACK TO SAVEPOINT s{self.points}")
        else:
            end = self.rng.choice(("COMMIT", "COMMIT", "ROLLBACK"))
            self.add(end)
            if end == "ROLLBACK":
                self.course.tables = self.kept
                self.course.changes += 1
            self.inside = ""

    def _upkeep(self) -> None:
        table = self.rng.choice(self.course.tables).name
        job = self.rng.choice(("compact", "flush", "purge", "compact"))
        session = self.rng.choice(("", *OTHERS))
        self.steps.append(Step(f"CALL system.{job}('{table}')", upkeep=True, session=session))
