"""Ejecting tables from the gateway's care: plain tables of the metastore are left.

    unchanged since it was adopted   the plain table gets its name back, nothing is copied
    else    a table of current rows, one of the history -> one commit -> the view's name

Killed in between, the same command run again finishes it.
"""

from __future__ import annotations

from contextlib import suppress

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import DropRelation
from journal.model.schema import Table, TableName
from journal.sql.relations import Reader, business_outputs
from journal.sql.substitution import in_terms_of
from journal.stores.hive import layout
from journal.stores.hive.adopt import plain as plain_tables
from journal.stores.hive.adopt.adoption import commit, show
from journal.stores.hive.adopt.plain import EJECTED, HISTORY, TAKEN
from journal.stores.hive.catalog_db.engine import CatalogConnection
from journal.stores.hive.client.connection import HiveConnection
from journal.stores.hive.dialect.apache_nested import as_shown
from journal.stores.hive.inlining import flush
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.layout import PARTITIONED
from journal.stores.hive.segment_check import check_whole
from journal.stores.hive.tiers import SeenTiers
from journal.transactions import conflicts
from journal.transactions.state import JournalState, TableState
from journal.transactions.transaction import Transaction
from journal.transactions.transaction_rows import Author


def eject(journal: HiveJournal, name: TableName, author: Author, *, run: bool) -> list[str]:
    """Leave plain tables of a table's rows and of its history; what it does, told as steps."""
    _, state = journal.read_committed()
    found = state.catalog.get(name)
    with journal.store.connection() as connection:
        if not isinstance(found, Table):
            if run and _finish(journal, connection, name):
                return [f"{name} is a plain table, as an earlier run had left it to do"]
            raise PalimpsestError(
                Code.UNKNOWN_TABLE,
                f"table {name} does not exist",
                advice="SHOW TABLES lists the tables",
            )
        if flush(journal, found.id):
            _, state = journal.read_committed()
        if state.tables[found.id].inlined:
            raise conflicts.conflict(found)
        if _is_as_adopted(journal, found, state.tables[found.id]):
            if run:
                _give_back(journal, connection, found, state, author)
            return [
                f"{dict(found.properties)[TAKEN]} gets its name {name} back; no row is copied",
                "no row was changed since it was adopted, so there is no history",
                f"palimpsest adopt {name} brings it back",
            ]
        _check_free(journal, connection, name)
        if run:
            _leave(journal, connection, found, state, author)
    return [
        f"{name} becomes a plain table of its current rows",
        f"{name}{HISTORY} holds every row of the journal",
        f"UNDROP TABLE brings it back, once {name} has been dropped or renamed",
    ]


def _is_as_adopted(journal: HiveJournal, table: Table, state: TableState) -> bool:
    """True while a table is just the plain one it was made of."""
    segments = state.manifest.segments
    if len(segments) != 1 or state.manifest.masks or TAKEN not in dict(table.properties):
        return False
    as_it_was = segments[0].fields == tuple((c.physical, c.type) for c in table.columns)
    return as_it_was and layout.is_adopted(journal.names, segments[0].files[0].path)


def _place(journal: HiveJournal, name: TableName, ending: str = "") -> tuple[str, str]:
    return journal.names.schema(name.schema), layout.plain_name(name.name) + ending


def _check_free(journal: HiveJournal, connection: HiveConnection, name: TableName) -> None:
    for ending in (HISTORY, EJECTED):
        database, bare = _place(journal, name, ending)
        if connection.has_relation(database, bare):
            raise PalimpsestError(
                Code.DUPLICATE_TABLE,
                f"the metastore has a relation {database}.{bare}",
                advice="rename it: ejecting needs that name",
            )


def _drop(journal: HiveJournal, table: Table, state: JournalState, author: Author) -> None:
    """Take a table out of the catalog, unless others wrote to it after ``state``."""
    seen = state.tables[table.id].last_version

    def alongside(_: CatalogConnection, committed: JournalState) -> None:
        if committed.tables[table.id].last_version != seen:
            raise conflicts.conflict(table)

    commit(journal, [DropRelation(table.name)], author, f"eject {table.name}", alongside=alongside)
    if journal.views is not None:
        show(journal)


def _give_back(
    journal: HiveJournal,
    connection: HiveConnection,
    table: Table,
    state: JournalState,
    author: Author,
) -> None:
    """Give an adopted table its name back."""
    (segment,) = state.tables[table.id].manifest.segments
    _drop(journal, table, state, author)
    journal.drop_segment(connection, segment.files[0].path)
    _finish(journal, connection, table.name)


def _finish(journal: HiveJournal, connection: HiveConnection, name: TableName) -> bool:
    """Give a plain table that is to stand for ``name`` that name; False if there is none."""
    database, bare = _place(journal, name)
    for ending in (EJECTED, plain_tables.ADOPTED):
        found = plain_tables.find(connection, database, bare + ending)
        if found is not None and found.mark == bare:
            plain_tables.rename(connection, database, bare + ending, bare)
            plain_tables.mark(connection, plain_tables.table(database, bare), None)
            return True
    return False


def _leave(
    journal: HiveJournal,
    connection: HiveConnection,
    table: Table,
    state: JournalState,
    author: Author,
) -> None:
    """Make plain tables of current rows and of all journal rows, and drop the logical one."""
    check_whole(journal.names, connection, table, state.tables[table.id].manifest.segments)
    reader = Reader(table, state.tables[table.id].tiers)
    tiers = SeenTiers(journal.names, state, Transaction(state))
    current = plain_tables.table(*_place(journal, table.name, EJECTED))
    history = plain_tables.table(*_place(journal, table.name, HISTORY))
    by = tuple(filter(None, dict(table.properties).get(PARTITIONED, "").split(",")))
    kept = [c.name for c in table.columns if c.physical in by]
    bodies: list[tuple[exp.Table, exp.Query]] = [
        (current, reader.current(business_outputs(table.columns))),
        (history, reader.journal()),
    ]
    made: list[exp.Table] = []
    try:
        for target, body in bodies:
            made.append(target)
            rows = as_shown(in_terms_of(body, tiers.in_spark), table, connection.engine)
            names = kept if target is current else [c for c in by if c in _physical(table)]
            plain_tables.table_as(connection, target, rows, names)
        plain_tables.mark(connection, current, layout.plain_name(table.name.name))
        _drop(journal, table, state, author)
    except BaseException:
        _, now = journal.read_committed()
        if now.catalog.get(table.name) is not None:
            with suppress(PalimpsestError):
                for target in made:
                    plain_tables.drop(connection, target)
        raise
    _finish(journal, connection, table.name)


def _physical(table: Table) -> set[str]:
    return {c.physical for c in table.columns}
