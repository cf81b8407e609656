"""Opens the session of a client that a front end has let in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from gateway.access.run_as import RUN_AS, role_to_run_as
from gateway.config import Settings
from gateway.opening.open_warehouse import OpenWarehouse
from gateway.session.session import Session
from gateway.session.set_values import after_text
from gateway.sharing.time_zone import process_zone
from journal.model.access import Role
from journal.model.errors import PalimpsestError
from journal.model.system_user import system_user

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

    A ``role`` bounds what it may do; None may do everything. ``run_as`` among the settings names
    the user for whom it asks. Raises SETTING_VALUE, UNKNOWN_SETTING, PRIVILEGE.
    """
    start = Settings(control_store=opened.control_store)
    session = opened.session(start, dialect=dialect, autocommit=True, user=user)
    settings = session.settings
    wanted = next((value for name, value in given.items() if name.lower() == RUN_AS), None)
    if wanted is not None:
        proxy = user if role is None else role.name
        role = role_to_run_as(session.catalog, role, wanted)
        session.proxy = None if role.name == proxy else proxy or system_user()
        given = {name: value for name, value in given.items() if name.lower() != RUN_AS}
    if role is not None:
        session.user = role.name
        settings = replace(settings, role=role.id, login_role=role.id)
    for name, value in given.items():
        try:
            settings = after_text(settings, name, value, session.catalog, session.user)
        except PalimpsestError:
            if name.lower() not in _ALWAYS_SENT:
                raise
    if application:
        settings = settings.with_setting("application", application)
    if settings.timezone is None and process_zone() not in {"UTC", "Etc/UTC"}:
        settings = settings.with_setting("timezone", "UTC")
    session.settings = session.settings_at_start = settings
    return session
