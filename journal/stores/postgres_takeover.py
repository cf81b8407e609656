"""A plain table of a PostgreSQL database becomes a journal's base, and tables leave again.

No row is copied on the way in: the table moves to our schema and gets its version columns. Runs in
the session it is given; commits nothing.
"""

from __future__ import annotations

from sqlglot import exp

from journal.distribution import lying_by
from journal.plan import STORE_SCHEMA
from journal.relations import Reader, business_outputs, ident, union_all, version_type
from journal.schema import Table, fold
from journal.segment import Segment, Tier
from journal.state import TableState
from journal.stores import postgres_layout as layout
from journal.stores.postgres import PostgresSession
from journal.stores.postgres_flat import is_flat, moved
from journal.stores.postgres_public import create_schema, logical
from journal.stores.postgres_server import distributed_by
from journal.stores.postgres_survey import FoundTable, find, spelling
from journal.stores.postgres_text import rendered, shortened
from journal.stores.postgres_ties import unique_indexes
from journal.stores.row_layout import fields_of, rows_in_layout
from journal.version import Version, VersionType

_PARTS = (
    "SELECT n.nspname, c.relname FROM pg_partition_tree(?::bigint::regclass) t"
    " JOIN pg_class c ON c.oid = t.relid JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE t.level > 0 ORDER BY c.oid"
)
TAKEN = "taken_from"
"""Property of a table that was a plain one: where it was."""
HISTORY_SUFFIX = "_history"


def _quoted(name: str) -> str:
    return str(ident(name).sql(dialect="postgres"))


def take_over(session: PostgresSession, table: Table, version: Version) -> Segment:
    """Make a bared table, with its partitions, a base whose rows were written at ``version``."""
    found = _found(session, table)
    target = exp.table_(f"t{table.id}_s{version}_0", db=STORE_SCHEMA)
    for number, (schema, name) in enumerate(session.text(_PARTS, [found.oid])):
        _move(session, schema, name, f"{target.name}_p{number}")
    _move(session, *spelling(session, found.oid), target.name)
    _stamp(session, table, rendered(target).sql, version)
    layout.index_rows(session, table, target)
    counts = layout.count_rows(session, table, target)
    return Segment(target.name, Tier.BASE, (), fields_of(table), counts, version, version)


def _found(session: PostgresSession, table: Table) -> FoundTable:
    schema, _, name = dict(table.properties)[TAKEN].partition(".")
    found = find(session, schema, name)
    assert found is not None
    return found


def bare(session: PostgresSession, table: Table) -> int:
    """Take from a plain table what the gateway keeps from now on, and fold its names; its oid."""
    found = _found(session, table)
    place = ".".join(_quoted(part) for part in spelling(session, found.oid))
    for constraint in found.constraints:
        session.text(f"ALTER TABLE {place} DROP CONSTRAINT {_quoted(constraint.name)}")
    for name in unique_indexes(session, found.oid):
        schema, _ = spelling(session, found.oid)
        session.text(f"DROP INDEX {_quoted(schema)}.{_quoted(name)}")
    for column in found.columns:
        change = f"ALTER TABLE {place} ALTER COLUMN {_quoted(column.name)}"
        session.text(f"{change} DROP IDENTITY IF EXISTS")
        session.text(f"{change} DROP DEFAULT")
        if column.name != column.name.casefold():
            folded = _quoted(column.name.casefold())
            session.text(f"ALTER TABLE {place} RENAME COLUMN {_quoted(column.name)} TO {folded}")
    schema, name = spelling(session, found.oid)
    if name != shortened(fold(name)):
        session.text(f"ALTER TABLE {place} RENAME TO {_quoted(shortened(fold(name)))}")
    return found.oid


def _move(session: PostgresSession, schema: str, name: str, wanted: str) -> None:
    """Give a table a name in our schema."""
    session.text(f"ALTER TABLE {_quoted(schema)}.{_quoted(name)} SET SCHEMA _palimpsest")
    session.text(f"ALTER TABLE _palimpsest.{_quoted(name)} RENAME TO {_quoted(wanted)}")


def _stamp(session: PostgresSession, table: Table, place: str, version: Version) -> None:
    kind = version_type(table)
    bigint = table.format.version_type is VersionType.BIGINT
    value = str(version) if bigint else f"to_timestamp({version} / 1000000.0)"
    if not bigint:
        found = session.text(
            "SELECT (TIMESTAMPTZ '1970-01-01 00:00:00+00'"
            " + ?::bigint * INTERVAL '1 microsecond')::text",
            [version],
        )
        value = f"'{found[0][0]}'"
    start, end = (
        _quoted(n.casefold()) for n in (table.format.version_column, table.format.subsequent_column)
    )
    session.text(f"ALTER TABLE {place} ADD COLUMN {start} {kind} NOT NULL DEFAULT {value}")
    session.text(f"ALTER TABLE {place} ALTER COLUMN {start} DROP DEFAULT")
    session.text(f"ALTER TABLE {place} ADD COLUMN {end} {kind}")


def leave(session: PostgresSession, table: Table, state: TableState) -> None:
    """Make plain tables of a journal's current rows and of its history; its views are gone."""
    create_schema(session, table.name.schema)
    reader = Reader(table, state.tiers)
    known = {c.physical: c.name for c in table.columns}
    by = lying_by(table, known) if session.abilities.distributes else ()
    ending = distributed_by(known[name] for name in by) if by else ""
    current = reader.current(business_outputs(table.columns))
    _table_as(session, logical(table.name), current, ending)
    place = rendered(logical(table.name)).sql
    # Where rows are spread by other columns than those of the key, no segment can watch over it.
    if not table.hidden_key and set(by) <= set(table.key):
        names = ", ".join(_quoted(table.by_physical(k).name.casefold()) for k in table.key)
        session.text(f"ALTER TABLE {place} ADD PRIMARY KEY ({names})")
    rows = moved_rows(table, state) if is_flat(table) else reader.journal()
    if rows is not None:
        name = table.name.name + HISTORY_SUFFIX
        target = exp.Table(this=ident(name), db=ident(table.name.schema))
        _table_as(session, target, rows)


def moved_rows(table: Table, state: TableState) -> exp.Query | None:
    """The rows that compactions have moved out of an adopted journal; None if there are none."""
    parts = [
        rows_in_layout(table, layout.segment_table(s), s.fields) for s in moved(state.manifest)
    ]
    return union_all(parts) if parts else None


def _table_as(
    session: PostgresSession, target: exp.Table, rows: exp.Query, ending: str = ""
) -> None:
    session.run(exp.Create(this=target, kind="TABLE", expression=rows), ending)
