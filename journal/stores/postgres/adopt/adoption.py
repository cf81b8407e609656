"""Adopting tables that a database has already.

    a classic journal   stays as it is; the table over it is read and written through it
    a plain table       becomes the journal's base, its rows written at the adoption

``planned`` looks and decides, and changes nothing; ``adopt`` is one commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from functools import partial

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from journal.model.distribution import PROPERTY as DISTRIBUTED
from journal.model.distribution import column_list
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.partitioning import PROPERTY as PARTITIONS
from journal.model.plan import CatalogChange, PutRelation, PutSchema
from journal.model.schema import (
    Check,
    Column,
    Identity,
    JournalFormat,
    Table,
    TableName,
    Unique,
    fold,
)
from journal.model.spelling import spelling_hint
from journal.model.version import Version, VersionType
from journal.sql import bytea
from journal.sql.relations_flat import FLAT, REFUSE, STALE_WRITES
from journal.stores.postgres.adopt import classic_writers, replaced_view
from journal.stores.postgres.adopt.adopt_ddl import TAKEN
from journal.stores.postgres.adopt.dependent_objects import secured, ties, unique_indexes
from journal.stores.postgres.adopt.indexing import is_there
from journal.stores.postgres.adopt.original_definition import (
    indexes_in,
    length_checks,
    not_kept_in,
    remembered,
    texts_in,
)
from journal.stores.postgres.adopt.survey import (
    FoundColumn,
    FoundTable,
    check_key,
    distribution_in,
    find,
    names_in,
    sequences,
    spelling,
)
from journal.stores.postgres.dialect.text import rendered
from journal.stores.postgres.flat import index_of
from journal.stores.postgres.journal import DatabaseJournal
from journal.stores.postgres.partitions import partitioning_in
from journal.stores.postgres.privileges import quote_exactly
from journal.stores.postgres.section import Alongside
from journal.stores.postgres.store import PostgresSession
from journal.transactions.transaction import StatementWrites
from journal.transactions.transaction_rows import Author

_VERSION_TYPES = {1184: "timestamptz", 1114: "timestamp", 20: "bigint"}
_COARSE = tuple(f"({digits})" for digits in range(6))
"""In the spelling of a type: fewer digits of a second than versions have."""
_FUTURE_US = 24 * 3600 * 1_000_000


@dataclass(frozen=True, slots=True)
class PostgresAdoption:
    """What is to be adopted: a name, its key where the database does not say, the convention."""

    name: TableName
    key: tuple[str, ...] = ()
    format: JournalFormat = field(default_factory=JournalFormat)
    stale_writes: str = REFUSE  # Whether rows of others that nobody could see are refused.
    replace_view: bool = False  # Whether a view that has the name may give way.


@dataclass(frozen=True, slots=True)
class PostgresAdoptionPlan:
    """What an adoption will do: the table, the highest version it holds, and steps to tell."""

    table: Table
    highest: Version
    steps: tuple[str, ...]


def planned(journal: DatabaseJournal, asked: PostgresAdoption) -> PostgresAdoptionPlan:
    """Look at the database and decide; raises what keeps the table from being adopted."""
    return _decided(journal, asked, proving=True)


def _decided(
    journal: DatabaseJournal, asked: PostgresAdoption, *, proving: bool
) -> PostgresAdoptionPlan:
    """The same; whether rows have a key that is not declared is found out only if ``proving``."""
    if journal.state.catalog.get(asked.name) is not None:
        raise PalimpsestError(
            Code.DUPLICATE_TABLE,
            f"{asked.name} is already a table of the gateway's",
            advice="SHOW TABLES lists the tables",
        )
    schema = asked.name.schema
    with journal.reading_session() as session:
        found = find(session, schema, asked.name.name + asked.format.suffix)
        if found is not None:
            return _journal(journal, session, asked, found)
        found = find(session, schema, asked.name.name)
        if found is None:
            near = spelling_hint(asked.name.name, names_in(session, schema))
            raise PalimpsestError(
                Code.UNKNOWN_TABLE,
                f"the database has neither a table {asked.name} nor a journal"
                f" {asked.name}{asked.format.suffix}",
                advice=f"{near}name it as schema.table; --suffix says what its journal's name ends"
                " with",
            )
        return _plain(session, asked, found, proving=proving)


def _journal(
    journal: DatabaseJournal, session: PostgresSession, asked: PostgresAdoption, found: FoundTable
) -> PostgresAdoptionPlan:
    columns = {fold(c.name): c for c in found.columns}
    form = asked.format
    start = columns.get(fold(form.version_column))
    end = columns.get(fold(form.subsequent_column))
    schema, name = spelling(session, found.oid)
    if start is None or end is None:
        missing = form.version_column if start is None else form.subsequent_column
        raise _no_journal(f"{schema}.{name} has no column {missing}")
    if secured(session, found.oid):
        raise PalimpsestError(
            Code.DEPENDENT_OBJECTS,
            f"{schema}.{name} has row level security, which a view of its rows would get around",
            advice="ALTER TABLE .. DISABLE ROW LEVEL SECURITY first, and grant the view to fewer",
        )
    kind = _VERSION_TYPES.get(start.oid)
    if kind is None or end.oid != start.oid:
        raise _no_journal(
            f"{start.name} and {end.name} of {schema}.{name} are {start.spelt} and {end.spelt}"
        )
    if any(digit in c.spelt for c in (start, end) for digit in _COARSE):
        raise PalimpsestError(
            Code.JOURNAL_SHAPE,
            f"{start.name} and {end.name} of {schema}.{name} are {start.spelt} and {end.spelt},"
            " and two versions would be one",
            advice="ALTER TABLE .. ALTER COLUMN .. TYPE timestamp, which knows microseconds",
        )
    key = asked.key or tuple(k for k in found.primary_key if fold(k) != fold(start.name))
    numbered = [c.name for c in found.columns if c.generated]
    # Only the database draws numbers of its sequences: two that count would meet.
    business = [
        replace(c, default=None) if c.generated else c
        for c in found.columns
        if c not in (start, end)
    ]
    stamp = VersionType.BIGINT if kind == "bigint" else VersionType.TIMESTAMP
    table = Table(
        id=0,
        name=asked.name,
        columns=tuple(_column(c, name) for c in business),
        key=_key(key, business, name),
        format=JournalFormat(form.suffix, start.name, end.name, stamp),
        properties=(
            (FLAT, kind),
            (STALE_WRITES, asked.stale_writes),
            *replaced_view.view_property(session, asked.name, asked.replace_view),
        ),
        physical_names=tuple(c.name for c in business),
    )
    _check_names(found, f"{schema}.{name}")
    check_key(session, _place(schema, name), table.key, start.name)
    steps = [
        f"{schema}.{name} stays as it is: {kind} versions, key {', '.join(table.key)}",
        f"the view {asked.name} shows its current rows",
        *replaced_view.adoption_notes(table),
        *(
            f"{n} is numbered by a sequence that classic tools draw from: name it in each INSERT"
            for n in numbered
        ),
        *classic_writers.told_at_adoption(session, table, journal.clock),
    ]
    if not is_there(session, _place(schema, name), table):
        index = rendered(index_of(table)).sql
        steps.append(f"this index makes look-ups by key fast: {index}")
    highest = _highest(session, _place(schema, name), start.name, kind)
    return PostgresAdoptionPlan(table, highest, tuple(steps))


def _highest(session: PostgresSession, place: str, column: str, kind: str) -> Version:
    value = f"max({quote_exactly(column)})"
    if kind != "bigint":
        value = f"(EXTRACT(EPOCH FROM {value}) * 1000000)::bigint"
    (row,) = session.text(f"SELECT coalesce({value}, 0)::bigint FROM {place}")  # noqa: S608
    return int(row[0])


def _plain(
    session: PostgresSession, asked: PostgresAdoption, found: FoundTable, *, proving: bool
) -> PostgresAdoptionPlan:
    schema, name = spelling(session, found.oid)
    _check_free(session, found, f"{schema}.{name}")
    replaced_view.check_journal_name(session, asked.name, asked.format.suffix)
    key = _key(asked.key or found.primary_key, list(found.columns), name)
    _check_names(found, f"{schema}.{name}", asked.format)
    declared = next((c.name for c in found.constraints if c.kind == "p" and c.columns == key), None)
    if declared is None and proving:
        check_key(session, _place(schema, name), key)
    folded = {c.name: fold(c.name) for c in found.columns}
    numbered = _numbered(session, found, _place(schema, name))
    columns = tuple(_column(c, name, numbered.get(c.name)) for c in found.columns)
    uniques = tuple(
        Unique(c.name, tuple(folded[n] for n in c.columns))
        for c in found.constraints
        if c.kind == "u" or (c.kind == "p" and c.columns != key)
    )
    uniques += tuple(
        Unique(name, tuple(folded[n] for n in names))
        for name, names in unique_indexes(session, found.oid).items()
    )
    checks = tuple(
        Check(c.name, _expression(c.text.removeprefix("CHECK ")))
        for c in found.constraints
        if c.kind == "c"
    )
    texts = texts_in(found, fold(name))
    indexes, not_kept = indexes_in(session, found.oid), not_kept_in(session, found.oid)
    kept = [index for index in indexes if index.fits([n for n, f in folded.items() if n == f])]
    table = Table(
        id=0,
        name=asked.name,
        columns=tuple(_folded(c) for c in columns),
        key=tuple(fold(k) for k in key),
        key_name=declared,
        uniques=uniques,
        checks=(*checks, *length_checks(texts)),
        format=asked.format,
        properties=(
            (TAKEN, f"{schema}.{name}"),
            *_partitions(session, found),
            *_distribution(session, found, key),
            *remembered(found.owner, kept, texts, not_kept),
        ),
        comment=found.comment,
        physical_names=tuple(folded.values()),
    )
    watched = [f"{t.check} watches over {t.column}, {t.type}" for t in texts if t.check]
    steps = (
        f"{schema}.{name} moves to schema _palimpsest as the journal's base; no row is copied",
        f"its rows become the first versions, key {', '.join(table.key)}",
        f"the views {asked.name} and {table.journal_name} take its place",
        *watched,
        *(f"{said} does not come back by eject" for said in not_kept),
        *(
            f"index {i.name} does not come back by eject: its columns' names are folded"
            for i in indexes
            if i not in kept
        ),
    )
    return PostgresAdoptionPlan(table, 0, steps)


def _check_free(session: PostgresSession, found: FoundTable, place: str) -> None:
    """Raise DEPENDENT_OBJECTS for what hangs on a table and would be lost."""
    hanging = [*found.hanging]
    hanging += [f"the foreign key {c.name}" for c in found.constraints if c.kind == "f"]
    hanging += ties(session, found.oid)
    hanging += [
        f"the sequence {s.name}, which numbers other columns, too"
        for s in sequences(session, found.oid).values()
        if s.is_shared
    ]
    if hanging:
        raise PalimpsestError(
            Code.DEPENDENT_OBJECTS,
            f"{place} cannot become a journal while it has {', '.join(hanging)}",
            advice="take that away first; it would not hold for a journal, or be lost",
        )


def _partitions(session: PostgresSession, found: FoundTable) -> tuple[tuple[str, str], ...]:
    """The property that keeps a table partitioned as it is."""
    made = partitioning_in(session, found.oid)
    if made is None:
        return ()
    return ((PARTITIONS, str(replace(made, column=fold(made.column)))),)


def _distribution(
    session: PostgresSession, found: FoundTable, key: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    """The property that keeps a table's rows on the segments where they are."""
    columns = distribution_in(session, found.oid)
    if not columns or columns == tuple(key):
        return ()
    return ((DISTRIBUTED, column_list(fold(c) for c in columns)),)


def _column(found: FoundColumn, of: str, identity: Identity | None = None) -> Column:
    if found.type is None:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f'column "{found.name}" of {of} has the type {found.spelt}, which the gateway lacks',
            advice="change it to a type of docs/postgresql.md, or leave the table as it is",
        )
    default = None if identity is not None or found.default is None else _expression(found.default)
    return Column(
        found.name,
        found.name,
        found.type,
        found.not_null,
        default=default,
        identity=identity,
        comment=found.comment,
    )


def _numbered(session: PostgresSession, asked: FoundTable, place: str) -> dict[str, Identity]:
    """Generated numbers by column, from the next one on that no row has."""
    found: dict[str, Identity] = {}
    for name, sequence in sequences(session, asked.oid).items():
        identity = sequence.identity
        rows = session.text(f"SELECT coalesce(max({quote_exactly(name)}), 0) FROM {place}")  # noqa: S608
        if identity.increment > 0:
            identity = replace(identity, start=max(identity.start, int(rows[0][0]) + 1))
        found[name] = identity
    return found


def _folded(column: Column) -> Column:
    return replace(column, physical=fold(column.physical))


def _expression(text: str) -> str:
    """An expression of PostgreSQL's in the canonical dialect."""
    try:
        tree = bytea.mark(sqlglot.parse_one(text, read="postgres"))
    except SqlglotError as error:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"the expression {text} cannot be taken over",
            advice="drop the default or constraint first, and set it again through the gateway",
        ) from error
    for kind in tree.find_all(exp.DataType):
        if kind.this is exp.DType.DECIMAL and not kind.expressions:
            # To the canonical dialect that has three digits behind the point, here as many as come.
            kind.set("this", exp.DType.BIGNUM)
    tree = tree.unnest() if isinstance(tree, exp.Paren) else tree
    return str(tree.sql(dialect="duckdb"))


def _key(given: Sequence[str], columns: Sequence[FoundColumn], of: str) -> tuple[str, ...]:
    spelt = {fold(c.name): c.name for c in columns}
    unknown = [k for k in given if fold(k) not in spelt]
    if unknown or not given:
        said = f"{of} has no column {unknown[0]}" if unknown else f"{of} has no primary key"
        raise PalimpsestError(
            Code.INVALID_DEFINITION, said, advice="name its key: --key column, or --key a,b"
        )
    return tuple(spelt[fold(k)] for k in given)


def _place(schema: str, name: str) -> str:
    return f"{quote_exactly(schema)}.{quote_exactly(name)}"


def _check_names(found: FoundTable, place: str, form: JournalFormat | None = None) -> None:
    """Raise for columns whose names are one to the gateway, or are those of versions."""
    own = [] if form is None else [form.version_column, form.subsequent_column]
    taken = {fold(n): n for n in own}
    for column in found.columns:
        other = taken.get(fold(column.name))
        if other in own:
            raise PalimpsestError(
                Code.JOURNAL_SHAPE,
                f'{place} has a column "{column.name}", as journals have',
                advice="give other names: --version-column and --subsequent-column",
            )
        if other is not None:
            raise PalimpsestError(
                Code.DUPLICATE_COLUMN,
                f'the columns "{other}" and "{column.name}" of {place} are one to the gateway,'
                " which compares names without regard to case",
                advice="rename one of them first",
            )
        taken[fold(column.name)] = column.name


def _no_journal(what: str) -> PalimpsestError:
    return PalimpsestError(
        Code.JOURNAL_SHAPE,
        f"not a journal of the classic convention: {what}",
        advice="name its columns with --version-column and --subsequent-column; they are both"
        " TIMESTAMP or both BIGINT",
    )


def adopt(
    journal: DatabaseJournal, asked: PostgresAdoption, author: Author
) -> PostgresAdoptionPlan:
    """Adopt a table in one commit."""
    # Whether a key is one is told when nobody can write any more.
    plan = _decided(journal, asked, proving=False)
    if plan.highest > journal.clock.now() + _FUTURE_US:
        raise _no_journal(f"its versions lie in the future, up to {plan.highest}")
    journal.clock.pass_by(plan.highest)
    table = replace(plan.table, id=journal.counters.new_table_id())
    changes: list[CatalogChange] = []
    if fold(asked.name.schema) not in journal.state.catalog.schemas:
        changes.append(PutSchema(asked.name.schema))
    changes.append(PutRelation(table))
    alongside = None
    if replaced_view.view_before(table):
        alongside = partial(replaced_view.giving_way, name=table.name, aside=f"replaced_{table.id}")
    commit(journal, changes, author, f"adopt {asked.name}", alongside)
    return plan


def commit(
    journal: DatabaseJournal,
    changes: Sequence[CatalogChange],
    author: Author,
    message: str,
    alongside: Alongside | None = None,
) -> None:
    """Change the catalog in a commit of its own."""
    transaction = journal.begin(at_once=True, message=message)
    writes = StatementWrites(journal.clock.next(), (), tuple(changes), "")
    transaction.record(writes)
    journal.commit(transaction, author, alongside=alongside)
