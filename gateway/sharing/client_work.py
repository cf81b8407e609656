"""The client's part of a job that the owner runs: work on files, or in its own Spark."""

from __future__ import annotations

import socket

from gateway.config import Settings
from gateway.jobs.engines import ENGINES
from gateway.sharing import wire
from gateway.sharing.messages import Advanced, WorkDone, WorkFailed, WorkOrder
from journal.model.errors import PalimpsestError
from journal.model.failures import failures


def answer_work(peer: socket.socket, work: WorkOrder, settings: Settings) -> None:
    """Do what the owner asks for, and tell it what came of it."""

    def progress(step: str, done: int, total: int) -> None:
        wire.send(peer, Advanced((step, done, total)))

    try:
        with failures():
            engine = ENGINES.choose(settings, work.size)
            if work.method == "map":
                value = engine.map(work.function, work.argument, progress)
            else:
                value = engine.run(work.function, work.argument, progress)
    except PalimpsestError as error:
        wire.send(peer, WorkFailed(error.code.name, error.message, error.advice))
        return
    wire.send(peer, WorkDone(value))
