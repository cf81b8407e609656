"""Ejecting tables from the gateway's care: plain tables of their rows and history stay.

One commit each; UNDROP TABLE brings a table back.
"""

from __future__ import annotations

from journal.commit import Author
from journal.database.adoption import commit
from journal.database.journal import DatabaseJournal
from journal.distribution import lying_by
from journal.errors import Code, PalimpsestError
from journal.plan import DropRelation
from journal.schema import Table, TableName
from journal.stores.postgres_flat import is_flat, moved
from journal.stores.postgres_leaving import HISTORY_SUFFIX, leave


def eject(journal: DatabaseJournal, name: TableName, author: Author, *, run: bool) -> list[str]:
    """Leave plain tables of a table's rows and of its history; what it does, told as steps."""
    transaction = journal.begin(explicit=True)
    found = transaction.catalog.get(name)
    if not isinstance(found, Table):
        journal.rollback(transaction)
        raise PalimpsestError(
            Code.UNKNOWN_TABLE,
            f"table {name} does not exist",
            advice="SHOW TABLES lists what there is",
        )
    steps = [f"{name} becomes a plain table of its current rows"]
    if is_flat(found):
        steps.append(f"{found.journal_name} stays as it is")
        if moved(journal.state.tables[found.id].manifest):
            steps.append(f"{name}{HISTORY_SUFFIX} holds what compactions have moved out of it")
    else:
        steps.append(f"{name}{HISTORY_SUFFIX} holds every row of the journal")
    if not set(lying_by(found, (c.physical for c in found.columns))) <= set(found.key):
        with journal.reading_session() as session:
            if session.abilities.distributes:
                steps.append("it gets no primary key: its rows are spread by other columns")
    steps.append(f"UNDROP TABLE brings it back, once {name} has been dropped or renamed")
    journal.rollback(transaction)
    if run:
        table = found
        change = DropRelation(name)
        state = journal.state.tables[found.id]
        commit(journal, [change], author, f"eject {name}", lambda s: leave(s, table, state))
    return steps
