"""The limits of a server, each with an error of its own, and its configuration file."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner, Result

from gateway.cli import main
from tests.servers.conftest import launch
from tests.support.warm_python import warm_python

Check = Callable[..., Result]


def _code(where: str, sql: str) -> str:
    with psycopg.connect(where, autocommit=True) as con, pytest.raises(psycopg.Error) as raised:
        con.execute(sql)
    return str(raised.value)


def test_results_and_statements_have_an_end(tmp_path: Path) -> None:
    server = launch(
        tmp_path,
        *("--statement-timeout", "1", "--max-result-rows", "5000"),
        *("--max-result-bytes", "100000"),
    )
    slow = "SELECT sum(sqrt(a.x + b.x)) FROM range(1000000) AS a(x), range(100000) AS b(x)"
    assert "PAL-408" in _code(server.dsn, slow)
    assert "PAL-105" in _code(server.dsn, "SELECT x FROM range(5001) AS r(x)")
    assert "PAL-105" in _code(server.dsn, "SELECT repeat('x', 200000)")
    with psycopg.connect(server.dsn, autocommit=True) as con:
        assert len(con.execute("SELECT x FROM range(5000) AS r(x)").fetchall()) == 5000
        with pytest.raises(psycopg.Error) as raised:
            con.execute(slow)
        assert raised.value.sqlstate == "57014"
        assert con.execute("SELECT 1").fetchone() == (1,)
    server.end()


@pytest.mark.slow
def test_whoever_waits_too_long_is_told_and_let_go(tmp_path: Path) -> None:
    server = launch(tmp_path, "--idle-timeout", "4", "--idle-transaction-timeout", "1")
    with psycopg.connect(server.dsn) as con:
        con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
        con.commit()
        con.execute("INSERT INTO t VALUES (1)")
        time.sleep(3.5)
        with pytest.raises(psycopg.Error, match="PAL-613"):
            con.execute("SELECT 1")
    with psycopg.connect(server.dsn, autocommit=True) as con:
        assert con.execute("SELECT count(*) FROM t").fetchone() == (0,)
        for _ in range(6):
            time.sleep(1)
            con.execute("SELECT 1")
        time.sleep(6.5)
        with pytest.raises(psycopg.Error, match="PAL-612"):
            con.execute("SELECT 1")
    server.end()


def test_whoever_does_not_log_in_is_let_go(tmp_path: Path) -> None:
    server = launch(tmp_path, "--login-timeout", "1")
    for sent in (b"", b"\0\0\0\x30\0\3"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as silent:
            silent.sendall(sent)
            assert silent.recv(1) in (b"", b"E")
    with psycopg.connect(server.dsn, autocommit=True) as client:
        time.sleep(1.5)
        assert client.execute("SELECT 1").fetchone() == (1,)
    server.end()


def test_users_and_addresses_have_so_many_connections(tmp_path: Path) -> None:
    server = launch(tmp_path, "--max-user-connections", "1", "--max-address-connections", "2")
    with psycopg.connect(server.dsn):
        with pytest.raises(psycopg.OperationalError, match='user "me" has 1'):
            psycopg.connect(server.dsn)
        time.sleep(0.2)
        with psycopg.connect(server.dsn, user="other"):
            with pytest.raises(psycopg.OperationalError, match=r"address 127\.0\.0\.1 has 2"):
                psycopg.connect(server.dsn, user="third")
    server.end()


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """Runs ``serve --check`` in the test's folder, in this process."""
    monkeypatch.chdir(tmp_path)
    return lambda *words, **variables: CliRunner().invoke(
        main, ["serve", "--check", *words], env=variables
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[limits]\nconnections = 7\nidle-timeout = 60\n[tls]\ncert = 'nowhere.pem'", "TLS cannot"),
        ("[limits]\nconnection = 7", "max-connections"),
        ("max-connections = 'many'", "max-connections"),
        ("[limits", "cannot be read"),
        ("[limits]\nconnections = 7\nstatement_timeout = 2.5\n", ""),
        ("postgres = 'nowhere:x'", "PAL-222"),
    ],
)
def test_a_file_is_looked_at(check: Check, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "palimpsest.toml").write_text(text)
    done = check("--config", "palimpsest.toml")
    assert (done.exit_code == 0) == (said == ""), done.stderr
    assert said in done.stderr


def test_the_environment_and_the_command_line_go_before_the_file(
    check: Check, tmp_path: Path
) -> None:
    (tmp_path / "palimpsest.toml").write_text("postgres = 'nowhere:x'")
    given = ("--config", "palimpsest.toml")
    assert check(*given).exit_code != 0
    assert check(*given, PALIMPSEST_SERVE_POSTGRES="127.0.0.1:1").exit_code == 0
    assert check(*given, "--postgres", "127.0.0.1:1").exit_code == 0
    assert check(PALIMPSEST_SERVE_POSTGRES="nowhere:x").exit_code != 0


def test_a_check_is_a_command_of_its_own(tmp_path: Path) -> None:
    done = subprocess.run(
        [warm_python(), "-m", "gateway.cli", "serve", "--check"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PALIMPSEST_SERVE_POSTGRES": "nowhere:x"},
    )
    assert done.returncode != 0
    assert "PAL-222" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--http", "nonsense:x"], "no address to listen at"),
        (["--postgres", "0.0.0.0:5433"], "the server has no TLS"),
        (["--postgres", "0.0.0.0:5433", "--trust-loopback"], "admits everybody"),
        (["--metrics-token-file", "empty"], "empty is empty"),
    ],
)
def test_a_check_refuses_what_a_start_would_refuse(
    check: Check, tmp_path: Path, words: list[str], said: str
) -> None:
    (tmp_path / "empty").touch()
    done = check(*words)
    assert done.exit_code != 0
    assert said in done.stderr
