"""Leases: who may write a table now, with a fencing token that stops whoever overslept.

    free --take--> held --renew--> held --release--> free
                     `--time is up--> another may take it, under a higher token

A lease is renewed while it is held. A gateway that was paused longer than its lease lasts finds its
token outdated in the transaction in which it would commit, so it commits nothing.
"""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from journal.model.errors import Code, PalimpsestError
from journal.records.schema import LEASES
from journal.stores.hive.catalog_db import catalog as rows_of
from journal.stores.hive.catalog_db.engine import CatalogConnection, CatalogDatabase

DURATION_S = 15.0
_PAUSE_S = (0.01, 0.05)


class HeldLeases:
    """Leases that are held together; given back in one go."""

    def __init__(self, leases: Leases) -> None:
        self._leases = leases
        self.id = uuid.uuid4().hex
        self._tokens: dict[str, int] = {}
        self._lock = threading.Lock()

    def take(self, name: str) -> None:
        """Wait for one more lease; take several in the order of their names."""
        token = self._leases.wait_for(name, self.id)
        with self._lock:
            self._tokens[name] = token

    def check(self, connection: CatalogConnection) -> None:
        """Raise SERIALIZATION unless every lease is still held; run it where the commit happens."""
        with self._lock:
            held = sorted(self._tokens.items())
        if not rows_of.renew_leases(connection, held, self._leases.expiry_us()):
            raise PalimpsestError(
                Code.SERIALIZATION,
                "another gateway has taken over the lease of a table that this transaction writes,"
                " because it was not renewed in time",
                advice="roll back and run the transaction again",
            )

    def take_if_free(self, name: str) -> bool:
        """Take one more lease, unless somebody else has it."""
        token = self._leases.try_take(name, self.id)
        if token is not None:
            with self._lock:
                self._tokens[name] = token
        return token is not None

    def renew(self) -> bool:
        """Let the leases last longer; False once one of them is lost."""
        with self._lock:
            held = sorted(self._tokens.items())
        with self._leases.catalog.writing() as connection:
            return rows_of.renew_leases(connection, held, self._leases.expiry_us())

    def release(self, *, forget: bool = False) -> None:
        """Give them all back; ``forget`` them where nobody goes by their tokens."""
        with self._lock:
            held, self._tokens = dict(self._tokens), {}
        if held:
            with self._leases.catalog.writing() as connection:
                for name, token in held.items():
                    rows_of.release_lease(connection, name, token, forget=forget)


class Leases:
    """Takes leases off a catalog; ``wall_us`` tells the time."""

    def __init__(
        self,
        catalog: CatalogDatabase,
        wall_us: Callable[[], int],
        duration_s: float = DURATION_S,
    ) -> None:
        self.catalog = catalog
        self._wall_us = wall_us
        self._duration_s = duration_s

    def expiry_us(self) -> int:
        """When a lease taken now ends, in microseconds since 1970."""
        return self._wall_us() + int(self._duration_s * 1e6)

    def try_take(self, name: str, holder: str) -> int | None:
        """Take a lease that is free or has ended; its fencing token, None if it is another's."""
        with self.catalog.writing(LEASES) as connection:
            now = self._wall_us()
            return rows_of.take_lease(connection, name, holder, now, self.expiry_us())

    def wait_for(self, name: str, holder: str) -> int:
        """Take a lease as soon as it is free or has ended; its fencing token."""
        while True:
            token = self.try_take(name, holder)
            if token is not None:
                return token
            time.sleep(random.uniform(*_PAUSE_S))  # noqa: S311

    @contextmanager
    def holding(self, names: Iterable[str]) -> Iterator[HeldLeases]:
        """Hold leases, and renew them from a thread of their own."""
        held = HeldLeases(self)
        try:
            for name in sorted(names):
                held.take(name)
            with self._renewed(held):
                yield held
        finally:
            held.release()

    @contextmanager
    def trying(self, name: str) -> Iterator[bool]:
        """Hold a lease if nobody else does, and renew it; it is forgotten afterwards."""
        held = HeldLeases(self)
        try:
            if not held.take_if_free(name):
                yield False
                return
            with self._renewed(held):
                yield True
        finally:
            held.release(forget=True)

    @contextmanager
    def _renewed(self, held: HeldLeases) -> Iterator[None]:
        done = threading.Event()
        keeper = threading.Thread(target=self._keep_renewing, args=(held, done), daemon=True)
        keeper.start()
        try:
            yield
        finally:
            done.set()
            keeper.join()

    def _keep_renewing(self, held: HeldLeases, done: threading.Event) -> None:
        while not done.wait(self._duration_s / 3):
            try:
                if not held.renew():
                    return
            except PalimpsestError:
                # The commit itself finds out whether the lease is lost.
                continue
