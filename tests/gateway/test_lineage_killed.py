"""kill -9 beside a commit: its edges are there exactly if its rows are; see row L1."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

import gateway
from tests.support.warm_python import warm_python

_CHILD = """
import os, signal, sys
import gateway

con = gateway.connect(sys.argv[1], autocommit=True)
journal = con.session.journal
write = journal.commits._publish

def publish(*args, **kwargs):
    if sys.argv[2] == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    write(*args, **kwargs)
    os.kill(os.getpid(), signal.SIGKILL)

con.execute("CREATE TABLE s (id INTEGER PRIMARY KEY)")
con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
con.execute("INSERT INTO s VALUES (1), (2)")
journal.commits._publish = publish
con.execute("INSERT INTO t SELECT id FROM s")
"""


@pytest.mark.first(1)
@pytest.mark.parametrize("moment", ["before", "after"])
def test_edges_are_as_durable_as_rows(tmp_path: Path, moment: str) -> None:
    url = f"palimpsest:///{tmp_path}/w"
    words = [warm_python(), "-c", _CHILD, url, moment]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == -signal.SIGKILL, done.stderr
    with gateway.connect(url, autocommit=True) as con:
        rows = con.execute("SELECT count(*) FROM t").fetchall()
        edges = con.execute("SELECT source_table, target_table FROM system.lineage").fetchall()
    assert (rows, edges) == (([(2,)], [("s", "t")]) if moment == "after" else ([(0,)], []))
