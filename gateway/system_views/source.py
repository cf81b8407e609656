"""What the system relations of one statement are made from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from gateway.activity.activity import Activity, ActivityReader
from gateway.config import Settings
from journal.model.access import Rights
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import CatalogSnapshot, Column, Table, View, fold
from journal.model.store_session import RecordSession
from journal.transactions.state import JournalState
from rewriter.definitions.descriptions import shown_type

ViewColumns = Callable[[View], Sequence[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class SystemViewSource:
    """What the system relations of one statement show."""

    catalog: CatalogSnapshot
    state: JournalState
    settings: Settings
    view_columns: ViewColumns
    activity: Activity
    reader: ActivityReader
    rights: Rights
    records: Callable[[], AbstractContextManager[RecordSession]]
    """Opens where the store keeps its records."""
    lag_ms: Callable[[Table], int | None]
    """By how much readers past the gateway may lag; None: by nothing."""


def relations_of(seen: SystemViewSource) -> list[Table | View]:
    """Tables and views by name."""
    return sorted(seen.catalog.relations.values(), key=lambda r: r.name.key)


def tables_of(seen: SystemViewSource) -> list[Table]:
    """Tables by name."""
    return [r for r in relations_of(seen) if isinstance(r, Table)]


def columns_of(seen: SystemViewSource, found: Table | View) -> Sequence[Column]:
    """The columns of a relation, with types as results show them."""
    if isinstance(found, Table):
        return [replace(c, type=shown_type(c.type)) for c in found.columns]
    said = dict(found.column_comments)
    return [
        Column(name, name, kind, comment=said.get(fold(name)))
        for name, kind in seen.view_columns(found)
    ]
