"""The tiers of each journal and the system relations that a plan needs."""

from __future__ import annotations

from typing import Protocol

from gateway.activity.activity import Activity, ActivityReader
from gateway.config import Settings
from gateway.lineage.ledger import LineageLedger
from gateway.session.definitions import view_columns
from gateway.session.time_points import TimePoints
from gateway.system_views.home_names import with_home_called
from gateway.system_views.lineage_rows import LINEAGE_RELATIONS
from gateway.system_views.source import SystemViewSource
from gateway.system_views.system import system_rows
from journal.model.plan import StatementPlan
from journal.model.visibility import visible_to
from journal.transactions.protocol import OpenStatement
from rewriter.context import RewriteContext, ScanInfos, TableScanInfo
from rewriter.name_resolution import shown_home


def scan_info_of(statement: OpenStatement, seen: dict[int, TableScanInfo]) -> ScanInfos:
    """Finds what a statement sees of journals, and notes it in ``seen``."""
    transaction = statement.transaction

    def scan_info(table_id: int) -> TableScanInfo:
        found = seen.get(table_id)
        if found is None:
            access = statement.access(table_id)
            state = statement.committed.tables.get(table_id)
            manifest = None if state is None else state.manifest
            found = seen[table_id] = TableScanInfo(
                transaction.tiers(table_id, statement.committed),
                transaction.is_pinned(table_id, statement.committed),
                access.by_file,
                access.placed,
                manifest.masks if manifest is not None else (),
                manifest is not None and bool(manifest.spared),
                _is_redefined(statement, table_id),
            )
        return found

    return scan_info


def _is_redefined(statement: OpenStatement, table_id: int) -> bool:
    """True for a materialised view whose definition others changed since the snapshot."""
    began, now = statement.transaction.snapshot.catalog, statement.committed.catalog
    if began is now:
        return False
    before, after = began.by_id(table_id), now.by_id(table_id)
    made = before is not None and before.materialized is not None
    return made and before != after


class Supplier(Protocol):
    """What the gateway knows besides the catalog."""

    activity: Activity
    lineage: LineageLedger


def supply_system_rows(
    statement: OpenStatement,
    plan: StatementPlan,
    settings: Settings,
    times: TimePoints,
    supplied: Supplier,
) -> None:
    """Make the system relations of a plan readable."""
    if not plan.system:
        return
    catalog = statement.transaction.catalog
    find = times.of(statement)
    if settings.as_of is not None:
        catalog = find(plan.points[0]).catalog
    context = RewriteContext(catalog, scan_info_of(statement, {}), times=find)
    columns = view_columns(statement, context)
    rights = statement.transaction.catalog.rights_of(settings.role)
    shown = visible_to(catalog, rights)
    reader = ActivityReader(rights.is_admin, settings.login_role)
    seen = SystemViewSource(
        *(shown, statement.committed, settings, columns, supplied.activity, reader, rights),
        *(supplied.lineage.journal.reading_session, supplied.lineage.journal.capabilities.lag_ms),
    )
    if plan.system & LINEAGE_RELATIONS.keys():
        supplied.lineage.record()
    # All rows first: to list the columns of a view its query is described, over empty relations of
    # these names.
    made = {name: system_rows(name, seen) for name in sorted(plan.system)}
    home, public = catalog.home, shown_home(settings.dialect, catalog)
    if home != public:
        made = {name: with_home_called(public, name, rows, home) for name, rows in made.items()}
    for name, rows in made.items():
        statement.session.show_arrow(name, rows)
