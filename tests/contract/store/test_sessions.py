"""Sessions and statements are shown, and stopped, on every kind of store."""

from __future__ import annotations

import subprocess
import threading
import time

import pytest

import gateway
from tests.support.kept import rows
from tests.support.stores.store import Store
from tests.support.warm_python import warm_python


@pytest.mark.also_on("hive")
def test_sessions_and_statements_are_shown(store: Store) -> None:
    with store.connect(user="ada", application="shown", autocommit=True) as connection:
        connection.execute("SELECT 'hidden' AS a").fetchall()
        query = 'SELECT s."user", state, started_at IS NULL FROM system.sessions AS s'
        assert ("ada", "active", False) in connection.execute(query).fetchall()
        query = (
            "SELECT state, rows, seconds > 0, length(digest) FROM system.statements"
            " WHERE statement = 'SELECT ? AS a'"
        )
        assert connection.execute(query).fetchall()[0][0::2] == ("finished", True)
        query = "SELECT digest, count(*) AS runs, sum(seconds) FROM system.statements GROUP BY ALL"
        assert connection.execute(query).fetchall()


@pytest.mark.also_on("hive")
def test_a_transaction_reads_from_its_first_statement_on(store: Store) -> None:
    with store.connect(autocommit=True) as reader, store.connect(autocommit=True) as writer:
        writer.execute("CREATE TABLE seen (k INTEGER PRIMARY KEY)")
        reader.execute("BEGIN")
        reader.execute("SAVEPOINT s")
        assert rows(reader, "SELECT 1") == [(1,)]
        writer.execute("INSERT INTO seen VALUES (1)")
        writer.execute("CREATE TABLE later (k INTEGER PRIMARY KEY)")
        assert rows(reader, "SELECT k FROM seen") == [(1,)]
        writer.execute("INSERT INTO seen VALUES (2)")
        for _ in range(2):
            assert rows(reader, "SELECT k FROM seen") == [(1,)]
            assert rows(reader, "SELECT k FROM later") == []
            reader.execute("ROLLBACK TO s")
        reader.execute("INSERT INTO seen VALUES (3)")
        reader.execute("COMMIT")
        assert sorted(rows(reader, "SELECT k FROM seen")) == [(1,), (2,), (3,)]


@pytest.mark.also_on("hive")
def test_another_session_is_cancelled(store: Store) -> None:
    with (
        store.connect(autocommit=True) as operator,
        store.connect(application="long", autocommit=True) as client,
    ):
        client.execute("SELECT 1").fetchall()
        query = "SELECT id FROM system.sessions AS s WHERE s.application = 'long'"
        ((number,),) = operator.execute(query).fetchall()
        assert operator.execute(f"CALL system.cancel({number})").fetchall() == [(number, "idle")]
        with pytest.raises(gateway.NotSupportedError, match="PAL-110"):
            operator.execute(f"CALL system.terminate({number})")
        done = threading.Event()

        def run_for_ever() -> None:
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                client.execute("SELECT count(*) FROM range(20000000) AS r(x)").fetchall()

        def cancel_again() -> None:
            while not done.wait(0.2):
                operator.execute(f"CALL system.cancel({number})")

        thread = threading.Thread(target=cancel_again)
        thread.start()
        try:
            with pytest.raises(gateway.OperationalError) as caught:
                run_for_ever()
        finally:
            done.set()
            thread.join()
        assert caught.value.sqlstate == "57014"


_HOLDER = """
import sys, gateway
with gateway.connect(sys.argv[1], dialect="postgres", autocommit=True) as con:
    for line in sys.stdin:
        print(con.execute(line).fetchall()[0][0], flush=True)
"""


@pytest.mark.also_on("hive", "postgres")
@pytest.mark.drifts(toy="its warehouses are not opened by their URL")
@pytest.mark.timeout(120)
def test_advisory_locks_keep_other_processes_out(store: Store) -> None:
    con = store.connect(dialect="postgres", autocommit=True)
    command = [warm_python(), "-c", _HOLDER, store.url]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:

        def there(call: str) -> str:
            assert other.stdin is not None
            assert other.stdout is not None
            other.stdin.write(f"SELECT {call}\n")
            other.stdin.flush()
            return other.stdout.readline().strip()

        def here(call: str) -> object:
            return con.execute(f"SELECT {call}").fetchall()[0][0]

        assert there("pg_try_advisory_lock(1)") == "True"
        assert here("pg_try_advisory_lock(1)") is False
        assert here("pg_try_advisory_lock(1, 1)") is True
        assert there("pg_try_advisory_lock(1, 1)") == "False"
        assert here("pg_try_advisory_xact_lock(2)") is True
        assert there("pg_try_advisory_lock(2)") == "True"
        assert there("pg_advisory_unlock(1)") == "True"
        assert here("pg_advisory_lock(1)") == ""
        assert there("pg_try_advisory_lock(1)") == "False"
        assert here("pg_advisory_unlock(1)") is True
        assert there("pg_advisory_lock(1)") == ""
        assert other.stdin is not None
        other.stdin.close()
        assert other.wait(60) == 0
    assert here("pg_try_advisory_lock(1)") is True
    con.close()


@pytest.mark.also_on("hive", "postgres")
def test_who_waited_for_an_advisory_lock_sees_what_its_holder_committed(store: Store) -> None:
    """Tools that migrate a database count on it: they look for its history once they hold one."""
    with (
        store.connect(dialect="postgres", autocommit=True) as con,
        store.connect(dialect="postgres", autocommit=True) as other,
    ):
        other.execute("CREATE TABLE seen (a INTEGER PRIMARY KEY)")
        for lock in ("pg_try_advisory_xact_lock(1)", "pg_advisory_lock(CAST(2 AS BIGINT))"):
            con.execute("BEGIN")
            con.execute("SAVEPOINT s")
            other.execute("INSERT INTO seen SELECT count(*) FROM seen")
            other.execute("CREATE TABLE IF NOT EXISTS later (a INTEGER)")
            con.execute(f"SELECT {lock}")
            con.execute("ROLLBACK TO s")
            expected = other.execute("SELECT count(*) FROM seen").fetchall()
            assert con.execute("SELECT count(*) FROM seen").fetchall() == expected
            assert con.execute("SELECT count(*) FROM later").fetchall() == [(0,)]
            other.execute("INSERT INTO seen SELECT count(*) FROM seen")
            con.execute("SELECT pg_try_advisory_lock(3)")
            assert con.execute("SELECT count(*) FROM seen").fetchall() == expected
            con.execute("COMMIT")
