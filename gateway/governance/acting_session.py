"""What governance needs of a session: who acts, with which rights, on which store."""

from __future__ import annotations

from typing import Protocol

from gateway.config import Settings
from journal.model.schema import CatalogSnapshot
from journal.transactions.protocol import OpenJournal


class ActingSession(Protocol):
    """A session as far as events, the audit log and safe mode look at it."""

    @property
    def journal(self) -> OpenJournal:
        """The store."""

    @property
    def settings(self) -> Settings:
        """With the role whose privileges count."""

    @property
    def catalog(self) -> CatalogSnapshot:
        """With the roles that there are."""

    @property
    def recorded_user(self) -> str | None:
        """Who acts, as records show it: the user, and the proxy that asks for them."""
