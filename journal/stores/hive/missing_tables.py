"""Explains why Spark does not find a journal that a query names.

What the client misspelled Spark does not find either, so this looks at the journals themselves,
once something was not found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import STORE_SCHEMA
from journal.model.schema import Table, fold
from journal.model.segment import Segment
from journal.model.store_session import Parameters
from journal.sql.row_layout import journal_fields
from journal.stores.hive import layout
from journal.stores.hive.client.connection import HiveConnection
from journal.stores.hive.dialect.correlation_depth import is_deep, too_far
from journal.stores.hive.tiers import SeenTiers

_TAKES_NO_ROWS = frozenset(
    {Code.UNKNOWN_TABLE, Code.UNKNOWN_SCHEMA, Code.WRONG_OBJECT, Code.COLUMN_COUNT}
)
"""What an INSERT of ours fails with whose rows could be read."""
NOT_FOUND = frozenset({Code.UNKNOWN_TABLE, Code.UNKNOWN_COLUMN})


def explained(
    error: PalimpsestError, connection: HiveConnection, tiers: SeenTiers, ast: exp.Expr
) -> PalimpsestError:
    """SEGMENT_DAMAGED if a journal that a query reads is not as it was made, else ``error``.

    NOT_SUPPORTED where a column is there, and out of Spark's reach.
    """
    columns: set[str] = set()
    for node in ast.find_all(exp.Table):
        found = tiers.find(node.name) if fold(node.db) == STORE_SCHEMA else None
        if found is None:
            continue
        columns |= {fold(c.name) for c in found[0].columns}
        lacks = lacking(connection, tiers.names, *found)
        if lacks is not None:
            return lacks
    for column in ast.find_all(exp.Column):
        name = fold(column.name)
        is_meant = f'column "{name}" does not exist' in fold(str(error))
        if is_meant and name in columns and not column.table and is_deep(column):
            return too_far(column.name)
    return error


def lacking(
    connection: HiveConnection, names: layout.Names, table: Table, segments: Iterable[Segment]
) -> PalimpsestError | None:
    """SEGMENT_DAMAGED if somebody dropped a table that segments lie in, or changed its columns."""
    fields = {s.files[0].path.partition("/")[0]: s.fields for s in segments}
    for name, written in fields.items():
        wanted = [fold(n) for n, _ in journal_fields(table, written)]
        missing = set(wanted) - _columns(connection, names, name)
        if missing:
            return PalimpsestError(
                Code.SEGMENT_DAMAGED,
                f"the journal of {table.name}, {names.journal_database}.{name}, lacks"
                f" {', '.join(sorted(missing))}: somebody dropped or changed it",
                advice="restore the table of the journal from a backup",
            )
    return None


@contextmanager
def blaming(
    connection: HiveConnection, names: layout.Names, table: Table, segments: Sequence[Segment]
) -> Iterator[None]:
    """Tell what the block does not find of segments as ``lacking`` does."""
    try:
        yield
    except PalimpsestError as error:
        found = lacking(connection, names, table, segments) if error.code in NOT_FOUND else None
        if found is None:
            raise
        raise found from error


def append(
    connection: HiveConnection,
    names: layout.Names,
    path: str,
    insert: exp.Insert,
    parameters: Parameters | None = None,
) -> None:
    """Append rows to the segment of a path; SEGMENT_DAMAGED if its table is not as it was made."""
    try:
        connection.execute(insert, parameters)
    except PalimpsestError as error:
        if error.code not in _TAKES_NO_ROWS:
            raise
        raise PalimpsestError(
            Code.SEGMENT_DAMAGED,
            f"{names.journal_database}.{path.partition('/')[0]} takes no rows, somebody dropped"
            f" or changed it: {error.message}",
            advice="nothing was written; restore the table of the journal from a backup",
        ) from error


def _columns(connection: HiveConnection, names: layout.Names, table: str) -> set[str]:
    """The columns of a table of the store's own; none if it is not there."""
    try:
        rows = connection.run(exp.Describe(this=names.table(table)))
    except PalimpsestError as error:
        if error.code not in NOT_FOUND:
            raise
        return set()
    return {fold(str(row[0])) for row in rows}
