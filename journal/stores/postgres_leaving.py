"""A journal of a PostgreSQL database becomes plain tables: of its current rows and its history.

Runs in the session it is given; commits nothing.
"""

from __future__ import annotations

from sqlglot import exp

from journal.distribution import lying_by
from journal.relations import Reader, business_outputs, ident, union_all
from journal.schema import Table
from journal.state import TableState
from journal.stores import postgres_layout as layout
from journal.stores.postgres import PostgresSession
from journal.stores.postgres_flat import is_flat, moved
from journal.stores.postgres_public import create_schema, logical
from journal.stores.postgres_server import distributed_by
from journal.stores.postgres_text import rendered
from journal.stores.row_layout import rows_in_layout

HISTORY_SUFFIX = "_history"


def _quoted(name: str) -> str:
    return str(ident(name).sql(dialect="postgres"))


def leave(session: PostgresSession, table: Table, state: TableState) -> None:
    """Make plain tables of a journal's current rows and of its history; its views are gone."""
    create_schema(session, table.name.schema)
    reader = Reader(table, state.tiers)
    known = {c.physical: c.name for c in table.columns}
    by = lying_by(table, known) if session.abilities.distributes else ()
    ending = distributed_by(known[name] for name in by) if by else ""
    current = reader.current(business_outputs(table.columns))
    _table_as(session, logical(table.name), current, ending)
    place = rendered(logical(table.name)).sql
    # Where rows are spread by other columns than those of the key, no segment can watch over it.
    if not table.hidden_key and set(by) <= set(table.key):
        names = ", ".join(_quoted(table.by_physical(k).name.casefold()) for k in table.key)
        session.text(f"ALTER TABLE {place} ADD PRIMARY KEY ({names})")
    rows = moved_rows(table, state) if is_flat(table) else reader.journal()
    if rows is not None:
        name = table.name.name + HISTORY_SUFFIX
        target = exp.Table(this=ident(name), db=ident(table.name.schema))
        _table_as(session, target, rows)


def moved_rows(table: Table, state: TableState) -> exp.Query | None:
    """The rows that compactions have moved out of an adopted journal; None if there are none."""
    parts = [
        rows_in_layout(table, layout.segment_table(s), s.fields) for s in moved(state.manifest)
    ]
    return union_all(parts) if parts else None


def _table_as(
    session: PostgresSession, target: exp.Table, rows: exp.Query, ending: str = ""
) -> None:
    session.run(exp.Create(this=target, kind="TABLE", expression=rows), ending)
