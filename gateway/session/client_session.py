"""The session protocol of front ends: for this process and for another one's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from gateway.config import Settings
    from gateway.session.operations import Advance, Operation, P, T
    from gateway.session.outcome import ResultRows, StatementOutcome
    from journal.model.schema import CatalogSnapshot
    from rewriter.syntax.parsing import Parsed


class StatementWatch(Protocol):
    """What a session runs now, so that another thread can stop it or see how far it is."""

    tracks_progress: bool

    def running(self) -> AbstractContextManager[None]:
        """A call of the client is under way; such calls nest."""

    def progress(self) -> float | None:
        """How much of the query at hand is done, from 0 to 1; None where that is not known."""


class ClientSession(Protocol):
    """One client's transaction, settings and temporary tables; see ``session.Session``."""

    settings: Settings
    autocommit: bool
    dialect: str
    user: str | None

    @property
    def cancellation(self) -> StatementWatch:
        """What runs now."""

    @property
    def place(self) -> str:
        """Where the journals lie: a folder, or the name of a database."""

    @property
    def status(self) -> str:
        """``idle``, ``transaction`` or ``failed``."""

    @property
    def in_transaction(self) -> bool:
        """True while a transaction is open or failed."""

    @property
    def has_written(self) -> bool:
        """True inside a transaction that has something to commit."""

    @property
    def catalog(self) -> CatalogSnapshot:
        """What there is now, as the session sees it."""

    def execute(
        self, text: str, parameters: Sequence[Any] | Mapping[str, Any] | None = None
    ) -> StatementOutcome:
        """Run the statements of ``text``; the outcome is that of the last one."""

    def execute_many(self, text: str, rows: Sequence[Any]) -> StatementOutcome:
        """Run a change for each row of parameters, all of them or none."""

    def run_text(self, text: str, file: str | None = None) -> StatementOutcome:
        """Run one statement in DuckDB's dialect, whatever the session's is.

        ``file`` is one with rows that the client itself has sent.
        """

    def perform(self, what: Operation[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run an operation on the session."""

    def perform_watched(
        self, advance: Advance, what: Operation[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run an operation on the session; ``advance`` is told how far it is."""

    def parse(self, text: str, placeholders: bool = True) -> list[Parsed]:
        """The statements of a text."""

    def fetching(self, rows: ResultRows) -> AbstractContextManager[None]:
        """Inside the block rows are fetched; ``cancel`` finds it."""

    def begin(self, *, read_only: bool | None = None) -> None:
        """Start an explicit transaction; None: the session's settings say if it may write."""

    def commit(self) -> None:
        """End the transaction; a failed one is rolled back and the error says so."""

    def rollback(self) -> None:
        """Undo the transaction."""

    def cancel(self) -> None:
        """Stop the statement that runs, from another thread; returns when it has stopped."""

    def close(self) -> None:
        """Roll back and let go."""
