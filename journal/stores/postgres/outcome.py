"""Asks the server whether a transaction committed whose connection broke at COMMIT.

    before COMMIT   the number is made to outlive a crash of the server
    after the cut   another connection asks until the transaction is over, or patience is

Numbers are handed out in memory. After a crash the server hands those out again of which the log on
its disk knows nothing, and would then tell of another transaction: so another connection commits
something first, which takes the log to the disk. A transaction is over when it is finished for new
snapshots: the server marks it committed earlier, before its standbys or, on Greenplum, its segments
have it. Decides nothing about what is committed, and is never asked by those that have a row of
``_palimpsest.transactions``: the row tells.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from journal.model.errors import Code, PalimpsestError
from journal.model.store_session import StoreSession
from journal.stores.postgres.errors import SEGMENT_LOST, still_under_way

GONE = frozenset({Code.STORE_LOST, Code.STORE_UNREACHABLE})
"""Codes of a server that does not answer, and may later."""
PATIENCE_S = 10.0
"""How long a server is asked that does not answer, and how long one that has not finished."""
_FIRST_PAUSE_S = 0.02
_PAUSE_MAX_S = 0.5
# Whoever never waits for the log says so for commits, which then may be lost, but not for this.
_TO_DISK = (
    "SELECT pg_logical_emit_message(true, 'palimpsest', ''), set_config('synchronous_commit',"
    " replace(current_setting('synchronous_commit'), 'off', 'local'), true)"
)
ASK = (
    "SELECT CASE WHEN txid_visible_in_snapshot(?::bigint, txid_current_snapshot())"
    " THEN txid_status(?::bigint) ELSE 'in progress' END"
)
"""What a number's transaction is for whoever looks from now on; twice the number."""
_OVER = {"committed": True, "aborted": False}


class Outcomes:
    """Asks on other connections: ``lent`` gives one for a moment, ``forget`` closes idle ones."""

    def __init__(
        self,
        lent: Callable[[], AbstractContextManager[StoreSession]],
        forget: Callable[[], None],
    ) -> None:
        self._lent = lent
        self._forget = forget

    def keep(self, number: str) -> None:
        """Make sure that no other transaction gets this number, whatever becomes of the server."""
        try:
            self._commit_something()
        except PalimpsestError as error:
            if error.code is not Code.STORE_LOST:
                raise
            # One that lay idle may have been dead; a new one is not.
            self._forget()
            self._commit_something()

    def _commit_something(self) -> None:
        with self._lent() as session:
            session.text(_TO_DISK)

    def of(self, number: str, error: PalimpsestError) -> bool:
        """Whether a transaction was committed; raises OUTCOME_UNKNOWN if nobody can tell.

        ``error`` is raised if the server does not answer.
        """
        self._forget()
        last = error
        for _ in pauses(PATIENCE_S):
            try:
                with self._lent() as session:
                    ((said,),) = session.text(ASK, [number, number])
            except PalimpsestError as failed:
                if failed.code not in GONE:
                    raise error from failed
                last = error
                continue
            if said in _OVER:
                return _OVER[said]
            last = still_under_way()
        raise last from error


def leaves_open(sqlstate: str | None) -> bool:
    """Whether an error of COMMIT leaves open what became of it, as one without a state does."""
    return sqlstate is None or sqlstate == SEGMENT_LOST


def pauses(patience_s: float) -> Iterator[None]:
    """Turns to try something, until patience ends; the pauses between them grow."""
    deadline = time.monotonic() + patience_s
    pause_s = _FIRST_PAUSE_S
    while True:
        yield
        if time.monotonic() > deadline:
            return
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, _PAUSE_MAX_S)
