"""How a journal lies in PostgreSQL: heads as tables, tier views over them, views for everybody.

Schema ``_palimpsest`` holds, per table id: ``t1_head_<generation>`` (tables that take appends),
``t1_head`` and the other tiers (views over them, in present columns). The logical schema holds
``depts`` (current view) and ``depts_journal``, which psql and every other tool read. Builds AST and
runs it in the session it is given; commits nothing.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from sqlglot import exp

from journal.model.distribution import lying_by
from journal.model.plan import STORE_SCHEMA, Query, physical
from journal.model.schema import Table
from journal.model.segment import Fields, Head, Manifest, RowCounts, Tier
from journal.sql.counting import count_rows
from journal.sql.public_views import create_view, drop_view
from journal.sql.relations import ident, union_all, version_type, version_value
from journal.sql.relations_flat import is_flat
from journal.sql.row_layout import fields_of, insert_fields, journal_fields, rows_in_layout
from journal.sql.sql import cast, data_type
from journal.stores.postgres import flat
from journal.stores.postgres.adopt.guards import guard
from journal.stores.postgres.adopt.original_definition import texts_before
from journal.stores.postgres.dialect.text import rendered
from journal.stores.postgres.masks import mask_table, masked_keys, segment_table, unmasked
from journal.stores.postgres.native_indexes import add_indexes
from journal.stores.postgres.server import RANDOMLY, distributed_by
from journal.stores.postgres.store import PostgresSession

__all__ = ["count_rows", "insert_fields", "mask_table", "masked_keys", "segment_table", "unmasked"]
ONCE = "_once"
"""How the name of the index ends by which a head takes no row twice."""


def head_table(table_id: int, head: Head) -> exp.Table:
    """The table behind one head."""
    return exp.table_(f"t{table_id}_head_{head.generation}", db=STORE_SCHEMA)


def create_head(session: PostgresSession, table: Table, head: Head) -> None:
    """Create the empty table behind a head, with the indexes that make look-ups by key fast.

    The one by key and version takes no row twice, whoever writes it: one row version has one open
    row, one that ends it and one tombstone at most. A statement that moves keys can write an open
    row and a tombstone of one version, and a later one what ends that open row.
    """
    target = head_table(table.id, head)
    create_rows(session, table, target, head.fields, is_head=True)
    place = rendered(target).sql
    first, *others = _indexed(table, head.fields)
    if session.abilities.distributes:
        others.insert(0, first)
    else:
        start, end = _columns(table.ends)
        kind = f"(CASE WHEN {end} IS NULL THEN 0 WHEN {end} = {start} THEN 1 ELSE 2 END)"
        name = ident(f"{target.name}{ONCE}").sql(dialect="postgres")
        columns = ", ".join((*_columns(first), kind))
        session.text(f"CREATE UNIQUE INDEX {name} ON {place} ({columns})")
        # Few rows have an end, and the server knows how many: not so how many end after the start.
        ended = f"({', '.join((*_columns(first), end))}) WHERE {end} IS NOT NULL"
        session.text(f"CREATE INDEX ON {place} {ended}")
        _keep_a_page(session, table, place)
    for columns_ in others:
        session.text(f"CREATE INDEX ON {place} ({', '.join(_columns(columns_))})")
    add_indexes(session, table, target, head.fields, is_head=True)
    guard(session, place)


def _keep_a_page(session: PostgresSession, table: Table, place: str) -> None:
    """Have a table take a page as long as it is empty, by a row that nobody ever sees.

    The server plans to read a table without pages again and again, for each row of the base; that
    it costs nothing is not true. Nor does it know of a key that has changed thousands of times
    before it looks: it does so when a hundredth of the rows is new, not a tenth.
    """
    start, _ = _columns(table.ends)
    session.text(
        f"ALTER TABLE {place}"  # noqa: S608
        " SET (vacuum_truncate = false, autovacuum_analyze_scale_factor = 0.01);"
        f" INSERT INTO {place} ({start}) SELECT {rendered(_never(table)).sql};"
        f" DELETE FROM {place}"
    )


def _never(table: Table) -> exp.Expr:
    return cast(version_value(table, exp.Literal.number(0)), version_type(table))


def create_rows(
    session: PostgresSession,
    table: Table,
    target: exp.Table,
    fields: Fields,
    partitioned: exp.PartitionedByProperty | None = None,
    *,
    is_head: bool = False,
) -> None:
    """Create an empty table of journal rows.

    The version stands in front, since each reader of a changed table needs it, and the server
    finds a column behind texts only by walking over them. So does the end in a head; elsewhere it
    is the same for all rows, and stands last.
    """
    start, end = table.ends
    places = {start: 0, end: 1 if is_head else 3}
    given = exp.ColumnConstraint(kind=exp.NotNullColumnConstraint())
    columns = [
        exp.ColumnDef(
            this=ident(name), kind=data_type(kind), constraints=[given] if name == start else None
        )
        for name, kind in sorted(journal_fields(table, fields), key=lambda f: places.get(f[0], 2))
    ]
    made = exp.Create(this=exp.Schema(this=target, expressions=columns), kind="TABLE")
    if partitioned is not None:
        made.set("properties", exp.Properties(expressions=[partitioned]))
    session.run(made, spread(session, table, dict(fields)))


def spread(session: PostgresSession, table: Table, known: Iterable[str]) -> str:
    """How a new table of journal rows lies on the segments of a server that has some.

    By key, or as the table says: so the joins of a journal with itself move no rows.
    """
    if not session.abilities.distributes:
        return ""
    columns = lying_by(table, known)
    return distributed_by(columns) if columns else RANDOMLY


def finish_rows(
    session: PostgresSession, table: Table, target: exp.Table, fields: Fields = ()
) -> None:
    """Index a table of journal rows by key and version, by unique keys and indexes; guard it.

    It is filled, and nobody adds to it any more.
    """
    place = rendered(target).sql
    for columns in _indexed(table, fields or fields_of(table)):
        session.text(f"CREATE INDEX ON {place} ({', '.join(_columns(columns))})")
    add_indexes(session, table, target, fields or fields_of(table), is_head=False)
    guard(session, place)


def _indexed(table: Table, fields: Fields) -> list[tuple[str, ...]]:
    """The columns of each index of a table that has these fields, those by key first."""
    keys = [(*table.key, table.format.version_column), *(u.columns for u in table.uniques)]
    known = set(dict(fields)) | {table.format.version_column}
    return [columns for columns in keys if known.issuperset(columns)]


def _columns(names: Iterable[str]) -> list[str]:
    return [rendered(ident(name)).sql for name in names]


def drop_rows(session: PostgresSession, target: exp.Table) -> None:
    """Drop a table of journal rows that no manifest lists any more."""
    session.run(exp.Drop(tables=[target], kind="TABLE", cascade=True))


def refresh_tiers(
    session: PostgresSession, table: Table, manifest: Manifest, coming: Container[str] = ()
) -> list[exp.Table]:
    """Make the tier views of one layout say what the manifest lists; those of our own layout.

    ``coming`` are columns of it that no table of rows has before the transaction commits.
    """
    if is_flat(table):
        flat.refresh_views(session, table, manifest, coming)
        return []
    views: list[exp.Table] = []
    parts = {Tier.HEAD: [(head_table(table.id, h), h.fields) for h in manifest.heads]}
    for tier in (Tier.BASE, Tier.DELTA, Tier.HISTORY):
        parts[tier] = [(segment_table(s), s.fields) for s in manifest.in_tier(tier)]
    for tier, sources in parts.items():
        name = physical(table.id, tier, table.layout)
        if sources:
            bodies: list[exp.Query] = []
            for source, fields in sources:
                rows = rows_as(table, source, fields)
                rows = _open_rows(table, rows) if tier is Tier.BASE else rows
                bodies.append(unmasked(table, rows, manifest.masks))
            session.run(create_view(name, union_all(bodies)))
            views.append(name)
    return views


def _open_rows(table: Table, rows: exp.Select) -> exp.Select:
    """Rows that say NULL for their end, so that the server need not look whether they are open."""
    _, end = table.ends
    for output in rows.selects:
        if output.alias == end:
            output.set("this", cast(exp.Null(), version_type(table)))
    return rows


def rows_as(table: Table, source: exp.Expr, fields: Fields) -> exp.Select:
    """Rows of a table of ours as a definition shows them.

    Texts of an adopted table have the type that all others have.
    """
    rows = rows_in_layout(table, source, fields)
    texts = {text.column for text in texts_before(table)}
    for output in rows.selects if texts else ():
        if output.alias in texts and isinstance(output.this, exp.Column):
            kind = table.by_physical(output.alias).type
            output.set("this", exp.Cast(this=output.this, to=data_type(kind)))
    return rows


def drop_views(session: PostgresSession, views: Iterable[exp.Table]) -> None:
    """Drop views that nobody else knows."""
    for view in views:
        session.run(drop_view(view))


def insert_into(table: Table, target: exp.Table, source: exp.Expr) -> exp.Insert:
    """An INSERT of journal rows, columns named."""
    return insert_fields(table, target, fields_of(table), source)


def count_all(session: PostgresSession, source: exp.Expr) -> RowCounts:
    """How many rows a relation has, of whatever kind."""
    counted = exp.select(exp.Count(this=exp.Star())).from_(source)
    return RowCounts(*session.row(Query(counted, ()), {}))


def drop_tables(session: PostgresSession, tables: Iterable[exp.Table]) -> None:
    """Drop several tables of journal rows."""
    for table in tables:
        drop_rows(session, table)
