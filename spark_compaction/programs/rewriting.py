"""Rewrites pieces of a journal without some rows: counts, writes, compares, on any store.

    plan     which segments hold rows that go, and what is left of them
    write    what stays, to pieces of its own, which nothing lists yet
    compare  raise unless the rows that stay are those that there were, less those that go

Only segments that hold a row that goes are written anew. Lists nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.segment import RowCounts, Segment, Tier
from journal.records.report import ReplacedSegment, Skipped, Volume, volume_of
from spark_compaction.backend import JoinedRows, Piece, SetBasedBackend, TableAt
from spark_compaction.programs.journal_rows import journal_names

Goes = Callable[[Piece], exp.Expr]
"""The condition, over the rows ``p`` of a piece, under which a row of it goes; never NULL."""


class ChangedRows(Protocol):
    """Gives the rows of a piece with other values in some; ``only`` those rows."""

    def __call__(self, piece: Piece, *, only: bool) -> exp.Select: ...


@dataclass(frozen=True, slots=True)
class RewritePlan:
    """The ``pieces`` that hold rows that go, and what writing them anew comes to.

    ``gone`` counts the rows that go.
    """

    pieces: tuple[Piece, ...]
    taken: tuple[ReplacedSegment, ...]
    skipped: tuple[Skipped, ...]
    written: Volume
    gone: RowCounts


@dataclass(frozen=True, slots=True)
class RewrittenPiece:
    """A piece, and the segment of the rows that are left of it; None if there are none."""

    piece: Piece
    made: Segment | None


def plan_rewrite(
    backend: SetBasedBackend, at: TableAt, pieces: Iterable[Piece], goes: Goes, why: tuple[str, str]
) -> RewritePlan:
    """Count the rows that go, piece by piece.

    ``why`` says of a segment, for the report, how many of its rows go, and that none does.
    """
    takes, leaves = why
    found: list[Piece] = []
    taken: list[ReplacedSegment] = []
    skipped: list[Skipped] = []
    gone, files = RowCounts(), 0
    for piece in pieces:
        counts = backend.count(at, piece, goes(piece))
        for s in piece.segments:
            if s.id in counts:
                told = takes.format(counts[s.id].total)
                taken.append(ReplacedSegment(s.id, 1, s.counts.total, backend.size(s), told))
            else:
                skipped.append(Skipped(s.id, 1, leaves))
        if counts:
            held = piece.only(frozenset(counts))
            going = sum(counts.values(), RowCounts())
            found.append(held)
            gone += going
            files += held.counts.total > going.total
    read = volume_of(taken)
    rows = read.rows - gone.total
    written = Volume(files, rows, read.bytes * rows // max(1, read.rows))
    return RewritePlan(tuple(found), tuple(taken), tuple(skipped), written, gone)


def write_rows(
    backend: SetBasedBackend, at: TableAt, piece: Piece, where: exp.Expr
) -> Segment | None:
    """A segment of the rows of a piece that meet a condition; None if there are none."""
    tier = Tier.DELTA if piece.tier is Tier.HEAD else piece.tier
    names = journal_names(at.table, piece.fields)
    rows = JoinedRows(tier, names, as_written=(backend.scan(piece).where(where),))
    return backend.write(at, replace(piece, tier=tier), rows, anew=False)


def write_without(
    backend: SetBasedBackend, at: TableAt, pieces: Iterable[Piece], goes: Goes
) -> list[RewrittenPiece]:
    """Write what stays of each piece."""
    return [
        RewrittenPiece(piece, write_rows(backend, at, piece, exp.Not(this=goes(piece))))
        for piece in pieces
    ]


def write_changed(
    backend: SetBasedBackend, at: TableAt, pieces: Iterable[Piece], made: ChangedRows
) -> list[RewrittenPiece]:
    """Write each piece with other values in some rows."""
    found = []
    for piece in pieces:
        tier = Tier.DELTA if piece.tier is Tier.HEAD else piece.tier
        names = journal_names(at.table, piece.fields)
        rows = JoinedRows(tier, names, as_written=(made(piece, only=False),))
        segment = backend.write(at, replace(piece, tier=tier), rows, anew=False)
        found.append(RewrittenPiece(piece, segment))
    return found


def compare(
    backend: SetBasedBackend,
    rewritten: Sequence[RewrittenPiece],
    goes: Goes,
    made: ChangedRows | None = None,
) -> None:
    """Raise JOB_VERIFICATION unless every row that was read is left, or goes, or is what it was
    ``made``.
    """
    queries: list[exp.Query] = []
    for one in rewritten:
        queries += [backend.scan(one.piece), backend.scan(one.piece).where(goes(one.piece))]
        if made is not None:
            queries.append(made(one.piece, only=True))
        if one.made is not None:
            queries.append(backend.scan(Piece(one.made.tier, one.made.fields, (one.made,))))
    found = iter(backend.fingerprints(queries))
    for one in rewritten:
        before, gone = next(found), next(found)
        new = (0, 0) if made is None else next(found)
        after = (0, 0) if one.made is None else next(found)
        if (before[0] - gone[0] + new[0], before[1] - gone[1] + new[1]) != after:
            names = ", ".join(s.id for s in one.piece.segments)
            raise PalimpsestError(
                Code.JOB_VERIFICATION,
                f"writing {names} anew without the removed rows would change other rows",
                advice="nothing was changed; palimpsest verify tells whether the journal is whole",
            )


def moved_segments(
    backend: SetBasedBackend, rewritten: Iterable[RewrittenPiece]
) -> dict[str, Segment | None]:
    """What is left of each segment as a backup lists it, by the path of its file.

    Segments that were written together have all that is left under the first of them.
    """
    found: dict[str, Segment | None] = {}
    for one in rewritten:
        paths = [f.path for s in backend.listed(one.piece.segments) for f in s.files]
        found |= dict.fromkeys(paths)
        if one.made is not None:
            (found[paths[0]],) = backend.listed([one.made])
    return found


def volume_made(backend: SetBasedBackend, rewritten: Iterable[RewrittenPiece]) -> Volume:
    """How much was written."""
    made = [one.made for one in rewritten if one.made is not None]
    return Volume(len(made), sum(s.counts.total for s in made), sum(map(backend.size, made)))
