"""The views everybody reads in PostgreSQL: current views, journals, and the clients' own views.

The default schema is the database's ``public``. A relation of somebody else's that already has a
name is never replaced, and nobody writes to a view. Runs in the session it is given; commits
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import STORE_SCHEMA
from journal.model.schema import CatalogSnapshot, Table, TableName, View, fold
from journal.model.segment import Tier
from journal.sql import public_views
from journal.sql.public_views import (
    create_view,
    drop_schema,
    drop_view,
    logical,
    present_query,
    reads,
    table_keys,
    view_names,
    views_in_order,
)
from journal.sql.relations import Output, Reader, business_outputs
from journal.sql.relations_flat import is_flat
from journal.stores.postgres import in_place, privileges
from journal.stores.postgres.adopt.original_definition import shown_as_before
from journal.stores.postgres.dialect.text import PUBLIC_SCHEMA, shortened
from journal.stores.postgres.store import PostgresSession
from journal.transactions.state import TableState


def refresh_table(session: PostgresSession, table: Table, state: TableState) -> None:
    """Make the views of a table: the current view and the journal."""
    create_schema(session, table.name.schema)
    reader = Reader(table, shown_tiers(state))
    epoch = state.manifest.epoch
    current = reader.current(_outputs(table))
    _put_view(session, table.name, _guarded(current, table, epoch))
    if not is_flat(table):
        _put_view(session, table.journal_name, _guarded(reader.journal(), table, epoch))


def _outputs(table: Table) -> list[Output]:
    """What others see of each column; jsonb as jsonb."""
    binary = shown_as_before(table)
    outputs: list[Output] = []
    for shown, name in business_outputs(table.columns):
        if shown.name in binary:
            shown = exp.Cast(this=shown, to=exp.DataType(this=exp.DType.JSONB))
        outputs.append((shown, name))
    return outputs


def shown_tiers(state: TableState) -> frozenset[Tier]:
    """The tiers that the views read: heads also while they are empty.

    So the first row that is appended needs no other view.
    """
    return state.tiers | {Tier.HEAD} if state.manifest.heads else state.tiers


def _guarded(rows: exp.Query, table: Table, epoch: int) -> exp.Query:
    """Rows for those who see the epoch; transactions with an older snapshot are to start again.

    The tables of an epoch look empty, or half full, to a snapshot from before it.
    """
    if not epoch:
        return rows
    place = exp.table_("epochs", db=STORE_SCHEMA)
    is_this = [
        exp.EQ(this=exp.column(name), expression=exp.Literal.number(value))
        for name, value in (("table_id", table.id), ("epoch", epoch))
    ]
    seen = exp.Exists(this=exp.select(exp.Literal.number(1)).from_(place).where(*is_this))
    failing = exp.Dot(
        this=exp.to_identifier(STORE_SCHEMA, quoted=True),
        expression=exp.Anonymous(this="replaced", expressions=[]),
    )
    fine = exp.Case(ifs=[exp.If(this=seen, true=exp.true())], default=failing)
    return exp.select("*").from_(rows.subquery("r")).where(exp.Paren(this=exp.select(fine)))


def granted(
    session: PostgresSession, before: CatalogSnapshot, after: CatalogSnapshot
) -> list[privileges.Grant]:
    """What others may do with the relations of a catalog, and with those it is about to have."""
    every = [*before.relations.values(), *after.relations.values()]
    return privileges.grants(session, dict.fromkeys(n for r in every for n in view_names(r)))


def grant_again(
    session: PostgresSession,
    found: Sequence[privileges.Grant],
    before: CatalogSnapshot,
    after: CatalogSnapshot,
) -> None:
    """Grant it on the views that there are now; those of a renamed table have its new names."""
    renamed: dict[privileges.Key, privileges.Key] = {}
    for old in before.tables():
        new = after.by_id(old.id)
        if new is not None and new.name != old.name:
            names = zip(view_names(old), view_names(new), strict=True)
            renamed |= {privileges.known_as(n): privileges.known_as(m) for n, m in names}
    privileges.grant_again(session, found, renamed)


def drop_changed(session: PostgresSession, before: CatalogSnapshot, after: CatalogSnapshot) -> None:
    """Take away what a changed catalog no longer has the same way, and make its new schemas."""
    for relation in before.relations.values():
        if after.get(relation.name) == relation:
            continue
        if isinstance(relation, View):
            # What takes its place is made over it, where that can be.
            gone = [relation.name] if not isinstance(after.get(relation.name), View) else []
        else:
            gone = _not_following(session, relation, after.by_id(relation.id))
        for name in gone:
            try:
                _drop_readers(session, before, name)
                _drop_view(session, name)
            except PalimpsestError as error:
                now = after.by_id(relation.id) if isinstance(relation, Table) else None
                if not isinstance(relation, Table) or now is None:
                    raise
                raise in_place.refusal(error, relation, now) from error
    for key, schema in before.schemas.items():
        if key not in after.schemas and key != PUBLIC_SCHEMA:
            _drop_schema(session, schema)
    for key, schema in after.schemas.items():
        if key not in before.schemas:
            create_schema(session, schema)


def _not_following(session: PostgresSession, old: Table, new: Table | None) -> list[TableName]:
    """The views of a table that have to go before they can be made as they are now."""
    if new is None:
        return list(view_names(old))
    gone = [] if in_place.current_follows(session, old, new) else [old.name]
    if not is_flat(old) and not in_place.journal_follows(session, old, new):
        gone.append(old.journal_name)
    return gone


def _drop_readers(session: PostgresSession, catalog: CatalogSnapshot, name: TableName) -> None:
    """Take away the clients' views that read a relation; those that stay are made again."""
    gone = {name.key}
    readers: list[View] = []
    for view in views_in_order(catalog):
        if reads(view) & gone:
            gone.add(view.name.key)
            readers.append(view)
    for view in reversed(readers):
        _drop_view(session, view.name)


def refresh_views(session: PostgresSession, catalog: CatalogSnapshot) -> None:
    """Make every client's view that PostgreSQL can answer, those that others read first."""
    made = table_keys(catalog)
    for view in views_in_order(catalog):
        readable = reads(view) <= made
        if readable and _try_view(session, view):
            made.add(view.name.key)
            continue
        # What stands there says what the view no longer does, or has other columns.
        _drop_readers(session, catalog, view.name)
        _drop_view(session, view.name)
        if readable and _try_view(session, view):
            made.add(view.name.key)


def create_schema(session: PostgresSession, schema: str) -> None:
    """Create a logical schema, unless the database has it; then no right to make any is needed."""
    if fold(schema) == PUBLIC_SCHEMA:
        return
    name = shortened(fold(schema))
    if not session.text("SELECT 1 FROM pg_namespace WHERE nspname = ?", [name]):
        session.run(public_views.create_schema(schema))


def _try_view(session: PostgresSession, view: View) -> bool:
    query = present_query(view)
    if query is None:
        return False
    try:
        with in_place.kept_going(session):
            _put_view(session, view.name, query, view.columns)
    except PalimpsestError:
        # Only the gateway can answer this view; others do not see it.
        return False
    return True


def _put_view(
    session: PostgresSession, name: TableName, body: exp.Expr, columns: tuple[str, ...] = ()
) -> None:
    place = logical(name)
    try:
        session.run(create_view(place, body, columns))
        privileges.refuse_writes(session, session.rendered(place).sql)
    except PalimpsestError as error:
        if error.code is not Code.WRONG_OBJECT:
            raise
        raise PalimpsestError(
            Code.DUPLICATE_TABLE,
            f"the database has a table {name} that is not a journal's",
            advice="choose another name, or take the table over with palimpsest adopt",
        ) from error


def _drop_view(session: PostgresSession, name: TableName) -> None:
    try:
        session.run(drop_view(logical(name)))
    except PalimpsestError as error:
        if error.code is not Code.DEPENDENT_OBJECTS:
            raise
        raise PalimpsestError(
            Code.DEPENDENT_OBJECTS,
            f"views made outside the gateway read {name}: {error.message}",
            advice="drop them first, and make them again afterwards",
        ) from error


def _drop_schema(session: PostgresSession, schema: str) -> None:
    """Drop a schema that is empty; what others keep in it is not ours to remove."""
    try:
        with in_place.kept_going(session):
            session.run(drop_schema(schema))
    except PalimpsestError as error:
        if error.code is not Code.DEPENDENT_OBJECTS:
            raise
