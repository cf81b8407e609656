"""SET CONSTRAINTS, and the foreign keys that a transaction has checked when it commits."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from gateway.config import Settings
from gateway.session.cancellation import Cancellation
from gateway.session.executor import Executor
from gateway.session.outcome import StatementOutcome
from gateway.session.request import StatementRequest
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import CatalogSnapshot, fold
from journal.transactions.constraint_timing import (
    ConstraintKey,
    ConstraintTiming,
    deferrable_keys,
)
from journal.transactions.transaction import Transaction
from rewriter.statement import CheckReferences, SetConstraints
from rewriter.syntax.parsing import Parsed


class ConstraintSession(Protocol):
    """What of a session is needed to check constraints."""

    executor: Executor
    settings: Settings
    dialect: str
    cancellation: Cancellation
    transaction: Transaction | None

    def begin_implicitly(self) -> None:
        """Begin a transaction where the next statement would begin one."""


def set_constraints(session: ConstraintSession, statement: SetConstraints) -> StatementOutcome:
    """Run SET CONSTRAINTS; outside of a transaction it changes nothing.

    Raises FOREIGN_KEY if one that is to be IMMEDIATE is violated, UNKNOWN_CONSTRAINT, WRONG_OBJECT.
    """
    session.begin_implicitly()
    transaction = session.transaction
    if transaction is None or transaction.timing is None:
        return StatementOutcome("SET CONSTRAINTS")
    try:
        transaction.check_open()
        before, timing = transaction.deferred, ConstraintTiming(every=statement.deferred)
        if statement.names is not None:
            keys = [k for name in statement.names for k in _named(transaction.catalog, *name)]
            timing = transaction.timing.with_names(frozenset(keys), statement.deferred)
        check_deferred(session, transaction, before - timing.deferred(transaction.catalog))
        transaction.timing = timing
    except PalimpsestError:
        transaction.fail()
        raise
    return StatementOutcome("SET CONSTRAINTS")


def check_deferred(
    session: ConstraintSession, transaction: Transaction, keys: Collection[ConstraintKey]
) -> None:
    """Raise FOREIGN_KEY if what a transaction has written violates one of these foreign keys."""
    written = transaction.buffered_tables()
    references = transaction.catalog.references
    touched = frozenset(
        (r.child.id, r.key.name)
        for table_id in written
        for r in references.get(table_id, ())
        if (r.child.id, r.key.name) in keys
    )
    if not keys or not touched:
        return
    parsed = Parsed(CheckReferences(touched), f"CHECK REFERENCES {sorted(touched)}", ())
    request = StatementRequest(parsed, {}, session.settings.unrestricted, session.dialect, None)
    session.executor.run(transaction, request, session.cancellation)


def _named(catalog: CatalogSnapshot, schema: str | None, name: str) -> list[ConstraintKey]:
    """The foreign keys of a name, of whichever tables."""
    found = [
        (table.id, key.name)
        for table in catalog.tables()
        for key in table.foreign_keys
        if fold(key.name) == fold(name)
        and (schema is None or fold(schema) == fold(table.name.schema))
    ]
    if not found:
        raise PalimpsestError(
            Code.UNKNOWN_CONSTRAINT,
            f'constraint "{name}" does not exist',
            advice="name a foreign key; information_schema.table_constraints lists them",
        )
    known = deferrable_keys(catalog)
    if not all(key in known for key in found):
        raise PalimpsestError(
            Code.WRONG_OBJECT,
            f'constraint "{name}" is not deferrable',
            advice="drop it, and add it again as DEFERRABLE",
        )
    return found
