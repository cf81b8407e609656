"""The limits of a server, and the error of a client that exceeds one. Pure.

0 stands for no limit where a limit may be left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol

from journal.model.access import Role
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

DEFAULT_CONNECTIONS = 500
DEFAULT_MESSAGE_BYTES = 256 << 20
DEFAULT_LOGIN_S = 10.0


class WaitingSettings(Protocol):
    """What a session says of how long it may wait, in milliseconds; 0: for ever."""

    @property
    def idle_session_timeout(self) -> int:
        """Outside of a transaction."""

    @property
    def idle_in_transaction_session_timeout(self) -> int:
        """Inside of a transaction."""


class Connected(Protocol):
    """Who is connected: a user, the role of the login if there was one, the host it comes from."""

    @property
    def user(self) -> str:
        """The name of the role, or what the client calls itself."""

    @property
    def role(self) -> Role | None:
        """None for one that may do everything."""

    @property
    def host(self) -> str:
        """An address without its port, empty while it is not known."""


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """Connections at once, bytes of a message, seconds up to the login, and the rest by its name.

    ``user_connections`` and ``address_connections`` are those of one user and from one address;
    ``login_rate`` are logins a minute from one address.
    """

    connections: int = DEFAULT_CONNECTIONS
    message_bytes: int = DEFAULT_MESSAGE_BYTES
    login_s: float = DEFAULT_LOGIN_S
    login_rate: int = 0
    user_connections: int = 0
    address_connections: int = 0
    statement_s: float = 0.0
    idle_s: float = 0.0
    idle_transaction_s: float = 0.0
    result_rows: int = 0
    result_bytes: int = 0

    def check_room(self, count: int) -> None:
        """Raise TOO_MANY_CONNECTIONS for one more client than ``count``, if there is no room."""
        if count >= self.connections:
            raise PalimpsestError(
                Code.TOO_MANY_CONNECTIONS,
                f"{self.connections} clients are connected already",
                advice="close some, or raise max_connections of the server",
            )

    def check_client(self, client: Connected, connected: Iterable[Connected]) -> None:
        """Raise TOO_MANY_CONNECTIONS where a role, a user or a host has more than it may.

        ``connected`` are all that are there, the client included.
        """
        all_of_them = list(connected)
        users = sum(other.user == client.user for other in all_of_them)
        hosts = sum(other.host == client.host for other in all_of_them) if client.host else 0
        most_of_role, roles = 0, 0
        role = client.role
        if role is not None and role.connection_limit >= 0:
            most_of_role = role.connection_limit
            roles = sum(o.role is not None and o.role.id == role.id for o in all_of_them)
        advice = "close some, or raise the limit of the server"
        for is_over, most, whose, what_next in (
            (0 < self.user_connections < users, self.user_connections,
             f'user "{client.user}"', advice),
            (0 < self.address_connections < hosts, self.address_connections,
             f"address {client.host}", advice),
            (most_of_role < roles, most_of_role,
             f'role "{client.user}"', "close some, or ALTER ROLE .. CONNECTION LIMIT"),
        ):  # fmt: skip
            if is_over:
                raise PalimpsestError(
                    Code.TOO_MANY_CONNECTIONS,
                    f"{whose} has {most} connections already",
                    advice=what_next,
                )

    def check_running(self, seconds: float) -> PalimpsestError | None:
        """The error that ends a statement which has run for so long; None while it may run."""
        if not 0 < self.statement_s < seconds:
            return None
        return PalimpsestError(
            Code.STATEMENT_TIME,
            f"the statement took longer than {self.statement_s:g} seconds, the limit of the server",
            advice="read or change fewer rows at once, or have --statement-timeout raised",
        )

    def with_settings(self, settings: WaitingSettings) -> ServerLimits:
        """These limits, or shorter ones where a client's settings say so."""
        idle_s = settings.idle_session_timeout / 1000
        transaction_s = settings.idle_in_transaction_session_timeout / 1000
        if not idle_s and not transaction_s:
            return self
        return replace(
            self,
            idle_s=_shorter(self.idle_s, idle_s),
            idle_transaction_s=_shorter(self.idle_transaction_s, transaction_s),
        )

    def check_waiting(self, seconds: float, *, in_transaction: bool) -> PalimpsestError | None:
        """The error that ends a connection which has waited for so long; None while it may."""
        most = self.idle_transaction_s if in_transaction else self.idle_s
        if not 0 < most < seconds:
            return None
        if in_transaction:
            return PalimpsestError(
                Code.IDLE_TRANSACTION,
                f"the client left the transaction idle for more than {most:g} seconds",
                advice="it was rolled back; end transactions before you wait for somebody",
            )
        return PalimpsestError(
            Code.IDLE,
            f"the client left the connection idle for more than {most:g} seconds",
            advice="connect again",
        )

    def check_result(self, rows: int, size: int) -> None:
        """Raise RESULT_SIZE for a result of so many rows and bytes."""
        for most, count, what in (
            (self.result_rows, rows, "rows"),
            (self.result_bytes, size, "bytes"),
        ):
            if 0 < most < count:
                raise PalimpsestError(
                    Code.RESULT_SIZE,
                    f"the result has more than {most:,} {what}, the limit of the server",
                    advice="add LIMIT or a condition, or read it in parts by the key",
                )


def _shorter(first_s: float, second_s: float) -> float:
    """The shorter of two limits, of which 0 is none."""
    return min(first_s or second_s, second_s or first_s)
