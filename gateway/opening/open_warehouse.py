"""A warehouse open in this process: sessions on it, for its own clients and for other processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from typing import Any

from gateway.config import Settings
from gateway.opening.schemes import StoreScheme
from gateway.session.executor import Executor
from gateway.session.outcome import StatementOutcome
from gateway.session.retries import RandomWaits, RetryPolicy
from gateway.session.session import Session
from gateway.sharing.folder import Owner, OwnerLock, unshared_because
from gateway.sharing.messages import Hello
from gateway.sharing.owner import OwnerServer, process_name
from gateway.sharing.time_zone import process_zone
from journal.local_engine.scratch import Scratch
from journal.model.lazy_dataclass import dataclass
from journal.transactions.protocol import OpenJournal
from rewriter.syntax.parsing import Parsed


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
    control_store: str | None = None
    """The control store that its server names, where it is another."""

    @property
    def is_unused(self) -> bool:
        """True if no session is open on it, here or for another process."""
        return self.users == 0 and (self.server is None or self.server.clients == 0)

    def session(
        self,
        settings: Settings,
        *,
        dialect: str,
        autocommit: bool,
        user: str | None,
        retries: RetryPolicy | None = None,
    ) -> Session:
        """A new session on the warehouse."""
        return Session(
            self.journal,
            self.executor,
            dialect=dialect,
            autocommit=autocommit,
            user=user,
            settings=settings.in_home_schema(self.journal.state.catalog.home),
            retries=retries or RandomWaits(),
        )

    def client_session(self, hello: Hello) -> Session:
        """A new session for a client of another process."""
        settings = hello.settings
        if settings.timezone is None and hello.zone != process_zone():
            settings = settings.with_setting("timezone", hello.zone)
        session = self.session(
            settings, dialect=hello.dialect, autocommit=hello.autocommit, user=hello.user
        )
        session.folder = hello.folder
        return session

    def announce_server(self, url: str) -> None:
        """Say to programs that meet the folder where its server is."""
        if self.lock is not None:
            why = unshared_because(self.lock.root)
            self.lock.announce(Owner(os.getpid(), process_name(), why, url))

    def abandon(self) -> None:
        """In a forked child: let go of what belongs to the parent, without touching it."""
        if self.server is not None:
            self.server.abandon()
        if self.lock is not None:
            self.lock.abandon()

    def close(self) -> None:
        """Serve nobody any more, close the journals, and let go of the folder."""
        if self.server is not None:
            self.server.close()
        self.executor.close()
        self.journal.close()
        if self.lock is not None:
            self.lock.release()
        if self.temporary is not None:
            self.temporary.close()


def open_alone(scheme: StoreScheme, url: str, key: str) -> OpenWarehouse:
    """Open the warehouse of a URL for this process."""
    store = scheme.open(url)
    maintained = partial(scheme.maintained, store.journal)
    executor = Executor(store.journal, store.upkeep, maintained, _run_immediate)
    return OpenWarehouse(key, store.journal, executor, store.temporary)


def _run_immediate(
    session: Session, parsed: Parsed, parameters: Mapping[str, Any]
) -> StatementOutcome:
    """Load what procedures and entities need when the first statement asks for it."""
    from gateway.governance.immediate_statements import run_immediate

    return run_immediate(session, parsed, parameters)


def open_shared(
    scheme: StoreScheme,
    url: str,
    key: str,
    lock: OwnerLock,
    after_clients: Callable[[OpenWarehouse], None],
) -> OpenWarehouse:
    """Open the warehouse in a folder of which this process has the lock, and serve others.

    The caller lets go of the lock if this raises. ``after_clients`` is called when the last client
    of another process has left.
    """
    why = unshared_because(lock.root)
    lock.announce(Owner(os.getpid(), process_name(), why))
    warehouse = open_alone(scheme, url, key)
    warehouse.lock = lock
    if not why:
        warehouse.server = OwnerServer(
            lock.root, warehouse.client_session, partial(after_clients, warehouse)
        )
    return warehouse
