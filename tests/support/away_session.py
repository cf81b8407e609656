"""Sessions of another process: each statement goes there, and its outcome comes back.

test process --(url, sql, values)--> child process, with a `GatewaySession` per name
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from tests.support.outcome import Outcome


class Serving:
    """What a process answers: sessions by name, which ``opened`` opens."""

    def __init__(self, opened: Callable[[], Any]) -> None:
        self._opened = opened
        self._sessions: dict[str, Any] = {}

    def run(self, name: str, sql: str, values: Sequence[object] | None) -> tuple[Outcome, bool]:
        """The outcome of a statement, and whether its session is in a transaction then."""
        if name not in self._sessions:
            self._sessions[name] = self._opened()
        session = self._sessions[name]
        return session.run(sql, values), session.in_transaction

    def close(self, name: str) -> None:
        """Close the session of that name."""
        session = self._sessions.pop(name, None)
        if session is not None:
            session.close()


class Away:
    """A process of sessions on one warehouse, started on first use."""

    def __init__(self, opened: Callable[[], Any]) -> None:
        """``opened`` makes a session there; it travels to the process."""
        self._opened = opened
        self._pipe: Connection | None = None
        self._process: Any = None

    def ask(self, method: str, *arguments: object) -> Any:
        """Have the process do something; raises what that raised."""
        if self._pipe is None:
            spawning = multiprocessing.get_context("spawn")
            self._pipe, theirs = spawning.Pipe()
            self._process = spawning.Process(
                target=_serve, args=(theirs, self._opened), daemon=True
            )
            self._process.start()
            theirs.close()
        self._pipe.send((method, arguments))
        is_done, found = self._pipe.recv()
        if not is_done:
            raise found
        return found

    def end(self) -> None:
        """End the process."""
        if self._pipe is not None:
            self._pipe.close()
            self._process.join(30)
            self._pipe = None


@dataclass(slots=True)
class AwaySession:
    """A session in another process."""

    away: Away
    name: str
    in_transaction: bool = field(default=False)

    def run(self, sql: str, values: Sequence[object] | None = None) -> Outcome:
        """Run one statement there."""
        outcome: Outcome
        outcome, self.in_transaction = self.away.ask("run", self.name, sql, values)
        return outcome

    def refuse(self) -> None:
        """Do nothing: a real refusal has already failed the transaction."""

    def close(self) -> None:
        """Close the session there."""
        self.away.ask("close", self.name)


def _serve(pipe: Connection, opened: Callable[[], Any]) -> None:
    serving = Serving(opened)
    while True:
        try:
            method, arguments = pipe.recv()
        except EOFError:
            return
        try:
            answer = (True, getattr(serving, method)(*arguments))
        except Exception as error:  # noqa: BLE001 - whatever it is, the asker raises it
            answer = (False, RuntimeError(f"{type(error).__name__}: {error}"))
        pipe.send(answer)
