"""SELECT .. FOR UPDATE SKIP LOCKED: no job is taken twice, and none is lost."""

from __future__ import annotations

import subprocess
from collections import Counter

import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.kept import rows
from tests.support.stores.store import Capability, Store
from tests.support.warm_python import warm_python

pytestmark = [pytest.mark.needs(Capability.SKIP_LOCKED), pytest.mark.timeout(300)]

NEXT = "SELECT id FROM jobs WHERE state = 'new' ORDER BY urgent DESC LIMIT 1 FOR UPDATE SKIP LOCKED"


@pytest.fixture
def con(store: Store) -> Connection:
    """A connection to a store with a queue of three jobs."""
    con = store.connect()
    con.execute("CREATE TABLE jobs (id INTEGER PRIMARY KEY, state VARCHAR, urgent BOOLEAN)")
    con.execute("INSERT INTO jobs VALUES (1, 'new', TRUE), (2, 'new', TRUE), (3, 'new', FALSE)")
    return con


def test_rows_that_others_hold_are_skipped(store: Store, con: Connection) -> None:
    other = store.connect()
    for who in (con, other):
        who.execute("BEGIN")
    assert rows(con, NEXT) == [(1,)]
    assert rows(other, NEXT) == [(2,)]
    # One's own claim is no claim of others.
    assert rows(con, NEXT) == [(1,)]
    third = store.connect()
    assert rows(third, NEXT) == [(3,)]
    third.execute("BEGIN")
    third.execute("UPDATE jobs SET urgent = NULL WHERE id = 3")
    assert rows(store.connect(), NEXT) == []
    third.execute("ROLLBACK")
    con.execute("UPDATE jobs SET state = 'done' WHERE id = 1")
    con.execute("COMMIT")
    other.execute("ROLLBACK")
    assert rows(con, NEXT) == [(2,)]


def test_what_was_committed_since_the_snapshot_is_skipped(store: Store, con: Connection) -> None:
    other = store.connect()
    con.execute("BEGIN")
    assert rows(con, "SELECT count(*) FROM jobs") == [(3,)]
    other.execute("UPDATE jobs SET state = 'done' WHERE id = 1")
    other.execute("DELETE FROM jobs WHERE id = 2")
    assert rows(con, NEXT) == [(3,)]
    con.execute("UPDATE jobs SET state = 'done' WHERE id = 3")
    con.execute("COMMIT")
    assert rows(con, "SELECT id, state FROM jobs ORDER BY id") == [(1, "done"), (3, "done")]


def test_rows_of_other_tables_are_not_skipped(store: Store, con: Connection) -> None:
    con.execute("CREATE TABLE queues (name VARCHAR PRIMARY KEY, open BOOLEAN)")
    con.execute("INSERT INTO queues VALUES ('q', TRUE)")
    other = store.connect()
    other.execute("BEGIN")
    other.execute("UPDATE queues SET open = FALSE")
    query = "SELECT j.id FROM jobs AS j CROSS JOIN queues AS q WHERE q.open ORDER BY j.id LIMIT 1"
    con.execute("BEGIN")
    assert rows(con, f"{query} FOR UPDATE OF j SKIP LOCKED") == [(1,)]
    assert rows(con, f"{query} FOR UPDATE SKIP LOCKED") == []


def test_a_limit_claims_what_it_shows(store: Store, con: Connection) -> None:
    other = store.connect()
    for query in (NEXT.replace(" SKIP LOCKED", ""), "SELECT id FROM jobs LIMIT 1 FOR UPDATE"):
        con.execute("BEGIN")
        ((shown,),) = rows(con, query)
        other.execute(f"UPDATE jobs SET urgent = TRUE WHERE id <> {shown}")
        con.execute("COMMIT")
        con.execute("BEGIN")
        ((shown,),) = rows(con, query)
        other.execute(f"UPDATE jobs SET urgent = TRUE WHERE id = {shown}")
        with pytest.raises(gateway.OperationalError) as raised:
            con.execute("COMMIT")
        assert raised.value.sqlstate == "40001"


IN_WRITES = (
    "UPDATE jobs SET state = 'done' WHERE id = ({0}) RETURNING id",
    "WITH c AS ({0}) UPDATE jobs SET state = 'done' FROM c WHERE jobs.id = c.id RETURNING jobs.id",
    "WITH c AS ({0}) DELETE FROM jobs WHERE id IN (SELECT id FROM c) RETURNING id",
)


@pytest.mark.parametrize("text", IN_WRITES)
def test_a_write_takes_what_its_query_locks(store: Store, con: Connection, text: str) -> None:
    other, query = store.connect(), text.format(NEXT)
    con.execute("BEGIN")
    other.execute("BEGIN")
    assert rows(con, query) == [(1,)]
    assert rows(other, query) == [(2,)]
    assert rows(store.connect(), query) == [(3,)]
    assert rows(store.connect(), query) == []
    other.execute("ROLLBACK")
    con.execute("COMMIT")
    assert rows(con, query) == [(2,)]
    assert rows(con, text.format(NEXT.replace(" SKIP LOCKED", ""))) == []


def test_a_lock_of_rows_that_are_not_written_is_refused(con: Connection) -> None:
    for text in (
        f"UPDATE jobs SET state = 'done' WHERE id = ({NEXT}) AND urgent",
        f"UPDATE jobs SET state = 'done' WHERE id > ({NEXT})",
        f"INSERT INTO jobs SELECT -id, state, urgent FROM jobs WHERE id = ({NEXT})",
        f"DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE id = ({NEXT}))",
    ):
        with pytest.raises(gateway.NotSupportedError):
            con.execute(text)


_WORKER = """
import sys, gateway

query = sys.argv[2]
with gateway.connect(sys.argv[1], autocommit=True) as con:
    sys.stdin.readline()
    while True:
        con.execute("BEGIN")
        taken = con.execute(query).fetchall()
        for (job,) in taken:
            # Said before it commits: a job is worked on once it is taken.
            print(job, flush=True)
            con.execute("UPDATE jobs SET state = 'done' WHERE id = ?", (job,))
        con.execute("COMMIT")
        if not taken:
            break
"""


def test_processes_share_a_queue(store: Store, con: Connection) -> None:
    con.execute("DELETE FROM jobs")
    con.execute("INSERT INTO jobs SELECT i, 'new', i % 3 = 0 FROM range(40) AS r(i)")
    command = [warm_python(), "-c", _WORKER, store.url, NEXT.replace("LIMIT 1", "LIMIT 2")]
    workers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("\n")
        worker.stdin.flush()
    said = [worker.communicate()[0].split() for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * len(workers)
    assert Counter(int(job) for jobs in said for job in jobs) == Counter(range(40))
    assert rows(con, "SELECT count(*) FROM jobs WHERE state = 'done'") == [(40,)]
