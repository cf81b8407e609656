"""Finds and proposes the index that an adopted journal needs, and creates it on request.

Journals of our own have their indexes from the start. Made without keeping writers out,
where the server can do that.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.sql.relations_flat import is_flat
from journal.stores.postgres.flat import index_of, journal_table
from journal.stores.postgres.journal import DatabaseJournal
from journal.stores.postgres.store import PostgresSession

_INDEXES = (
    "SELECT ARRAY(SELECT a.attname::text FROM unnest(i.indkey) WITH ORDINALITY AS k(n, place)"
    " JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.n ORDER BY k.place)"
    " FROM pg_index i WHERE i.indrelid = ?::regclass AND i.indisvalid AND i.indpred IS NULL"
)


@dataclass(frozen=True, slots=True)
class Proposal:
    """An index by key and version: its statement, and whether it was there, or is there now."""

    table: Table
    statement: str
    state: str


def index(journal: DatabaseJournal, table: Table, *, make: bool) -> Proposal | None:
    """Propose the index of an adopted journal, or make it; None for journals of our own."""
    if not is_flat(table):
        return None
    with journal.reading_session() as session:
        wanted = index_of(table)
        place: exp.Table = journal_table(table)
        if is_there(session, session.rendered(place).sql, table):
            return Proposal(table, session.rendered(wanted).sql, "there already")
        if session.abilities.indexes_beside_writers:
            wanted.set("concurrently", True)
        text = session.rendered(wanted).sql
        if not make:
            return Proposal(table, text, "proposed")
        session.run(wanted)
        return Proposal(table, text, "made")


def is_there(session: PostgresSession, place: str, table: Table) -> bool:
    """Whether the journal of a table, at a place as SQL spells it, has an index that serves."""
    found = session.text(_INDEXES, [place])
    width = len(table.key)
    return any(
        set(columns[:width]) == set(table.key)
        and columns[width : width + 1] == [table.format.version_column]
        for (columns,) in found
    )
