"""Tells PostgreSQL's planner the size of a head in the commit of a large write.

The server's own daemon tells it a minute later, or never. Until then the planner takes one row in
two hundred for an open one, and looks each up among those that have ended, one by one. Only the
columns are looked at by which current rows are found, so the daemon comes for the others as ever.
Runs in the session it is given; commits nothing.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.schema import Table
from journal.sql.relations import ident
from journal.stores.postgres.store import PostgresSession
from journal.stores.postgres.text import rendered

_LARGE = 10_000
_PART_OF_TABLE = 0.1
"""Rows, and the part of what the planner knows of, from which a write changes its estimates."""
_KNOWN = "SELECT reltuples::bigint FROM pg_class WHERE oid = to_regclass(?)"


def refresh_estimates(
    session: PostgresSession, table: Table, target: exp.Table, written: int
) -> None:
    """Tell the planner which keys, versions and ends a head has, if many of its rows are new.

    Whoever holds the table for upkeep is not waited for.
    """
    if written < _LARGE or session.abilities.distributes:
        # Greenplum does it itself.
        return
    place = rendered(target).sql
    ((known,),) = session.text(_KNOWN, [place])
    if written >= known * _PART_OF_TABLE:
        names = ", ".join(rendered(ident(name)).sql for name in (*table.key, *table.ends))
        session.text(f"ANALYZE (SKIP_LOCKED) {place} ({names})")
