"""Keeps expired rows that others ended during a retention for its next run.

A closing row written after the plan names an open row that goes. Were that one gone, the closing
row would name nothing; so it is listed again, from what its closing row says of it. Called in the
commit section; lists nothing itself.
"""

from __future__ import annotations

from sqlglot import exp

from journal.local_engine import layout
from journal.local_engine.session import DuckDBSession
from journal.model.plan import Query
from journal.model.segment import RowCounts, Segment, Tier
from journal.sql.relations import Reader, column, ident, version_type
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.warehouse import ROWS_PER_FILE
from journal.transactions.expiry import ENDED, HELD, Expiry
from journal.transactions.state import TableState
from spark_compaction.backend import Replan
from spark_compaction.limits import ENDED_ROWS_MAX

_STAGED = "ended_meanwhile"


def ended_meanwhile(
    journal: Journal, state: TableState, found: Expiry, folder: str
) -> tuple[Segment, ...]:
    """The segment of those rows, written into ``folder``; () if there are none."""
    table = found.table
    tiers = state.tiers & {Tier.DELTA, Tier.HEAD}
    if not tiers:
        return ()
    with journal.reading_session() as session:
        show_lists(session, journal, found)
        session.stage(_STAGED, Query.of(_open_rows(found, tiers)), {})
        count = session.count(_STAGED)
        if count > ENDED_ROWS_MAX:
            raise Replan("many rows past their time were changed meanwhile")
        if not count:
            return ()
        query = layout.segment_query(table, exp.select("*").from_(_STAGED))
        files = journal.warehouse.write_into(session, table, query, folder, count, ROWS_PER_FILE)
    oldest = min(s.min_version for s in state.manifest.segments)
    return (
        Segment(
            id=journal.warehouse.segment_id(files[0].path),
            tier=Tier.BASE,
            files=files,
            fields=layout.fields_of(table),
            counts=RowCounts(open=count),
            min_version=oldest,
            max_version=found.settled,
        ),
    )


def _open_rows(found: Expiry, tiers: frozenset[Tier]) -> exp.Select:
    table = found.table
    start, end = table.format.version_column, table.format.subsequent_column
    goes = found.archived("j")
    assert goes is not None
    late = exp.GT(this=column(end, "j"), expression=found.settled_version())
    planned = exp.LTE(this=column(start, "j"), expression=found.settled_version())
    none = exp.cast(exp.Null(), version_type(table), dialect="duckdb")
    values: list[exp.Expr] = [column(c.physical, "j") for c in table.stored]
    values += [column(start, "j"), exp.alias_(none, ident(end))]
    rows = exp.select(*values).from_(Reader(table, tiers).journal().subquery("j"))
    order = [column(n, "j") for n in (*table.key, start)]
    return rows.where(late, planned, goes).order_by(*order)


def show_lists(session: DuckDBSession, journal: Journal, found: Expiry) -> None:
    """Stage the versions and keys that conditions look up."""
    state = journal.state.tables[found.table.id]
    if found.looks_at_history:
        session.stage(ENDED, Query.of(found.superseded_versions(state.tiers)), {})
    held = found.held_keys(layout.written_rows(found.table, state.manifest, journal.root))
    if held is not None:
        session.stage(HELD, Query.of(held), {})
