"""An adopted journal of the classic convention in PostgreSQL: one plain table.

It has a row per version and a tombstone per delete, and no closing rows, so two views show it as
tiers: ``base`` the latest row of each key unless that is a tombstone, ``history`` the rows before
with the version that ended each, and those that a compaction has moved to segments of our own.
Names are spelt as the table spells them.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Query, physical
from journal.model.schema import Column, Table, TableName
from journal.model.segment import Fields, Manifest, RowCounts, Segment, Tier
from journal.model.store_session import Parameters
from journal.model.version import Version
from journal.sql.public_views import create_view
from journal.sql.relations import Output, column, ident, union_all, version_type, version_value
from journal.sql.relations_flat import FLAT, current_rows
from journal.sql.row_layout import fields_of, rows_in_layout
from journal.sql.sql import cast, data_type, expression
from journal.stores.postgres.dialect.text import EXACT, exact, rendered
from journal.stores.postgres.masks import segment_table, unmasked
from journal.stores.postgres.store import PostgresSession
from journal.transactions.restamp import restamped_to

_Tree = TypeVar("_Tree", bound=exp.Expr)
_ENDED = "_ended"
NEW = "new_rows"
ABOVE, _HIGHEST = "rows_above", "highest"
_LAST = "200000-01-01 00:00:00+00"
"""A moment that stands for all after it, which has a number of microseconds still."""
JOURNAL = "adopted_journal"
"""The id of the journal itself among the pieces of its table."""
_STANDING = {"flat_base": Tier.BASE, "flat_history": Tier.HISTORY}
_WRITTEN = "flat journal"
"""Under which name a query keeps the INSERT that was made of it."""
_QUERIES_MAX = 256
_BRIEFLY = "SET LOCAL lock_timeout = '2s'"


def flat_manifest(fields: tuple[tuple[str, str], ...], version: Version) -> Manifest:
    """What stands for a flat journal: its two views, whose rows nobody counts."""
    segments = [
        Segment(name, tier, (), fields, RowCounts(), 0, version) for name, tier in _STANDING.items()
    ]
    return Manifest(1, (), tuple(segments))


def journal_table(table: Table) -> exp.Table:
    """The flat journal itself."""
    return named_journal(table.journal_name)


def named_journal(name: TableName) -> exp.Table:
    """A flat journal by its name, which keeps its spelling."""
    return exp.Table(this=exact(name.name), db=exact(name.schema))


def rows_of_tiers(table: Table, coming: Container[str] = ()) -> dict[Tier, exp.Query]:
    """What the two views show of the flat journal itself.

    ``coming`` are columns that a transaction adds: the journal gets them when that commits.
    """
    return {
        Tier.BASE: as_spelt(_base(table, coming)),
        Tier.HISTORY: as_spelt(_history(table, coming)),
    }


def moved_segments(manifest: Manifest) -> tuple[Segment, ...]:
    """The segments of rows that are not in the flat journal any more."""
    return tuple(s for s in manifest.segments if s.id not in _STANDING)


def latest(table: Table) -> exp.Select:
    """The rows of the journal, in all columns it has, that are current."""
    names = [*table.key, table.format.version_column]
    newest = current_rows(table, [(column(n), n) for n in names])
    same = [exp.EQ(this=column(n, "j"), expression=column(n, "l")) for n in names]
    is_open = exp.Is(this=column(table.format.subsequent_column, "j"), expression=exp.Null())
    rows = exp.select("j.*").from_(exp.alias_(journal_table(table), "j", table=True))
    return as_spelt(rows.join(newest.subquery("l"), on=exp.and_(*same)).where(is_open))


def all_columns(source: exp.Table) -> exp.Select:
    """All rows ``p`` of the journal, or of a table like it, in all columns it has."""
    return exp.select("p.*").from_(exp.alias_(source.copy(), "p", table=True))


def reading_from(rows: exp.Query, table: Table, source: exp.Table) -> exp.Query:
    """The same rows out of a table that is like the journal."""
    found, name = rows.copy(), table.journal_name
    for node in list(found.find_all(exp.Table)):
        if (node.name, node.db) == (name.name, name.schema):
            node.set("this", source.this.copy())
            node.set("db", source.args["db"].copy())
    return found


def change_columns(session: PostgresSession, table: Table, before: Fields) -> None:
    """Give the journal the columns that a new definition adds; those it drops stay, and are NULL.

    Raises NOT_SUPPORTED for a column of another type, and what the server raises.
    """
    known, wanted = dict(before), dict(fields_of(table))
    place = rendered(journal_table(table)).sql
    if any(known.get(name, kind) != kind for name, kind in wanted.items()):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"{table.name} has an adopted journal, whose columns keep their types",
            advice="add a column of the new type, or eject the table and adopt it again",
        )
    session.text(_BRIEFLY)
    for stored in table.stored:
        if stored.physical in known:
            continue
        name = exact(stored.physical)
        session.run(_added(table, name, stored))
        session.text(f"ALTER TABLE {place} ALTER COLUMN {name.sql('postgres')} DROP DEFAULT")
    for gone in known.keys() - wanted.keys():
        spelt = exact(gone).sql("postgres")
        session.text(f"ALTER TABLE {place} ALTER COLUMN {spelt} DROP NOT NULL")


def _added(table: Table, name: exp.Identifier, stored: Column) -> exp.Alter:
    """ADD COLUMN with what the rows that are there shall show; no row is written."""
    default = exp.ColumnConstraint(kind=exp.DefaultColumnConstraint(this=_initial(stored)))
    new = exp.ColumnDef(this=name, kind=data_type(stored.type), constraints=[default])
    return exp.Alter(this=journal_table(table), kind="TABLE", actions=[new])


def _initial(stored: Column) -> exp.Expr:
    """What a column shows of rows that were written before it came."""
    return cast(expression(stored.initial or "NULL"), stored.type)


def refresh_views(
    session: PostgresSession, table: Table, manifest: Manifest, coming: Container[str] = ()
) -> None:
    """Make the views that show a flat journal as tiers, less what masks hide."""
    for tier, body in rows_of_tiers(table, coming).items():
        parts = [body]
        if tier is Tier.HISTORY:
            parts += [
                rows_in_layout(table, segment_table(s), s.fields) for s in moved_segments(manifest)
            ]
        rows = union_all([unmasked(table, part, manifest.masks) for part in parts])
        name = physical(table.id, tier, table.layout)
        session.run(create_view(name, rows))


def index_of(table: Table) -> exp.Create:
    """The index by which a flat journal is looked up and put in order."""
    columns: list[exp.Expr] = [exp.Ordered(this=column(k)) for k in table.key]
    columns.append(exp.Ordered(this=column(table.format.version_column)))
    index = exp.Index(
        table=journal_table(table), params=exp.IndexParameters(columns=columns, using=None)
    )
    return as_spelt(exp.Create(this=index, kind="INDEX"))


def as_spelt(tree: _Tree) -> _Tree:
    """The tree, all of whose names are spelt as they are."""
    for name in tree.find_all(exp.Identifier):
        name.meta[EXACT] = True
    return tree


def _ends(table: Table) -> tuple[str, str]:
    """The version columns as the views name them."""
    return table.format.version_column.casefold(), table.format.subsequent_column.casefold()


def _displayed_version(table: Table, value: exp.Expr) -> exp.Expr:
    """A version as the views show it: with a time zone, where the table's have none."""
    if dict(table.properties)[FLAT] != "timestamp":
        return value
    return exp.AtTimeZone(this=value, zone=exp.Literal.string("UTC"))


def _outputs(table: Table, coming: Container[str], end: exp.Expr) -> list[Output]:
    """What both views show: columns in lower case, the version, and the end that is given."""
    start, last = _ends(table)
    columns: list[Output] = [
        (_initial(c) if c.physical in coming else column(c.physical), c.physical.casefold())
        for c in table.stored
    ]
    shown = _displayed_version(table, column(table.format.version_column))
    return [*columns, (shown, start), (end, last)]


def _base(table: Table, coming: Container[str]) -> exp.Select:
    """The latest row of each key, unless that is a tombstone."""
    nothing = cast(exp.Null(), version_type(table))
    there = replace(table, columns=tuple(c for c in table.columns if c.physical not in coming))
    return current_rows(there, _outputs(table, coming, nothing))


def _history(table: Table, coming: Container[str]) -> exp.Select:
    start, end = table.ends
    is_open = exp.Is(this=column(end), expression=exp.Null())
    newest_last = [exp.Ordered(this=column(start)), exp.Ordered(this=exp.Paren(this=is_open))]
    following = exp.Window(
        this=exp.Anonymous(this="lead", expressions=[column(start)]),
        partition_by=[column(k) for k in table.key],
        order=exp.Order(expressions=newest_last),
    )
    rows = exp.select("*", exp.alias_(following, _ENDED)).from_(journal_table(table))
    outputs = _outputs(table, coming, _displayed_version(table, column(_ENDED)))
    tombstone = exp.NullSafeNEQ(this=column(end), expression=column(start))
    ended = exp.GT(this=column(_ENDED), expression=column(start))
    found = [exp.alias_(value, ident(name)) for value, name in outputs]
    return exp.select(*found).from_(rows.subquery("j")).where(tombstone, ended)


def append(
    session: PostgresSession, table: Table, query: Query, parameters: Parameters
) -> tuple[int, Version | None]:
    """Append a query's journal rows, those that close others left out; how many there were.

    If one of their keys has the same version or a later one already, nothing is appended, and the
    highest of these versions is the second value. The journal is locked.
    """
    try:
        return _run(session, table, query, parameters)
    except PalimpsestError as error:
        if error.code is not Code.DUPLICATE_KEY:
            raise
        raise PalimpsestError(
            Code.FOREIGN_WRITE,
            f"somebody else wrote to {table.journal_name} under the same key and version:"
            f" {error.message}",
            advice="run the transaction again; write to the journal through the gateway only",
        ) from error


def append_buffered(
    session: PostgresSession, table: Table, rows: str, overtaken: Mapping[Version, Version]
) -> Version | None:
    """Append a transaction's rows, shown as relation ``rows``, under the versions they get now.

    If that cannot be, the highest version above one of them.
    """
    pairs = [(f"old{i}", f"new{i}") for i in range(len(overtaken))]
    names = [name for pair in pairs for name in pair]
    versions = [version for pair in overtaken.items() for version in pair]
    query = _buffered(table, rows, tuple(pairs))
    return append(session, table, query, dict(zip(names, versions, strict=True)))[1]


@lru_cache(maxsize=_QUERIES_MAX)
def _buffered(table: Table, rows: str, pairs: tuple[tuple[str, str], ...]) -> Query:
    parameters = [tuple(exp.Placeholder(this=name) for name in pair) for pair in pairs]
    return Query.of(restamped_to(rows, table, [(old, new) for old, new in parameters]))


def _is_kept(table: Table, of: str | None = None) -> exp.Expr:
    """True for a row that a flat journal takes: it begins a version, or is a tombstone."""
    start, end = (column(n, of) for n in _ends(table))
    is_open = exp.Is(this=end, expression=exp.Null())
    return exp.or_(is_open, exp.EQ(this=end.copy(), expression=start))


def _run(
    session: PostgresSession, table: Table, query: Query, parameters: Parameters
) -> tuple[int, Version | None]:
    """Run an INSERT that reads a query's rows under the name ``NEW``, if none is too low."""
    if not session.abilities.writes_several_at_once:
        # Greenplum leaves out an INSERT inside WITH that nothing reads, and says nothing.
        session.stage(NEW, query, parameters)
        above = highest_above(session, table, NEW)
        if above is None:
            session.run(insert_of_new(table))
        found = session.count(NEW)
        session.hide(NEW)
        return found, above
    counted = query.memo.get(_WRITTEN)
    if counted is None or counted[0] is not table:
        counted = query.memo[_WRITTEN] = (table, Query(_counted(table, query), query.parameters))
    session.execute(counted[1], parameters, often=True)
    ((found, above),) = session.fetch_many(1)
    return int(found), None if above is None else int(above)


def insert_of_new(table: Table, new: str = NEW) -> exp.Insert:
    """Appends the rows of ``new`` that a flat journal takes."""
    names = [c.physical for c in table.stored]
    ends = table.ends
    start, end = (column(n.casefold()) for n in ends)
    values: list[exp.Expr] = [column(n.casefold()) for n in names]
    values += [_displayed_version(table, start), _displayed_version(table, end)]
    target = exp.Schema(this=journal_table(table), expressions=[exact(n) for n in (*names, *ends)])
    rows = exp.select(*[v.copy() for v in values]).from_(new).where(_is_kept(table))
    return exp.Insert(this=target, expression=rows)


def _counted(table: Table, query: Query) -> exp.Select:
    """Appends a query's rows, if none is too low; how many there are, and what they are below."""
    written = insert_of_new(table)
    none_above = exp.Is(this=_highest_of(ABOVE), expression=exp.Null())
    written.expression.where(none_above, copy=False)
    counted = exp.select(exp.Count(this=exp.Star()), _highest_of(ABOVE)).from_(NEW)
    counted = counted.with_(NEW, as_=query.ast.copy(), materialized=True, copy=False)
    counted = counted.with_(ABOVE, as_=versions_above(table, NEW), materialized=True, copy=False)
    return counted.with_("written", as_=written, copy=False)


def highest_above(session: PostgresSession, table: Table, rows: str) -> Version | None:
    """The highest version, at or above its own, that the key of any row in ``rows`` has."""
    session.execute(_above_query(table, rows), {})
    ((above,),) = session.fetch_many(1)
    return None if above is None else int(above)


def number_ahead(session: PostgresSession, table: Table, version: Version) -> int:
    """How many rows of the journal have a later version."""
    limit = _displayed_version(table, version_value(table, exp.Literal.number(version)))
    later = exp.GT(this=exp.column(exact(table.format.version_column)), expression=limit)
    found = exp.select(exp.Count(this=exp.Star())).from_(journal_table(table)).where(later)
    session.put(session.rendered(found), {})
    return int(session.fetch_many(1)[0][0])


def key_above(
    session: PostgresSession, table: Table, query: Query, parameters: Parameters
) -> tuple[str, str]:
    """The key of a query's rows that has the highest such version, and that version, as texts."""
    version = exp.column(exact(table.format.version_column), "j")
    key = [exp.cast(column(k, "n"), "TEXT") for k in table.key]
    found = exp.select(*key, exp.cast(version, "TEXT"))
    found = _joined_above(found, table, NEW).order_by(exp.Ordered(this=version.copy(), desc=True))
    found = found.limit(1).with_(NEW, as_=query.ast.copy(), copy=False)
    session.put(session.rendered(found), parameters)
    ((*values, shown),) = session.fetch_many(1)
    return ", ".join(map(str, values)), str(shown)


@lru_cache(maxsize=_QUERIES_MAX)
def _above_query(table: Table, rows: str) -> Query:
    return Query(versions_above(table, rows), ())


def versions_above(table: Table, rows: str) -> exp.Select:
    """The highest version, at or above its own, that the key of any row in ``rows`` has."""
    version: exp.Expr = exp.column(exact(table.format.version_column), "j")
    if dict(table.properties)[FLAT] != "bigint":
        # What is infinite, or has no number, is too far ahead all the same.
        last = exp.cast(exp.Literal.string(_LAST), version_type(table))
        version = exp.Least(this=_displayed_version(table, version), expressions=[last])
        version = exp.Anonymous(this="epoch_us", expressions=[version])
    return _joined_above(exp.select(exp.alias_(exp.Max(this=version), _HIGHEST)), table, rows)


def _joined_above(found: exp.Select, table: Table, rows: str) -> exp.Select:
    """Rows ``j`` of the journal at or above the rows ``n`` of the same keys."""
    start = column(_ends(table)[0], "n")
    version = exp.column(exact(table.format.version_column), "j")
    on: list[exp.Expr] = [
        exp.EQ(this=exp.column(exact(k), "j"), expression=column(k.casefold(), "n"))
        for k in table.key
    ]
    on.append(exp.GTE(this=version, expression=_displayed_version(table, start)))
    found = found.from_(exp.alias_(exp.to_table(rows), "n", table=True))
    found = found.join(exp.alias_(journal_table(table), "j", table=True), on=exp.and_(*on))
    return found.where(_is_kept(table, "n"))


def _highest_of(name: str) -> exp.Subquery:
    return exp.select(column(_HIGHEST)).from_(name).subquery(copy=False)
