"""Finds rows that hold erased identifiers, by the suppression list, and erases them.

For a table that gets its descriptor when somebody in it was erased already, and for rows that came
back past the gateway. Nobody need know whom they are about.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from gateway.procedures.procedures import no_table
from gateway.session.typed_names import table_name
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Query
from journal.model.schema import Table
from journal.model.suppression import Suppression

if TYPE_CHECKING:
    from gateway.session.session import Session
    from journal.erasure.erasure_spec import ErasureSpec


def returned_rows_spec(
    session: Session, name: str, descriptor: str | None, reason: str | None
) -> ErasureSpec:
    """What asks for the rows of a table that carry what was erased; raises ERASURE if none does.

    By its own descriptor, or by one that it is to get.
    """
    from journal.erasure.erasure_spec import ErasureSpec

    catalog = session.journal.state.catalog
    named = table_name(name, catalog, session.settings.schema)
    table = catalog.get(named)
    if not isinstance(table, Table):
        raise no_table(named, catalog, session.settings.role)

    def find() -> pa.Table:
        return _keys(session, table, descriptor)

    found = find()
    if not found.num_rows:
        raise PalimpsestError(
            Code.ERASURE,
            f"no row of {table.name} carries an identifier that was erased",
            advice="give the descriptor it is to have, if it has none: --descriptor 'email LOWER'",
        )
    return ErasureSpec(rows={table.id: find}, reason=reason, suppression=Suppression.KEY)


def _keys(session: Session, table: Table, descriptor: str | None) -> pa.Table:
    """The keys of rows that hold an erased identifier in any of their versions."""
    from gateway.procedures.erasure_program import erasure_of
    from journal.erasure.guard import returned_keys
    from journal.erasure.list_parameters import list_parameters
    from journal.identity.descriptor import PROPERTY, check_descriptor
    from journal.transactions.reading import reading

    journal = erasure_of(session).journal
    described = table
    if descriptor is not None:
        described = replace(table, properties=((PROPERTY, check_descriptor(table, descriptor)),))
    with reading(journal) as statement:
        found = returned_keys(statement.committed, table, described, statement.comparable_rows)
        if found is None:
            found = exp.select(*[exp.alias_(exp.null(), k) for k in table.key]).limit(0)
            return statement.session.arrow(Query.of(found), {})
        query = Query.of(found)
        return statement.session.arrow(query, list_parameters(journal, query))
