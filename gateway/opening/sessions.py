"""Sessions of clients, each on the open warehouse of its URL: what every front end begins with."""

from __future__ import annotations

from dataclasses import dataclass, field

from gateway.config import Settings
from gateway.opening.warehouses import WAREHOUSES, OpenWarehouse
from gateway.session.retries import RandomWaits, RetryPolicy
from gateway.session.session import Session


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """A session, and the warehouse that stays open with it."""

    session: Session
    _warehouse: OpenWarehouse = field(repr=False)

    def close(self) -> None:
        """Roll back and let go of the warehouse, which closes with its last session."""
        try:
            self.session.close()
        finally:
            WAREHOUSES.release(self._warehouse)


def open_session(
    url: str,
    *,
    dialect: str,
    autocommit: bool,
    user: str | None,
    application: str | None,
    settings: Settings,
    retries: RetryPolicy | None = None,
) -> OpenedSession:
    """Open the warehouse of a URL, unless it is open, and a session on it.

    ``user`` and ``application`` are recorded with commits.
    """
    warehouse = WAREHOUSES.acquire(url)
    try:
        settings = settings.in_home_schema(warehouse.journal.state.catalog.home)
        if application is not None:
            settings = settings.with_setting("application", application)
        session = Session(
            warehouse.journal,
            warehouse.executor,
            dialect=dialect,
            autocommit=autocommit,
            user=user,
            settings=settings,
            retries=retries or RandomWaits(),
        )
    except BaseException:
        WAREHOUSES.release(warehouse)
        raise
    return OpenedSession(session, warehouse)
