"""Sessions of clients on the warehouse of a URL: what every front end begins with.

The warehouse is opened in this process, unless another one has it: then the session is that one's.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import field
from pathlib import Path

from gateway.config import Settings
from gateway.network.urls import is_server_url
from gateway.opening.folder_urls import check_exists
from gateway.opening.schemes import is_database
from gateway.opening.warehouses import WAREHOUSES, TakenElsewhere
from gateway.session.client_session import ClientSession
from gateway.session.retries import RetryPolicy
from gateway.sharing.messages import PROTOCOL, Hello
from gateway.sharing.remote import RemoteOwner
from gateway.sharing.remote_session import RemoteSession
from gateway.sharing.time_zone import process_zone
from gateway.sharing.wire import PeerGone
from gateway.version import VERSION
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.system_user import system_user


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """A session, and what is to be let go of with it."""

    session: ClientSession
    _release: Callable[[], None] = field(repr=False)

    def close(self) -> None:
        """Roll back and let go of the warehouse, which closes with its last session."""
        try:
            self.session.close()
        finally:
            self._release()


def open_session(
    url: str,
    *,
    dialect: str,
    autocommit: bool,
    user: str | None,
    application: str | None,
    settings: Settings,
    retries: RetryPolicy | None = None,
    short: bool = False,
) -> OpenedSession:
    """Open the warehouse of a URL, unless it is open, and a session on it.

    ``user`` and ``application`` are recorded with commits; without a ``user`` it is the login of
    whoever runs this process, or for a server what the URL says. ``short`` is for programs that are
    over soon.
    """
    if application is not None:
        settings = settings.with_setting("application", application)
    if is_server_url(url):
        return _server_session(url, dialect, autocommit, user, application, settings)
    user = user or system_user()
    if settings.is_read_only and not is_database(url):
        check_exists(url)
    while True:
        try:
            warehouse = WAREHOUSES.acquire(url, short=short)
            break
        except TakenElsewhere as taken:
            hello = Hello(
                PROTOCOL,
                VERSION,
                dialect,
                autocommit,
                user,
                application,
                settings,
                folder=str(Path.cwd()),
                zone=process_zone(),
            )
            with suppress(PeerGone):  # It has ended while this program connected.
                owner = RemoteOwner(taken.root, hello, taken.peer)
                remote = RemoteSession(owner, dialect=dialect, autocommit=autocommit, user=user)
                return OpenedSession(remote, _release_nothing)
    try:
        session = warehouse.session(
            settings, dialect=dialect, autocommit=autocommit, user=user, retries=retries
        )
    except BaseException:
        WAREHOUSES.release(warehouse)
        raise
    return OpenedSession(session, lambda: WAREHOUSES.release(warehouse))


def _server_session(
    url: str,
    dialect: str,
    autocommit: bool,
    user: str | None,
    application: str | None,
    settings: Settings,
) -> OpenedSession:
    """A session of a server; raises DRIVER_MISSING without the driver of its protocol."""
    try:
        # It brings the driver, which no other session needs.
        from gateway.network.link import ServerLink
    except ImportError as error:
        raise PalimpsestError(
            Code.DRIVER_MISSING,
            "a server is reached through psycopg, which is not installed",
            advice="pip install 'palimpsest-gateway[client]'",
        ) from error
    link = ServerLink(
        url,
        dialect=dialect,
        autocommit=autocommit,
        user=user,
        application=application,
        settings=settings,
    )
    remote = RemoteSession(link, dialect=dialect, autocommit=autocommit, user=user)
    return OpenedSession(remote, _release_nothing)


def _release_nothing() -> None:
    """The warehouse is another process's."""
