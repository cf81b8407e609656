"""The DDL that turns a journal into plain tables of current rows and history.

Runs in the session it is given; commits nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from sqlglot import exp

from journal.model.distribution import lying_by
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import STORE_SCHEMA
from journal.model.schema import CatalogSnapshot, Column, Identity, Table, TableName, fold
from journal.sql.public_views import logical
from journal.sql.relations import Reader, business_outputs, union_all
from journal.sql.relations_flat import is_flat
from journal.sql.row_layout import rows_in_layout
from journal.stores.postgres import layout, privileges
from journal.stores.postgres.adopt import readers
from journal.stores.postgres.adopt.original_definition import owner_before
from journal.stores.postgres.adopt.replaced_view import (
    made_again,
    refuse_materialized,
    set_aside,
    view_before,
)
from journal.stores.postgres.dialect.enums import creation, enums_in, place_of
from journal.stores.postgres.dialect.text import rendered
from journal.stores.postgres.flat import moved_segments
from journal.stores.postgres.in_place import kept_going
from journal.stores.postgres.plain import Lost, PlainTable, TableClause, clauses, lost_to_view
from journal.stores.postgres.public import create_schema
from journal.stores.postgres.server import distributed_by
from journal.stores.postgres.store import PostgresSession
from journal.transactions.state import TableState

HISTORY_SUFFIX = "_history"
_WITHOUT_OURS = (
    "SELECT set_config('search_path',"
    " regexp_replace(current_setting('search_path'), '(, |)_palimpsest$', ''), true)"
)
"""So that nothing calls functions of ours, which the table would need for ever."""
_NEXT = "SELECT value FROM _palimpsest.counters WHERE table_id = ? AND column_name = ?"


Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Leaving:
    """A table that is to leave: its state, the catalog it leaves, and who is told what is lost."""

    table: Table
    state: TableState
    catalog: CatalogSnapshot
    tell: Tell

    def check(self, session: PostgresSession) -> None:
        """Raise what stands in its way: another's table of that name, a materialized view."""
        shown = f"{self.table.name}{HISTORY_SUFFIX}"
        history = TableName(self.table.name.schema, self.table.name.name + HISTORY_SUFFIX)
        place = rendered(logical(history)).sql
        has_history = not is_flat(self.table) or bool(moved_segments(self.state.manifest))
        ((taken,),) = session.text("SELECT to_regclass(?)::text", [place])
        if has_history and taken is not None:
            raise PalimpsestError(
                Code.DUPLICATE_TABLE,
                f"the database has a relation {shown}, the name of the history",
                advice="rename that one first",
            )
        refuse_materialized(session, self.table.name)

    @contextmanager
    def out_of_care(self, session: PostgresSession) -> Iterator[None]:
        """Around a commit that drops the table: views of others read the plain one afterwards."""
        held = privileges.grants(session, (self.table.name, self.table.journal_name))
        place = rendered(logical(self.table.name)).sql
        ((oid,),) = session.text("SELECT ?::regclass::oid::bigint", [place])
        with readers.following(session, [int(oid)]):
            set_aside(session, self.table.name, f"leaving_{self.table.id}")
            yield
            self._leave(session, held)
        session.text(f"DROP VIEW IF EXISTS {_temporary_name(self.table)}")

    def _leave(self, session: PostgresSession, held: list[privileges.Grant]) -> None:
        table = self.table
        create_schema(session, table.name.schema)
        reader = Reader(table, self.state.tiers)
        plain, is_view = as_plain(session, table), self._is_view_again(session)
        if not is_view:
            names = {c.physical: c.name for c in table.columns}
            ending = distributed_by(names[name] for name in plain.by) if plain.by else ""
            current = reader.current(business_outputs(table.columns))
            _table_as(session, logical(table.name), current, ending)
        history = TableName(table.name.schema, table.name.name + HISTORY_SUFFIX)
        rows = moved_rows(table, self.state) if is_flat(table) else reader.journal()
        if rows is not None:
            _table_as(session, logical(history), rows)
        enums = plain_enums(table)
        places = [] if is_view else [plain.place]
        places += [] if rows is None else [rendered(logical(history)).sql]
        for clause in enum_clauses(table, enums, places):
            self._give(session, clause)
        session.text(_WITHOUT_OURS)
        for kept in [] if is_view else kept_and_lost(session, plain, self.catalog):
            self._give(session, kept if isinstance(kept, Lost) else _with_enums(kept, enums))
        journal = privileges.known_as(table.journal_name)
        privileges.grant_again(session, held, {journal: privileges.known_as(history)})
        owner = owner_before(table)
        if owner is not None and not is_flat(table):
            sql = f"ALTER TABLE {plain.place} OWNER TO {privileges.quote_exactly(owner)}"
            self._give(session, TableClause(f"its owner {owner}", sql))

    def _is_view_again(self, session: PostgresSession) -> bool:
        """Bring back the view that the adoption replaced; False if there was none, or it cannot."""
        statements = view_before(self.table)
        if not statements:
            return False
        against = made_again(session, statements)
        if against is not None:
            self.tell(str(Lost(f"the view that it was, since {against}: {statements[0]}")))
            return False
        for lost in lost_to_view(self.table):
            self.tell(str(lost))
        return True

    def _give(self, session: PostgresSession, clause: TableClause | Lost) -> None:
        """Give the plain table one thing more; what the server refuses is told."""
        if isinstance(clause, Lost):
            self.tell(str(clause))
            return
        try:
            with kept_going(session):
                session.text(clause.sql)
        except PalimpsestError as error:
            self.tell(str(Lost(f"{clause.what}, since {error.message}: {clause.sql}")))


def plain_enums(table: Table) -> dict[tuple[str, ...], str]:
    """The types that a plain table's enums get, in schemas of the users', by their values."""
    found: dict[tuple[str, ...], str] = {}
    for column in table.columns:
        for values in enums_in(column.type):
            kind = exp.DataType.build(column.declared or "x", dialect="duckdb", udt=True)
            name = str(kind.args.get("kind") or "")
            if "." not in name:
                name = f"{table.name.schema}.{table.name.name}_{column.name}"
            parts = [part.strip('"') for part in name.split(".")]
            found[values] = ".".join(privileges.quote_exactly(fold(part)) for part in parts)
    return found


def enum_clauses(
    table: Table, enums: Mapping[tuple[str, ...], str], places: Sequence[str]
) -> Iterator[TableClause]:
    """What gives tables types of their own, as ours go with our schema."""
    for values, kind in enums.items():
        yield TableClause(f"the type {kind}", creation(values, kind))
    for column in table.columns:
        name = privileges.quote_exactly(fold(column.name))
        for values in enums_in(column.type):
            action = f"ALTER COLUMN {name} TYPE {enums[values]} USING {name}::text::{enums[values]}"
            for place in places:
                what = f"the type {enums[values]} of {column.name}"
                yield TableClause(what, f"ALTER TABLE {place} {action}")


def _with_enums(clause: TableClause, enums: Mapping[tuple[str, ...], str]) -> TableClause:
    text = clause.sql
    for values, kind in enums.items():
        text = text.replace(place_of(values), kind)
    return replace(clause, sql=text)


def as_plain(session: PostgresSession, table: Table) -> PlainTable:
    """How a table will be a plain one on this server."""
    known = [c.physical for c in table.columns]
    return PlainTable(table, lying_by(table, known) if session.abilities.distributes else ())


def kept_and_lost(
    session: PostgresSession, plain: PlainTable, catalog: CatalogSnapshot
) -> list[TableClause | Lost]:
    """What a plain table is given besides its rows, and what it cannot have."""

    def number(column: Column, identity: Identity) -> int:
        counter = identity.counted_as(column.physical)
        given = session.text(_NEXT, [plain.table.id, counter])
        return int(given[0][0]) if given else identity.first

    return list(clauses(plain, catalog, number))


def _temporary_name(table: Table) -> str:
    return f"{STORE_SCHEMA}.leaving_{table.id}"


def moved_rows(table: Table, state: TableState) -> exp.Query | None:
    """The rows that compactions have moved out of an adopted journal; None if there are none."""
    parts = [
        rows_in_layout(table, layout.segment_table(s), s.fields)
        for s in moved_segments(state.manifest)
    ]
    return union_all(parts) if parts else None


def _table_as(
    session: PostgresSession, target: exp.Table, rows: exp.Query, ending: str = ""
) -> None:
    session.run(exp.Create(this=target, kind="TABLE", expression=rows), ending)
