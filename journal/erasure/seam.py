"""What erasures, holds and the audit log need of a journal: the protocol of all stores.

How rows are found, hidden and removed differs from store to store; what is asked, recorded, fenced
and proved does not, and goes through here.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from journal.model.store_session import StoreSession
from journal.transactions.protocol import OpenJournal


class SecretJournal(OpenJournal, Protocol):
    """The journals of a store that has a secret, so that holds can be about people."""

    def make_secret(self) -> str:
        """What keyed hashes are made with, made if there is none."""

    def read_secret(self, key: str | None = None) -> str:
        """The same; or that of another store, of the id ``key``, which was kept.

        Raises WAREHOUSE_FORMAT if it is gone.
        """


class ErasureJournal(SecretJournal, Protocol):
    """The journals of a store that can erase."""

    def keep_secret(self, secret: str) -> None:
        """Know the secret of another store from now on, by its id."""

    def fencing_session(self) -> AbstractContextManager[StoreSession]:
        """An exclusive session that changes what may not be written; committed at the end."""
