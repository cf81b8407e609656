"""Settings whose values the server tells its clients: at the beginning, and when they change.

Drivers read times in the zone that they were told of last.
"""

from __future__ import annotations

from gateway.config import Settings
from gateway.servers.pgwire.text_style import interval_style
from gateway.session.session import Session
from gateway.session.taken_settings import SERVER_VERSION

_FIXED = {
    "server_version": SERVER_VERSION,
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "DateStyle": "ISO, MDY",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
    "in_hot_standby": "off",
}


class ReportedSettings:
    """What one client knows of the settings of its session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._seen: Settings | None = None
        self._told: dict[str, str] = {}

    def changes(self) -> dict[str, str]:
        """Values that the client does not know yet; it does from now on."""
        if self._session.settings is self._seen:
            return {}
        found = self._values()
        changed = {name: value for name, value in found.items() if self._told.get(name) != value}
        self._seen, self._told = self._session.settings, found
        return changed

    def _values(self) -> dict[str, str]:
        settings = self._session.settings
        is_admin = self._session.catalog.rights_of(settings.role).is_admin
        return _FIXED | {
            "application_name": settings.application or "",
            "TimeZone": settings.timezone or "UTC",
            "IntervalStyle": interval_style(settings),
            "default_transaction_read_only": settings.default_transaction_read_only,
            "is_superuser": "on" if is_admin else "off",
            "session_authorization": self._session.user or "",
        }
