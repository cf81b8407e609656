"""What procedures share: the tables and arguments a CALL names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from gateway.session.typed_names import table_name
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import CatalogSnapshot, Table, TableName
from journal.model.visibility import visible_to
from rewriter.name_resolution import unknown_table

if TYPE_CHECKING:
    from gateway.session.session import Session
    from journal.stores.embedded.journal import Journal


def find_tables(session: Session, name: str | None) -> list[Table]:
    """The table of that name, or all tables."""
    catalog = session.journal.state.catalog
    if name is None:
        return list(catalog.tables())
    known = table_name(name, catalog, session.settings.schema)
    found = catalog.get(known)
    if not isinstance(found, Table):
        raise no_table(known, catalog, session.settings.role)
    return [found]


def no_table(name: TableName, catalog: CatalogSnapshot, role: int | None) -> PalimpsestError:
    """The error for a name that is not a table, with names like it that the role may see."""
    if catalog.get(name) is not None:
        return PalimpsestError(
            Code.WRONG_OBJECT,
            f"{name} is a view, which keeps no rows of its own",
            advice="name the tables it reads; SHOW CREATE TABLE shows them",
        )
    return unknown_table(name, visible_to(catalog, catalog.rights_of(role)), None)


def named_tables(session: Session, given: dict[str, Any]) -> list[Table]:
    """The table among the arguments of a procedure, which is taken out; all if it is not there.

    NULL is refused, because a value that is missing must not stand for everything.
    """
    if "table" not in given:
        return find_tables(session, None)
    name = given.pop("table")
    if name is None:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            "the argument table is NULL",
            advice="name a table; leave the argument out for all of them",
        )
    return find_tables(session, str(name))


def embedded(session: Session, what: str) -> Journal:
    """The journals of an embedded warehouse, for what only they can do."""
    if session.journal.capabilities.folder is None:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"{what} needs an embedded warehouse, this store is {session.journal.place}",
            advice="this store lacks it; docs/index.md says what each store can do",
        )
    return cast("Journal", session.journal)


def bind_arguments(
    procedure: str, arguments: Mapping[str, Any], names: Sequence[str]
) -> dict[str, Any]:
    """Arguments by name, positional ones in the order of ``names``; refuses unknown ones."""
    given: dict[str, Any] = {}
    for key, value in arguments.items():
        place = int(key) if key.isdigit() else None
        name = names[place] if place is not None and place < len(names) else key
        if name not in names or name in given:
            shown = f"argument {place + 1}" if place is not None else f"the argument {key}"
            raise PalimpsestError(
                Code.SETTING_VALUE,
                f"{procedure} does not take {shown}",
                advice="it takes " + ", ".join(f"{n} => .." for n in names),
            )
        given[name] = value
    return given
