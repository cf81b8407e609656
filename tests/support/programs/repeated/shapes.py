"""Statements with places for values, made of conditions: SELECT, UPDATE, DELETE and INSERT."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from tests.support.programs.repeated.conditions import condition
from tests.support.programs.repeated.tables import Column, Table
from tests.support.programs.repeated.values import TYPES, slot


@dataclass(frozen=True, slots=True)
class Shape:
    """A statement's text with places for values, and the table to look at after it, if any."""

    text: str
    looked_at: str = ""
    """The table that it changes; a read changes none."""
    made: int = 0
    """How many changes of definitions there were before; later ones may give other types."""


def random_shape(rng: random.Random, tables: Sequence[Table], *, postgres: bool) -> Shape:
    """A statement on one of the tables."""
    table = rng.choice(tables)
    make = rng.choice(
        (_select, _select, _select, _update, _update, _update, _delete, _insert, _insert)
    )
    return make(rng, table, tables, postgres)


def inserted(rng: random.Random, table: Table) -> str:
    """INSERT of one row or more, of all columns."""
    row = f"({', '.join(slot(c.kind) for c in table.columns)})"
    rows = ", ".join([row] * rng.choice((1, 1, 1, 2, 3)))
    return f"INSERT INTO {table.name} VALUES {rows}"


def _named(rng: random.Random, table: Table) -> tuple[str, str]:
    """A table in FROM, and what stands before its columns."""
    if rng.random() < 0.7:
        return table.name, ""
    if rng.random() < 0.5:
        return f"{table.name} AS q", "q."
    return f"{table.name} q", rng.choice(("", "q."))


def _select(rng: random.Random, table: Table, tables: Sequence[Table], postgres: bool) -> Shape:
    from_, alias = _named(rng, table)
    where = condition(rng, table, alias, postgres=postgres)
    names = [f"{alias}{c.name}" for c in table.columns]
    one = rng.choice(names)
    chance = rng.random()
    if chance < 0.15:
        other = rng.choice(tables)
        pairs = [(a, b) for a in table.columns for b in other.columns if a.kind == b.kind]
        if pairs:
            mine, its = rng.choice(pairs)
            where = condition(rng, table, "q.", postgres=postgres)
            return Shape(
                f"SELECT q.*, o.{its.name} FROM {table.name} AS q JOIN {other.name} AS o"
                f" ON q.{mine.name} = o.{its.name} WHERE {where}"
            )
    shown = rng.choice((
        "*", "*", "*", one, f"{one} AS y, {one}", ", ".join(names), "count(*)", f"count({one})",
        f"{slot('int')} AS c, {one}", f"DISTINCT {one}",
        f"CASE WHEN {one} = {slot(_kind(table, one))} THEN 1 END AS c",
    ))  # fmt: skip
    return Shape(f"SELECT {shown} FROM {from_} WHERE {where}")


def _kind(table: Table, name: str) -> str:
    return table.kind(name.removeprefix("q."))


def _update(rng: random.Random, table: Table, tables: Sequence[Table], postgres: bool) -> Shape:
    from_, alias = _named(rng, table)
    free = table.free or list(table.columns)
    chosen = rng.sample(free, rng.randint(1, min(2, len(free))))
    if rng.random() < 0.08:
        chosen = [rng.choice(table.columns)]
    sets = ", ".join(f"{c.name} = {_new(rng, c)}" for c in chosen)
    where = condition(rng, table, alias, postgres=postgres)
    return Shape(f"UPDATE {from_} SET {sets} WHERE {where}{_returning(rng, table)}", table.name)


def _new(rng: random.Random, column: Column) -> str:
    value = slot(column.kind)
    if rng.random() < 0.6:
        return value
    forms = ["NULL", "DEFAULT", f"coalesce({column.name}, {value})", column.name, f"({value})"]
    if column.kind in {"int", "bigint", "decimal", "double"}:
        forms += [f"{column.name} + {value}", f"{column.name} + 1", f"{value} + 1", f"-{value}"]
    if column.kind == "text":
        forms += [f"{column.name} || {value}", f"{value} || {value}", f"upper({value})"]
    return rng.choice(forms)


def _delete(rng: random.Random, table: Table, tables: Sequence[Table], postgres: bool) -> Shape:
    from_, alias = _named(rng, table)
    where = condition(rng, table, alias, postgres=postgres)
    return Shape(f"DELETE FROM {from_} WHERE {where}{_returning(rng, table)}", table.name)


def _insert(rng: random.Random, table: Table, tables: Sequence[Table], postgres: bool) -> Shape:
    if rng.random() < 0.4:
        return Shape(inserted(rng, table), table.name)
    columns = list(table.columns)
    if rng.random() < 0.4 and table.free and len(columns) > 1:
        columns.remove(rng.choice(table.free))
    names = ", ".join(c.name for c in columns)
    if rng.random() < 0.15:
        row = ", ".join(slot(c.kind) for c in columns)
        return Shape(f"INSERT INTO {table.name} ({names}) SELECT {row}", table.name)
    row = ", ".join(_cell(rng, c, table, postgres) for c in columns)
    tail = ""
    if table.key and rng.random() < 0.4:
        target = f"ON CONFLICT ({', '.join(table.key)})"
        sets = ", ".join(f"{c.name} = excluded.{c.name}" for c in columns if c in table.free)
        tail = f" {target} DO UPDATE SET {sets}" if sets else f" {target} DO NOTHING"
    return Shape(
        f"INSERT INTO {table.name} ({names}) VALUES ({row}){tail}{_returning(rng, table)}",
        table.name,
    )


def _cell(rng: random.Random, column: Column, table: Table, postgres: bool) -> str:
    if rng.random() < 0.06 and column.name not in table.key:
        return "DEFAULT"
    if rng.random() < 0.06:
        value = f"CAST({slot(column.kind)} AS {TYPES[column.kind][postgres]})"
        return f"CASE WHEN {slot('bool')} THEN {value} END"
    return slot(column.kind)


def _returning(rng: random.Random, table: Table) -> str:
    if rng.random() > 0.15:
        return ""
    return rng.choice((" RETURNING *", f" RETURNING {table.columns[0].name} AS r"))
