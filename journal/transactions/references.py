"""Checks foreign keys between concurrent transactions.

A statement looks at what its own transaction sees. So before a transaction commits, what it wrote
is looked at again beside the latest state, if somebody has changed the table at the other end since
its snapshot: rows it wrote need a parent there, rows it took away must have no child there. Who
comes second is told 40001. Tables without foreign keys, and tables that nobody else has changed,
cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol

import pyarrow as pa
from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import PutRelation, Query, physical
from journal.model.schema import CatalogSnapshot, Reference, Table
from journal.model.segment import Tier
from journal.model.store_session import Parameters
from journal.sql.relations import Reader, column
from journal.sql.sql import all_of, limited, named, relation, select
from journal.transactions.state import JournalState
from journal.transactions.transaction import Transaction


class ReferenceSession(Protocol):
    """A session inside the commit section."""

    def arrow(self, query: Query, parameters: Parameters) -> pa.Table:
        """Run a query and hold its rows."""

    def hide(self, *names: str) -> None:
        """Take back what was shown to queries."""


def linked(catalog: CatalogSnapshot, table_ids: Iterable[int]) -> frozenset[int]:
    """The tables at the other ends of the foreign keys that these tables take part in."""
    references = catalog.references
    if not references:
        return frozenset()
    found: set[int] = set()
    for table_id in table_ids:
        for reference in references.get(table_id, ()):
            ends = (reference.child.id, reference.parent.id)
            found.add(ends[0] if ends[1] == table_id else ends[1])
    return frozenset(found)


def check_definitions(before: CatalogSnapshot, after: CatalogSnapshot) -> None:
    """Raise if a foreign key has lost what it refers to, because two transactions changed that."""
    for child in after.tables():
        for key in child.foreign_keys:
            parent = after.by_id(key.parent)
            known = before.by_id(child.id)
            if known is child and parent is not None and parent is before.by_id(key.parent):
                continue
            if parent is None or not parent.has_unique(key.parent_columns):
                raise _late(f'what "{key.name}" of {child.name} refers to was changed')


Show = Callable[[Table, str], None]
"""Lets queries read what a transaction wrote to a table, as a relation of that name."""


def check_references(
    session: ReferenceSession, transaction: Transaction, committed: JournalState, show: Show
) -> None:
    """Raise SERIALIZATION if what a transaction wrote breaks a foreign key in the latest state.

    The conflict check must have passed: its closing rows name rows that are current.
    """
    if not committed.catalog.references and not transaction.catalog.references:
        return
    own = transaction.buffered_tables()
    _check_new(transaction, committed)
    redefined = _redefined(transaction)
    for reference in _references_of(committed.catalog, own):
        ends = {t.id: t for t in (reference.child, reference.parent)}
        changed = any(transaction.is_pinned(table_id, committed) for table_id in ends)
        # Erasures and retention take parents without a version of their own.
        if not changed and not transaction.is_replaced(reference.parent.id, committed):
            continue
        if not redefined.isdisjoint(ends):
            # What stands in the old definition cannot be looked at beside rows in the new one.
            if changed or committed.fence != transaction.snapshot.fence:
                raise _conflict(reference)
            continue
        mine = [table for table_id, table in ends.items() if table_id in own]
        for table in mine:
            show(table, _buffer(table))
        sides = _Sides(reference, transaction, committed)
        queries = [sides.orphans()] if reference.child in mine else []
        queries += [sides.bereaved()] if reference.parent in mine else []
        broken = any(session.arrow(Query.of(limited(query)), {}).num_rows for query in queries)
        session.hide(*[_buffer(table) for table in mine])
        if broken:
            raise _conflict(reference)


def _buffer(table: Table) -> str:
    return physical(table.id, Tier.BUFFER).name


def _check_new(transaction: Transaction, committed: JournalState) -> None:
    """Raise if rows at either end of a foreign key this transaction made were changed by others."""
    began = transaction.snapshot.catalog
    for table_id in _redefined(transaction):
        for reference in transaction.catalog.references.get(table_id, ()):
            known = began.by_id(reference.child.id)
            if known is not None and reference.key in known.foreign_keys:
                continue
            ends = (reference.child.id, reference.parent.id)
            if any(transaction.is_pinned(table_id, committed) for table_id in ends):
                raise _conflict(reference)


def _redefined(transaction: Transaction) -> set[int]:
    """The tables whose definition the transaction changed."""
    return {
        change.relation.id
        for _, change in transaction.changes()
        if isinstance(change, PutRelation) and isinstance(change.relation, Table)
    }


def _references_of(catalog: CatalogSnapshot, table_ids: Collection[int]) -> list[Reference]:
    """The foreign keys that tables take part in, each once."""
    found: dict[tuple[int, str], Reference] = {}
    for table_id in sorted(table_ids):
        for reference in catalog.references.get(table_id, ()):
            found[reference.child.id, reference.key.name] = reference
    return list(found.values())


class _Sides:
    """The two ends of a foreign key as they would be after the commit."""

    def __init__(
        self, reference: Reference, transaction: Transaction, committed: JournalState
    ) -> None:
        self._reference = reference
        self._transaction = transaction
        self._committed = committed

    def orphans(self) -> exp.Select:
        """Rows of the transaction that have no parent."""
        child, key = self._reference.child, self._reference.key
        own = Reader(child, frozenset({Tier.BUFFER}))
        rows = own.current([(column(c), f"v{i}") for i, c in enumerate(key.columns)])
        found = _rows(rows, len(key.columns))
        return _join_parents(
            found, self._present(self._reference.parent, key.parent_columns), "ANTI"
        )

    def bereaved(self) -> exp.Select:
        """Keys that the transaction took away, but that rows refer to."""
        parent, key = self._reference.parent, self._reference.key
        form = parent.format
        ends = exp.GT(this=column(form.subsequent_column), expression=column(form.version_column))
        outputs = [named(column(c), f"v{i}") for i, c in enumerate(key.parent_columns)]
        gone = select(outputs, physical(parent.id, Tier.BUFFER), ends)
        found = _rows(gone, len(outputs))
        left = _join_parents(found, self._present(parent, key.parent_columns), "ANTI")
        again = select([column(f"v{i}", "s") for i in range(len(outputs))], relation(left, "s"))
        return _join_parents(again, self._present(self._reference.child, key.columns), "SEMI")

    def _present(self, table: Table, columns: Sequence[str]) -> exp.Query:
        tiers = self._transaction.tiers(table.id, self._committed)
        return Reader(table, tiers).current([(column(c), f"v{i}") for i, c in enumerate(columns)])


def _rows(query: exp.Query, count: int) -> exp.Select:
    """Rows in which no column is NULL."""
    names = [column(f"v{i}", "s") for i in range(count)]
    filled = [exp.Not(this=exp.Is(this=n.copy(), expression=exp.Null())) for n in names]
    return select(names, relation(query, "s"), *filled)


def _join_parents(rows: exp.Select, present: exp.Query, kind: str) -> exp.Select:
    names = [f"v{i}" for i in range(len(rows.expressions))]
    same = [exp.EQ(this=column(n, "o"), expression=column(n, "s")) for n in names]
    rows.append("joins", exp.Join(this=relation(present, "o"), kind=kind, on=all_of(*same)))
    return rows


def _conflict(reference: Reference) -> PalimpsestError:
    child, parent = reference.child, reference.parent
    return _late(
        f'rows of {parent.name} or {child.name}, between which "{reference.key.name}" stands, were'
        " changed"
    )


def _late(what: str) -> PalimpsestError:
    return PalimpsestError(
        Code.SERIALIZATION,
        f"could not serialize access: {what} by another transaction that committed first",
        advice="roll back and run the transaction again",
    )
