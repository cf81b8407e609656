"""The tiers of journals as one statement sees them: which segments stand behind a relation's name.

Pure, over what is committed and the transaction's own definitions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp

from journal.model.schema import Table
from journal.model.segment import Manifest, Segment, Tier
from journal.stores.hive import layout
from journal.transactions.state import JournalState
from journal.transactions.transaction import Transaction

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
        manifest, table = self.seen(int(found[1]), int(found[2] or 0))
        return table, manifest.in_tier(Tier(found[3]))

    @staticmethod
    def table_and_layout(name: str) -> tuple[int, int]:
        """The ids of the table and the layout that a tier's name has."""
        found = _PHYSICAL.fullmatch(name)
        assert found is not None
        return int(found[1]), int(found[2] or 0)

    def seen(self, table_id: int, layout_id: int) -> tuple[Manifest, Table]:
        """A journal's manifest, and its table in a layout."""
        for table, manifest in self.transaction.shown:
            if table.id == table_id:
                return manifest, table
        state = self.committed.tables[table_id]
        for table in state.layouts:
            if table.layout == layout_id:
                return state.manifest, table
        own = self.transaction.catalog.by_id(table_id)
        assert own is not None
        assert own.layout == layout_id
        return state.manifest, own

    def in_spark(self, name: str) -> exp.Query | None:
        """The rows of a tier, as Spark reads them."""
        found = self.find(name)
        if found is None:
            return None
        table, segments = found
        rows = layout.staged_rows(
            self.names, table, [(s.files[0].path, s.fields) for s in segments]
        )
        masks = self.masks_of(name)
        return layout.unmasked(self.names, table, rows, masks) if masks else rows

    def masks_of(self, name: str) -> tuple[str, ...]:
        """The lists of keys whose rows nobody may see in a tier."""
        manifest, _ = self.seen(*self.table_and_layout(name))
        return manifest.masks
