"""The schema of a table with all columns and types that it ever had.

For what must leave nothing out. Changes nothing: the views it makes go with the statement.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from journal.local_engine.layout import refresh_tiers
from journal.model.schema import Column, Table, fold
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.statement import Statement
from journal.transactions.protocol import OpenStatement


def show_ever(journal: Journal, statement: OpenStatement, table: Table) -> Table:
    """A table with every column it ever had, whose tiers can be read so in this statement."""
    assert isinstance(statement, Statement)
    state = statement.committed.tables[table.id]
    whole = as_ever(table, state.layouts, journal.counters.new_table_id())
    refresh_tiers(statement.session, whole, state.manifest, journal.root)
    return whole


def as_ever(table: Table, layouts: Iterable[Table], layout: int) -> Table:
    """A table with the columns of all its layouts, oldest first, as the layout of that number.

    What was dropped is called ``.._dropped``. A column whose type was changed is text, because not
    every earlier value need have a place in the present type; keys are compared, and stay.
    """
    present = {c.physical for c in table.stored}
    earlier = [c for shape in layouts for c in shape.columns if c.physical not in present]
    columns = [c if c.physical in table.key else _as_written(c) for c in table.columns]
    names = {fold(c.name) for c in columns}
    for dropped in {c.physical: c for c in earlier}.values():
        name = f"{dropped.name}_dropped"
        while fold(name) in names:
            name += "_"
        names.add(fold(name))
        # Rows that were written without it hold nothing of it, not even a default.
        columns.append(replace(_as_written(dropped), name=name, initial=None))
    return replace(table, columns=tuple(columns), layout=layout)


def _as_written(column: Column) -> Column:
    return replace(column, type="VARCHAR", earlier_types=()) if column.earlier_types else column
