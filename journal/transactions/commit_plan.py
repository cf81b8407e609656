"""Plans a commit: versions, definitions, rows by table, and the next state.

    writes, what is committed -> plan -> (a store appends) -> states of tables -> next state

The commit sections of all stores go by it. Pure: no I/O, no locks; numbers come from the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from journal.model.catalog import apply
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import CatalogChange, PutRelation
from journal.model.schema import CatalogSnapshot, Table
from journal.model.segment import Manifest, RowCounts
from journal.model.store_session import RowSet
from journal.model.version import HybridClock, Version
from journal.transactions.conflicts import check_schemas
from journal.transactions.references import check_definitions
from journal.transactions.state import JournalState, TableState
from journal.transactions.transaction import StatementWrites

Define = Callable[[TableState | None, Table], TableState]
"""Gives a journal a definition; None: it is new."""
Add = Callable[[TableState, Table, Sequence[RowSet]], TableState]
"""Appends rows to a journal of a table."""


@dataclass(frozen=True, slots=True)
class CommitPlan:
    """Writes on top of what is committed.

    ``writes`` have the versions they are committed under; their row sets those that ``overtaken``
    maps to these. ``redefined`` are the tables that the writes define, in order; ``definitions``
    has the last one of each table by id, dropped ones included.
    """

    writes: Sequence[StatementWrites]
    overtaken: Mapping[Version, Version]
    catalog: CatalogSnapshot
    redefined: tuple[Table, ...]
    definitions: Mapping[int, Table]
    rows: Mapping[int, tuple[RowSet, ...]]

    @property
    def version(self) -> Version:
        """The version of the commit: that of its last statement."""
        return self.writes[-1].version

    @property
    def first_version(self) -> Version:
        """The version of its first statement."""
        return self.writes[0].version

    @property
    def changes(self) -> list[tuple[Version, CatalogChange]]:
        """Catalog changes, under the version of the commit."""
        return [(self.version, change) for w in self.writes for change in w.changes]

    def states(self, committed: JournalState, define: Define, append: Add) -> dict[int, TableState]:
        """The journals that the writes change, as a store defines them and appends to them."""
        states: dict[int, TableState] = {}
        for table in self.redefined:
            states[table.id] = define(states.get(table.id, committed.tables.get(table.id)), table)
        for table_id, sets in self.rows.items():
            state = states.get(table_id) or committed.tables[table_id]
            states[table_id] = append(state, self.definitions[table_id], sets)
        return states

    def next_state(self, committed: JournalState, tables: Mapping[int, TableState]) -> JournalState:
        """What is true once it is committed, given the journals it has changed."""
        return committed.committed(self.version, self.catalog, tables)


def commit_plan(
    committed: JournalState,
    writes: Sequence[StatementWrites],
    overtaken: Mapping[Version, Version] | None = None,
) -> CommitPlan:
    """The plan of writes whose versions are taken from ``overtaken`` where it has newer ones.

    Raises what is wrong with foreign keys as they are defined now, and with schemas.
    """
    newer = overtaken or {}
    if newer:
        writes = [replace(w, version=newer.get(w.version, w.version)) for w in writes]
    rows: dict[int, tuple[RowSet, ...]] = {}
    redefined: list[Table] = []
    catalog = committed.catalog
    for statement in writes:
        for table_id, row_set in statement.rows:
            rows[table_id] = (*rows.get(table_id, ()), row_set)
        for change in statement.changes:
            catalog = apply(catalog, change)
            if isinstance(change, PutRelation) and isinstance(change.relation, Table):
                redefined.append(change.relation)
    if catalog is not committed.catalog:
        check_definitions(committed.catalog, catalog)
        check_schemas((change for w in writes for change in w.changes), catalog)
    definitions = {t.id: t for t in (*committed.catalog.tables(), *redefined)}
    return CommitPlan(writes, newer, catalog, tuple(redefined), definitions, rows)


def plan_above(
    committed: JournalState,
    writes: Sequence[StatementWrites],
    clock: HybridClock,
    floor: Version | None = None,
) -> CommitPlan:
    """The plan of writes under new versions, if they begin at or below ``floor``: the clock's."""
    lowest = clock.floor if floor is None else floor
    return commit_plan(committed, writes, newer_versions(writes, clock, lowest))


def newer_versions(
    writes: Sequence[StatementWrites], clock: HybridClock, floor: Version
) -> dict[Version, Version]:
    """New versions of writes that begin at or below ``floor``, by the old ones; else none."""
    if writes[0].version > floor:
        return {}
    return {w.version: clock.next() for w in writes}


def with_definition(old: TableState | None, table: Table, version: Version) -> TableState:
    """A journal as it is defined at ``version``; a new one has an empty manifest yet."""
    if old is None:
        return TableState(Manifest(1, ()), version, RowCounts(), (table,))
    return replace(old.with_layout(table), last_version=version)
