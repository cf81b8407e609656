"""Where a simulation runs: a warehouse of its own, servers on it, and processes that work there."""

from __future__ import annotations

import argparse
import multiprocessing
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from tests.support.postgres import running

_PORT = 5433
_Work = TypeVar("_Work")
_Found = TypeVar("_Found")


def place_options(parser: argparse.ArgumentParser) -> None:
    """The options of a command that runs at a place."""
    parser.add_argument("--store", choices=("embedded", "postgres"), default="embedded")
    parser.add_argument("--servers", type=int, default=0, help="that serve the warehouse as well")
    parser.add_argument("--processes", type=int, default=0, help="that work; else this one does")


@contextmanager
def placed(store: str, servers: int = 0) -> Iterator[list[str]]:
    """The URL of a new warehouse, and those of servers on it, each a process.

    A folder has one server at most; other processes work beside it.
    """
    with ExitStack() as ends:
        if store == "postgres":
            cluster = ends.enter_context(running())
            url = cluster.url(cluster.database())
        else:
            folder = Path(ends.enter_context(tempfile.TemporaryDirectory()))
            url = f"palimpsest:///{folder / 'warehouse'}"
        yield [url, *(ends.enter_context(serving(url)) for _ in range(servers))]


@contextmanager
def serving(url: str) -> Iterator[str]:
    """The URL of a server process on the warehouse of a URL."""
    # Paths of sockets have to be short.
    folder = Path(tempfile.mkdtemp(prefix="palimpsest-"))
    place = url.removeprefix("palimpsest:///") if url.startswith("palimpsest:///") else url
    command = [sys.executable, "-m", "gateway.cli", "serve", place, "--socket-dir", str(folder)]
    try:
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            try:
                assert process.stdout is not None
                assert process.stdout.readline()
                yield f"palimpsest://?host={quote(str(folder))}&port={_PORT}"
            finally:
                process.terminate()
    finally:
        shutil.rmtree(folder)


def in_processes(run: Callable[[_Work], _Found], work: Sequence[_Work]) -> list[_Found]:
    """What ``run`` returns for each piece of work, each in a process of its own."""
    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(len(work), mp_context=spawning) as processes:
        return list(processes.map(run, work))
