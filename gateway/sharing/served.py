"""One client's session at the owner: calls come in over its socket and are run one by one.

A thread each. It translates only: what a call does is the session's, or an operation's.
"""

from __future__ import annotations

import logging
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pyarrow as pa

from gateway.errors import TOO_DEEP
from gateway.session import operations
from gateway.session.outcome import ResultRows, StatementOutcome
from gateway.session.session import Session
from gateway.sharing import wire
from gateway.sharing.client_engine import ClientEngine
from gateway.sharing.messages import (
    Advanced,
    Answered,
    Failed,
    Moved,
    OutcomeHead,
    OwnerCall,
    SessionState,
    Welcome,
)
from journal.local_engine.arrow_values import python_rows
from journal.model.errors import Code, PalimpsestError
from journal.model.failures import failures

_LOG = logging.getLogger("palimpsest.sharing")
FIRST_ROWS = 1024
"""How many rows come with the answer to a statement; the others when they are asked for."""
BATCH_ROWS = 1 << 16
STREAM_S = 5.0
"""How long rows that nobody fetches keep an owner that wants to end."""


class ServedSession:
    """A session that another process uses; ``serve`` runs until that process leaves."""

    def __init__(self, peer: socket.socket, session: Session, closes: Callable[[], bool]) -> None:
        """``closes`` tells whether the owner is about to close the warehouse."""
        self.key = secrets.token_hex(16)
        self.session = session
        self._peer = peer
        self._closes = closes
        self._lock = threading.Lock()
        self._results: dict[int, _Result] = {}
        self._last_result = 0
        self._in_call = False
        self._last_s = time.monotonic()
        self._left = False
        self._told: SessionState | None = None

    @property
    def is_busy(self) -> bool:
        """True while the owner must not close the warehouse for this client's sake."""
        streams = any(r.is_open for r in list(self._results.values()))
        streams = streams and time.monotonic() - self._last_s < STREAM_S
        return not self._left and (self._in_call or self._is_pinned() or streams)

    def _is_pinned(self) -> bool:
        return self.session.in_transaction or bool(self.session.temporary)

    def state(self) -> SessionState:
        """What the client may know of its session without asking."""
        session = self.session
        return SessionState(
            session.status, session.has_written, self._is_pinned(), session.settings
        )

    def _new_state(self) -> SessionState | None:
        """The state, unless the client was told the same before: it takes a message's most time."""
        state = self.state()
        if state == self._told:
            return None
        self._told = state
        return state

    def serve(self, pid: int) -> None:
        """Answer calls until the client leaves or the owner closes; then roll back."""
        self._told = self.state()
        try:
            wire.send(self._peer, Welcome(self.key, pid, self._told))
            while self._next():
                pass
        except wire.PeerGone:
            pass
        finally:
            self._left = True
            self._drop(list(self._results))
            self.session.close()

    def _next(self) -> bool:
        """Take and answer the next call; false after the last one."""
        try:
            call = wire.receive(self._peer)
        except PalimpsestError as error:
            wire.send(self._peer, Failed.of(error, self._new_state()))
            return True
        return self._answer(call)

    def leave_if_idle(self) -> bool:
        """End the connection of a client that waits for nothing; from another thread."""
        with self._lock:
            if self.is_busy:
                return False
            self._left = True
        shut(self._peer)
        return True

    def stop(self) -> None:
        """End the connection whatever the client does; from another thread."""
        self.session.cancel()
        shut(self._peer)

    def _answer(self, call: OwnerCall) -> bool:
        with self._lock:
            leaves = self._left or (self._closes() and not self.is_busy)
            self._left = leaves
            self._in_call = not leaves
        if leaves:
            wire.send(self._peer, Moved())
            return False
        try:
            wire.send(self._peer, self._outcome_of(call))
        finally:
            self._last_s = time.monotonic()
            self._in_call = False
        return True

    def _outcome_of(self, call: OwnerCall) -> Answered | Failed:
        """What a call came to; a defect of ours is its client's to hear of, and nobody else's."""
        try:
            with failures():
                return Answered(self._run(call), self._new_state())
        except PalimpsestError as error:
            found = error
        except RecursionError:
            found = TOO_DEEP
        except wire.PeerGone:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, its client hears of it
            _LOG.exception("a call of another program failed")
            found = PalimpsestError(
                Code.INVARIANT,
                f"{type(error).__name__}: {error}",
                advice="report it, with what the process that has the warehouse open wrote",
            )
        return Failed.of(found, self._new_state())

    def _run(self, call: OwnerCall) -> Any:
        self._drop(call.dropped)
        run = _CALLS.get(call.operation)
        if run is None:
            raise PalimpsestError(
                Code.INTERFACE,
                f"the process that has the warehouse open knows no call {call.operation}",
                advice="use the same version of palimpsest in all programs",
            )
        with self.session.naming(call.transaction_id, again=call.again):
            return run(self, *call.arguments)

    def _execute(self, text: str, parameters: Any) -> OutcomeHead:
        return self._head(self.session.execute(text, parameters))

    def _execute_many(self, text: str, rows: Any) -> OutcomeHead:
        return self._head(self.session.execute_many(text, rows))

    def _run_text(self, text: str) -> OutcomeHead:
        return self._head(self.session.run_text(text))

    def _head(self, outcome: StatementOutcome) -> OutcomeHead:
        if outcome.columns is None or outcome.rows is None:
            return OutcomeHead(outcome.tag, outcome.row_count, outcome.skipped)
        with self.session.fetching(outcome.rows):
            result = _Result(outcome.rows)
        self._last_result += 1
        self._results[self._last_result] = result
        return OutcomeHead(
            outcome.tag,
            outcome.row_count,
            outcome.skipped,
            outcome.columns,
            self._last_result,
            python_rows(result.first, outcome.columns, self.session.settings.timezone),
            not result.is_open,
        )

    def _fetch(self, number: int, from_first: bool, batches: int) -> bool:
        """Send the schema of a result, and so many Arrow batches of what was not fetched of it.

        ``from_first``: the rows that came with the answer once more. True if there may be more.
        """
        result = self._results.get(number)
        if result is None:
            raise PalimpsestError(
                Code.NO_RESULT, "there is no result to fetch from", advice="execute a query first"
            )
        wire.send_bytes(self._peer, memoryview(result.first.schema.serialize()))
        if from_first:
            wire.send_bytes(self._peer, memoryview(result.first.serialize()))
        for _ in range(batches):
            with self.session.fetching(result.rows):
                batch = result.next()
            if batch is None:
                break
            self._last_s = time.monotonic()
            wire.send_bytes(self._peer, memoryview(batch.serialize()))
        return result.is_open

    def _drop(self, results: Any) -> None:
        for number in results:
            result = self._results.pop(number, None)
            if result is not None:
                result.rows.close()

    def _begin(self, read_only: bool) -> None:
        self.session.begin(read_only=read_only)

    def _commit(self) -> None:
        self.session.commit()

    def _rollback(self) -> None:
        self.session.rollback()

    def _set_settings(self, settings: Any) -> None:
        self.session.settings = settings

    def _set_autocommit(self, value: bool) -> None:
        self.session.autocommit = value

    def _track(self, wanted: bool) -> None:
        self.session.cancellation.tracks_progress = wanted

    def _catalog(self) -> Any:
        return self.session.catalog

    def _synchronize(self) -> None:
        """A call whose only purpose is what all calls do."""

    def _perform(self, name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        def advance(*told: Any) -> None:
            wire.send(self._peer, Advanced(told))

        with ClientEngine(self._peer).lent(self.session):
            return operations.find(name)(self.session, advance, *arguments, **named)


class _Result:
    """The rows of a statement: the first batch, and those that were not fetched."""

    def __init__(self, rows: ResultRows) -> None:
        self.rows = rows
        self._batches: Iterator[pa.RecordBatch] = rows.batches(BATCH_ROWS)
        self.first: pa.RecordBatch = next(self._batches)
        self._ahead: pa.RecordBatch | None = None
        if self.first.num_rows > FIRST_ROWS:
            self._ahead = self.first.slice(FIRST_ROWS)
            self.first = self.first.slice(0, FIRST_ROWS)
        else:
            self._ahead = next(self._batches, None)
        self.is_open = self._ahead is not None

    def next(self) -> pa.RecordBatch | None:
        """The next batch; None after the last one."""
        found, self._ahead = self._ahead, None
        if found is None and self.is_open:
            found = next(self._batches, None)
        self.is_open = found is not None
        return found


def shut(peer: socket.socket) -> None:
    """End a connection, so that whoever waits at it wakes up."""
    with suppress(OSError):
        peer.shutdown(socket.SHUT_RDWR)


_CALLS: dict[str, Callable[..., Any]] = {
    "begin": ServedSession._begin,
    "catalog": ServedSession._catalog,
    "commit": ServedSession._commit,
    "execute": ServedSession._execute,
    "execute_many": ServedSession._execute_many,
    "fetch": ServedSession._fetch,
    "nothing": ServedSession._synchronize,
    "perform": ServedSession._perform,
    "rollback": ServedSession._rollback,
    "run_text": ServedSession._run_text,
    "set_autocommit": ServedSession._set_autocommit,
    "set_settings": ServedSession._set_settings,
    "track": ServedSession._track,
}
