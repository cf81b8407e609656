"""Which requests a legal hold keeps back: those that would remove a row version it covers.

A request is held as a whole, in all its tables, and says who holds it. Once nothing holds it any
more the next run takes it up again.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from sqlglot import exp

from journal import holds
from journal.erasure import audit
from journal.erasure.holdings import holdings, keys_as_written
from journal.erasure.requests import Request, State
from journal.jobs import retired
from journal.journal import Journal
from journal.plan import Query
from journal.relations import column, union_all
from journal.schema import Table
from journal.stores import duckdb_erasure as rows_of
from journal.stores import duckdb_layout as layout
from journal.stores.duckdb import DuckDBSession
from spark_compaction.purge import definition

_KEYS = "possibly_held"


def settle_holds(journal: Journal, found: Sequence[Request], by: str) -> list[Request]:
    """Requests as they stand now, those that are held put on hold, those released accepted."""
    settled = []
    for request in found:
        if request.state not in {State.ACCEPTED, State.ON_HOLD}:
            settled.append(request)
            continue
        holder = _holder(journal, request)
        state = State.ACCEPTED if holder is None else State.ON_HOLD
        if state is not request.state:
            request = _moved(journal, request, state, holder, by)
        settled.append(request)
    return settled


def _moved(
    journal: Journal, request: Request, state: State, holder: str | None, by: str
) -> Request:
    waits = "" if holder is None else f"legal {holder}"
    with journal.exclusive_session() as session:
        moved = request.moved(state, journal.clock.now(), holder=holder, waits_for=waits)
        rows_of.put_erasure(session, moved.to_row())
        action = "erase.release" if holder is None else "erase.hold"
        audit.record(journal, session, by, action, request.id, {})
        session.commit()
    return moved


def _holder(journal: Journal, request: Request) -> str | None:
    for target in request.targets:
        if target.mask is None:
            continue
        table = definition(journal, target.table_id)
        active = holds.active(journal, table)
        whole = holds.whole_table(active)
        if whole is not None:
            return whole.told()
        for hold in active:
            condition = holds.covered(journal, table, [hold])
            if condition is not None and _covers(journal, table, target.mask, condition):
                return hold.told()
    return None


def _covers(journal: Journal, table: Table, mask: str, condition: exp.Expr) -> bool:
    """True if any version of the mask's rows meets a condition over physical columns."""
    manifest = journal.state.tables[table.id].manifest
    with journal.reading_session() as session:
        kept = [r.segment for r in retired.load(session, table.id)]
        segments = [*manifest.segments, *kept]
        found = holdings(session, journal.root, table, segments, [mask], manifest.heads)
        ordered = sorted(found.held, key=lambda h: h.segment.fields)
        parts = [
            layout.segment_rows(table, [h.file.path for h in group], fields, journal.root)
            for fields, group in groupby(ordered, key=lambda h: h.segment.fields)
        ]
        parts += [layout.head_rows(table, head) for head in manifest.heads]
        return bool(parts) and _any(session, journal, table, mask, union_all(parts), condition)


def _any(
    session: DuckDBSession,
    journal: Journal,
    table: Table,
    mask: str,
    rows: exp.Query,
    condition: exp.Expr,
) -> bool:
    fields = layout.fields_of(table)
    keys = keys_as_written(session, journal.root, table, fields, [mask], sealed=False)
    session.show_arrow(_KEYS, keys)
    same = [exp.EQ(this=column(k, "p"), expression=column(k, "k")) for k in table.key]
    among = exp.select("p.*").from_(rows.subquery("p"))
    among = among.join(
        exp.alias_(exp.to_table(_KEYS), "k", table=True), on=exp.and_(*same), join_type="semi"
    )
    query = exp.select(exp.Count(this=exp.Star())).from_(among.subquery("r")).where(condition)
    return bool(session.row(Query(query, ()), {})[0])
