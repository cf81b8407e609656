"""The tables of a repeating program, as it believes them to be."""

import random
from dataclasses import dataclass

from tests.support.programs.repeated.values import (
    KEY_KINDS,
    KINDS,
    PLAIN_KINDS,
    TYPES,
    literal,
    value_of,
)
from tests.support.programs.tables import SCHEMA


@dataclass(frozen=True, slots=True)
class Column:
    """A column's name and kind, and what else its definition says."""

    name: str
    kind: str
    more: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its name with its schema, its columns and the names of its key."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    indexes: tuple[str, ...] = ()

    @property
    def free(self) -> list[Column]:
        """The columns that are not of the key."""
        return [c for c in self.columns if c.name not in self.key]

    def kind(self, name: str) -> str:
        """The kind of a column."""
        return next(c.kind for c in self.columns if c.name == name)

    def ddl(self, *, postgres: bool) -> str:
        """CREATE TABLE."""
        parts = [f"{c.name} {TYPES[c.kind][postgres]}{c.more}" for c in self.columns]
        if self.key:
            parts.append(f"PRIMARY KEY ({', '.join(self.key)})")
        return f"CREATE TABLE {self.name} ({', '.join(parts)})"


def random_table(rng: random.Random, name: str, *, postgres: bool) -> Table:
    """A table of a key of one to three columns, mostly, and of a few others."""
    size = rng.choice((1, 1, 1, 1, 1, 2, 2, 2, 3, 0))
    kinds = rng.choice((("int",), ("int", "text"), ("int", "text"), KEY_KINDS))
    key = [Column(f"k{place}" if place else "k", rng.choice(kinds)) for place in range(size)]
    others = [_other(rng, n, postgres=postgres) for n in ("v", "w", "x")[: rng.choice((1, 2, 3))]]
    columns = [*key, *others]
    if rng.random() < 0.2:
        rng.shuffle(columns)
    return Table(f"{SCHEMA}.{name}", tuple(columns), tuple(c.name for c in key))


def _other(rng: random.Random, name: str, *, postgres: bool) -> Column:
    kind, more = rng.choice(rng.choice((PLAIN_KINDS, PLAIN_KINDS, KINDS))), ""
    chance = rng.random()
    if chance < 0.12:
        more = f" DEFAULT {literal(rng, value_of(rng, kind), postgres=postgres, plain=True)}"
    elif chance < 0.17:
        more = " UNIQUE"
    elif chance < 0.22:
        more = " NOT NULL"
    elif chance < 0.3 and kind in {"int", "bigint", "decimal", "double"}:
        more = f" CHECK ({name} < 100)"
    elif chance < 0.3 and kind == "text":
        more = f" CHECK (length({name}) < 4)"
    return Column(name, kind, more)
