"""Where an inline statement appends its rows, and how it reads them again."""

from __future__ import annotations

from sqlglot import exp

from journal.model.plan import Query, physical
from journal.model.schema import Table
from journal.model.segment import Tier
from journal.model.store_session import Parameters
from journal.model.version import Version
from journal.sql.relations_flat import is_flat
from journal.stores.postgres import flat, layout
from journal.stores.postgres.store import PostgresSession
from journal.transactions.state import JournalState


def appended_to(committed: JournalState, table: Table) -> exp.Table:
    """Where the current rows that a statement has appended to a journal are found again."""
    if is_flat(table):
        return physical(table.id, Tier.BASE, table.layout)
    return layout.head_table(table.id, committed.tables[table.id].manifest.heads[-1])


def append_to_head(
    session: PostgresSession,
    committed: JournalState,
    table: Table,
    query: Query,
    parameters: Parameters,
) -> tuple[int, Version | None]:
    """Append a query's rows to a table's head; how many they were.

    Of a flat journal also the version above which they have to be written, if it is another.
    """
    if is_flat(table):
        return flat.append(session, table, query, parameters)
    head = committed.tables[table.id].manifest.heads[-1]
    insert = query.memo.get("insert")
    if insert is None or insert[0] != head:
        ast = layout.insert_into(table, layout.head_table(table.id, head), query.ast.copy())
        insert = query.memo["insert"] = (head, Query(ast, query.parameters))
    session.execute(insert[1], parameters, often=True)
    return session.changed(), None
