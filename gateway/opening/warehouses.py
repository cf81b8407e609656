"""The composition root: URLs to open warehouses, shared by the connections of this process."""

from __future__ import annotations

import atexit
import os
import threading
import uuid
from dataclasses import dataclass, field
from functools import partial

from gateway.opening.schemes import StoreScheme, scheme_of
from gateway.session.executor import Executor
from journal.files.scratch import Scratch, sweep_scratch
from journal.transactions.protocol import OpenJournal


@dataclass(slots=True)
class OpenWarehouse:
    """A warehouse open in this process, and how many connections use it."""

    key: str = field(repr=False)
    """Its folder, or its URL with a password in it."""
    journal: OpenJournal
    executor: Executor
    temporary: Scratch | None = None
    users: int = 0


class Warehouses:
    """Opens each warehouse once and closes it with its last connection."""

    def __init__(self) -> None:
        self._open: dict[str, OpenWarehouse] = {}
        self._forsaken: list[dict[str, OpenWarehouse]] = []
        self._lock = threading.Lock()

    def acquire(self, url: str) -> OpenWarehouse:
        """The warehouse of a URL; made if there is none."""
        scheme = scheme_of(url)
        key = scheme.key_of(url) or uuid.uuid4().hex
        with self._lock:
            found = self._open.get(key)
            if found is None:
                # What a killed process of this machine has left: rows of people may be in it.
                sweep_scratch()
                found = self._open[key] = _opened(scheme, url, key)
            found.users += 1
            return found

    def release(self, warehouse: OpenWarehouse) -> None:
        """One connection fewer; the last one closes the warehouse."""
        with self._lock:
            warehouse.users -= 1
            if warehouse.users == 0 and self._open.pop(warehouse.key, None) is not None:
                _close(warehouse)

    def close_all(self) -> None:
        """Close what is still open when the process ends."""
        with self._lock:
            while self._open:
                _close(self._open.popitem()[1])

    def forget_after_fork(self) -> None:
        """In a forked child: the parent's warehouses are not this process's to touch or free."""
        self._forsaken.append(self._open)
        self._open = {}
        self._lock = threading.Lock()


def _opened(scheme: StoreScheme, url: str, key: str) -> OpenWarehouse:
    store = scheme.open(url)
    maintained = partial(scheme.maintained, store.journal)
    executor = Executor(store.journal, store.upkeep, maintained)
    return OpenWarehouse(key, store.journal, executor, store.temporary)


def _close(warehouse: OpenWarehouse) -> None:
    warehouse.executor.close()
    warehouse.journal.close()
    if warehouse.temporary is not None:
        warehouse.temporary.close()


WAREHOUSES = Warehouses()
atexit.register(WAREHOUSES.close_all)
os.register_at_fork(after_in_child=WAREHOUSES.forget_after_fork)
