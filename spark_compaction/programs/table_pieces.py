"""What a table consists of, of a store whose heads and segments are tables: one piece for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

from journal.model.segment import Head, Manifest, RowCounts, Segment, Tier
from journal.model.store_session import StoreSession
from journal.model.version import Version
from journal.transactions.state import JournalState
from spark_compaction.backend import Alongside, Piece, TableAt

S = TypeVar("S", bound=StoreSession)


class Reading(Protocol[S]):
    """A backend that reads pieces by one session at a time."""

    session: S


def look_and_record(
    backend: Reading[S],
    session: S,
    at: TableAt,
    following: Manifest,
    swap: tuple[JournalState, Alongside],
    name_of: Callable[[Head], str],
) -> None:
    """Let a program look at what was written since, and record, in the section of its swap.

    ``swap`` is what is committed, and what the program does. ``name_of`` is the table of a head.
    """
    committed, alongside = swap
    known = at.state.manifest.heads[:-1]
    new = [h for h in committed.tables[at.table.id].manifest.heads if h not in known]
    with reading_by(backend, session):
        alongside.since(each([head_piece(name_of(h), h, RowCounts()) for h in new]))
        alongside.record(session, committed, following)


@contextmanager
def reading_by(backend: Reading[S], session: S) -> Iterator[None]:
    """In the block a backend reads by the session of the commit section."""
    outside, backend.session = backend.session, session
    try:
        yield
    finally:
        backend.session = outside


def each(segments: Iterable[Segment]) -> tuple[Piece, ...]:
    """A piece for each segment."""
    return tuple(Piece(s.tier, s.fields, (s,)) for s in segments)


def table_at(
    committed: JournalState,
    table_id: int,
    version: Version,
    heads: Callable[[Head], Segment],
    *,
    is_rotated: bool = False,
) -> TableAt:
    """What a table with heads consists of, given what they hold; those without rows are left out.

    ``heads`` counts the rows of one, as a segment. After a rotation the newest head has none of the
    rows up to ``version``, and takes later ones meanwhile.
    """
    state, present = committed.tables[table_id], committed.catalog.by_id(table_id)
    closed = state.manifest.heads[:-1] if is_rotated else state.manifest.heads
    filled = [found for head in closed if (found := heads(head)).counts.total]
    pieces = each([*filled, *state.manifest.segments])
    return TableAt(present or state.layouts[-1], committed, version, pieces, present is None)


def head_piece(name: str, head: Head, counts: RowCounts) -> Segment:
    """A head as a segment that goes by the name of its table."""
    return Segment(name, Tier.HEAD, (), head.fields, counts, 0, 0)
