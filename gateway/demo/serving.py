"""The last scene: a server on the warehouse, read by psql where there is one, and by psycopg."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import gateway
from gateway.demo.teller import Teller
from gateway.shell.result import ShownColumn
from journal.model.errors import Code, PalimpsestError

QUERY = "SELECT status, count(*) AS flights FROM flights GROUP BY status ORDER BY status"
_PORT = "5433"
_END_S = 60.0


def read_through_server(root: Path, teller: Teller) -> dict[str, Any]:
    """What clients read of the server; ``equal`` says whether all read the same."""
    teller.chapter("Let other programs in: palimpsest serve")
    with tempfile.TemporaryDirectory(prefix="palimpsest-") as folder, _served(root, folder):
        teller.sql(QUERY)
        with gateway.connect(f"palimpsest://?host={quote(folder)}&port={_PORT}") as connection:
            rows = [(str(s), int(n)) for s, n in connection.execute(QUERY).fetchall()]
        seen = {"psycopg": rows}
        psql = shutil.which("psql")
        if psql is not None:
            seen["psql"] = _rows_of_psql(psql, folder)
    columns = [ShownColumn(n, "VARCHAR") for n in ("client", "status", "flights")]
    teller.table(columns, [(name, s, f"{n:,}") for name, rows in seen.items() for s, n in rows])
    if psql is None:
        teller.say("  psql is not installed here; it reads the same.")
    return {"equal": bool(rows) and all(found == rows for found in seen.values()), **seen}


@contextmanager
def _served(root: Path, folder: str) -> Iterator[None]:
    """A server on the warehouse in a process of its own, at a socket in a folder."""
    command = [sys.executable, "-m", "gateway.cli", "serve", str(root), "--socket-dir", folder]
    server = subprocess.Popen(  # noqa: S603 - this Python, and folders of this run
        [*command, "--postgres", f"127.0.0.1:{_PORT}"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        if not server.stdout.readline().startswith("postgresql:"):
            raise PalimpsestError(
                Code.STORE_UNREACHABLE,
                "the server did not start",
                advice="its error stands above; try: palimpsest serve",
            )
        yield
    finally:
        server.terminate()
        server.communicate(timeout=_END_S)


def _rows_of_psql(psql: str, folder: str) -> list[tuple[str, int]]:
    command = [psql, "-X", "-A", "-t", "-F", "\t", "-h", folder, "-p", _PORT, "palimpsest"]
    done = subprocess.run(  # noqa: S603 - psql as it is installed
        [*command, "-c", QUERY], capture_output=True, text=True, check=False
    )
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    return [(status, int(count)) for status, count in lines]
