"""Opens the warehouse of a URL, and shares it in this process: the composition root."""

from __future__ import annotations

import atexit
import os
import socket
import threading
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.opening.schemes import StoreScheme, scheme_of
from gateway.sharing.folder import OwnerLock, claim
from journal.local_engine.scratch import sweep_scratch

if TYPE_CHECKING:
    from gateway.opening.open_warehouse import OpenWarehouse

_IDLE_POLL_S = 0.1


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
        self._is_registered = False

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
                # What is registered last is called first: before the drivers that the store has
                # imported end, for clients may be served until then.
                atexit.unregister(self.close_all)
                atexit.register(self.close_all)
                self._close_before_pools()
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
        lock: OwnerLock | None = None
        if root is not None:
            claimed = claim(root, short=short)
            if isinstance(claimed, socket.socket):
                raise TakenElsewhere(root, claimed)
            lock = claimed
        try:
            # A client of another process gets no further, and is spared most of a command's time.
            from gateway.opening.open_warehouse import open_alone, open_shared

            if lock is None:
                return open_alone(scheme, url, key)
            return open_shared(scheme, url, key, lock, self._close_after_clients)
        except BaseException:
            if lock is not None:
                lock.release()
            raise

    def _close_after_clients(self, warehouse: OpenWarehouse) -> None:
        """The last client of another process has left."""
        with self._lock:
            self._close_if_unused(warehouse)

    def _close_if_unused(self, warehouse: OpenWarehouse) -> None:
        if warehouse.is_unused and self._open.get(warehouse.key) is warehouse:
            del self._open[warehouse.key]
            warehouse.close()

    def close_all(self) -> None:
        """Close all warehouses that are still open when the process ends."""
        with self._lock:
            while self._open:
                self._open.popitem()[1].close()

    def _close_before_pools(self) -> None:
        """Have all closed while threads still start, which clients may be served with.

        An interpreter that ends lets no pool start work any more before it calls what ``atexit``
        knows. Pools have their own end called as this does, and what is registered last goes first.
        The interpreter waits for threads of the program itself, which may use a warehouse, only
        after that: where there are any, ``atexit`` closes it, after them.
        """
        if not self._is_registered:
            self._is_registered = True
            import concurrent.futures.thread  # noqa: F401 - it registers its end

            threading._register_atexit(self._close_without_threads)  # type: ignore[attr-defined]

    def _close_without_threads(self) -> None:
        others = set(threading.enumerate()) - {threading.main_thread()}
        if all(thread.daemon for thread in others):
            self.close_all()

    def forget_after_fork(self) -> None:
        """In a forked child: the parent's warehouses are not this process's to touch or free."""
        for warehouse in self._open.values():
            warehouse.abandon()
        self._forsaken.append(self._open)
        self._open = {}
        self._lock = threading.Lock()


WAREHOUSES = Warehouses()
os.register_at_fork(after_in_child=WAREHOUSES.forget_after_fork)
