"""Finds the rows of people in segments of a Hive store."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from sqlglot import exp

from journal.erasure.erasure_spec import Subjects, TargetTable
from journal.erasure.matching import Matcher
from journal.model.schema import Table
from journal.model.segment import Segment
from journal.model.store_session import StoreSession
from journal.stores.hive import backup_segments, layout
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.session import HiveSession
from journal.transactions.state import TableState
from spark_compaction.backends.hive.pieces import paths, pieces

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
        session.put_remote(name, layout.rows_of(journal.names, paths(piece)))
        matcher.rows(exp.to_table(name), piece.fields)


def with_backups(session: StoreSession, table: Table, state: TableState) -> tuple[Segment, ...]:
    """All segments of a table, those that only backups list as well."""
    only = backup_segments.backup_only_segments(session, table, state)
    return (*state.manifest.segments, *only)
