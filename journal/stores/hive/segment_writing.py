"""Writing rows of Spark's to a new segment, which nothing lists yet."""

from __future__ import annotations

from sqlglot import exp

from journal.model.schema import Table
from journal.model.segment import Fields
from journal.stores.hive import layout
from journal.stores.hive.client.connection import HiveConnection
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.missing_tables import append


def write_segment(
    journal: HiveJournal,
    connection: HiveConnection,
    table: Table,
    fields: Fields,
    rows: exp.Query,
    made: list[str],
    is_shaped: bool,
    segment_name: str | None = None,
) -> str:
    """Write rows that are given as journal fields; their path, which is added to ``made``.

    Shaped rows lie in the partitions and buckets that the owner of the table wants, unless a value
    would not survive that. ``segment_name`` is what the partition is called, if that matters.
    """
    shape = layout.shape_of(table, fields) if is_shaped else layout.FLAT
    lost = layout.lost_in_folders(fields, shape, rows)
    if lost is not None and connection.run(lost):
        shape = layout.FLAT
    with journal.new_segment(table, connection, fields, shape, segment_name) as path:
        made.append(path)
        if shape == layout.FLAT:
            insert = layout.insert_rows(journal.names, path, rows)
        else:
            insert = layout.insert_shaped(journal.names, path, table, fields, rows)
        append(connection, journal.names, path, insert)
    return path
