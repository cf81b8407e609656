"""What the open transactions of a process hold: the rows that they have claimed or changed.

They have written these rows, so that their buffers say which ones they are. Where other processes
have the store open too, a statement with SKIP LOCKED holds its rows by name as well.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc

from journal.model.schema import Table
from journal.model.store_session import MemoryRows, RowSet, count_kinds
from journal.transactions.protocol import HeldNames
from journal.transactions.transaction import Transaction

_WAIT_S = 0.05


class RowClaims:
    """The open transactions of one store in this process, and the names that they hold."""

    def __init__(self, names: HeldNames | None) -> None:
        self._names = names
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self._open: weakref.WeakSet[Transaction] = weakref.WeakSet()
        self._held: weakref.WeakKeyDictionary[Transaction, set[str]] = weakref.WeakKeyDictionary()

    def enter(self, transaction: Transaction) -> None:
        """Count a transaction in until it is over."""
        with self._lock:
            self._open.add(transaction)

    @contextmanager
    def turn_of_statement(self, check: Callable[[], None]) -> Iterator[None]:
        """A block of one statement at a time; ``check`` may raise to give up waiting."""
        while not self._turn.acquire(timeout=_WAIT_S):
            check()
        try:
            yield
        finally:
            self._turn.release()

    def of_others(self, mine: Transaction, tables: Iterable[Table]) -> dict[int, list[RowSet]]:
        """The closing rows that other open transactions have written to tables, by table id."""
        with self._lock:
            self._open = weakref.WeakSet(t for t in self._open if not t.is_over)
            others = [t for t in self._open if t is not mine]
        found: dict[int, list[RowSet]] = {}
        for table in tables:
            sets = [rows for t in others for rows in t.buffered(table.id)]
            closing = [ended_rows(table, rows) for rows in sets]
            found[table.id] = [rows for rows in closing if rows is not None]
        return found

    def hold(self, transaction: Transaction, names: Iterable[str]) -> tuple[bool, set[str]]:
        """Hold rows by their names for a transaction.

        Returns whether any was not held before, and the names that others hold.
        """
        if self._names is None:
            return False, set()
        held = self._held.get(transaction)
        if held is None:
            held = self._held[transaction] = set()
            transaction.at_end.append(lambda: self._end(held))
        wanted = [name for name in dict.fromkeys(names) if name not in held]
        if not wanted:
            return False, set()
        taken = dict(zip(wanted, self._names.take(wanted), strict=True))
        held.update(name for name, is_mine in taken.items() if is_mine)
        return True, {name for name, is_mine in taken.items() if not is_mine}

    def _end(self, held: set[str]) -> None:
        if self._names is not None and held:
            self._names.give_back(held)


def ended_rows(table: Table, rows: RowSet) -> MemoryRows | None:
    """The rows of a set that say what has ended; None if there are none, or not in memory."""
    if not isinstance(rows, MemoryRows):
        return None
    made = rows.rows
    ended = made.filter(pc.is_valid(made.column(table.format.subsequent_column)))
    return in_memory(table, ended, rows) if ended.num_rows else None


def in_memory(table: Table, chosen: pa.Table, of: MemoryRows) -> MemoryRows:
    """Some rows of a set."""
    return MemoryRows(chosen, count_kinds(chosen, table), of.fields)
