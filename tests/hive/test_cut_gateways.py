"""A gateway whose road to the server is cut without a word, in the middle of a write."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.dbapi.connection import Connection
from tests.support.far_away import far_away
from tests.support.relay import Relay
from tests.support.thrift_server import ThriftServer

pytestmark = pytest.mark.stores

SILENCE_S = 4
CHILD = """
import sys
import gateway
from journal.stores.hive.client.thrift_connection import ThriftConnection

con = gateway.connect(sys.argv[1], autocommit=True)
run = ThriftConnection.execute

def hold(self, statement, *more):
    text = statement if isinstance(statement, str) else self.text(statement)
    if "INSERT" in text.upper():
        print("writing", flush=True)
        sys.stdin.readline()
    return run(self, statement, *more)

ThriftConnection.execute = hold
try:
    con.execute("INSERT INTO t SELECT i, 1 FROM range(2, 5) r(i)")
except gateway.Error as error:
    print(error.code, flush=True)
"""


def test_a_gateway_that_hears_nothing_gives_up_and_lets_others_write(
    server: ThriftServer, url: str, connect: Callable[..., Connection]
) -> None:
    con = connect()
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, n INTEGER)")
    with far_away() as far:
        relay = Relay(server.port, far.here)
        there = url.replace(f"{server.host}:{server.port}", f"{far.here}:{relay.port}")
        there += f"&silence_timeout={SILENCE_S}"
        child = far.start(sys.executable, "-c", CHILD, there, stdin=-1, cwd=Path.cwd())
        assert child.stdout is not None
        assert child.stdin is not None
        try:
            assert child.stdout.readline() == "writing\n"
            far.cut()
            child.stdin.write("\n" * 9)
            child.stdin.flush()
            con.execute("INSERT INTO t VALUES (3, 2)")
            assert child.stdout.readline().strip() in {"PAL-522", "PAL-520"}
        finally:
            child.kill()
            child.communicate()
            relay.close()
    assert con.execute("SELECT * FROM t").fetchall() == [(3, 2)]
