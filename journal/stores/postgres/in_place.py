"""Replaces a table's views in place after ALTER TABLE, so that other views stay.

Names of tables and columns are changed, as PostgreSQL does for a plain table; columns may be added
at the end when the views are made again over themselves. Where that is not enough the views have to
be dropped first, which PostgreSQL refuses while others read them. Runs in the session it is given;
commits nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Column, Table, TableName, fold
from journal.sql.relations import ident
from journal.stores.postgres.dialect.text import rendered
from journal.stores.postgres.dialect.types import column_type
from journal.stores.postgres.store import PostgresSession


@contextmanager
def kept_going(session: PostgresSession) -> Iterator[None]:
    """What fails inside is undone alone."""
    session.text("SAVEPOINT palimpsest_part")
    try:
        yield
    except PalimpsestError:
        session.text("ROLLBACK TO SAVEPOINT palimpsest_part")
        raise
    finally:
        session.text("RELEASE SAVEPOINT palimpsest_part")


def current_follows(session: PostgresSession, old: Table, new: Table) -> bool:
    """Rename the current view and its columns; False if it cannot be made again over itself."""
    width = len(old.columns)
    if _columns_of_view(new.columns[:width]) != _columns_of_view(old.columns):
        return False
    pairs = zip(old.columns, new.columns, strict=False)
    actions: list[exp.Expr] = [
        exp.RenameColumn(this=ident(before.name), to=ident(after.name))
        for before, after in pairs
        if fold(before.name) != fold(after.name)
    ]
    return _altered(session, old.name, new.name, actions)


def journal_follows(session: PostgresSession, old: Table, new: Table) -> bool:
    """Rename the view of the journal; False if its columns are others now."""
    same_names = old.format == new.format and _columns_of_view(old.stored) == _columns_of_view(
        new.stored
    )
    return same_names and _altered(session, old.journal_name, new.journal_name, [])


def _columns_of_view(columns: Sequence[Column]) -> list[tuple[str, str, str | None]]:
    """What a view keeps of its columns as long as it stands: names, types, collations."""
    return [(c.physical, column_type(c.type), c.collation) for c in columns]


def _altered(
    session: PostgresSession, name: TableName, wanted: TableName, actions: list[exp.Expr]
) -> bool:
    if name.key[0] != wanted.key[0]:
        return False
    if name.key != wanted.key:
        actions = [*actions, exp.AlterRename(this=exp.Table(this=ident(wanted.name)))]
    place = exp.Table(this=ident(name.name), db=ident(name.schema))
    try:
        with kept_going(session):
            for action in actions:
                # As of a table: columns of views are renamed by ALTER VIEW from version 13 on.
                change = exp.Alter(this=place.copy(), kind="TABLE", actions=[action])
                session.text(rendered(change).sql)
    except PalimpsestError:
        return False
    return True


def refusal(error: PalimpsestError, old: Table, new: Table) -> PalimpsestError:
    """Refuses a change of a table whose views others read, with the state PostgreSQL has for it."""
    types = {fold(c.name): column_type(c.type) for c in new.columns}
    if all(types.get(fold(c.name)) in {None, column_type(c.type)} for c in old.columns):
        return error
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        f"the type of a column cannot change while {error.message}",
        advice=error.advice,
    )
