"""The tiers of journals as one statement sees them: which segments stand behind a relation's name.

Pure, over what is committed and the transaction's own definitions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp

from journal.schema import Table
from journal.segment import Segment, Tier
from journal.state import JournalState
from journal.stores import hive_layout as layout
from journal.transaction import Transaction

_PHYSICAL = re.compile(r"t(\d+)(?:x(\d+))?_(base|delta|history)")


@dataclass(frozen=True, slots=True)
class SeenTiers:
    """Finds tiers by the names that plans give them."""

    names: layout.Names
    committed: JournalState
    transaction: Transaction

    def find(self, name: str) -> tuple[Table, tuple[Segment, ...]] | None:
        """The table, in the layout it is read under, and the segments; None for other relations."""
        found = _PHYSICAL.fullmatch(name)
        if found is None:
            return None
        table_id, shape, tier = int(found[1]), int(found[2] or 0), Tier(found[3])
        state = self.committed.tables[table_id]
        own = self.transaction.catalog.by_id(table_id)
        known = [*state.layouts, *([own] if own is not None else [])]
        table = next(t for t in known if t.layout == shape)
        return table, state.manifest.in_tier(tier)

    def in_spark(self, name: str) -> exp.Query | None:
        """The rows of a tier, as Spark reads them."""
        found = self.find(name)
        if found is None:
            return None
        table, segments = found
        return layout.staged_rows(
            self.names, table, [(s.files[0].path, s.fields) for s in segments]
        )
