"""Rows past their time that others ended while a retention ran, and the lists it looks up.

A closing row written after the plan names an open row that goes. Were that one gone, the closing
row would name nothing, so the job plans anew. Called in the commit section.
"""

from __future__ import annotations

from sqlglot import exp

from journal.local_engine import layout
from journal.local_engine.session import DuckDBSession
from journal.model.plan import Query
from journal.model.segment import Tier
from journal.sql.relations import Reader, column
from journal.stores.embedded.journal import Journal
from journal.transactions.expiry import ENDED, HELD, Expiry
from journal.transactions.state import TableState
from spark_compaction.backend import Replan


def refuse_ended(
    session: DuckDBSession, journal: Journal, state: TableState, found: Expiry
) -> None:
    """Raise Replan if rows that were written since the plan end a row that is past its date."""
    tiers = state.tiers & {Tier.DELTA, Tier.HEAD}
    goes = found.archived("j")
    if not tiers or goes is None:
        return
    show_lists(session, journal, found)
    start, end = found.table.format.version_column, found.table.format.subsequent_column
    late = exp.GT(this=column(end, "j"), expression=found.settled_version())
    planned = exp.LTE(this=column(start, "j"), expression=found.settled_version())
    rows = exp.select(exp.alias_(exp.Literal.number(1), "ended"))
    rows = rows.from_(Reader(found.table, tiers).journal().subquery("j")).where(late, planned, goes)
    if session.arrow_rows(session.arrow(Query.of(rows.limit(1)), {})):
        raise Replan("a row that goes was ended meanwhile")


def show_lists(session: DuckDBSession, journal: Journal, found: Expiry) -> None:
    """Stage the versions and keys that conditions look up."""
    state = journal.state.tables[found.table.id]
    if found.looks_at_history:
        session.stage(ENDED, Query.of(found.ended(state.tiers)), {})
    held = found.held(layout.written_rows(found.table, state.manifest, journal.root))
    if held is not None:
        session.stage(HELD, Query.of(held), {})
