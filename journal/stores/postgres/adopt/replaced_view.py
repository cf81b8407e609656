"""A view that stands where a current view must be: refused, or kept for eject.

Classic tools often have a view of the current rows beside a journal. ``definition`` writes one down
as statements, which an adopted table keeps among its properties; ``giving_way`` takes it away in
the commit of the adoption, and ``made_again`` brings it back when the table leaves. Runs in the
session it is given; commits nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import STORE_SCHEMA
from journal.model.schema import CatalogSnapshot, Table, TableName
from journal.sql.public_views import logical, view_names
from journal.sql.relations import ident
from journal.stores.postgres.adopt import readers
from journal.stores.postgres.dialect.text import rendered
from journal.stores.postgres.in_place import kept_going
from journal.stores.postgres.store import PostgresSession

_REPLACED = "taken_view"
_KINDS = {
    "v": "view",
    "m": "materialized view",
    "r": "table",
    "p": "table",
    "f": "foreign table",
    "S": "sequence",
    "i": "index",
    "I": "index",
    "c": "type",
}
Properties = tuple[tuple[str, str], ...]
_KIND = "SELECT relkind::text FROM pg_class WHERE oid = to_regclass(?)"
_DEFINITION = (
    "SELECT format('CREATE VIEW %s%s AS %s', c.oid::regclass,"
    " ' WITH (' || array_to_string(c.reloptions, ', ') || ')', pg_get_viewdef(c.oid)),"
    " format('ALTER VIEW %s OWNER TO %I', c.oid::regclass, pg_get_userbyid(c.relowner)),"
    " 'COMMENT ON VIEW ' || c.oid::regclass || ' IS '"
    " || quote_literal(obj_description(c.oid, 'pg_class'))"
    " FROM pg_class c WHERE c.oid = to_regclass(?)"
)
_OF_ROWS = (
    "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = to_regclass(?)"
    " AND NOT tgisinternal UNION ALL SELECT pg_get_ruledef(oid) FROM pg_rewrite"
    " WHERE ev_class = to_regclass(?) AND rulename <> '_RETURN'"
)

_MATERIALIZED = (
    "SELECT DISTINCT v.oid::regclass::text FROM pg_depend d"
    " JOIN pg_rewrite r ON r.oid = d.objid JOIN pg_class v ON v.oid = r.ev_class"
    " WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = to_regclass(?)"
    " AND d.classid = 'pg_rewrite'::regclass AND v.relkind = 'm' ORDER BY 1"
)


def refuse_materialized(session: PostgresSession, name: TableName) -> None:
    """Raise DEPENDENT_OBJECTS if a materialized view reads a view that is to go."""
    found = session.text(_MATERIALIZED, [_place(name)])
    if found:
        raise PalimpsestError(
            Code.DEPENDENT_OBJECTS,
            f"the materialized view {found[0][0]} reads {name}, and cannot follow",
            advice="drop it first, and make it again afterwards",
        )


def kind_of(session: PostgresSession, name: TableName) -> str | None:
    """What relation of the database has a name, in words; None if none has."""
    found = session.text(_KIND, [_place(name)])
    return _KINDS.get(found[0][0], "relation") if found else None


def check_free(session: PostgresSession, before: CatalogSnapshot, after: CatalogSnapshot) -> None:
    """Raise DUPLICATE_TABLE if a view of others has a name that a changed catalog brings in."""
    known = {name.key for r in before.relations.values() for name in view_names(r)}
    for relation in after.relations.values():
        for name in view_names(relation):
            if name.key not in known and kind_of(session, name) == "view":
                raise PalimpsestError(
                    Code.DUPLICATE_TABLE,
                    f"the database has a view {name} that is not the gateway's",
                    advice="rename that one, or choose another name",
                )


def definition(session: PostgresSession, name: TableName) -> tuple[str, ...]:
    """The statements that make a view again: itself, its owner, comment, triggers and rules."""
    place = _place(name)
    with readers.schemas_written_out(session):
        (found,) = session.text(_DEFINITION, [place])
        more = session.text(_OF_ROWS, [place, place])
    return tuple(sql for sql in (*found, *(sql for (sql,) in more)) if sql is not None)


def view_property(session: PostgresSession, name: TableName, replace_view: bool) -> Properties:
    """The property that keeps a view which is to give way to a table's; none if nothing is there.

    Raises DUPLICATE_TABLE for a view unless it may be replaced, and for anything else, and
    DEPENDENT_OBJECTS for one that a materialized view reads.
    """
    kind = kind_of(session, name)
    if kind is None:
        return ()
    if kind != "view" or not replace_view:
        advice = "rename that one first"
        if kind == "view":
            advice = (
                "--replace-view puts the new view in its place, and eject brings the old one back;"
                " or rename it first"
            )
        raise PalimpsestError(
            Code.DUPLICATE_TABLE,
            f"the database has a {kind} {name}, and the view of the journal's current rows needs"
            " that name",
            advice=advice,
        )
    refuse_materialized(session, name)
    return ((_REPLACED, json.dumps(definition(session, name))),)


def adoption_notes(table: Table) -> list[str]:
    """What an adoption says of the view that it replaces."""
    if not view_before(table):
        return []
    return [f"it replaces the view {table.name} that is there, which eject brings back"]


def check_journal_name(session: PostgresSession, name: TableName, suffix: str) -> None:
    """Raise DUPLICATE_TABLE if something has the name of the view of a plain table's journal."""
    journal = TableName(name.schema, name.name + suffix)
    kind = kind_of(session, journal)
    if kind is not None:
        raise PalimpsestError(
            Code.DUPLICATE_TABLE,
            f"the database has a {kind} {journal}, and the view of the table's journal needs that"
            " name",
            advice="rename that one first, or give the journal another name with --suffix",
        )


def view_before(table: Table) -> list[str]:
    """The statements that bring back the view an adopted table has replaced; none if there was."""
    return list(json.loads(dict(table.properties).get(_REPLACED, "[]")))


def set_aside(session: PostgresSession, name: TableName, aside: str) -> None:
    """Take its name from a view, which stays as ``aside`` in our schema until its readers left."""
    session.text(f"ALTER VIEW {_place(name)} RENAME TO {aside}")
    session.text(f"ALTER VIEW {rendered(ident(name.schema)).sql}.{aside} SET SCHEMA {STORE_SCHEMA}")


@contextmanager
def giving_way(session: PostgresSession, name: TableName, aside: str) -> Iterator[None]:
    """Around a commit that makes a current view: what read the old one reads that afterwards.

    The old view is called ``aside`` in our schema meanwhile. Raises DEPENDENT_OBJECTS if something
    else hangs on it, or a view that reads it cannot follow.
    """
    ((oid,),) = session.text("SELECT to_regclass(?)::oid::bigint", [_place(name)])
    with readers.following(session, [int(oid)]):
        set_aside(session, name, aside)
        yield
    try:
        session.text(f"DROP VIEW {STORE_SCHEMA}.{aside}")
    except PalimpsestError as error:
        raise PalimpsestError(
            Code.DEPENDENT_OBJECTS,
            f"the view {name} cannot give way to the table: {error.message}",
            advice="drop what needs the view first, and make it again afterwards",
        ) from error


def made_again(session: PostgresSession, statements: Iterable[str]) -> str | None:
    """Make a view again; what the server says against it, and then nothing is made."""
    try:
        with kept_going(session):
            for sql in statements:
                session.text(sql)
    except PalimpsestError as error:
        return error.message
    return None


def _place(name: TableName) -> str:
    return str(rendered(logical(name)).sql)
