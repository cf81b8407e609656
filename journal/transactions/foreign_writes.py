"""Finds sealed pieces to which somebody else has written. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.model.segment import Segment, Tier
from journal.sql.counting import Fingerprint

S = TypeVar("S")
_ADVICE = (
    "palimpsest verify shows more; take out what was added, or bring back what was there from a"
    " backup of the database; to go on with the rows as they are, eject the table and adopt it"
)


def check_segment(table: Table, segment: Segment, found: Fingerprint) -> None:
    """Raise FOREIGN_WRITE unless a sealed table holds what was written to it."""
    if (told := altered(segment, found)) is not None:
        raise foreign(table, told)


def check_sealed(
    session: S,
    table: Table,
    segments: Iterable[Segment],
    held: Callable[[S, Table, Segment], Fingerprint],
) -> None:
    """Raise FOREIGN_WRITE unless sealed pieces hold what was written; heads may hold anything."""
    for segment in segments:
        if segment.tier is not Tier.HEAD:
            check_segment(table, segment, held(session, table, segment))


def altered(segment: Segment, found: Fingerprint) -> str | None:
    """What is wrong with a sealed table; of one that was adopted nobody made a checksum."""
    rows, checksum = found
    if rows != segment.counts.total:
        return f"{segment.id} holds {rows} rows, and should hold {segment.counts.total}"
    if segment.checksum not in {None, checksum}:
        return f"{segment.id} holds other values than were written to it"
    return None


def foreign(table: Table, told: str) -> PalimpsestError:
    """The error of a journal that somebody else has written to."""
    return PalimpsestError(
        Code.FOREIGN_WRITE,
        f"another program wrote to the journal of {table.name}: {told}",
        advice=_ADVICE,
    )
