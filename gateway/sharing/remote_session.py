"""A session as front ends use it, whose statements run in the process that owns the warehouse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from gateway.session.operations import Advance, Operation, P, T, is_single, name_of, no_progress
from gateway.session.outcome import StatementOutcome
from gateway.sharing.remote import RemoteCancellation
from gateway.sharing.remote_rows import RemoteRows

if TYPE_CHECKING:
    from gateway.config import Settings
    from gateway.session.session import Parameters
    from gateway.sharing.messages import OutcomeHead
    from gateway.sharing.session_link import SessionLink
    from journal.model.schema import CatalogSnapshot
    from rewriter.syntax.parsing import Parsed


class RemoteSession:
    """See ``gateway.session.session.Session``, whose methods these are."""

    def __init__(
        self, owner: SessionLink, *, dialect: str, autocommit: bool, user: str | None
    ) -> None:
        self.owner = owner
        self.dialect = dialect
        self.user = user
        self.cancellation = RemoteCancellation(owner)
        self._autocommit = autocommit

    @property
    def place(self) -> str:
        """The folder of the warehouse, or the URL of its server."""
        return str(self.owner.root)

    @property
    def status(self) -> str:
        """``idle``, ``transaction`` or ``failed``."""
        return self.owner.state.status

    @property
    def in_transaction(self) -> bool:
        """True while a transaction is open or failed."""
        return self.status != "idle"

    @property
    def has_written(self) -> bool:
        """True inside a transaction that has something to commit."""
        return self.owner.state.has_written

    @property
    def settings(self) -> Settings:
        """The settings; a value, changed by setting another one."""
        return self.owner.state.settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        self.owner.call("set_settings", settings)

    @property
    def autocommit(self) -> bool:
        """Whether each statement commits by itself."""
        return self._autocommit

    @autocommit.setter
    def autocommit(self, value: bool) -> None:
        self.owner.call("set_autocommit", value)
        self.owner.starts_with(autocommit=value)
        self._autocommit = value

    @property
    def catalog(self) -> CatalogSnapshot:
        """What there is now, as the session sees it."""
        found: CatalogSnapshot = self.owner.call("catalog")
        return found

    def execute(self, text: str, parameters: Parameters = None) -> StatementOutcome:
        """Run the statements of ``text``; the outcome is that of the last one."""
        return self._outcome(self.owner.call("execute", text, _plain(parameters), commits=True))

    def execute_many(self, text: str, rows: Sequence[Any]) -> StatementOutcome:
        """Run a change for each row of parameters, all of them or none."""
        return self._outcome(
            self.owner.call("execute_many", text, [_plain(row) for row in rows], commits=True)
        )

    def run_text(self, text: str, file: str | None = None) -> StatementOutcome:
        """Run one statement in DuckDB's dialect, whatever the session's is.

        The owner takes files of whoever may do everything, and no others.
        """
        del file
        return self._outcome(self.owner.call("run_text", text, commits=True))

    def copy_in(self, text: str, file: IO[bytes]) -> StatementOutcome | None:
        """Load the data of a COPY .. FROM STDIN; None where the session reads the file itself."""
        with self.cancellation.running():
            rows = self.owner.copy_in(text, file)
        return None if rows is None else StatementOutcome("COPY", rows)

    def perform(self, what: Operation[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run an operation on the session."""
        return self.perform_watched(no_progress, what, *args, **kwargs)

    def perform_watched(
        self, advance: Advance, what: Operation[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run an operation on the session; ``advance`` is told how far it is."""
        with self.cancellation.running():
            found: T = self.owner.call(
                *("perform", name_of(what), args, kwargs),
                commits=True,
                advance=advance,
                single=is_single(what),
            )
        return found

    def parse(self, text: str, placeholders: bool = True) -> list[Parsed]:
        """The statements of a text."""
        from rewriter.syntax.parsing import parse

        return parse(text, self.dialect, self.settings.limits, placeholders=placeholders)

    @contextmanager
    def fetching(self, _rows: object) -> Iterator[None]:
        """Inside the block rows are fetched; ``cancel`` finds it."""
        with self.cancellation.running():
            yield

    def begin(self, *, read_only: bool | None = None) -> None:
        """Start an explicit transaction; None: it writes where the session does."""
        self.owner.call("begin", read_only)

    def commit(self) -> None:
        """End the transaction; a failed one is rolled back and the error says so."""
        self.owner.check_not_lost()
        if self.in_transaction:
            with self.cancellation.running():
                self.owner.call("commit", commits=True)

    def rollback(self) -> None:
        """Undo the transaction."""
        self.owner.forget_loss()
        if self.in_transaction:
            self.owner.call("rollback")

    def cancel(self) -> None:
        """Stop the statement that runs, from another thread; returns when it has stopped."""
        self.cancellation.cancel()

    def synchronize(self) -> None:
        """A call that does nothing; raises what says that the session is out of reach."""
        self.owner.call("nothing")

    def close(self) -> None:
        """Roll back and let go."""
        self.owner.close()

    def _outcome(self, head: OutcomeHead) -> StatementOutcome:
        rows = None if head.columns is None else RemoteRows(self.owner, head)
        columns = None if head.columns is None else list(head.columns)
        told = ((), head.skipped, head.rejected, head.notices)
        return StatementOutcome(head.tag, head.row_count, columns, rows, *told)


def _plain(parameters: Any) -> Any:
    """Parameters as a list or a dictionary; what the session refuses, as it is."""
    if isinstance(parameters, Mapping):
        return dict(parameters)
    refused = isinstance(parameters, str | bytes | bytearray | set | frozenset)
    return parameters if refused or not isinstance(parameters, Iterable) else list(parameters)
