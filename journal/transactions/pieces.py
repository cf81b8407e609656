"""Puts small sets of journal rows together as they come, so that many small writes stay cheap.

A statement reads what its transaction has written before it: a thousand sets of one row, read by
each of a thousand statements, would cost a million. Here a set is put together with the one before
it if that is no larger, so that a thousand are about ten pieces, and each row moves about ten
times. Pieces stay in order, and small enough to look rows up in them by key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from journal.model.schema import Table
from journal.model.store_session import MemoryRows, RowSet
from journal.sql.held_rows import combine_rows
from journal.transactions.plain_rows import (
    KEYED_ROWS_MAX,
    Key,
    Row,
    keep_joined,
    keyed_rows,
    later,
)

_APART_MAX = 8
"""So few pieces stay as they are: most transactions are short."""
Piece = TypeVar("Piece", MemoryRows, RowSet)


def add_piece(pieces: list[Piece], rows: Piece) -> None:
    """Put a set of rows behind others, and small ones together; sets themselves never change."""
    pieces.append(rows)
    while len(pieces) > _APART_MAX:
        before, after = pieces[-2:]
        if not isinstance(before, MemoryRows) or not isinstance(after, MemoryRows):
            break
        sizes = before.counts.total, after.counts.total
        if sizes[0] > sizes[1] or sum(sizes) > KEYED_ROWS_MAX or before.fields != after.fields:
            break
        pieces[-2:] = [_joined(before, after)]


def newest_row(table: Table, pieces: Sequence[RowSet], key: Key) -> Row | None:
    """What the newest row with a key shows, among sets of journal rows; None if there is none.

    Raises KeyError where that is not known.
    """
    found: Row | None = None
    for piece in pieces:
        rows = keyed_rows(table, piece) if isinstance(piece, MemoryRows) else None
        if rows is None:
            raise KeyError(key)
        row = rows.get(key)
        if row is not None:
            found = later(found, row)
    return found


def _joined(before: MemoryRows, after: MemoryRows) -> MemoryRows:
    """The rows of two sets with the same fields as one, which knows what was read off them."""
    counts, fields = before.counts + after.counts, before.fields
    if before.columns is not None and after.columns is not None:
        columns = [[*b, *a] for b, a in zip(before.columns, after.columns, strict=True)]
        made = MemoryRows(lambda: combine_rows([before, after]), counts, fields, columns)
    else:
        made = MemoryRows(combine_rows([before, after]).combine_chunks(), counts, fields)
    keep_joined(made, before, after)
    return made
