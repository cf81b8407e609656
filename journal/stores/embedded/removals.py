"""Remembers rows that jobs removed, for transactions whose snapshot still has them.

A transaction that began before rows were removed may have ended one of them in its buffer. Were it
let in, its closing row would name nothing. So it is told, as if another had changed those rows.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from sqlglot import exp

from journal.local_engine.rows import show_rows
from journal.local_engine.session import DuckDBSession
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import Query
from journal.model.schema import Table
from journal.sql.relations import column
from journal.transactions import conflicts
from journal.transactions.state import JournalState
from journal.transactions.transaction import Transaction

_KEPT_MAX = 256
_MINE = "removal_mine"


@dataclass(frozen=True, slots=True)
class Removal:
    """Rows of a table that meet ``condition`` (physical columns), gone with that generation."""

    table_id: int
    generation: int
    condition: exp.Expr


class Removals:
    """The removals of this process; of the oldest only their generation is remembered."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: list[Removal] = []
        self._before: dict[int, int] = {}

    def add(self, removal: Removal) -> None:
        """Note a removal, inside the commit section that makes it."""
        with self._lock:
            self._kept.append(removal)
            while len(self._kept) > _KEPT_MAX:
                old = self._kept.pop(0)
                self._before[old.table_id] = max(old.generation, self._before.get(old.table_id, 0))

    def check(
        self, session: DuckDBSession, transaction: Transaction, committed: JournalState
    ) -> None:
        """Raise SERIALIZATION if a transaction ended rows that were removed since it began."""
        for table_id in sorted(transaction.buffered_tables()):
            table = committed.catalog.by_id(table_id)
            state = transaction.snapshot.tables.get(table_id)
            if table is None or state is None:
                continue
            began = state.manifest.generation
            with self._lock:
                later = [r for r in self._kept if r.table_id == table_id and r.generation > began]
                forgotten = self._before.get(table_id, 0) > began
            if forgotten or (later and _ends(session, transaction, table, later)):
                raise conflicts.conflict(table)


def _ends(
    session: DuckDBSession, transaction: Transaction, table: Table, removals: Iterable[Removal]
) -> bool:
    show_rows(session, table, _MINE, transaction.buffered(table.id))
    ends = exp.GT(
        this=column(table.format.subsequent_column), expression=column(table.format.version_column)
    )
    gone = exp.or_(*[r.condition.copy() for r in removals])
    found = exp.select(exp.Count(this=exp.Star())).from_(_MINE).where(ends, gone)
    (count,) = session.row(Query(found, ()), {})
    session.hide(_MINE)
    return bool(count)
