"""Refreshes materialised views that an erasure has touched.

Until that is done they are read through their queries, so who was erased is in no answer.
"""

from __future__ import annotations

import logging
from typing import Protocol

from sqlglot import exp

from gateway.session.outcome import StatementOutcome
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table, relation_key
from journal.sql.relations import ident
from journal.transactions.protocol import OpenJournal
from journal.transactions.reading import committed_state
from journal.transactions.state import JournalState
from rewriter.statement import RefreshView
from rewriter.syntax.parsing import Parsed


class RefreshSession(Protocol):
    """What of a session is needed to refresh views."""

    journal: OpenJournal

    def session_as(self, role: int | None) -> RefreshSession:
        """Another session on the store, in autocommit, as a role; close it."""

    def run(self, parsed: Parsed) -> StatementOutcome:
        """Run one parsed statement."""

    def close(self) -> None:
        """Roll back and let go."""


def refresh_views(session: RefreshSession) -> None:
    """Refresh each materialised view whose rows an erasure has hidden, or shows again.

    One that cannot be refreshed, as a table of it is gone, has no rows from then on; that is
    logged. One that a legal hold keeps from it stays as it is, read through its query.
    """
    state = committed_state(session.journal)
    views = [t for t in state.catalog.tables() if _is_touched(t, state)]
    for view in views:
        try:
            refresh(session, view)
        except PalimpsestError as error:
            if error.code is Code.HELD:
                continue
            refresh(session, view, with_data=False)
            logging.getLogger("palimpsest").warning(
                "%s was emptied after an erasure, as it cannot be refreshed: %s",
                view.name,
                error.message,
            )


def refresh(session: RefreshSession, view: Table, *, with_data: bool = True) -> int:
    """Refresh a materialised view in a transaction of its own; how many rows it has then.

    It reads what its owner may read; raises PRIVILEGE where that is not all of its query.
    """
    catalog = committed_state(session.journal).catalog
    owner = catalog.access.of(relation_key(view)).owner
    own = session.session_as(owner)
    name = exp.Table(this=ident(view.name.name), db=ident(view.name.schema))
    text = f"REFRESH MATERIALIZED VIEW {view.name}"
    try:
        return own.run(Parsed(RefreshView(name, with_data), text, ())).row_count
    finally:
        own.close()


def _is_touched(table: Table, state: JournalState) -> bool:
    made, held = table.materialized, state.tables.get(table.id)
    if made is None or made.refreshed is None or held is None:
        return False
    return set(held.manifest.masks) != set(made.masks)
