"""Collects logins and refusals of a server, and writes them to the login log in groups.

    front ends --note--> group in memory --every few seconds--> system.logins --> audit log

A group is bounded: like attempts are counted, and of users and addresses beyond a number only the
count is kept. So a flood of refusals costs one small write at a time, and no memory. What a server
that is killed had not written yet is lost. Thread-safe; never raises to whoever logs in.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Protocol

from journal.model.errors import PalimpsestError
from journal.model.failures import failures
from journal.records.login_rows import LoginRow

_LOG = logging.getLogger("palimpsest.login")
_EVERY_S, _DIGEST_EVERY_S = 5.0, 60.0
_GROUP_MAX = 200
_TEXT_MAX = 128
_OTHERS = "others"
"""Who stands for the users, and for the addresses, that a group has no room for."""
_Group = dict[tuple[str, ...], LoginRow]


class LoginRecords(Protocol):
    """Where a login log writes."""

    def write(self, rows: Sequence[LoginRow]) -> None:
        """Add rows; they are numbered there."""

    def digest(self) -> object:
        """Enter a digest of the rows that have none into the audit log."""


class LoginLog:
    """The login log of one server; ``close`` writes what is left."""

    def __init__(
        self,
        records: LoginRecords,
        *,
        every_s: float = _EVERY_S,
        digest_every_s: float = _DIGEST_EVERY_S,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._records = records
        self._every_s, self._digest_every_s = every_s, digest_every_s
        self._now = now
        self._group: _Group = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="login-log", daemon=True)
        self._thread.start()

    def note(self, user: str, address: str, front_end: str, outcome: str, detail: str) -> None:
        """Note how an attempt ended: ``outcome`` is ``login`` or ``refused``."""
        now = self._now()
        row = LoginRow(
            0, now, now, _bounded(user), _bounded(address), front_end, outcome, detail, 1
        )
        with self._lock:
            _add(self._group, row)

    def close(self) -> None:
        """Write what is left, with its digest; nothing is noted any more."""
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        digest_at = time.monotonic() + self._digest_every_s
        is_undigested = False
        while not self._over.wait(self._every_s):
            is_undigested |= self._write()
            if is_undigested and time.monotonic() >= digest_at:
                is_undigested = not self._attempt(self._records.digest)
                digest_at = time.monotonic() + self._digest_every_s
        if self._write() or is_undigested:
            self._attempt(self._records.digest)

    def _write(self) -> bool:
        """Write the group, if there is anything in it; it stays where that fails."""
        with self._lock:
            group, self._group = self._group, {}
        if not group or self._attempt(lambda: self._records.write(tuple(group.values()))):
            return bool(group)
        with self._lock:
            for row in self._group.values():
                _add(group, row)
            self._group = group
        return False

    def _attempt(self, write: Callable[[], object]) -> bool:
        try:
            with failures():
                write()
        except PalimpsestError as error:
            _LOG.warning("the login log cannot be written now: %s", error.message)
            return False
        return True


def _add(group: _Group, row: LoginRow) -> None:
    """Add a row to a group: counted with its like, or with others where there is no room."""
    parts = _parts(row)
    if parts not in group and len(group) >= _GROUP_MAX:
        row = replace(row, user_name=_OTHERS, address=_OTHERS)
        parts = _parts(row)
    known = group.get(parts)
    if known is not None:
        row = replace(row, first_at=known.first_at, attempts=known.attempts + row.attempts)
    group[parts] = row


def _parts(row: LoginRow) -> tuple[str, ...]:
    return row.user_name, row.address, row.front_end, row.outcome, row.detail


def _bounded(text: str) -> str:
    """A text as it is kept: what clients send may be of any length, and hold any characters."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text[:_TEXT_MAX])
    return shown if len(text) <= _TEXT_MAX else f"{shown}.."
