"""What a legal hold keeps back in an embedded warehouse; see ``journal.erasure.held``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import groupby

from sqlglot import exp

from journal.embedded.journal import Journal
from journal.erasure import held
from journal.erasure.holdings import holdings, keys_as_written
from journal.erasure.requests import Request
from journal.jobs import retired
from journal.plan import Query
from journal.relations import column, union_all
from journal.schema import Table
from journal.stores.duckdb import layout
from journal.stores.duckdb.store import DuckDBSession
from spark_compaction.purge import definition

_KEYS = "possibly_held"


def settle_holds(journal: Journal, found: Sequence[Request], by: str) -> list[Request]:
    """Requests as they stand now, those that are held put on hold, those released accepted."""
    return held.settle_holds(
        *(journal, found, by, partial(definition, journal), partial(_covers, journal))
    )


def is_free(journal: Journal, request: Request) -> bool:
    """True if nothing holds any of a request's rows at the moment."""
    found = held.holder(journal, request, partial(definition, journal), partial(_covers, journal))
    return found is None


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
