"""Tells PostgreSQL's planner what heads hold: in the commit of a large write, and when it is asked.

The server's own daemon tells it a minute later, or never. Until then the planner takes one row in
two hundred for an open one, and looks each up among those that have ended, one by one. A commit
looks only at the columns by which rows are found, so the daemon comes for the others as ever.
Runs in the session it is given; commits nothing.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.schema import Table
from journal.model.segment import Manifest
from journal.sql.relations import ident
from journal.sql.relations_flat import is_flat, journal_table
from journal.stores.postgres.dialect.text import rendered
from journal.stores.postgres.layout import head_table
from journal.stores.postgres.store import PostgresSession

_LARGE = 10_000
_PART_OF_TABLE = 0.1
"""Rows, and the part of what the planner knows of, from which a write changes its estimates."""
_SOME = 100
"""So many rows change them where it knows of none: it expects none however large the head grows."""
_KNOWN = "SELECT reltuples::bigint FROM pg_class WHERE oid = to_regclass(?)"


def refresh_estimates(
    session: PostgresSession, table: Table, target: exp.Table, written: int
) -> None:
    """Tell the planner which keys, versions, ends and values with an index a head has.

    It is told if many of its rows are new.

    Whoever holds the table for upkeep is not waited for.
    """
    if written < _SOME or session.abilities.distributes:
        # Greenplum does it itself.
        return
    place = rendered(target).sql
    ((known,),) = session.text(_KNOWN, [place], often=True)
    if known == 0 or (written >= _LARGE and written >= known * _PART_OF_TABLE):
        indexed = [name for index in table.indexes for name in index.columns]
        columns = dict.fromkeys((*table.key, *table.ends, *indexed))
        names = ", ".join(rendered(ident(name)).sql for name in columns)
        session.text(f"ANALYZE (SKIP_LOCKED) {place} ({names})")


def analyze(session: PostgresSession, table: Table, manifest: Manifest) -> None:
    """Tell the planner what the heads of a table hold, or its adopted journal.

    Segments were looked at when they were made, and do not change.
    """
    if is_flat(table):
        places = [journal_table(table)]
    else:
        places = [head_table(table.id, head) for head in manifest.heads]
    option = "" if session.abilities.distributes else "(SKIP_LOCKED) "
    for place in places:
        session.text(f"ANALYZE {option}{rendered(place).sql}")
