"""Whether the partitions of a journal hold the rows that are listed of them.

Asked before a job writes them anew or copies them to somewhere else, so that what others dropped
from a partition, or put into one, does not become the truth. Repairs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.model.segment import RowCounts, Segment
from journal.sql.row_layout import counted_kinds, row_counts
from journal.stores.hive import layout
from journal.stores.hive.client.connection import HiveConnection
from journal.stores.hive.missing_tables import blaming, lacking


def counted(
    names: layout.Names, connection: HiveConnection, table: Table, segments: Sequence[Segment]
) -> dict[str, RowCounts]:
    """Rows of each kind in segments, by their ids; those without rows are not among them."""
    found: dict[str, RowCounts] = {}
    for query in layout.counts(names, table, segments):
        found |= {name: row_counts(counted) for name, *counted in connection.run(query)}
    return found


def count_rows(
    names: layout.Names, connection: HiveConnection, table: Table, path: str
) -> RowCounts:
    """Rows of each kind in a partition."""
    rows = layout.rows_of(names, [path])
    rows.set("expressions", counted_kinds(table))
    (counted,) = connection.run(rows)
    return row_counts(counted)


def check_whole(
    names: layout.Names, connection: HiveConnection, table: Table, segments: Sequence[Segment]
) -> None:
    """Raise SEGMENT_DAMAGED unless each segment has as many rows as it had.

    The rows of an adopted table may be changed by its other writers, and are not counted.
    """
    own = [s for s in segments if not layout.is_adopted(names, s.files[0].path)]
    with blaming(connection, names, table, own):
        refresh(names, connection, own)
        rows = counted(names, connection, table, own)
    for segment in own:
        there = rows.get(segment.id, RowCounts())
        if there.total != segment.counts.total:
            raise damaged(names, segment.files[0].path, there.total, segment.counts.total)


def check_there(
    names: layout.Names, connection: HiveConnection, table: Table, segments: Sequence[Segment]
) -> None:
    """Raise SEGMENT_DAMAGED unless the partitions of segments are there, with their columns.

    No row is read.
    """
    own = [s for s in segments if not layout.is_adopted(names, s.files[0].path)]
    lacks = lacking(connection, names, table, own)
    if lacks is not None:
        raise lacks
    for name, group in groupby(sorted(s.files[0].path.split("/") for s in own), itemgetter(0)):
        there = set(connection.partitions_of(names.journal_database, name))
        missing = [f"{name}/{segment}" for _, segment in group if segment not in there]
        if missing:
            raise partitions_missing(names, missing)


def refresh(names: layout.Names, connection: HiveConnection, segments: Sequence[Segment]) -> None:
    """Have a session list the files of segments anew, as others may have changed them."""
    paths = [s.files[0].path for s in segments]
    for table in sorted({p.partition("/")[0] for p in paths if not layout.is_adopted(names, p)}):
        connection.refresh(names.journal_database, table)


def damaged(names: layout.Names, path: str, there: int, listed: int) -> PalimpsestError:
    """A partition has other rows than it had; ``listed`` 0: it had some."""
    had = str(listed) if listed else "some"
    return PalimpsestError(
        Code.SEGMENT_DAMAGED,
        f"{there} rows are in {names.journal_database}.{path}, which had {had}: somebody dropped"
        " rows from it, or added some",
        advice="restore the partition from a backup, or remove what was added; nothing was changed",
    )


def partitions_missing(names: layout.Names, missing: Sequence[str]) -> PalimpsestError:
    """Partitions, given by path, are not there."""
    return PalimpsestError(
        Code.SEGMENT_DAMAGED,
        f"{len(missing)} partitions of journals are missing in {names.journal_database}, the first"
        f" is {missing[0]}: somebody dropped them",
        advice="restore the partition's files and ALTER TABLE .. ADD PARTITION, or restore"
        " a backup of the store; palimpsest verify tells what else is missing",
    )
