"""The seam the harness drives: an engine with sessions; never a driver."""

from collections.abc import Sequence
from typing import Protocol

from tests.support.outcome import Outcome


class Session(Protocol):
    """One client's connection, in autocommit mode until it says BEGIN."""

    @property
    def in_transaction(self) -> bool:
        """Say whether an explicit transaction is open, failed ones included."""
        ...

    def run(self, sql: str, values: Sequence[object] | None = None) -> Outcome:
        """Run one statement, its parameters written `?`; database errors come back as outcomes."""
        ...

    def refuse(self) -> None:
        """Behave as if the last statement had failed: inside a transaction, fail that too."""
        ...


class Engine(Protocol):
    """A database under test, or the oracle."""

    @property
    def name(self) -> str:
        """Return the label `skipif` and `onlyif` know this engine by."""
        ...

    def session(self, name: str) -> Session:
        """Return the session of that name, opening it on first use.

        It is another process's if the name ends in `!`.
        """
        ...

    def end(self, name: str) -> None:
        """Close the session of that name, with what it has prepared and made for itself."""
        ...

    def mark(self, name: str) -> None:
        """Remember this moment under a name."""
        ...

    def marked(self, schema: str, table: str, mark: str) -> str:
        """Return how SQL names a table as it was at a mark."""
        ...

    def adopt(self, journal: str, name: str, key: tuple[str, ...]) -> Outcome:
        """Create a classic journal past the engine, and adopt it as the table of that name."""
        ...

    def flush(self) -> None:
        """Seal what is in memory or in heads; no answer may change."""
        ...

    def restart(self) -> None:
        """Close everything and open it again; open transactions are lost."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...
