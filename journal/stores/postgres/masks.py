"""The tables behind segments and masks, and rows less those whose keys a mask hides. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.plan import STORE_SCHEMA
from journal.model.schema import Table
from journal.model.segment import Segment
from journal.sql.relations import column, ident, union_all
from journal.sql.sql import data_type


def segment_table(segment: Segment) -> exp.Table:
    """The table behind one segment: its id is the table's name."""
    return exp.table_(segment.id, db=STORE_SCHEMA)


def mask_table(mask: str) -> exp.Table:
    """The table of keys behind a mask: the mask is its name."""
    return exp.table_(mask, db=STORE_SCHEMA)


def unmasked(table: Table, rows: exp.Query, masks: Sequence[str]) -> exp.Query:
    """Rows in the columns of a table, less those whose keys stand in masks."""
    if not masks:
        return rows
    hidden = masked_keys(table, masks).subquery("m")
    same = [exp.EQ(this=column(k, "r"), expression=column(k, "m")) for k in table.key]
    found = exp.select("*").from_(rows.subquery("r"))
    return found.join(hidden, on=exp.and_(*same), join_type="anti")


def masked_keys(table: Table, masks: Sequence[str]) -> exp.Query:
    """The keys in masks, in the types of a table."""
    keys: list[exp.Expr] = []
    for name in table.key:
        present = table.by_physical(name)
        value: exp.Expr = column(name)
        if present.earlier_types:
            value = exp.TryCast(this=value, to=data_type(present.type))
        keys.append(exp.alias_(value, ident(name)))
    return union_all([exp.select(*[k.copy() for k in keys]).from_(mask_table(m)) for m in masks])
