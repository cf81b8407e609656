"""A gateway's machine that vanishes in the middle of a commit: nobody waits for it for long."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

import gateway
from tests.support.far_away import far_away
from tests.support.postgres import running

pytestmark = pytest.mark.stores

SILENCE_S = 4
CHILD = """
import sys
import gateway
from journal.stores.postgres import section

con = gateway.connect(sys.argv[1], autocommit=True)
con.execute("SELECT 1").fetchall()
looked = section._check_references

def hold(*given):
    print("holding", flush=True)
    sys.stdin.readline()
    return looked(*given)

section._check_references = hold
try:
    con.execute("UPDATE t SET n = n + 1 WHERE k = 1")
except gateway.Error as error:
    print(error.code, flush=True)
"""


def test_a_vanished_gateway_is_told_and_lets_go() -> None:
    with far_away() as far, running() as cluster:
        cluster.listen(far.here)
        database = cluster.database()
        con = gateway.connect(cluster.url(database), autocommit=True)
        con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, n INTEGER)")
        con.execute("INSERT INTO t SELECT i, 0 FROM range(3) r(i)")
        url = f"palimpsest+postgresql://tester@{far.here}:{cluster.port}/{database}"
        url = f"{url}?silence_timeout={SILENCE_S}&connect_timeout=3"
        child = far.start(sys.executable, "-c", CHILD, url, stdin=-1, cwd=Path.cwd())
        assert child.stdout is not None
        assert child.stdin is not None
        try:
            assert child.stdout.readline() == "holding\n"
            far.cut()
            child.stdin.write("\n")
            child.stdin.flush()
            began = time.monotonic()
            con.execute("UPDATE t SET n = n + 10 WHERE k = 1")
            waited = time.monotonic() - began
            assert waited < SILENCE_S * 10
            assert child.stdout.readline().strip() in {"PAL-522", "PAL-525"}
            assert con.execute("SELECT n FROM t WHERE k = 1").fetchall() == [(10,)]
        finally:
            child.kill()
            child.communicate()
            con.close()
