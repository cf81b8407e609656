"""What clients call the version columns of a table. Pure: it looks at the definition alone."""

from __future__ import annotations

from journal.model.schema import Table, fold


def version_column_names(table: Table) -> tuple[str, str]:
    """The names of a row version's start and end, as clients write them.

    The journal's own, unless a column was added or renamed to one later: then the next free.

    >>> from journal.model.schema import Column, TableName
    >>> columns = (Column("version_number", "version_number_2", "INTEGER"),)
    >>> version_column_names(Table(1, TableName("main", "t"), columns, ("version_number_2",)))
    ('version_number_1', 'subsequent_version_number')
    """
    start, end = table.format.version_column, table.format.subsequent_column
    return _free_name(table, start), _free_name(table, end)


def _free_name(table: Table, wanted: str) -> str:
    own = {fold(table.format.version_column), fold(table.format.subsequent_column)}
    taken = {fold(c.name) for c in table.columns}
    found, number = wanted, 0
    while fold(found) in taken or (number and fold(found) in own):
        number += 1
        found = f"{wanted}_{number}"
    return found
