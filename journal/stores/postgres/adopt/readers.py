"""Keeps the views of others on a table while another table takes its place.

A view knows its tables by identity, so it would go on reading what was moved away. Runs in the
session it is given, in one transaction with the move; commits nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from journal.model.errors import Code, PalimpsestError
from journal.stores.postgres.store import PostgresSession

_READERS = (
    "SELECT DISTINCT v.oid::regclass::text, pg_get_viewdef(v.oid),"
    " coalesce(array_to_string(v.reloptions, ', '), '') FROM pg_depend d"
    " JOIN pg_rewrite r ON r.oid = d.objid JOIN pg_class v ON v.oid = r.ev_class"
    " WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = ANY(?::bigint[])"
    " AND d.classid = 'pg_rewrite'::regclass AND v.relkind = 'v'"
    " AND v.oid <> d.refobjid"
    " AND v.relnamespace <> '_palimpsest'::regnamespace"
)


@contextmanager
def following(session: PostgresSession, oids: Sequence[int]) -> Iterator[None]:
    """The views that read these tables read what has their names when the block ends.

    Raises DEPENDENT_OBJECTS for a view that cannot, because a type it shows is another one then.
    """
    if not oids:
        yield
        return
    with schemas_written_out(session):
        readers = session.text(_READERS, [list(oids)])
    yield
    with schemas_written_out(session):
        for view, body, options in readers:
            _point(session, view, body, f" WITH ({options})" if options else "")


def _point(session: PostgresSession, view: str, body: str, options: str) -> None:
    try:
        session.text(f"CREATE OR REPLACE VIEW {view}{options} AS {body}")
    except PalimpsestError as error:
        raise PalimpsestError(
            Code.DEPENDENT_OBJECTS,
            f"the view {view} cannot follow: {error.message}",
            advice="drop it first, and make it again afterwards",
        ) from error


@contextmanager
def schemas_written_out(session: PostgresSession) -> Iterator[None]:
    """Names are written with their schemas, whatever the search path is."""
    ((path,),) = session.text("SELECT current_setting('search_path')")
    session.text("SET LOCAL search_path = pg_catalog, pg_temp")
    yield
    session.text("SELECT set_config('search_path', ?, true)", [path])
