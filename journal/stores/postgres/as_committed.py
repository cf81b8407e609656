"""Is what a job takes over what gateways have committed? If somebody else wrote there, it is not.

Heads are held against the counts of the catalog, sealed tables against the count and the checksum
that the manifest has of them. So a job cannot make rows of others its own. Runs in the session it
is given, within its transaction; changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.model.segment import Fields, RowCounts, Segment
from journal.stores.postgres import jobs as rows_of
from journal.stores.postgres import layout, pieces
from journal.stores.postgres.store import PostgresSession

_ADVICE = (
    "palimpsest verify shows more; take out what was added, or bring back what was there from a"
    " backup of the database; to go on with the rows as they are, eject the table and adopt it"
)
_ZONE = "SELECT set_config('TimeZone', ?, true)"

Fingerprint = tuple[int, int]
"""Rows, and the sum of their hashes."""


def fingerprint(
    session: PostgresSession, table: Table, source: exp.Expr, fields: Fields
) -> Fingerprint:
    """What a table of journal rows holds, the same for whoever asks: times are read as of UTC."""
    ((zone,),) = session.text("SELECT current_setting('TimeZone')")
    session.text(_ZONE, ["UTC"])
    found = pieces.hashed(session, pieces.all_rows(table, source, fields))
    session.text(_ZONE, [zone])
    return found


def check_heads(session: PostgresSession, table: Table) -> None:
    """Raise FOREIGN_WRITE unless the heads hold what the catalog says; one snapshot has both."""
    manifest, told = rows_of.heads(session, table.id)
    heads = [layout.head_table(table.id, h) for h in manifest.heads]
    found = sum((layout.count_rows(session, table, h) for h in heads), RowCounts())
    if found != told:
        raise _foreign(table, f"its heads hold {found}, and should hold {told}")


def check_segments(session: PostgresSession, table: Table, segments: Iterable[Segment]) -> None:
    """Raise FOREIGN_WRITE unless sealed tables hold what was written to them."""
    for segment in segments:
        source = layout.segment_table(segment)
        check(table, segment, fingerprint(session, table, source, segment.fields))


def check(table: Table, segment: Segment, found: Fingerprint) -> None:
    """Raise FOREIGN_WRITE unless a sealed table holds what was written to it."""
    if (told := altered(segment, found)) is not None:
        raise _foreign(table, told)


def altered(segment: Segment, found: Fingerprint) -> str | None:
    """What is wrong with a sealed table; of one that was adopted nobody made a checksum."""
    rows, checksum = found
    if rows != segment.counts.total:
        return f"{segment.id} holds {rows} rows, and should hold {segment.counts.total}"
    if segment.checksum not in {None, checksum}:
        return f"{segment.id} holds other values than were written to it"
    return None


def _foreign(table: Table, told: str) -> PalimpsestError:
    return PalimpsestError(
        Code.FOREIGN_WRITE,
        f"another program wrote to the journal of {table.name}: {told}",
        advice=_ADVICE,
    )
