"""The composition root: opens the warehouse of a URL, and shares it in this process."""

from __future__ import annotations

import atexit
import os
import socket
import threading
import time
import uuid
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from gateway.opening.schemes import StoreScheme, scheme_of
from gateway.session.executor import Executor
from gateway.session.retries import RandomWaits
from gateway.session.session import Session
from gateway.sharing.folder import Owner, OwnerLock, claim, unshared_because
from gateway.sharing.messages import Hello
from gateway.sharing.owner import OwnerServer, process_name
from gateway.sharing.time_zone import process_zone
from journal.files.scratch import Scratch, sweep_scratch
from journal.transactions.protocol import OpenJournal

_IDLE_POLL_S = 0.1


@dataclass(slots=True)
class OpenWarehouse:
    """A warehouse open in this process, and how many connections use it."""

    key: str = field(repr=False)
    """Its folder, or its URL with a password in it."""
    journal: OpenJournal
    executor: Executor
    temporary: Scratch | None = None
    users: int = 0
    lock: OwnerLock | None = None
    server: OwnerServer | None = None
    """Through which other processes use the warehouse, if they can."""

    @property
    def is_unused(self) -> bool:
        """True if no session is open on it, here or for another process."""
        return self.users == 0 and (self.server is None or self.server.clients == 0)


class TakenElsewhere(Exception):
    """Another process has the warehouse open: a connection to it."""

    def __init__(self, root: Path, peer: socket.socket) -> None:
        super().__init__(str(root))
        self.root = root
        self.peer = peer


class Warehouses:
    """Opens each warehouse once and closes it with its last connection."""

    def __init__(self) -> None:
        self._open: dict[str, OpenWarehouse] = {}
        self._forsaken: list[dict[str, OpenWarehouse]] = []
        self._lock = threading.Lock()

    def acquire(self, url: str, *, short: bool = False) -> OpenWarehouse:
        """The warehouse of a URL; made if there is none.

        Raises TakenElsewhere if another process has it open. ``short`` is for programs that are
        over soon: they let others that wait for the folder go first.
        """
        scheme = scheme_of(url)
        key = scheme.key_of(url) or uuid.uuid4().hex
        with self._lock:
            found = self._open.get(key)
            if found is None:
                # What a killed process of this machine has left: rows of people may be in it.
                sweep_scratch()
                found = self._open[key] = self._opened(scheme, url, key, short)
            found.users += 1
            return found

    def release(self, warehouse: OpenWarehouse) -> None:
        """One connection fewer; the last one closes the warehouse, also of other processes."""
        with self._lock:
            warehouse.users -= 1
            self._close_if_unused(warehouse)

    def serve_until_idle(self, warehouse: OpenWarehouse, idle_s: float) -> None:
        """Serve other processes until none has been there for so many seconds; then close."""
        since = time.monotonic()
        while time.monotonic() - since < idle_s:
            time.sleep(_IDLE_POLL_S)
            if warehouse.users > 1 or warehouse.server is None or warehouse.server.clients:
                since = time.monotonic()
        self.release(warehouse)

    def _opened(self, scheme: StoreScheme, url: str, key: str, short: bool) -> OpenWarehouse:
        root = scheme.folder_of(url)
        if root is None:
            return _open(scheme, url, key)
        lock = claim(root, short=short)
        if not isinstance(lock, OwnerLock):
            raise TakenElsewhere(root, lock)
        why = unshared_because(root)
        try:
            lock.announce(Owner(os.getpid(), process_name(), why))
            warehouse = _open(scheme, url, key)
            warehouse.lock = lock
            if not why:
                warehouse.server = OwnerServer(
                    root,
                    partial(_client_session, warehouse),
                    partial(self._close_after_clients, warehouse),
                )
        except BaseException:
            lock.release()
            raise
        return warehouse

    def _close_after_clients(self, warehouse: OpenWarehouse) -> None:
        """The last client of another process has left."""
        with self._lock:
            self._close_if_unused(warehouse)

    def _close_if_unused(self, warehouse: OpenWarehouse) -> None:
        if warehouse.is_unused and self._open.get(warehouse.key) is warehouse:
            del self._open[warehouse.key]
            _close(warehouse)

    def close_all(self) -> None:
        """Close all warehouses that are still open when the process ends."""
        with self._lock:
            while self._open:
                _close(self._open.popitem()[1])

    def forget_after_fork(self) -> None:
        """In a forked child: the parent's warehouses are not this process's to touch or free."""
        for warehouse in self._open.values():
            if warehouse.server is not None:
                warehouse.server.abandon()
            if warehouse.lock is not None:
                warehouse.lock.abandon()
        self._forsaken.append(self._open)
        self._open = {}
        self._lock = threading.Lock()


def _client_session(warehouse: OpenWarehouse, hello: Hello) -> Session:
    """A session for a client of another process."""
    settings = hello.settings.in_home_schema(warehouse.journal.state.catalog.home)
    if settings.timezone is None and hello.zone != process_zone():
        settings = settings.with_setting("timezone", hello.zone)
    session = Session(
        warehouse.journal,
        warehouse.executor,
        dialect=hello.dialect,
        autocommit=hello.autocommit,
        user=hello.user,
        settings=settings,
        retries=RandomWaits(),
    )
    session.folder = hello.folder
    return session


def _open(scheme: StoreScheme, url: str, key: str) -> OpenWarehouse:
    store = scheme.open(url)
    maintained = partial(scheme.maintained, store.journal)
    executor = Executor(store.journal, store.upkeep, maintained)
    return OpenWarehouse(key, store.journal, executor, store.temporary)


def _close(warehouse: OpenWarehouse) -> None:
    if warehouse.server is not None:
        warehouse.server.close()
    warehouse.executor.close()
    warehouse.journal.close()
    if warehouse.lock is not None:
        warehouse.lock.release()
    if warehouse.temporary is not None:
        warehouse.temporary.close()


WAREHOUSES = Warehouses()
atexit.register(WAREHOUSES.close_all)
os.register_at_fork(after_in_child=WAREHOUSES.forget_after_fork)
