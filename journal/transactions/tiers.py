"""Which tier of which table a relation's name means, as one statement sees it. Pure."""

from __future__ import annotations

import re

from journal.model.schema import Table
from journal.model.segment import Manifest, Tier
from journal.transactions.state import JournalState
from journal.transactions.transaction import Transaction

_PHYSICAL = re.compile(r"t(\d+)(?:x(\d+))?_(base|delta|history|head)")


def tier_of(
    name: str, committed: JournalState, transaction: Transaction
) -> tuple[Table, Manifest, Tier] | None:
    """The table, in the layout that it is read under, its manifest, and the tier.

    None for another relation than ``physical`` names.
    """
    found = _PHYSICAL.fullmatch(name)
    if found is None:
        return None
    table_id, layout, tier = int(found[1]), int(found[2] or 0), Tier(found[3])
    for table, manifest in transaction.shown:
        if table.id == table_id:
            return table, manifest, tier
    state, own = committed.tables[table_id], transaction.catalog.by_id(table_id)
    shapes = [*state.layouts, *([own] if own is not None else [])]
    shape = next(t for t in shapes if t.layout == layout)
    manifest = state.seen_by(shape) if state.manifest.heads else state.manifest
    return shape, manifest, tier
