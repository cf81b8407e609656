"""The sessions of one client, with its transactions, statements and results by handle.

Statements run in the client's first session, one at a time. A transaction that begins takes that
session as well; what the client does outside of it meanwhile runs in another. Handles are random,
and known in their client's session only, so nobody can use those of somebody else.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import field

import pyarrow as pa

from gateway.config import Settings
from gateway.servers.flight.results import FlightResult
from gateway.session.session import Session
from journal.model.access import Role
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from rewriter.syntax.parsing import Parsed

HANDLE_BYTES = 16
_MOST_HANDLES = 1_000
_RESULT_S = 300.0
"""How long a result waits for a client that does not fetch it."""


class SessionSlot:
    """A session of the warehouse, and the lock of whoever uses it."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.lock = threading.RLock()
        self.transaction: bytes | None = None
        """The handle of the transaction that has it."""


@dataclass(slots=True)
class FlightStatement:
    """A prepared statement: its text, the transaction it belongs to, and rows of parameters."""

    text: str
    parsed: Parsed
    transaction: bytes | None
    rows: pa.Table | None = None


@dataclass(slots=True)
class FlightClient:
    """One client's session on a Flight server."""

    token: str
    user: str
    role: Role | None
    address: str
    open_worker: Callable[[], Session]
    settings: Settings | None = None
    """What session options have made of the settings that sessions begin with."""
    runs_as: str | None = None
    """For whom the client has asked as it began, where that is not itself."""
    used_s: float = field(default_factory=time.monotonic)
    calls: int = 0
    is_closed: bool = False
    lock: threading.RLock = field(default_factory=threading.RLock)
    workers: list[SessionSlot] = field(default_factory=list)
    statements: dict[bytes, FlightStatement] = field(default_factory=dict)
    savepoints: dict[bytes, tuple[bytes, str]] = field(default_factory=dict)
    results: dict[bytes, FlightResult] = field(default_factory=dict)

    @property
    def host(self) -> str:
        """The address as gRPC writes it, ``ipv4:127.0.0.1:4711``, without protocol and port."""
        host = self.address.partition(":")[2].rpartition(":")[0]
        return host.strip("[]").replace("%5B", "").replace("%5D", "")

    @property
    def in_transaction(self) -> bool:
        """True while a transaction is open."""
        return any(worker.session.in_transaction for worker in list(self.workers))

    @property
    def is_busy(self) -> bool:
        """True while a call is under way."""
        return self.calls > 0

    @contextmanager
    def calling(self) -> Iterator[None]:
        """A call of the client is under way; raises LOGIN for a session that has ended."""
        with self.lock:
            if self.is_closed:
                raise session_ended()
            self.calls += 1
        try:
            yield
        finally:
            with self.lock:
                self.calls -= 1
                self.used_s = time.monotonic()

    @contextmanager
    def working(self, transaction: bytes | None) -> Iterator[SessionSlot]:
        """A session for a statement: that of the transaction, or one that is in none.

        Raises NO_TRANSACTION for a handle that is unknown or has ended.
        """
        while True:
            worker = self._worker(transaction)
            with worker.lock:
                if worker.transaction == transaction:
                    yield worker
                    return
            # A transaction began in it, or ended, before it was ours.

    def begin(self) -> bytes:
        """The handle of a transaction that has begun."""
        with self.lock:
            self._check_handles()
            worker = self._free_worker()
            handle = worker.transaction = secrets.token_bytes(HANDLE_BYTES)
        with worker.lock:
            try:
                worker.session.begin()
            except BaseException:
                worker.transaction = None
                raise
        return handle

    def end(self, transaction: bytes, *, commits: bool) -> None:
        """End a transaction, whose handle is gone in any case."""
        with self.working(transaction or b"?") as worker:
            worker.transaction = None
            if commits:
                worker.session.commit()
            else:
                worker.session.rollback()
        with self.lock:
            gone = [key for key, (of, _) in self.savepoints.items() if of == transaction]
            for key in gone:
                del self.savepoints[key]

    def keep_statement(self, statement: FlightStatement) -> bytes:
        """The handle of a statement that is kept."""
        with self.lock:
            self._check_handles()
            handle = secrets.token_bytes(HANDLE_BYTES)
            self.statements[handle] = statement
        return handle

    def statement(self, handle: bytes) -> FlightStatement:
        """The prepared statement of a handle; raises UNKNOWN_PREPARED."""
        found = self.statements.get(handle)
        if found is None:
            raise PalimpsestError(
                Code.UNKNOWN_PREPARED,
                "the session has no such prepared statement",
                advice="prepare it, in this connection",
            )
        return found

    def keep_result(self, result: FlightResult) -> bytes:
        """The handle under which a result waits to be fetched."""
        with self.lock:
            self._check_handles()
            handle = secrets.token_bytes(HANDLE_BYTES)
            self.results[handle] = result
        return handle

    def take_result(self, handle: bytes) -> FlightResult:
        """The result of a handle, which is fetched once; raises NO_RESULT."""
        with self.lock:
            found = self.results.pop(handle, None)
        if found is None:
            raise PalimpsestError(
                Code.NO_RESULT,
                "the session has no such result: it was fetched, cancelled, or waited too long",
                advice="run the statement again",
            )
        return found

    def cancel(self) -> None:
        """Stop whatever runs."""
        for worker in list(self.workers):
            worker.session.cancel()

    def drop_old_results(self) -> None:
        """Let go of results that nobody has fetched for long."""
        limit = time.monotonic() - _RESULT_S
        with self.lock:
            old = [self.results.pop(h) for h, r in list(self.results.items()) if r.made_s < limit]
        for result in old:
            result.close()

    def close(self) -> None:
        """Roll back, and let go of everything."""
        with self.lock:
            self.is_closed = True
            results, self.results = list(self.results.values()), {}
            workers, self.workers = self.workers, []
            self.statements.clear()
        for worker in workers:
            worker.session.cancel()
        for result in results:
            result.close()
        for worker in workers:
            with worker.lock, suppress(PalimpsestError):
                worker.session.close()

    def _worker(self, transaction: bytes | None) -> SessionSlot:
        with self.lock:
            if transaction is None:
                return self._free_worker()
            found = next((w for w in self.workers if w.transaction == transaction), None)
        if found is None:
            raise no_transaction()
        return found

    def _free_worker(self) -> SessionSlot:
        if self.is_closed:
            raise session_ended()
        found = next((w for w in self.workers if w.transaction is None), None)
        if found is None:
            found = SessionSlot(self.open_worker())
            self.workers.append(found)
        return found

    def _check_handles(self) -> None:
        if len(self.statements) + len(self.results) + len(self.workers) > _MOST_HANDLES:
            raise PalimpsestError(
                Code.TOO_MANY_CONNECTIONS,
                f"the session holds {_MOST_HANDLES:,} statements, results and transactions",
                advice="close statements, fetch results, and end transactions",
            )


def session_ended() -> PalimpsestError:
    """The error for a session that is over, or was never there."""
    return PalimpsestError(
        Code.LOGIN,
        "the session of this token has ended",
        advice="connect again; what was committed is safe",
    )


def no_transaction() -> PalimpsestError:
    """The error for a transaction's handle that is unknown."""
    return PalimpsestError(
        Code.NO_TRANSACTION,
        "the session has no such transaction: it has ended, or is another session's",
        advice="begin one with BeginTransaction",
    )
