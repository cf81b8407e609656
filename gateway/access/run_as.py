"""Lets a proxy's session run as one of the proxy's users, from its first statement on.

A server of reports logs in once for all of its users, and says at each connection for whom it asks.
The session has that user's rights alone, and cannot go back to the proxy's own. Whom a proxy may
run as is granted as a membership, so it gets nothing that SET ROLE would not give it.
"""

from __future__ import annotations

from journal.model.access import Role
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import CatalogSnapshot

RUN_AS = "run_as"
"""How a client names the user, among the settings that it connects with."""


class RunAsRefused(PalimpsestError):
    """A login that asks to run as a user whom it may not run as."""

    def __init__(self, name: str) -> None:
        super().__init__(
            Code.PRIVILEGE,
            f'permission denied to run as "{name}"',
            advice="GRANT the user, who may log in and holds no ADMIN, to the role that logs in",
        )


def role_to_run_as(catalog: CatalogSnapshot, login: Role | None, name: str) -> Role:
    """The role of a session for ``name`` that ``login`` opens; None: whoever may do everything.

    Raises RunAsRefused for a role that cannot log in, that the login is no member of, or that holds
    ADMIN where the login does not. It is the same for names that there are not.
    """
    found = catalog.access.by_name(name)
    mine = None if login is None else login.id
    is_admin = catalog.rights_of(mine).is_admin
    if found is not None and found.can_login:
        is_member = login is not None and found.id in catalog.access.member_of(
            login.id, inherited=False
        )
        if is_admin or (is_member and not catalog.rights_of(found.id).is_admin):
            return found
    raise RunAsRefused(name)


def check_same(begun: str | None, asked: str | None) -> None:
    """Raise PRIVILEGE where a call asks for another user than its session began with."""
    if asked is not None and asked != begun:
        raise PalimpsestError(
            Code.PRIVILEGE,
            f'the session does not run as "{asked}"',
            advice="name the user as the session begins, and open one for each user",
        )


def record_name(user: str | None, proxy: str | None) -> str | None:
    """Who acts, as records show it: with the proxy that asks for a user."""
    return user if proxy is None else f"{user} (by {proxy})"
