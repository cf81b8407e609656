"""Adopting plain tables of a metastore, and folders of Parquet files.

    checks -> another name -> a view in its place -> one commit: its rows are the base

No row is copied, and no file moves but with the folder of a managed table. Killed in between, the
same command run again finishes it. ``planned`` changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field, replace

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import CatalogChange, PutRelation, PutSchema
from journal.model.schema import Column, JournalFormat, Table, TableName, fold
from journal.model.segment import RowCounts
from journal.model.spelling import spelling_hint
from journal.model.store_session import RowSet, StagedRows
from journal.sql.row_layout import fields_of
from journal.stores.hive import layout
from journal.stores.hive.adopt import plain as plain_tables
from journal.stores.hive.adopt.plain import ADOPTED, TAKEN
from journal.stores.hive.client.connection import HiveConnection
from journal.stores.hive.dialect.apache_nested import check_adopted
from journal.stores.hive.dialect.types import kind_of
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.layout import BUCKETED, PARTITIONED
from journal.stores.hive.metastore_tables import MetastoreTable
from journal.stores.hive.section import Alongside
from journal.transactions.transaction import StatementWrites
from journal.transactions.transaction_rows import Author


@dataclass(frozen=True, slots=True)
class HiveAdoption:
    """What is to be adopted: a name, its key, names of versions; a folder of files, if not a table.

    ``folder`` is as the server sees it.
    """

    name: TableName
    key: tuple[str, ...]
    format: JournalFormat = field(default_factory=JournalFormat)
    folder: str | None = None


@dataclass(frozen=True, slots=True)
class HiveAdoptionPlan:
    """What an adoption will do: the table, where its rows are, their number, and steps to tell."""

    table: Table
    source: MetastoreTable
    rows: int
    steps: tuple[str, ...]


def planned(
    journal: HiveJournal, connection: HiveConnection, asked: HiveAdoption
) -> HiveAdoptionPlan:
    """Look at the metastore and decide; raises what keeps the table from being adopted."""
    _check_free(journal, connection, asked)
    database = journal.names.schema(asked.name.schema)
    bare = layout.plain_name(asked.name.name)
    later = bare + ADOPTED
    found = plain_tables.find(connection, database, later)
    if found is not None and found.mark != bare:
        raise _name_in_use(database, later)
    if found is None:
        found = plain_tables.find(connection, database, bare)
    if found is None:
        near = spelling_hint(bare, connection.tables_of(database))
        raise PalimpsestError(
            Code.UNKNOWN_TABLE,
            f"the metastore has no table {database}.{bare}",
            advice=f"{near}name it as schema.table, or give --from with a folder of Parquet files",
        )
    return _decided(connection, asked, found)


def _check_free(journal: HiveJournal, connection: HiveConnection, asked: HiveAdoption) -> None:
    if journal.views is None:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "this gateway makes no views, so that nobody else could read an adopted table",
            advice="leave views=off out of the URL",
        )
    _, state = journal.read_committed()
    if state.catalog.get(asked.name) is not None:
        raise PalimpsestError(
            Code.DUPLICATE_TABLE,
            f"{asked.name} is already a table of the gateway's",
            advice="SHOW TABLES lists the tables",
        )
    database = journal.names.schema(asked.name.schema)
    other = layout.plain_name(asked.name.name + asked.format.suffix)
    if connection.has_relation(database, other):
        raise PalimpsestError(
            Code.DUPLICATE_TABLE,
            f"the metastore has a relation {database}.{other}, the name of the journal",
            advice="give another --suffix; classic journals of Hive are not adopted, but a plain"
            " table of their rows is",
        )


def _name_in_use(database: str, name: str) -> PalimpsestError:
    return PalimpsestError(
        Code.DUPLICATE_TABLE,
        f"the metastore has a relation {database}.{name} that is not the gateway's",
        advice="rename it: the adopted table needs that name",
    )


def _decided(
    connection: HiveConnection, asked: HiveAdoption, found: MetastoreTable
) -> HiveAdoptionPlan:
    place = found.display_name
    if not found.is_readable:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"{place} is not a table of Parquet or ORC files",
            advice="copy its rows to one that is, and adopt that",
        )
    columns = tuple(_column(c, kind, place, asked) for c, kind in found.columns)
    key = _key(asked, found)
    seen = plain_tables.survey(connection, found, key)
    rows, nulls = seen.rows, seen.nulls
    if nulls or seen.keys < rows:
        many = f"{rows - seen.keys} rows too many for their keys"
        what = f"{nulls} rows with NULL" if nulls else many
        raise PalimpsestError(
            Code.NOT_NULL if nulls else Code.DUPLICATE_KEY,
            f"{', '.join(key)} is no key of {place}: there are {what}",
            advice="name columns that are, or remove those rows first",
        )
    if seen.strays:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"{seen.strays} rows of {place} lie in partitions outside of its folder"
            f" {found.location}",
            advice="move them there, or copy the table, and adopt that",
        )
    check_adopted(columns, connection.engine)
    bare = layout.plain_name(asked.name.name)
    properties = [(TAKEN, f"{found.database}.{bare}{ADOPTED}")]
    if found.partitioned:
        _check_parts(columns, found)
        properties.append((PARTITIONED, ",".join(fold(c) for c in found.partitioned)))
    if found.bucketed:
        into = ",".join(fold(c) for c in found.bucketed)
        properties.append((BUCKETED, f"{into}:{found.buckets}"))
    table = Table(
        id=0,
        name=asked.name,
        columns=tuple(replace(c, not_null=c.physical in key) for c in columns),
        key=key,
        format=asked.format,
        properties=tuple(properties),
        physical_names=tuple(c.physical for c in columns),
    )
    return HiveAdoptionPlan(table, found, rows, _steps(asked, found, rows, table))


def _steps(asked: HiveAdoption, found: MetastoreTable, rows: int, table: Table) -> tuple[str, ...]:
    name, later = asked.name, dict(table.properties)[TAKEN]
    stay = "its files stay where they are" if found.is_external else "its folder goes by that name"
    return (
        f"{found.database}.{found.name} is renamed {later}; {stay}, and no row is copied",
        f"its {rows} rows become the first versions, key {', '.join(table.key)}",
        f"the views {name} and {table.journal_name} take its place",
        f"once compaction has replaced {later} and its grace is over, vacuum removes it",
        f"palimpsest eject {name} undoes it",
    )


def _check_parts(columns: Sequence[Column], found: MetastoreTable) -> None:
    """Raise NOT_SUPPORTED for partitions whose names mean other values to other sessions."""
    for column in columns:
        is_part = column.physical in {fold(c) for c in found.partitioned}
        if is_part and not layout.can_part(column.type):
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"{found.database}.{found.name} is partitioned by {column.name}, which is"
                f" {column.type}: what its folders mean depends on who reads them",
                advice="copy it to a table with partitions by a date or a timestamp without zone",
            )


def _column(name: str, kind: str, place: str, asked: HiveAdoption) -> Column:
    found = plain_tables.type_of(kind)
    if found is None:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f'column "{name}" of {place} has the type {kind}, which the gateway lacks',
            advice="change it to a type of docs/hive.md, or leave the table as it is",
        )
    ours = {asked.format.version_column, asked.format.subsequent_column, layout.PARTITION}
    if fold(name) in {fold(o) for o in ours}:
        raise PalimpsestError(
            Code.JOURNAL_SHAPE,
            f'{place} has a column "{name}", as journals have',
            advice="give other names: --version-column and --subsequent-column",
        )
    return Column(name, fold(name), found)


def _key(asked: HiveAdoption, found: MetastoreTable) -> tuple[str, ...]:
    kinds = {fold(c): kind for c, kind in found.columns}
    unknown = next((k for k in asked.key if fold(k) not in kinds), None)
    nested = next(
        (k for k in asked.key if k != unknown and kind_of(kinds[fold(k)]).is_nested), None
    )
    if not asked.key or unknown is not None or nested is not None:
        said = f"{found.database}.{found.name} has no column {unknown}"
        if unknown is None:
            said = "the metastore declares no keys" if nested is None else f"{nested} is no value"
        raise PalimpsestError(
            Code.INVALID_DEFINITION, said, advice="name its key: --key column, or --key a,b"
        )
    return tuple(fold(k) for k in asked.key)


def plan_only(journal: HiveJournal, asked: HiveAdoption) -> HiveAdoptionPlan:
    """What ``adopt`` would do; of a folder nothing is made that others see."""
    with journal.store.connection() as connection:
        if asked.folder is None:
            return planned(journal, connection, asked)
        _check_free(journal, connection, asked)
        name = journal.new_staging_name()
        with plain_tables.glimpse(connection, name, asked.folder) as found:
            plan = _decided(connection, asked, found)
        database = journal.names.schema(asked.name.schema)
        later = f"{database}.{layout.plain_name(asked.name.name)}{ADOPTED}"
        properties = [(k, later if k == TAKEN else v) for k, v in plan.table.properties]
        table = replace(plan.table, properties=tuple(properties))
        return _of_folder(replace(plan, table=table), asked)


def _of_folder(plan: HiveAdoptionPlan, asked: HiveAdoption) -> HiveAdoptionPlan:
    """The same with other words for what becomes of the files."""
    first = f"the files in {asked.folder} stay where they are, and no row is copied"
    return replace(plan, steps=(first, *_steps(asked, plan.source, plan.rows, plan.table)[1:]))


def adopt(journal: HiveJournal, asked: HiveAdoption, author: Author) -> HiveAdoptionPlan:
    """Adopt a table in one commit; if that fails it has its name again."""
    database = journal.names.schema(asked.name.schema)
    bare = layout.plain_name(asked.name.name)
    with journal.store.connection() as connection:
        if asked.folder is None:
            plan = planned(journal, connection, asked)
        else:
            plan = _plan_over_folder(journal, connection, asked, database, bare)
        later = bare + ADOPTED
        try:
            if plan.source.name != later:
                plain_tables.mark(connection, plan.source.place, bare)
                plain_tables.rename(connection, database, bare, later)
            source = replace(plan.source, place=plain_tables.table(database, later))
            _stand_in(journal, connection, asked.name, source)
            if plain_tables.count(connection, source) != plan.rows:
                raise PalimpsestError(
                    Code.JOB_BUSY,
                    f"others wrote to {database}.{bare} while it was adopted",
                    advice="adopt it again when nobody writes to it",
                )
            _commit_adoption(journal, plan, author)
        except BaseException:
            with suppress(PalimpsestError):
                _restore_name(journal, connection, asked.name)
            raise
    show(journal)
    return plan


def _plan_over_folder(
    journal: HiveJournal, connection: HiveConnection, asked: HiveAdoption, database: str, bare: str
) -> HiveAdoptionPlan:
    """Make a table over the folder and decide; the table goes again if it cannot be adopted."""
    _check_free(journal, connection, asked)
    for name in (bare, bare + ADOPTED):
        if connection.has_relation(database, name):
            raise _name_in_use(database, name)
    assert asked.folder is not None
    later = bare + ADOPTED
    # Made under the name it keeps: of a renamed table the server lists every folder anew.
    plain_tables.over_folder(connection, database, later, asked.folder, bare)
    try:
        return _of_folder(planned(journal, connection, asked), asked)
    except PalimpsestError:
        plain_tables.drop(connection, plain_tables.table(database, later))
        raise


def _stand_in(
    journal: HiveJournal, connection: HiveConnection, name: TableName, source: MetastoreTable
) -> None:
    """Let everybody read the plain table under its name until the commit."""
    assert journal.views is not None
    if not connection.has_relation(source.database, layout.plain_name(name.name)):
        journal.views.put(connection, name, plain_tables.all_rows(source))


def _commit_adoption(journal: HiveJournal, plan: HiveAdoptionPlan, author: Author) -> None:
    table = replace(plan.table, id=journal.counters.new_table_id())
    changes: list[CatalogChange] = []
    if fold(table.name.schema) not in journal.state.catalog.schemas:
        changes.append(PutSchema(table.name.schema))
    changes.append(PutRelation(table))
    path = layout.adopted_path(journal.names, table, f"s{journal.now()}")
    file = layout.segment_file(path, plan.rows)
    rows = StagedRows((file,), fields_of(table), RowCounts(open=plan.rows))
    with journal.store.connection() as connection:
        journal.ensure_database(connection)
    commit(journal, changes, author, f"adopt {table.name}", rows=((table.id, rows),))


def _restore_name(journal: HiveJournal, connection: HiveConnection, name: TableName) -> None:
    """Give an adopted table its name back, unless it was committed that it is ours."""
    _, state = journal.read_committed()
    if state.catalog.get(name) is not None:
        return
    assert journal.views is not None
    journal.views.forget(connection, name)
    database, bare = journal.names.schema(name.schema), layout.plain_name(name.name)
    if connection.has_relation(database, bare + ADOPTED):
        plain_tables.rename(connection, database, bare + ADOPTED, bare)
    plain_tables.mark(connection, plain_tables.table(database, bare), None)


def show(journal: HiveJournal) -> None:
    """Make the views say what is committed."""
    assert journal.views is not None
    _, state = journal.read_committed()
    journal.views.refresh(state)


def commit(
    journal: HiveJournal,
    changes: Sequence[CatalogChange],
    author: Author,
    message: str,
    *,
    rows: tuple[tuple[int, RowSet], ...] = (),
    alongside: Alongside | None = None,
) -> None:
    """Commit changes of definitions, and rows that are there already."""
    journal.read_committed()
    transaction = journal.begin(at_once=True, message=message)
    transaction.record(StatementWrites(journal.clock.next(), rows, tuple(changes), ""))
    journal.commit(transaction, author, alongside=alongside)
