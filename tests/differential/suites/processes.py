"""Gives each file of an outside suite a process of its own, with a limit of time."""

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from tests.differential.suites.differences import Unsuitable

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["gateway", "tests.differential.suites.differences"])

Compare = Callable[..., dict[str, object]]
"""A function of a module, from a file's path and what the suite needs to values of JSON."""


def compare_in_process(
    compare: Compare, file: str, *arguments: str | None, seconds: float
) -> dict[str, Any]:
    """What ``compare`` gives, or why the file was left out, or how its process was lost."""
    ours, theirs = _FORKS.Pipe(duplex=False)
    process = _FORKS.Process(target=_child, args=(theirs, compare, file, arguments), daemon=True)
    process.start()
    theirs.close()
    try:
        if ours.poll(seconds):
            return dict(ours.recv())
        return {"lost": f"{file}: no end after {seconds:g} s"}
    except EOFError:
        return {"lost": f"{file}: the process ended"}
    finally:
        process.kill()
        process.join()


def _child(
    pipe: Connection, compare: Compare, file: str, arguments: tuple[str | None, ...]
) -> None:
    try:
        pipe.send(compare(file, *arguments))
    except Unsuitable as reason:
        pipe.send({"left": str(reason)})
