"""PostgreSQL's advisory locks: numbers that a session locks among those of a store.

They live in the process that has the store open. Where several processes may have it open, that one
holds each number, while any session of its own does, by a block of the store that only one process
is inside of: so even those that sessions share keep other processes out. A lock that belongs to a
transaction goes with it, one of a session when that ends, at the latest. Never touches a table.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack

from journal.model.lazy_dataclass import dataclass

LockKey = tuple[int, ...]
"""One number, or two."""
Exclusive = Callable[[str], AbstractContextManager[bool]]
"""A block of a name that is given True if nobody else is inside one, in any process."""
_WAIT_S = 0.05


@dataclass(frozen=True, slots=True)
class Held:
    """A way of holding a lock: by a session or its transaction, alone or with others."""

    shared: bool
    of_transaction: bool


class AdvisoryLocks:
    """The locks of one store; used by the threads of all its sessions.

    ``exclusive`` gives the blocks, by name, that keep other processes out; None where there are
    none that could have the store open.
    """

    def __init__(self, exclusive: Exclusive | None = None) -> None:
        self._exclusive = exclusive
        self._blocks: dict[LockKey, ExitStack] = {}
        self._held: dict[LockKey, dict[object, Counter[Held]]] = {}
        self._changed = threading.Condition()

    def try_take(self, owner: object, key: LockKey, how: Held) -> bool:
        """Take a lock if nobody else is in the way; True if it was taken."""
        with self._changed:
            return self._take(owner, key, how)

    def take(self, owner: object, key: LockKey, how: Held, check: Callable[[], None]) -> None:
        """Wait for a lock; ``check`` is called now and then, and may raise to give up."""
        with self._changed:
            while not self._take(owner, key, how):
                self._changed.wait(_WAIT_S)
                check()

    def give_back(self, owner: object, key: LockKey, how: Held) -> bool:
        """Give a lock back that was taken in this way, once; False if it was not."""
        with self._changed:
            held = self._held.get(key, {}).get(owner)
            if held is None or not held[how]:
                return False
            held[how] -= 1
            self._tidy(owner, key)
            return True

    def end(self, owner: object, *, of_transaction: bool) -> None:
        """Give back the locks of an owner: those of its transaction, or those of the session."""
        with self._changed:
            for key in [k for k, owners in self._held.items() if owner in owners]:
                held = self._held[key][owner]
                for how in [h for h in held if h.of_transaction is of_transaction]:
                    del held[how]
                self._tidy(owner, key)

    def _take(self, owner: object, key: LockKey, how: Held) -> bool:
        owners = self._held.get(key, {})
        for other, held in owners.items():
            if other is not owner and not (how.shared and all(h.shared for h in held)):
                return False
        if not owners and not self._enter(key):
            return False
        self._held.setdefault(key, {}).setdefault(owner, Counter())[how] += 1
        return True

    def _enter(self, key: LockKey) -> bool:
        """Keep other processes out; False if one of them is in the way."""
        if self._exclusive is None:
            return True
        with ExitStack() as block:
            name = "advisory " + " ".join(map(str, key))
            if not block.enter_context(self._exclusive(name)):
                return False
            self._blocks[key] = block.pop_all()
        return True

    def _tidy(self, owner: object, key: LockKey) -> None:
        owners = self._held[key]
        owners[owner] = +owners[owner]
        if not owners[owner]:
            del owners[owner]
        if not owners:
            del self._held[key]
            self._blocks.pop(key, ExitStack()).close()
        self._changed.notify_all()
