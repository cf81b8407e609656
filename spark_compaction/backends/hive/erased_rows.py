"""The rows of some people or keys in segments of a Hive store: found, counted, or left out."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from sqlglot import exp

from journal.erasure.erasure_spec import Subjects, TargetTable
from journal.erasure.matching import Matcher
from journal.model.schema import Table
from journal.model.segment import Manifest, Segment
from journal.sql.relations import column
from journal.sql.row_layout import present_keys
from journal.stores.hive import layout
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.pieces import SegmentGroup, pieces
from journal.stores.hive.session import HiveSession
from spark_compaction.backends.hive import rewriting

ERASED = "erased_keys"
"""What the relation of keys is called that go."""
_PIECE = "erase_piece"


def match_rows(
    journal: HiveJournal,
    session: HiveSession,
    aim: TargetTable,
    subjects: Subjects,
    segments: Sequence[Segment],
    keys: list[pa.Table],
) -> None:
    """Add the keys of the rows of some segments that name somebody."""
    matcher = Matcher(session, aim.table, aim.identities, subjects, keys)
    for number, piece in enumerate(pieces(segments)):
        name = f"{_PIECE}_{aim.table.id}_{number}"
        session.put_remote(name, layout.rows_of(journal.names, piece.paths))
        matcher.rows(exp.to_table(name), piece.fields)


def rows_with(journal: HiveJournal, table: Table, piece: SegmentGroup, kind: str) -> exp.Select:
    """The rows of a piece with one of the keys (SEMI), or with none of them (ANTI)."""
    same = [
        exp.EQ(this=value, expression=column(name, "e"))
        for name, value in zip(table.key, present_keys(table, piece.fields), strict=True)
    ]
    rows = rewriting.all_rows(journal, table, piece)
    erased = exp.alias_(exp.to_table(ERASED), "e", table=True)
    rows.append("joins", exp.Join(this=erased, kind=kind, on=exp.and_(*same)))
    return rows


def count(
    journal: HiveJournal, session: HiveSession, table: Table, manifest: Manifest, mask: str
) -> int:
    """How many rows of a list's keys there are in some segments."""
    session.put_remote(ERASED, layout.masked_keys(journal.names, table, [mask]))
    found = 0
    for piece in pieces(manifest.segments):
        rows = rows_with(journal, table, piece, "SEMI").subquery("r")
        query = session.in_spark(exp.select(exp.Count(this=exp.Star())).from_(rows))
        found += int(session.connection.run(query)[0][0])
    return found
