"""Clients of a Flight server: their tokens, their number, and when they end.

A client without a token, which only a server without logins takes, is known by its connection.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from pyarrow import flight

from gateway.access.run_as import RUN_AS, check_same
from gateway.servers.client_sessions import OpenSession
from gateway.servers.ending import Ending
from gateway.servers.flight.login import Caller
from gateway.servers.flight.sessions import FlightClient, session_ended
from gateway.servers.limits import ServerLimits
from gateway.servers.pgwire.admission import Admission
from gateway.session.session import Session
from journal.model.errors import PalimpsestError

_LOG = logging.getLogger("palimpsest.flight")
SESSION_S = 3_600.0
"""After how long without a call a session ends, where no limit says otherwise."""
_IDLE_S = 60.0
"""Where there is no room, sessions make some that wait for longer and hold nothing."""
_TOKEN_BYTES = 32


class FlightClients:
    """The clients of one server."""

    def __init__(
        self,
        open_session: OpenSession,
        limits: ServerLimits,
        admission: Admission,
        ending: Ending,
    ) -> None:
        self._open_session = open_session
        self._admission = admission
        self._ending = ending
        self._limits = limits
        self._lock = threading.Lock()
        self._by_token: dict[str, FlightClient] = {}
        self._running: dict[int, tuple[flight.ServerCallContext, FlightClient, float]] = {}
        self._number = 0

    @property
    def count(self) -> int:
        """How many clients there are."""
        return len(self._by_token)

    def start(self, caller: Caller) -> str:
        """The token of the session that begins for a caller; raises TOO_MANY_CONNECTIONS."""
        return self._add(secrets.token_urlsafe(_TOKEN_BYTES), caller, "").token

    @contextmanager
    def calling(self, context: flight.ServerCallContext, caller: Caller) -> Iterator[FlightClient]:
        """The client of a call that is under way.

        Raises LOGIN for a token that is not known, TOO_MANY_CONNECTIONS, and SHUTDOWN at the end.
        """
        peer = context.peer()
        token = caller.token or f"peer {peer}"
        client = self._by_token.get(token)
        if client is None or not client.in_transaction:
            self._ending.check()
        if client is None and caller.token is not None:
            raise session_ended()
        if client is None:
            client = self._add(token, caller, peer)
        check_same(client.runs_as, caller.settings.get(RUN_AS))
        if not client.address:
            client.address = peer
            self._check(client)
        with client.calling():
            number = self._enter(context, client)
            try:
                yield client
            finally:
                self._leave(number)

    def end(self, client: FlightClient) -> None:
        """End a client's session, and roll back what it has not committed."""
        with self._lock:
            self._by_token.pop(client.token, None)
        client.close()

    def end_overdue(self) -> None:
        """Stop calls whose clients have gone or that take too long, and end what waits too long."""
        with self._lock:
            # A context lives as long as its call, which leaves under the lock.
            running = [
                (client, context.is_cancelled(), time.monotonic() - since)
                for context, client, since in self._running.values()
            ]
            clients = list(self._by_token.values())
        for client, is_cancelled, _ in running:
            if is_cancelled:
                client.cancel()
        for client in clients:
            for worker in list(client.workers):
                last = worker.session.activity.last
                if worker.session.cancellation.is_running and last is not None:
                    why = None if last.seconds is not None else self._late(last.elapsed_s)
                    if why is not None:
                        worker.session.cancellation.cancel(why)
            client.drop_old_results()
            if not client.is_busy and self._waits_too_long(client):
                _LOG.info("session of user %r from %s ended: idle", client.user, client.address)
                self.end(client)

    def all(self) -> list[FlightClient]:
        """All clients."""
        with self._lock:
            return list(self._by_token.values())

    @property
    def is_busy(self) -> bool:
        """True while calls run or transactions are open."""
        return bool(self._running) or any(client.in_transaction for client in self.all())

    def _late(self, seconds: float) -> PalimpsestError | None:
        return self._limits.check_running(seconds)

    def _waits_too_long(self, client: FlightClient) -> bool:
        waited = time.monotonic() - client.used_s
        limits = self._limits
        if client.settings is not None:
            limits = limits.with_settings(client.settings)
        in_transaction = client.in_transaction
        found = limits.check_waiting(waited, in_transaction=in_transaction)
        return found is not None or waited > SESSION_S

    def _enter(self, context: flight.ServerCallContext, client: FlightClient) -> int:
        with self._lock:
            self._number += 1
            self._running[self._number] = (context, client, time.monotonic())
            return self._number

    def _leave(self, number: int) -> None:
        with self._lock:
            self._running.pop(number, None)

    def _add(self, token: str, caller: Caller, address: str) -> FlightClient:
        user = caller.user or ""
        client = FlightClient(token, user, caller.role, address, lambda: self._open(client, caller))
        client.runs_as = caller.settings.get(RUN_AS)
        self._make_room()
        with self._lock:
            self._limits.check_room(len(self._by_token))
            found = self._by_token.setdefault(token, client)
        try:
            self._check(found)
        except BaseException:
            self.end(found)
            raise
        return found

    def _make_room(self) -> None:
        """End the session that waits the longest, if there is no room and it holds nothing."""
        clients = self.all()
        if len(clients) < self._limits.connections:
            return
        limit = time.monotonic() - _IDLE_S
        idle = [c for c in clients if c.used_s < limit and not (c.is_busy or c.in_transaction)]
        if idle:
            self.end(min(idle, key=lambda c: c.used_s))

    def _check(self, client: FlightClient) -> None:
        """Raise TOO_MANY_CONNECTIONS where a role, a user or an address has as many as it may."""
        self._limits.check_client(client, self.all())

    def _open(self, client: FlightClient, caller: Caller) -> Session:
        given = dict(caller.settings)
        application = given.pop("application_name", None)
        with self._admission.noting_run_as(client.user, client.host, "flight"):
            session = self._open_session(client.user or None, application, given, client.role)
        if client.settings is not None:
            session.settings = session.settings_at_start = client.settings
        session.activity.describe("flight", client.address, terminate=partial(self.end, client))
        return session
