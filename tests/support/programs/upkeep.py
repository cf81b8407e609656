"""Random upkeep of the tables of a program: how they are to lie, and when they are compacted."""

import random
from collections.abc import Sequence

from tests.support.programs.step import Step
from tests.support.programs.tables import Kind, Table

_SPLIT_BY: frozenset[Kind] = frozenset({"int", "text", "decimal", "bool", "date", "timestamp"})
"""Kinds of columns that a table may be partitioned by."""


def layout_of(rng: random.Random, table: Table) -> list[Step]:
    """Return what gives a table partitions or buckets; nothing for some tables."""
    columns = [column.name for column in table.columns if column.kind in _SPLIT_BY]
    if not columns or rng.random() < 0.3:
        return []
    name = rng.choice(columns)
    how = rng.choice((f"LIST ({name})", f"LIST ({name})", f"HASH ({name}) INTO 2"))
    return [Step(f"ALTER TABLE {table.reference} SET (partitions = '{how}')", upkeep=True)]


def random_upkeep(rng: random.Random, tables: Sequence[Table]) -> Step:
    """Return a compaction of one of the tables."""
    mode = rng.choice(("", ", mode => 'minor'"))
    return Step(f"CALL system.compact('{rng.choice(tables).reference}'{mode})", upkeep=True)
