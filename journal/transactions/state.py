"""What is committed, as one immutable value that is published after each commit.

Sessions read the present through it; nobody changes it in place. Pure: no I/O, no locks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from journal.identity.suppression_list import OPEN_FENCE, SuppressionList
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import CatalogSnapshot, Table, fold
from journal.model.segment import Fields, Manifest, RowCounts, Tier
from journal.model.store_session import RowSet
from journal.model.version import Version, VersionType
from journal.sql.relations_flat import is_flat
from journal.transactions.inlined_rows import NOTHING_INLINED, InlinedRows


@dataclass(frozen=True, slots=True)
class TableState:
    """One journal: its manifest, when it was last written, and what its heads hold.

    ``layouts`` holds the newest definition of each layout the table ever had, oldest first.
    ``inlined`` are rows that the catalog itself holds, which ``head_counts`` counts.
    """

    manifest: Manifest
    last_version: Version
    head_counts: RowCounts
    layouts: tuple[Table, ...] = ()
    inlined: InlinedRows = NOTHING_INLINED

    @property
    def rows(self) -> int:
        """All journal rows, however many of them are current."""
        return self.head_counts.total + sum(s.counts.total for s in self.manifest.segments)

    @property
    def current_rows(self) -> int:
        """How many rows are current: those that began, less those that have ended since."""
        listed = (s.counts for s in self.manifest.segments if s.tier is not Tier.HISTORY)
        counts = sum(listed, self.head_counts)
        return counts.open - counts.closing

    @property
    def tiers(self) -> frozenset[Tier]:
        """The tiers that hold at least one row."""
        found = {s.tier for s in self.manifest.segments}
        if self.head_counts.total:
            found.add(Tier.HEAD)
        return frozenset(found)

    def with_layout(self, table: Table) -> TableState:
        """A copy that knows this definition."""
        others = tuple(t for t in self.layouts if t.layout != table.layout)
        return replace(self, layouts=(*others, table))

    def with_rows(self, sets: Iterable[RowSet], version: Version) -> TableState:
        """The journal after a commit has appended these rows to its newest head."""
        return self.with_counts(sum((rows.counts for rows in sets), self.head_counts), version)

    def with_counts(self, counts: RowCounts, version: Version) -> TableState:
        """The journal after a commit, with so many rows in its heads."""
        # As ``replace`` does, which takes three times as long; each small commit comes here.
        return TableState(self.manifest, version, counts, self.layouts, self.inlined)

    def with_inlined(self, rows: InlinedRows, last_version: Version | None = None) -> TableState:
        """The journal once its catalog holds these rows and no others."""
        last = self.last_version if last_version is None else last_version
        return replace(self, last_version=last, head_counts=rows.counts, inlined=rows)

    def seen_by(self, shape: Table) -> Manifest:
        """What those who read under one of the layouts need of the manifest.

        They look at points before the next layout began, so heads that were made for later ones
        hold nothing of theirs; segments may, since compaction writes old rows anew.
        """
        places: dict[Fields, int] = {}
        for place, table in enumerate(self.layouts):
            places.setdefault(tuple((c.physical, c.type) for c in table.stored), place)
        mine = next((i for i, t in enumerate(self.layouts) if t.layout == shape.layout), None)
        if mine is None:
            return self.manifest
        heads = self.manifest.heads
        needed = tuple(h for h in heads if places.get(h.fields, 0) <= mine)
        return replace(self.manifest, generation=0, heads=needed or heads[:1])


@dataclass(frozen=True, slots=True)
class JournalState:
    """Everything committed up to and including ``version``."""

    version: Version
    catalog: CatalogSnapshot
    tables: Mapping[int, TableState]
    history: tuple[tuple[Version, CatalogSnapshot], ...]
    fence: SuppressionList = OPEN_FENCE

    def with_tables(
        self, changed: Mapping[int, TableState], fence: SuppressionList | None = None
    ) -> JournalState:
        """A copy with some journals replaced, and perhaps what may not be written."""
        tables = MappingProxyType({**self.tables, **changed})
        return replace(self, tables=tables, fence=fence or self.fence)

    def committed(
        self, version: Version, catalog: CatalogSnapshot, changed: Mapping[int, TableState]
    ) -> JournalState:
        """The state after a commit at ``version``."""
        history = self.history
        if catalog is not self.catalog:
            history = (*history, (version, catalog))
        tables = MappingProxyType({**self.tables, **changed})
        return JournalState(version, catalog, tables, history, self.fence)

    def epoch_of(self, table_id: int) -> int:
        """The epoch of a table's manifest."""
        state = self.tables.get(table_id)
        return 0 if state is None else state.manifest.epoch

    def catalog_at(self, point: Version, *, is_number: bool = False) -> CatalogSnapshot:
        """The catalog as it was at ``point``, with tables whose journals are older than they are.

        An adopted journal holds versions from before its adoption. Those that are numbers say
        nothing of time, so such a table is there only if the point ``is_number`` itself.
        """
        found = CatalogSnapshot.empty(self.catalog.home, self.catalog.own, self.catalog.database)
        for version, snapshot in self.history:
            if version > point:
                break
            found = snapshot
        for table in self.catalog.tables():
            if is_flat(table) and (
                is_number or table.format.version_type is not VersionType.BIGINT
            ):
                found = self._with_older(found, table)
        return found

    def _with_older(self, then: CatalogSnapshot, table: Table) -> CatalogSnapshot:
        """A catalog of the past with an adopted table as it was adopted, if it lacks that."""
        if then.by_id(table.id) is not None:
            return then
        adopted = next((t for _, c in self.history if (t := c.by_id(table.id))), table)
        if then.get(adopted.name) is not None:
            return then
        if fold(adopted.name.schema) not in then.schemas:
            then = then.with_schema(adopted.name.schema)
        return then.with_relation(adopted)

    def catalogs_until(self, point: Version) -> list[CatalogSnapshot]:
        """Every catalog up to ``point``, oldest first."""
        return [snapshot for version, snapshot in self.history if version <= point]
