"""Those of a transaction's own rows that a statement reads, where it reads them by key alone.

The server is shown with each statement what the transaction has written before. Of a thousand rows,
a statement that looks one row up is shown just that one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlglot import exp

from journal.model.plan import Guard, Query, StatementPlan, physical
from journal.model.point_rows import KeyLookup
from journal.model.schema import Table
from journal.model.segment import Tier
from journal.model.store_session import MemoryRows, Parameters, RowSet
from journal.sql.relations import BY_KEY
from journal.sql.row_layout import fields_of
from journal.transactions.plain_rows import Key
from journal.transactions.row_cache import key_of

_SHOWN_MAX = 50
"""So few rows are shown as they are."""

_Texts = tuple[str, ...]


def own_name(table_id: int) -> str:
    """The relation that shows queries a transaction's own rows of a table."""
    return physical(table_id, Tier.BUFFER).name


def keys_read(table: Table, plan: StatementPlan, parameters: Parameters) -> Sequence[Key] | None:
    """The keys by which a plan reads own rows of a table; None if it may read others as well."""
    lookups: list[KeyLookup] = []
    for step in plan.steps:
        query = getattr(step, "query", None)
        if isinstance(query, Query):
            read = _own_reads(query).get(own_name(table.id), ())
            if read is None:
                return None
            lookups += read
        if isinstance(step, Guard) and step.distinct is not None:
            return None
    keys = [key_of(table, place, parameters) for place in lookups]
    known = [key for key in keys if key is not None]
    return known if known and len(known) == len(keys) and not plan.points else None


def _own_reads(query: Query) -> Mapping[str, Sequence[KeyLookup] | None]:
    """By what keys a query reads each relation; None for one that it does not read by key."""

    def read() -> Mapping[str, Sequence[KeyLookup] | None]:
        found: dict[str, Sequence[KeyLookup] | None] = {}
        for table in query.ast.find_all(exp.Table):
            key, before = table.meta.get(BY_KEY), found.get(table.name, ())
            found[table.name] = None if key is None or before is None else (*before, key)
        return found

    return query.once("own reads", read)


def values_of_keys(
    table: Table, sets: Sequence[RowSet], keys: Iterable[Key]
) -> Sequence[list[Any]] | None:
    """The rows of some keys among own ones, column by column; None where all should be shown."""
    memory = [rows for rows in sets if isinstance(rows, MemoryRows)]
    fields = fields_of(table)
    if len(memory) < len(sets) or any(rows.fields not in {(), fields} for rows in memory):
        return None
    if sum(rows.counts.total for rows in memory) <= _SHOWN_MAX:
        return None
    wanted = dict.fromkeys(tuple(map(str, key)) for key in keys)
    columns: list[list[Any]] = [[] for _ in table.journal_columns]
    for rows in memory:
        known = _places(table, rows)
        places = [place for key in wanted for place in known.get(key, ())]
        for column, values in zip(columns, rows.values, strict=True):
            column += [values[place] for place in places]
    return columns


def _places(table: Table, rows: MemoryRows) -> Mapping[_Texts, Sequence[int]]:
    """Where among held rows those of each key stand, by the texts of its values."""
    name = f"places by {table.key}"
    found: dict[_Texts, list[int]] | None = rows.kept.get(name)
    if found is None:
        found = rows.kept[name] = {}
        names = table.journal_columns
        keys = [rows.values[names.index(k)] for k in table.key]
        for place, key in enumerate(zip(*keys, strict=True)):
            found.setdefault(tuple(map(str, key)), []).append(place)
    return found
