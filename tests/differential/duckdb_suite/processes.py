"""Gives each file of the suite a process of its own, with a limit of time."""

import multiprocessing
from multiprocessing.connection import Connection
from typing import Any

from tests.differential.duckdb_suite.comparison import compare_file
from tests.differential.duckdb_suite.records import Unsuitable

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload([__name__])


def compare_in_process(file: str, url: str | None, root: str, seconds: float) -> dict[str, Any]:
    """What `compare_file` gives, or why the file was left out, or how its process was lost."""
    ours, theirs = _FORKS.Pipe(duplex=False)
    process = _FORKS.Process(target=_child, args=(theirs, file, url, root), daemon=True)
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


def _child(pipe: Connection, file: str, url: str | None, root: str) -> None:
    try:
        pipe.send(compare_file(file, url, root))
    except Unsuitable as reason:
        pipe.send({"left": str(reason)})
