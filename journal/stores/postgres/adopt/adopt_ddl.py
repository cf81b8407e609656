"""The DDL that turns a plain table into the base of a journal.

No row is copied: the table moves to our schema and gets its version columns. Runs in
the session it is given; commits nothing.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.plan import STORE_SCHEMA
from journal.model.schema import Table, fold
from journal.model.segment import Segment, Tier
from journal.model.version import Version, VersionType
from journal.sql.relations import version_type
from journal.sql.row_layout import fields_of
from journal.stores.postgres import layout
from journal.stores.postgres.adopt.dependent_objects import unique_indexes
from journal.stores.postgres.adopt.survey import FoundTable, check_key, find, spelling
from journal.stores.postgres.dialect.text import rendered, shortened
from journal.stores.postgres.privileges import quote_exactly
from journal.stores.postgres.store import PostgresSession

_PARTS = (
    "SELECT n.nspname, c.relname FROM pg_partition_tree(?::bigint::regclass) t"
    " JOIN pg_class c ON c.oid = t.relid JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE t.level > 0 ORDER BY c.oid"
)
TAKEN = "taken_from"
"""Property of a table that was a plain one: where it was."""


def take_over(session: PostgresSession, table: Table, version: Version) -> Segment:
    """Make a bared table, with its partitions, a base whose rows were written at ``version``."""
    found = _table_in_database(session, table)
    target = exp.table_(f"t{table.id}_s{version}_0", db=STORE_SCHEMA)
    for number, (schema, name) in enumerate(session.text(_PARTS, [found.oid])):
        _move(session, schema, name, f"{target.name}_p{number}")
    _move(session, *spelling(session, found.oid), target.name)
    _stamp(session, table, rendered(target).sql, version)
    layout.finish_rows(session, table, target)
    if table.key_name is None:
        # Nothing has watched over it, and nobody else writes to the table any more.
        check_key(session, rendered(target).sql, table.key)
    counts = layout.count_rows(session, table, target)
    return Segment(target.name, Tier.BASE, (), fields_of(table), counts, version, version)


def _table_in_database(session: PostgresSession, table: Table) -> FoundTable:
    found = find(session, table.name.schema, table.name.name)
    assert found is not None
    return found


def bare(session: PostgresSession, table: Table) -> int:
    """Take from a plain table what the gateway keeps from now on, and fold its names; its oid."""
    found = _table_in_database(session, table)
    place = ".".join(quote_exactly(part) for part in spelling(session, found.oid))
    for constraint in found.constraints:
        session.text(f"ALTER TABLE {place} DROP CONSTRAINT {quote_exactly(constraint.name)}")
    for name in unique_indexes(session, found.oid):
        schema, _ = spelling(session, found.oid)
        session.text(f"DROP INDEX {quote_exactly(schema)}.{quote_exactly(name)}")
    for column in found.columns:
        change = f"ALTER TABLE {place} ALTER COLUMN {quote_exactly(column.name)}"
        session.text(f"{change} DROP IDENTITY IF EXISTS")
        session.text(f"{change} DROP DEFAULT")
        if column.name != column.name.casefold():
            folded = quote_exactly(column.name.casefold())
            session.text(
                f"ALTER TABLE {place} RENAME COLUMN {quote_exactly(column.name)} TO {folded}"
            )
    schema, name = spelling(session, found.oid)
    if name != shortened(fold(name)):
        session.text(f"ALTER TABLE {place} RENAME TO {quote_exactly(shortened(fold(name)))}")
    return found.oid


def _move(session: PostgresSession, schema: str, name: str, wanted: str) -> None:
    """Give a table a name in our schema."""
    session.text(
        f"ALTER TABLE {quote_exactly(schema)}.{quote_exactly(name)} SET SCHEMA _palimpsest"
    )
    session.text(f"ALTER TABLE _palimpsest.{quote_exactly(name)} RENAME TO {quote_exactly(wanted)}")


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
    start, end = (quote_exactly(n.casefold()) for n in table.ends)
    session.text(f"ALTER TABLE {place} ADD COLUMN {start} {kind} NOT NULL DEFAULT {value}")
    session.text(f"ALTER TABLE {place} ALTER COLUMN {start} DROP DEFAULT")
    session.text(f"ALTER TABLE {place} ADD COLUMN {end} {kind}")
