"""pgbench, as PostgreSQL ships it: its tables, and transfers of clients whose sums agree."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import psycopg
import pytest

from tests.servers.conftest import Server

PROGRAM = shutil.which("pgbench") or next(
    (str(path) for path in Path("/usr/lib/postgresql").glob("*/bin/pgbench")), None
)
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="pgbench is not installed")
SUMS = (
    "SELECT (SELECT sum(abalance) FROM pgbench_accounts), (SELECT sum(bbalance) FROM"
    " pgbench_branches), (SELECT sum(tbalance) FROM pgbench_tellers), (SELECT sum(delta) FROM"
    " pgbench_history), (SELECT count(*) FROM pgbench_history)"
)


def pgbench(server: Server, *options: str) -> str:
    assert PROGRAM is not None
    address = ["-h", "127.0.0.1", "-p", str(server.port), "-U", "me"]
    done = subprocess.run(
        [PROGRAM, *address, *options, "palimpsest"],
        check=False,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_no_transfer_is_lost(server: Server) -> None:
    pgbench(server, "-i", "-s", "1")
    for mode in ("simple", "extended", "prepared"):
        shown = pgbench(server, "-n", "-t", "5", "-c", "3", "--max-tries", "1000", "-M", mode)
        assert "number of transactions actually processed: 15/15" in shown
    with psycopg.connect(server.dsn) as connection:
        row = connection.execute(SUMS).fetchone()
    assert row is not None
    *sums, count = row
    assert (len(set(sums)), count) == (1, 45)
