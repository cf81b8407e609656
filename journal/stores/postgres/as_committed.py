"""Checks that a journal holds what gateways committed, before a job takes it over.

Heads are held against the counts of the catalog, sealed tables against the count and the checksum
that the manifest has of them. So a job cannot make rows of others its own. Runs in the session it
is given, within its transaction; changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from journal.model.schema import Table
from journal.model.segment import Fields, RowCounts, Segment
from journal.sql.counting import Fingerprint
from journal.stores.postgres import jobs as rows_of
from journal.stores.postgres import layout, pieces
from journal.stores.postgres.store import PostgresSession
from journal.transactions.foreign_writes import check_sealed, foreign

_ZONE = "SELECT set_config('TimeZone', ?, true)"


def fingerprint(
    session: PostgresSession, table: Table, source: exp.Expr, fields: Fields
) -> Fingerprint:
    """What a table of journal rows holds, the same for whoever asks: times are read as of UTC."""
    ((zone,),) = session.text("SELECT current_setting('TimeZone')")
    session.text(_ZONE, ["UTC"])
    found = pieces.count_and_hash(session, pieces.all_rows(table, source, fields))
    session.text(_ZONE, [zone])
    return found


def segment_fingerprint(session: PostgresSession, table: Table, segment: Segment) -> Fingerprint:
    """The same of a segment."""
    return fingerprint(session, table, layout.segment_table(segment), segment.fields)


def check_heads(session: PostgresSession, table: Table) -> None:
    """Raise FOREIGN_WRITE unless the heads hold what the catalog says; one snapshot has both."""
    manifest, told = rows_of.heads(session, table.id)
    heads = [layout.head_table(table.id, h) for h in manifest.heads]
    found = sum((layout.count_rows(session, table, h) for h in heads), RowCounts())
    if found != told:
        raise foreign(table, f"its heads hold {found}, and should hold {told}")


def check_segments(session: PostgresSession, table: Table, segments: Iterable[Segment]) -> None:
    """Raise FOREIGN_WRITE unless sealed tables hold what was written to them."""
    check_sealed(session, table, segments, segment_fingerprint)
