"""The connection to a session in another process: the folder's owner, or a server."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from gateway.sharing.messages import SessionState
    from journal.model.errors import PalimpsestError


class SessionLink(Protocol):
    """Calls reach the session one after the other; ``state`` is that of the last answer."""

    state: SessionState

    @property
    def root(self) -> Path | str:
        """Where the warehouse is: its folder, or the URL of its server."""

    @property
    def session_key(self) -> str:
        """Which session the numbers of results are of; empty while there is none."""

    def call(
        self,
        operation: str,
        *arguments: Any,
        commits: bool = False,
        advance: Callable[..., None] | None = None,
        batches: list[memoryview] | None = None,
        single: bool = False,
    ) -> Any:
        """What an operation returns; raises its error.

        ``commits``: the call may commit something, so it gets a name. ``batches`` takes the raw
        messages that come before the answer. A ``single`` call must not be made twice.
        """

    def copy_in(self, text: str, file: IO[bytes]) -> int | None:
        """Load the data of a COPY; how many rows. None where the session reads files from here."""

    def drop(self, result: int) -> None:
        """Fetch nothing more of a result."""

    def rows_lost(self) -> PalimpsestError:
        """The error of rows that were to be fetched from a session that is over."""

    def signal(self, kind: str) -> Any:
        """``cancel`` what runs, or say its ``progress``; None where nobody answers."""

    def starts_with(self, *, autocommit: bool) -> None:
        """What a session begins with that takes the place of this one."""

    def check_not_lost(self) -> None:
        """Raise, once, if a transaction was lost of which nobody was told."""

    def forget_loss(self) -> None:
        """The client itself gives up its transaction."""

    def close(self) -> None:
        """Leave; what is open is rolled back."""
