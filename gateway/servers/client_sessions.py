"""How every front end opens the session of a client that it has let in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from gateway.config import Settings
from gateway.opening.open_warehouse import OpenWarehouse
from gateway.session.session import Session
from gateway.sharing.time_zone import process_zone
from journal.model.access import Role
from journal.model.errors import PalimpsestError

OpenSession = Callable[[str | None, str | None, Mapping[str, str], Role | None], Session]
"""From user, application, settings and role to a session of theirs."""
_ALWAYS_SENT = frozenset(
    {"client_encoding", "datestyle", "timezone", "extra_float_digits", "geqo", "application_name"}
)
"""Parameters that drivers always send; one that we do not know is no reason to refuse them."""


def session_of_client(
    opened: OpenWarehouse,
    dialect: str,
    user: str | None,
    application: str | None,
    given: Mapping[str, str],
    role: Role | None,
) -> Session:
    """A session of a dialect, with the settings that its client starts with.

    A ``role`` bounds what it may do; None may do everything. Raises SETTING_VALUE, UNKNOWN_SETTING.
    """
    session = opened.session(Settings(), dialect=dialect, autocommit=True, user=user)
    settings = session.settings
    if role is not None:
        session.user = role.name
        settings = replace(settings, role=role.id, login_role=role.id)
    for name, value in given.items():
        try:
            settings = settings.with_setting(name, value)
        except PalimpsestError:
            if name.lower() not in _ALWAYS_SENT:
                raise
    if application:
        settings = settings.with_setting("application", application)
    if settings.timezone is None and process_zone() not in {"UTC", "Etc/UTC"}:
        settings = settings.with_setting("timezone", "UTC")
    session.settings = session.settings_at_start = settings
    return session
