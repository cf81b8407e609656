"""Finds the files of a tier that may hold a row, by its key.

A tier may be read file by file when all its segments have the table's present columns, in the types
in which they are stored; then only the files whose key bounds admit the key need be opened. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from sqlglot import exp

from journal.local_engine.layout import fields_of, parquet_type
from journal.model.plan import Lookup
from journal.model.schema import Table
from journal.model.segment import Tier
from journal.transactions.state import TableState

SEALED = (Tier.BASE, Tier.DELTA)


def by_file(table: Table, state: TableState) -> frozenset[Tier]:
    """The sealed tiers of a table that can be read file by file: none while rows are hidden.

    What has no size is no file, but a place within another store.
    """
    fields = fields_of(table)
    if state.manifest.masks or not all(_is_stored_as_is(kind) for _, kind in fields):
        return frozenset()
    found: set[Tier] = set()
    other: set[Tier] = set()
    for segment in state.manifest.segments:
        mine = segment.fields == fields and segment.bytes > 0
        (found if mine else other).add(segment.tier)
    return frozenset(t for t in found - other if t in SEALED)


def files(lookup: Lookup, state: TableState, parameters: Mapping[str, Any]) -> list[str]:
    """Paths, relative to the warehouse, of files that may hold the rows by their bounds; one or
    more.
    """
    listed = [f for s in state.manifest.in_tier(lookup.tier) for f in s.files]
    if lookup.column is not None:
        return [f.path for f in listed]
    key = constant(lookup.value, parameters)
    matching = [f.path for f in listed if f.may_hold(key)]
    return matching or [listed[0].path]


def constant(node: exp.Expr, parameters: Mapping[str, Any]) -> Any:
    """The value of a parameter, or of a literal that is text or a whole number; else None."""
    while isinstance(node, exp.Cast) and node.to.this in exp.DataType.INTEGER_TYPES:
        node = node.this
    if isinstance(node, exp.Placeholder):
        return parameters.get(node.name)
    if isinstance(node, exp.Literal) and node.is_string:
        return node.name
    if isinstance(node, exp.Literal) and node.name.isdigit():
        return int(node.name)
    return None


@lru_cache(maxsize=1024)
def _is_stored_as_is(kind: str) -> bool:
    return parquet_type(kind) == kind
