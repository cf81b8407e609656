"""SET ROLE: a session goes on with the privileges of a role that its user is a member of."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from sqlglot import exp

from gateway.config import Settings
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import CatalogSnapshot
from journal.transactions.transaction import Transaction
from rewriter.name_resolution import shown_schema

OF_TRANSACTION = "transaction_read_only"
"""The setting of the open transaction alone."""


class RoleSession(Protocol):
    """What of a session says who acts."""

    settings: Settings
    user: str | None

    @property
    def catalog(self) -> CatalogSnapshot:
        """The current catalog, as the session sees it."""


def acting_user(session: RoleSession) -> str | None:
    """What CURRENT_USER gives: the role that was set, or who has logged in."""
    settings = session.settings
    if settings.role is None or settings.role == settings.login_role:
        return session.user
    found = session.catalog.access.roles.get(settings.role)
    return session.user if found is None else found.name


def setting_text(
    settings: Settings,
    name: str,
    catalog: CatalogSnapshot,
    transaction: Transaction | None = None,
) -> str | None:
    """The value of a setting as SHOW gives it, that of ``role`` by name; raises UNKNOWN_SETTING.

    ``transaction_read_only`` is about the open transaction, and about the next where none is open.
    """
    if name.lower() == OF_TRANSACTION:
        is_read_only = settings.is_read_only if transaction is None else transaction.read_only
        return "on" if is_read_only else "off"
    if name.lower() in {"search_path", "schema"}:
        path = settings.search_path if name.lower() == "search_path" else (settings.schema,)
        return ", ".join(shown_schema(each, settings.dialect, catalog) for each in path)
    if name.lower() != "role":
        return settings.text_of(name)
    found = None if settings.role is None else catalog.access.roles.get(settings.role)
    return "none" if found is None or settings.role == settings.login_role else found.name


def with_role(
    settings: Settings, value: exp.Expr | None, catalog: CatalogSnapshot, user: str | None
) -> Settings:
    """Settings after SET ROLE; NONE and RESET ROLE go back to who has logged in.

    So does the name of ``user``, who acts as no role of a name: tools such as Flyway set what
    CURRENT_USER gave before. Raises UNKNOWN_ROLE, and PRIVILEGE where the user is no member of the
    role.
    """
    name = "none" if value is None else str(value.name or value.sql())
    if name.lower() == "none":
        return replace(settings, role=settings.login_role)
    found = catalog.access.by_name(name)
    if found is None and name == user and settings.login_role is None:
        return replace(settings, role=None)
    if found is None:
        raise PalimpsestError(
            Code.UNKNOWN_ROLE, f'role "{name}" does not exist', advice="check the spelling"
        )
    login = settings.login_role
    members = catalog.access.member_of(login or 0, inherited=False)
    if not catalog.rights_of(login).is_admin and found.id not in members:
        raise PalimpsestError(
            Code.PRIVILEGE,
            f'permission denied to set role "{found.name}"',
            advice="become a member of the role: GRANT role TO user",
        )
    return replace(settings, role=found.id)
