"""Sends rows of the gateway to Spark as text in statements.

    few rows  -> a statement or some, each of which leaves a file in the partition
    many rows -> the same statements into a table that nobody reads, and from there at once
                 into the partition, as few files

Each later query opens every file of a partition, which costs Spark more than a few rows do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

import pyarrow as pa
from sqlglot import exp

from journal.local_engine.session import DuckDBSession
from journal.stores.hive import layout
from journal.stores.hive.client.connection import HiveConnection
from journal.stores.hive.engine import HiveEngine
from journal.stores.hive.missing_tables import append
from journal.stores.hive.rows import HeldRelation, held_relation

INLINE_ROWS_MAX = 10_000
"""How many rows of the gateway's go into one statement of Spark's."""
_DIRECT_STATEMENTS_MAX = 4
"""How many files are left rather than a table made and dropped."""
_FILE_ROWS = 1_000_000
_INCOMING = "incoming_rows"


class StagingTables(Protocol):
    """What a journal knows of tables for rows on their way."""

    @property
    def names(self) -> layout.Names:
        """What things are called there."""

    def new_staging_name(self) -> str:
        """A name that no table has."""

    def drop_tables(self, names: Iterable[str]) -> None:
        """Drop tables of such names."""


def write_held(
    journal: StagingTables,
    local: DuckDBSession,
    connection: HiveConnection,
    rows: pa.Table,
    path: str,
) -> None:
    """Append rows of the gateway's to the partition of a segment, in as few statements as fit.

    Many rows become a file for each million. Apache Hive merges files by itself, as it is set up.

    Raises:
        OUT_OF_RANGE: For a value that the store would not hold.
        SEGMENT_DAMAGED: If somebody dropped or changed the table of the segment.
    """
    local.show_arrow(_INCOMING, rows)
    try:
        held = held_relation(local, _INCOMING, connection.engine)
    finally:
        local.hide(_INCOMING)
    write_parts(journal, connection, parts_of(held), rows.num_rows, path)


def write_parts(
    journal: StagingTables,
    connection: HiveConnection,
    parts: Iterator[exp.Select],
    rows: int,
    path: str,
) -> None:
    """The same for so many rows, given as queries of as many as go into one statement."""
    names = journal.names
    is_few = rows <= _DIRECT_STATEMENTS_MAX * INLINE_ROWS_MAX
    if is_few or connection.engine is not HiveEngine.SPARK:
        for part in parts:
            append(connection, names, path, layout.insert_rows(names, path, part))
        return
    with staged_parts(journal, connection, parts) as staged:
        files = -(-rows // _FILE_ROWS)
        few = exp.select("*").hint(f"COALESCE({files})", dialect="spark").from_(staged)
        append(connection, names, path, layout.insert_rows(names, path, few))


@contextmanager
def staged_parts(
    journal: StagingTables, connection: HiveConnection, parts: Iterator[exp.Select]
) -> Iterator[exp.Table]:
    """A table of rows, at least one query of them, which goes with the block."""
    names, name = journal.names, journal.new_staging_name()
    try:
        connection.execute(layout.create_staging(names, name, next(parts)))
        for part in parts:
            connection.execute(exp.Insert(this=names.table(name), expression=part))
        yield names.table(name)
    finally:
        journal.drop_tables([name])


def parts_of(held: HeldRelation) -> Iterator[exp.Select]:
    """Rows as queries of as many as go into one statement."""
    for start in range(0, len(held.rows), INLINE_ROWS_MAX):
        yield held.slice(start, INLINE_ROWS_MAX).query()
