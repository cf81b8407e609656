"""Conditions with places for values: on a whole key, on parts of it, and on what stands beside."""

import random

from tests.support.programs.repeated.tables import Column, Table
from tests.support.programs.repeated.values import TYPES, slot

_NUMBERS = frozenset({"int", "bigint", "decimal", "double"})


def condition(rng: random.Random, table: Table, alias: str, *, postgres: bool) -> str:
    """What a WHERE says."""
    chance = rng.random()
    if table.key and chance < 0.5:
        return _key_and_more(rng, table, alias)
    if chance < 0.6 or not table.key:
        return _junction(rng, [_part(rng, table, c, alias, postgres) for c in _some(rng, table)])
    if chance < 0.7:
        return _row_values(rng, table, alias)
    plain = rng.random() < 0.6
    key = [table.kind(name) for name in table.key]
    parts = [
        _equal(rng, f"{alias}{name}", kind)
        if plain or rng.random() < 0.6
        else _part(rng, table, Column(name, kind), alias, postgres)
        for name, kind in zip(table.key, key, strict=True)
    ]
    if rng.random() < 0.5:
        parts += [_part(rng, table, c, alias, postgres) for c in _some(rng, table)]
    rng.shuffle(parts)
    if rng.random() < 0.12:
        other = [_equal(rng, f"{alias}{n}", table.kind(n)) for n in table.key]
        return rng.choice((
            f"({_junction(rng, parts)}) OR ({_junction(rng, other)})",
            f"NOT ({_junction(rng, parts)})",
            f"({_junction(rng, parts)}) IS TRUE",
        ))  # fmt: skip
    return _junction(rng, parts)


def _key_and_more(rng: random.Random, table: Table, alias: str) -> str:
    """The whole key, and often other columns, each equal to a value; in brackets or not."""
    others = rng.choice((0, 0, 1, 1, 2))
    names = [*table.key, *(c.name for c in rng.sample(table.free, min(others, len(table.free))))]
    rng.shuffle(names)
    return _junction(rng, [f"{alias}{n} = {slot(table.kind(n))}" for n in names], ors=0.03)


def _some(rng: random.Random, table: Table) -> list[Column]:
    return rng.sample(table.columns, rng.randint(1, min(2, len(table.columns))))


def _junction(rng: random.Random, parts: list[str], ors: float = 0.1) -> str:
    """Parts joined by AND, seldom by OR, in brackets or not."""
    parts = list(parts)
    while len(parts) > 1:
        place = rng.randrange(len(parts) - 1)
        word = "OR" if rng.random() < ors else "AND"
        joined = f"{parts[place]} {word} {parts[place + 1]}"
        parts[place : place + 2] = [f"({joined})" if rng.random() < 0.6 or word == "OR" else joined]
    return parts[0] if rng.random() < 0.85 else f"({parts[0]})"


def _equal(rng: random.Random, name: str, kind: str) -> str:
    value = slot(kind)
    if rng.random() < 0.75:
        return f"{name} = {value}"
    return rng.choice((
        f"{value} = {name}", f"({name} = {value})", f"{name} = ({value})", f"({name}) = {value}",
        f"{name}={value}", f"{name} IN ({value})", f"NOT {name} <> {value}",
        f"{name} IS NOT DISTINCT FROM {value}",
    ))  # fmt: skip


def _part(rng: random.Random, table: Table, column: Column, alias: str, postgres: bool) -> str:
    """A condition on a column, of any form."""
    kind, name, value = column.kind, f"{alias}{column.name}", slot(column.kind)
    of_type = TYPES[kind][postgres]
    same = [c.name for c in table.columns if c.kind == kind]
    forms = [
        f"{name} = {value}", f"{name} = {value}", f"{name} <> {value}",
        f"{name} IN ({value}, {value})", f"{name} NOT IN ({value}, {value})",
        f"{name} BETWEEN {value} AND {value}", f"NOT {name} = {value}", f"{name} IS NULL",
        f"{name} IS NOT NULL", f"{name} = {name}", f"{name} = {alias}{rng.choice(same)}",
        f"CAST({name} AS VARCHAR) = {slot('text')}", f"{name} = CAST({value} AS {of_type})",
        f"{name} = {value}::{of_type}", f"{name} > {value}", f"{name} >= {value}",
        f"({name} = {value} OR {name} = {value})", f"({name} = {value}) IS NOT TRUE",
        f"coalesce({name}, {value}) = {value}", f"{name} = NULL", f"({name} IS NULL) = FALSE",
        f"{name} = (SELECT max(m.{column.name}) FROM {table.name} AS m)"
        if kind not in {"bool", "uuid"} else f"{name} = {value}",
        f"{name} IN (SELECT m.{column.name} FROM {table.name} AS m WHERE {column.name} = {value})",
    ]  # fmt: skip
    if kind in _NUMBERS:
        forms += [
            f"{name} = {value} + 1", f"{name} = 1 + {value}", f"{name} + 1 = {value}",
            f"abs({name}) = {value}", f"{name} = -{value}", f"{name} = {value} * {value}",
            f"-{name} = {value}", f"{name} = {slot('decimal')}", f"{name} = {slot('double')}",
        ]  # fmt: skip
    if kind == "text":
        forms += [
            f"lower({name}) = {value}", f"{name} = {value} || {value}", f"{name} LIKE {value}",
            f"{name} = upper({value})", f"length({name}) = {slot('int')}",
            f"{name} || '' = {value}",
        ]  # fmt: skip
    if kind in {"date", "timestamp"}:
        forms += [f"{name} = {slot('date')}", f"CAST({name} AS DATE) = {slot('date')}"]
    if kind == "bool":
        forms += [name, f"NOT {name}", f"{name} IS TRUE", f"{name} IS NOT FALSE"]
    return rng.choice(forms)


def _row_values(rng: random.Random, table: Table, alias: str) -> str:
    """The key, or the key and a column beside it, compared as one."""
    columns = [c for c in table.columns if c.name in table.key]
    if len(columns) == 1 or rng.random() < 0.3:
        columns += table.free[:1]
    names = ", ".join(f"{alias}{c.name}" for c in columns)
    values = ", ".join(slot(c.kind) for c in columns)
    beside = rng.choice(table.columns)
    return rng.choice((
        f"({names}) = ({values})", f"({names}) IN (({values}))", f"({names}) = ({values})",
        f"({names}) IN (({values}), ({values}))", f"({values}) = ({names})",
        f"({names}) = ({values}) AND {alias}{beside.name} = {slot(beside.kind)}",
    ))  # fmt: skip
