"""Maps relation names of a statement to the segments of tiers.

Pure, over what is committed and the transaction's own definitions.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.segment import Manifest, Segment, Tier
from journal.stores.hive import layout
from journal.transactions.inlined_rows import NOTHING_INLINED, InlinedRows
from journal.transactions.state import JournalState
from journal.transactions.tiers import tier_of
from journal.transactions.transaction import Transaction


@dataclass(frozen=True, slots=True)
class SeenTiers:
    """Finds tiers by the names that plans give them."""

    names: layout.Names
    committed: JournalState
    transaction: Transaction

    def find(self, name: str) -> tuple[Table, tuple[Segment, ...]] | None:
        """The table, in the layout it is read under, and the segments; None for other relations."""
        found = tier_of(name, self.committed, self.transaction)
        return None if found is None else (found[0], found[1].in_tier(found[2]))

    def inlined(self, name: str) -> tuple[Table, InlinedRows] | None:
        """The table and the rows of a tier whose rows the catalog holds; None for other tiers."""
        found = tier_of(name, self.committed, self.transaction)
        if found is None or found[2] is not Tier.HEAD:
            return None
        state = self.committed.tables.get(found[0].id)
        return found[0], NOTHING_INLINED if state is None else state.inlined

    def source_of(self, name: str) -> tuple[Table, Manifest | InlinedRows]:
        """The table that a tier is of, and the value that changes whenever its rows do."""
        found = self.inlined(name)
        return self.table_of_tier(name) if found is None else found

    def table_of_tier(self, name: str) -> tuple[Table, Manifest]:
        """The table that a tier is of, in the layout it is read under, and its manifest."""
        found = tier_of(name, self.committed, self.transaction)
        assert found is not None
        return found[0], found[1]

    def in_spark(self, *names: str) -> exp.Query | None:
        """The rows of one or more tiers of a table, as Spark reads them; None for others."""
        segments: list[Segment] = []
        table: Table | None = None
        for name in names:
            found = self.find(name)
            if found is None:
                return None
            table = found[0]
            segments += found[1]
        if table is None:
            return None
        rows = layout.staged_rows(
            self.names, table, [(s.files[0].path, s.fields) for s in segments]
        )
        masks = self.masks_of(names[0])
        return layout.unmasked(self.names, table, rows, masks) if masks else rows

    def masks_of(self, name: str) -> tuple[str, ...]:
        """The lists of keys whose rows nobody may see in a tier."""
        return self.table_of_tier(name)[1].masks
