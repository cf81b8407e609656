"""An engine that lives at the owner and works in the client: parts of a job go over the socket.

The owner plans and swaps; what reads and writes files runs in the process of whoever asked for the
job, or in its Spark. So a job takes no time from those whom the owner serves.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from gateway.session.session import Session
from gateway.sharing import wire
from gateway.sharing.messages import Advanced, WorkDone, WorkFailed, WorkOrder
from journal.model.errors import Code, PalimpsestError
from spark_compaction.contract import Json, Progress


class ClientEngine:
    """Runs functions in the client at the other end of a socket; see ``Engine``."""

    def __init__(self, peer: socket.socket, size: int = 0) -> None:
        self._peer = peer
        self._size = size

    @contextmanager
    def lent(self, session: Session) -> Iterator[None]:
        """Jobs that the session starts in the block run in the client."""
        before, session.engine = session.engine, lambda size: ClientEngine(self._peer, size)
        try:
            yield
        finally:
            session.engine = before

    def map(self, function: str, units: Sequence[Json], progress: Progress) -> list[Json]:
        """``function(unit)`` for each unit; results in order."""
        found: list[Json] = self._ask(WorkOrder("map", function, list(units), self._size), progress)
        return found

    def run(self, function: str, task: Mapping[str, Json], progress: Progress) -> Json:
        """``function(cluster, task, progress)``, once, beside the client's Spark session."""
        return self._ask(WorkOrder("run", function, dict(task), self._size), progress)

    def _ask(self, work: WorkOrder, progress: Progress) -> Json:
        """What the client answers; what ``progress`` raises waits until it has, or is gone."""
        stopped: PalimpsestError | None = None
        wire.send(self._peer, work)
        while True:
            match wire.receive(self._peer):
                case Advanced(arguments):
                    try:
                        progress(*arguments)
                    except PalimpsestError as error:
                        stopped = error
                case WorkDone() | WorkFailed() if stopped is not None:
                    raise stopped
                case WorkDone(value):
                    return value
                case WorkFailed(code, message, advice):
                    raise PalimpsestError(Code[code], message, advice=advice)
