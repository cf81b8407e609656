"""Many small writes of a transaction: few pieces, and the newest row of each key."""

from __future__ import annotations

import random

from journal.model.schema import Column, JournalFormat, Table, TableName
from journal.model.segment import RowCounts
from journal.model.store_session import RowSet, StagedRows
from journal.transactions.pieces import add_piece, newest_row
from journal.transactions.plain_rows import JournalRow, Row, in_memory

TABLE = Table(
    id=1,
    name=TableName("main", "t"),
    columns=(Column("k", "k", "INTEGER", not_null=True), Column("v", "v", "VARCHAR")),
    key=("k",),
    format=JournalFormat(),
)
STAGED = StagedRows((), (), RowCounts(open=9))


def _written(key: int, version: int, began: int | None, *, deleted: bool) -> list[JournalRow]:
    """What a statement writes that inserts, changes or deletes the row of a key."""
    ended: list[JournalRow] = [] if began is None else [((key, str(began)), began, version)]
    new: JournalRow = ((key, str(version)), version, version if deleted else None)
    return [*ended, new]


def test_many_small_sets_are_few_pieces_that_know_the_newest_rows() -> None:
    chance, expected, pieces = random.Random(4), dict[int, Row](), list[RowSet]()
    for version in range(1, 1501):
        key = chance.randrange(300)
        before = expected.get(key)
        exists = before is not None and before.values is not None
        deleted = exists and chance.random() < 0.3
        began = before.version if before is not None and exists else None
        rows = _written(key, version, began, deleted=deleted)
        add_piece(pieces, in_memory(TABLE, rows))
        expected[key] = Row(version, None if deleted else (key, str(version)))
        if version % 50 == 0:
            assert {k: newest_row(TABLE, pieces, (k,)) for k in expected} == expected
    assert newest_row(TABLE, pieces, (300,)) is None
    assert len(pieces) < 25
    total = sum((rows.counts for rows in pieces), RowCounts())
    assert total.open - total.closing == sum(r.values is not None for r in expected.values())


def test_what_somebody_reads_stays_as_it_was() -> None:
    pieces: list[RowSet] = []
    for version in range(1, 9):
        add_piece(pieces, in_memory(TABLE, _written(1, version, None, deleted=False)))
    read = tuple(pieces)
    add_piece(pieces, in_memory(TABLE, _written(1, 9, None, deleted=False)))
    assert len(pieces) == len(read)
    assert newest_row(TABLE, read, (1,)) == Row(8, (1, "8"))
    assert newest_row(TABLE, pieces, (1,)) == Row(9, (1, "9"))


def test_rows_in_files_stay_apart() -> None:
    pieces: list[RowSet] = []
    for version in range(1, 40):
        row = in_memory(TABLE, _written(version, version, None, deleted=False))
        add_piece(pieces, STAGED if version % 20 == 0 else row)
    assert pieces.count(STAGED) == 1
    assert sum(rows.counts.total for rows in pieces) == 38 + STAGED.counts.total
