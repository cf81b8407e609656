"""Ejecting tables from the gateway's care: plain tables of their rows and history stay.

One commit each; UNDROP TABLE brings a table back.
"""

from __future__ import annotations

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import DropRelation
from journal.model.schema import CatalogSnapshot, Table, TableName
from journal.sql.public_views import reads
from journal.sql.relations_flat import is_flat
from journal.stores.postgres import as_committed
from journal.stores.postgres.adopt.adoption import commit
from journal.stores.postgres.adopt.eject_ddl import HISTORY_SUFFIX, Leaving, as_plain, kept_and_lost
from journal.stores.postgres.adopt.replaced_view import view_before
from journal.stores.postgres.flat import moved_segments
from journal.stores.postgres.journal import DatabaseJournal
from journal.stores.postgres.plain import Lost, lost_to_view
from journal.stores.postgres.store import PostgresSession
from journal.transactions.row_checks import refused_rows, shared_values
from journal.transactions.transaction_rows import Author


def eject(journal: DatabaseJournal, name: TableName, author: Author, *, run: bool) -> list[str]:
    """Leave plain tables of a table's rows and of its history; what it does, told as steps."""
    transaction = journal.begin(at_once=True)
    try:
        catalog = transaction.catalog
        table = _table_to_eject(catalog, name)
        steps = [f"{name} becomes a plain table of its current rows"]
        if view_before(table):
            steps = [f"{name} becomes the view again that its adoption replaced"]
        steps += _of_others(journal, table)
        steps += _history(journal, table)
        steps += [str(Lost(f"view {v}, which reads it")) for v in _views_of(catalog, table)]
        back = f"UNDROP TABLE brings it back, once {name} has been dropped or renamed"
        lost: list[str] = []
        leaving = Leaving(table, journal.state.tables[table.id], catalog, lost.append)
        with journal.reading_session() as session:
            leaving.check(session)
            if not run:
                session.read_epochs(journal.state.epoch_of)
                found = _foreseen(session, leaving)
                return [*steps, *map(str, found), back]
    finally:
        transaction.rollback()
    commit(journal, [DropRelation(name)], author, f"eject {name}", leaving.out_of_care)
    return [*steps, *dict.fromkeys(lost), back]


def _table_to_eject(catalog: CatalogSnapshot, name: TableName) -> Table:
    """The table, if nothing in the gateway's care would miss it."""
    found = catalog.get(name)
    if not isinstance(found, Table):
        raise PalimpsestError(
            Code.UNKNOWN_TABLE,
            f"table {name} does not exist",
            advice="SHOW TABLES lists the tables",
        )
    for reference in catalog.references.get(found.id, ()):
        child = reference.child
        if reference.parent.id == found.id and child.id != found.id:
            raise PalimpsestError(
                Code.DEPENDENT_OBJECTS,
                f'{name} cannot leave: "{reference.key.name}" of {child.name} refers to it',
                advice=f'ALTER TABLE {child.name} DROP CONSTRAINT "{reference.key.name}", or eject'
                f" {child.name} first",
            )
    return found


def _foreseen(session: PostgresSession, leaving: Leaving) -> list[Lost]:
    """What is lost when a table leaves: what cannot be kept, and what rows of others break."""
    table = leaving.table
    if view_before(table):
        return list(lost_to_view(table))
    found = kept_and_lost(session, as_plain(session, table), leaving.catalog)
    lost = [each for each in found if isinstance(each, Lost)]
    if not is_flat(table):
        return lost
    broken: dict[str, str] = {}
    for unique, values in shared_values(session, table, leaving.state.tiers):
        what = f'constraint "{unique.name}"' if unique.index is None else f"index {unique.name}"
        broken.setdefault(what, f"values {values} stand in several rows")
    for what, key in refused_rows(session, table, leaving.state.tiers):
        broken.setdefault(what, f"the row of key {key} breaks it")
    return [*lost, *(Lost(f"{what}, since {why}") for what, why in broken.items())]


def _of_others(journal: DatabaseJournal, table: Table) -> list[str]:
    """What somebody wrote past the gateways, which does not keep a table from leaving."""
    transaction = journal.begin(read_only=True)
    try:
        with journal.statement(transaction) as statement:
            manifest = statement.committed.tables[table.id].manifest
            if not is_flat(table):
                as_committed.check_heads(statement.session, table)
            as_committed.check_segments(statement.session, table, moved_segments(manifest))
    except PalimpsestError as error:
        if error.code is not Code.FOREIGN_WRITE:
            raise
        return [f"what it holds of others goes with it: {error.message}"]
    finally:
        transaction.rollback()
    return []


def _history(journal: DatabaseJournal, table: Table) -> list[str]:
    """Where the versions are found that are not current."""
    name = f"{table.name}{HISTORY_SUFFIX}"
    if not is_flat(table):
        return [f"{name} holds every row of the journal"]
    stays = f"{table.journal_name} stays as it is"
    if not moved_segments(journal.state.tables[table.id].manifest):
        return [stays]
    return [stays, f"{name} holds what compactions have moved out of it"]


def _views_of(catalog: CatalogSnapshot, table: Table) -> list[TableName]:
    """The clients' views that read a table or its journal."""
    gone = {table.name.key, table.journal_name.key}
    return [view.name for view in catalog.views() if reads(view) & gone]
