"""Decides whether a materialised view is read from its rows or by its query. Pure."""

from __future__ import annotations

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table, View
from rewriter.context import RewriteContext
from rewriter.reading.policies.security import is_restricted


def holds_its_rows(table: Table, context: RewriteContext, *, past: bool) -> bool:
    """False for a materialised view that is read through its query; True for other tables.

    So is one in the ``past``, one whose rows an erasure has touched since they were written, as who
    was erased is in none of its answers, and one that others have refreshed since the transaction
    began, as its rows of then may be erased. Nor is one read from its rows by a role that policies
    of its sources apply to. Raises NOT_POPULATED for one that has no rows yet.
    """
    made = table.materialized
    if made is None:
        return True
    if past:
        return False
    if made.refreshed is None:
        raise PalimpsestError(
            Code.NOT_POPULATED,
            f"materialized view {table.name} has not been populated",
            advice=f"REFRESH MATERIALIZED VIEW {table.name}",
        )
    if is_restricted(made.sources, context):
        return False
    scan = context.scan_info(table.id)
    return set(scan.masks) == set(made.masks) and not scan.is_redefined


def view_of(table: Table) -> View:
    """A materialised view as the view that its query is."""
    assert table.materialized is not None
    columns = tuple(c.name for c in table.columns)
    return View(table.name, table.materialized.query, columns)
