"""The command itself: what it listens at, whom it lets in, how it ends."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path

import psycopg
import pytest

from tests.servers.conftest import launch, wait_for_statement
from tests.support.warm_python import warm_python


@pytest.mark.long
def test_told_to_end_it_lets_statements_finish_and_keeps_what_was_committed(tmp_path: Path) -> None:
    server = launch(tmp_path, "--drain", "60")
    failed: list[str] = []
    worker = psycopg.connect(server.dsn, autocommit=True)

    def long_statement() -> None:
        try:
            worker.execute("INSERT INTO t SELECT sum(x) FROM range(2000000000) AS r(x)")
        except psycopg.Error as error:
            failed.append(str(error))

    with psycopg.connect(server.dsn, autocommit=True) as idle:
        idle.execute("CREATE TABLE t (a HUGEINT)")
        thread = threading.Thread(target=long_statement)
        thread.start()
        wait_for_statement(idle, worker.info.backend_pid)
        server.end()
        thread.join()
        assert failed == []
        with pytest.raises(psycopg.errors.AdminShutdown, match="PAL-614"):
            idle.execute("SELECT 1")
    worker.close()
    assert server.process.returncode == 0
    assert not list(server.folder.glob(".s.PGSQL.*"))
    command = [warm_python(), "-m", "gateway.cli", "query", "-w", str(server.folder)]
    done = subprocess.run(
        [*command, "-t", "csv", "SELECT count(*) AS n FROM t"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["n", "1"]


def test_an_open_transaction_is_rolled_back_at_the_end(tmp_path: Path) -> None:
    server = launch(tmp_path, "--drain", "0.1")
    with psycopg.connect(server.dsn) as connection:
        connection.execute("CREATE TABLE t (a INTEGER)")
        server.end()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    assert server.process.returncode == 0


def test_more_clients_than_allowed_are_refused_with_their_code(tmp_path: Path) -> None:
    server = launch(tmp_path, "--max-connections", "2")
    with psycopg.connect(server.dsn), psycopg.connect(server.dsn):
        with pytest.raises(psycopg.OperationalError, match="PAL-608"):
            psycopg.connect(server.dsn)
    server.end()


def test_other_programs_use_the_folder_of_a_server(tmp_path: Path) -> None:
    server = launch(tmp_path)
    command = [warm_python(), "-m", "gateway.cli", "query", "-w", str(server.folder)]
    subprocess.run([*command, "CREATE TABLE t (a INTEGER)"], check=True, capture_output=True)
    with psycopg.connect(server.dsn) as connection:
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (0,)
    server.end()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--trust-loopback", "--postgres", "0.0.0.0:5433"], "PAL-222"),
        (["--postgres", "nowhere:x"], "PAL-222"),
        (["--postgres", "127.0.0.1:99999"], "PAL-222"),
    ],
)
def test_addresses_that_would_let_in_others_are_refused(
    tmp_path: Path, words: list[str], said: str
) -> None:
    done = subprocess.run(
        [warm_python(), "-m", "gateway.cli", "serve", str(tmp_path / "w"), *words],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert said in done.stderr
