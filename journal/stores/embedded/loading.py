"""Loads the committed state from the catalog when a warehouse opens.

Makes the catalog's tables where there are none yet, and writes the views anew for a warehouse that
was moved. Runs in the transaction it is given; commits nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType

from journal.erasure import guard
from journal.local_engine.session import DuckDBSession
from journal.model.catalog import apply
from journal.model.counters import Counters, counter_ids
from journal.model.number_source import CounterKey
from journal.model.plan import PutRelation
from journal.model.schema import OWN_SCHEMA, CatalogSnapshot, Table
from journal.model.version import Version
from journal.records import catalog as records
from journal.stores.embedded import catalog_tables as rows_of
from journal.stores.embedded import commit as section
from journal.transactions.state import JournalState, TableState


def load_journals(
    session: DuckDBSession,
    root: Path,
    new_id: Callable[[], str],
    record: Callable[[CounterKey, int], None],
) -> tuple[JournalState, Counters]:
    """The state of all journals, and the numbers to generate next, which ``record`` records."""
    if not rows_of.exists(session):
        rows_of.create(session, new_id())
    fenced = guard.load_fence(session)
    catalog = CatalogSnapshot.empty(own=OWN_SCHEMA)
    history: list[tuple[Version, CatalogSnapshot]] = []
    known: dict[int, dict[int, Table]] = {}
    for version, change in records.load_changes(session):
        catalog = apply(catalog, change)
        if isinstance(change, PutRelation) and isinstance(change.relation, Table):
            table = change.relation
            known.setdefault(table.id, {}).pop(table.layout, None)
            known[table.id][table.layout] = table
        if history and history[-1][0] == version:
            history.pop()
        history.append((version, catalog))
    last = records.last_version(session)
    tables = {
        table_id: TableState(
            manifest,
            last,
            section.count_heads(session, next(iter(known[table_id].values())), manifest),
            tuple(known[table_id].values()),
        )
        for table_id, manifest in rows_of.load_manifests(session).items()
    }
    known_ids = [*tables, *(t.layout for found in tables.values() for t in found.layouts)]
    known_ids += [n for _, c in history for s in c.sequences.values() for n in (s.id, s.counter)]
    known_ids += [role for _, c in history for role in c.access.roles]
    recorded = rows_of.load_counters(session)
    known_ids += counter_ids(recorded, (t for each in known.values() for t in each.values()))
    counters = Counters(recorded, record, max(known_ids, default=0))
    section.settle_in(session, catalog, tables, root)
    state = JournalState(last, catalog, MappingProxyType(tables), tuple(history), fenced)
    return state, counters
