"""What a statement sees: each journal's tiers, and the system relations its plan names."""

from __future__ import annotations

from gateway.config import Settings
from gateway.session.definitions import view_columns
from gateway.session.time_points import TimePoints
from gateway.system_views.system import Seen, system_rows
from journal.model.plan import StatementPlan
from journal.model.segment import Tier
from journal.transactions import lookup
from journal.transactions.protocol import OpenStatement
from rewriter.context import RewriteContext, Sights, TableScanInfo


def sights_of(statement: OpenStatement, seen: dict[int, TableScanInfo]) -> Sights:
    """Looks journals up as a statement sees them, and notes in ``seen`` what it found."""
    transaction = statement.transaction

    def sights(table_id: int) -> TableScanInfo:
        sight = seen.get(table_id)
        if sight is None:
            sight = seen[table_id] = TableScanInfo(
                transaction.tiers(table_id, statement.committed),
                transaction.is_pinned(table_id, statement.committed),
                _by_file(statement, table_id),
                statement.is_placed(table_id),
            )
        return sight

    return sights


def supply(
    statement: OpenStatement, plan: StatementPlan, settings: Settings, times: TimePoints
) -> None:
    """Make the system relations of a plan readable."""
    if not plan.system:
        return
    catalog = statement.transaction.catalog
    find = times.of(statement)
    if settings.as_of is not None:
        catalog = find(plan.points[0]).catalog
    context = RewriteContext(catalog, sights_of(statement, {}), times=find)
    columns = view_columns(statement, context)
    seen = Seen(catalog, statement.committed, settings, columns)
    for name in sorted(plan.system):
        statement.session.show_arrow(name, system_rows(name, seen))


def _by_file(statement: OpenStatement, table_id: int) -> frozenset[Tier]:
    table = statement.transaction.catalog.by_id(table_id)
    state = statement.committed.tables.get(table_id)
    if table is None or state is None:
        return frozenset()
    return lookup.by_file(table, state)
