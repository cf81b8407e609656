"""Rows of ``system.transactions``: who committed, when, and how many rows of which tables.

Every store records the same; each catalog has its own columns for it. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from journal.model.lazy_dataclass import dataclass
from journal.model.lineage import CommittedLineage
from journal.model.plan import CatalogChange, DropRelation, PutRelation
from journal.model.schema import CatalogSnapshot
from journal.model.segment import RowCounts
from journal.model.version import Version, to_datetime
from journal.transactions.transaction import Alongside, StatementWrites, Transaction


@dataclass(frozen=True, slots=True)
class Author:
    """Who commits, as shown in ``system.transactions``.

    ``transaction_id`` is what the client calls the transaction; None where it has no name for it.
    """

    user: str | None
    application: str | None
    transaction_id: str | None = None


@dataclass(frozen=True, slots=True)
class TransactionRow:
    """One row of ``system.transactions``, and the lineage that its commit may have to record."""

    version: Version
    first_version: Version
    user: str | None
    application: str | None
    statements: int
    digest: str
    message: str | None
    tables: tuple[str, ...]
    rows: int
    transaction_id: str | None = None
    lineage: tuple[CommittedLineage, ...] = ()
    alongside: Alongside | None = None

    @property
    def values(self) -> list[Any]:
        """What a catalog records of it, in the order of its columns."""
        return [
            self.version,
            self.first_version,
            to_datetime(self.version),
            self.user,
            self.application,
            self.statements,
            self.digest,
            self.message,
            list(self.tables),
            self.rows,
            self.transaction_id,
        ]


def transaction_row(
    writes: Sequence[StatementWrites],
    transaction: Transaction,
    author: Author,
    catalog: CatalogSnapshot,
) -> TransactionRow:
    """The row of a transaction, whose ``writes`` are about to be committed."""
    named: dict[str, None] = {}
    rows = RowCounts()
    for statement in writes:
        for table_id, row_set in statement.rows:
            table = catalog.by_id(table_id)
            named[str(table.name) if table is not None else str(table_id)] = None
            rows = rows + row_set.counts
        named.update(dict.fromkeys(_defined(statement.changes)))
    return TransactionRow(
        version=writes[-1].version,
        first_version=writes[0].version,
        user=author.user,
        application=author.application,
        statements=len(writes),
        digest=writes[-1].digest,
        message=transaction.message,
        tables=tuple(named),
        rows=rows.changed,
        transaction_id=author.transaction_id,
        lineage=transaction.lineage,
        alongside=transaction.alongside,
    )


def _defined(changes: Iterable[CatalogChange]) -> Iterator[str]:
    """The names of tables and views that are made, altered, renamed and dropped."""
    for change in changes:
        if isinstance(change, DropRelation):
            yield str(change.name)
        elif isinstance(change, PutRelation):
            yield str(change.relation.name)
            if change.instead_of is not None:
                yield str(change.instead_of)


def inline_row(
    version: Version,
    digest: str,
    message: str | None,
    author: Author,
    catalog: CatalogSnapshot,
    appended: Mapping[int, RowCounts],
) -> TransactionRow:
    """The transaction row of a statement that ran inside the commit section."""
    named = [str(t.name) for t in (catalog.by_id(i) for i in appended) if t is not None]
    rows = sum(counts.changed for counts in appended.values())
    return TransactionRow(
        version,
        version,
        author.user,
        author.application,
        1,
        digest,
        message,
        tuple(named),
        rows,
        author.transaction_id,
    )
