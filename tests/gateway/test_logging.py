"""One configuration of the log for commands, programs and servers; and what lines say."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import gateway
from gateway.activity.log_settings import LogSettings, settings_around, write_log
from gateway.cli import main
from journal.model.errors import PalimpsestError

SECRET = "ada@secret.example"
INSERT = f"CREATE TABLE t (a VARCHAR); INSERT INTO t VALUES ('{SECRET}')"


@pytest.fixture(autouse=True)
def quiet_again() -> Iterator[None]:
    """Leave the process with the log that it had."""
    root, ours = logging.getLogger(), logging.getLogger("palimpsest")
    kept = [(logger, list(logger.handlers), logger.level) for logger in (root, ours)]
    propagates = ours.propagate
    yield
    for logger, handlers, level in kept:
        logger.handlers[:] = handlers
        logger.setLevel(level)
    ours.propagate = propagates
    write_log(LogSettings(), logging.getLogger("palimpsest.nobody"))


def _run(*words: str, **environment: str) -> Result:
    return CliRunner().invoke(main, list(words), env=environment)


def _lines(run: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run.stderr.splitlines() if line.startswith("{")]


def test_statements_are_lines_without_values(tmp_path: Path) -> None:
    root = str(tmp_path / "w")
    assert _run("init", root).exit_code == 0
    assert _run("query", "-w", root, "SELECT 1").stderr == ""
    run = _run("--log-level", "debug", "--log-format", "json", "query", "-w", root, INSERT)
    assert run.exit_code == 0, run.stderr
    found = [line for line in _lines(run) if line["logger"] == "palimpsest.statements"]
    assert [line["statement"] for line in found][-1] == "INSERT INTO t VALUES (?)"
    assert {"time", "level", "seconds", "user", "digest", "rows"} <= found[-1].keys()
    failed = _run(
        "--log-level", "debug", "query", "-w", root, f"SELECT * FROM tt WHERE a='{SECRET}'"
    )
    (line,) = [one for one in failed.stderr.splitlines() if "palimpsest.statements" in one]
    assert line[10] == "T"
    assert "failed: SELECT * FROM tt WHERE a=?" in line.replace(" = ", "=")
    assert SECRET not in run.stderr + line


def test_slow_statements_are_warnings(tmp_path: Path) -> None:
    root = str(tmp_path / "w")
    _run("init", root)
    for words, environment in (
        (("--slow-statement", "0"), {}),
        ((), {"PALIMPSEST_SLOW_STATEMENT": "0"}),
    ):
        run = _run(*words, "query", "-w", root, "SELECT 'x'", **environment)
        assert "WARNING palimpsest.slow: slow statement: 0." in run.stderr
    assert "slow" not in _run("--slow-statement", "60", "query", "-w", root, "SELECT 1").stderr


def test_options_come_before_the_environment_and_that_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "palimpsest.toml"
    file.write_text(
        "[log]\nlevel = 'error'\nformat = 'json'\nslow-statement = 2\n[serve]\ndrain = 3\n"
    )
    around = settings_around({"PALIMPSEST_CONFIG": str(file), "PALIMPSEST_LOG_LEVEL": "info"})
    assert around == LogSettings("info", "json", 2.0)
    assert LogSettings("debug").with_defaults(around) == LogSettings("debug", "json", 2.0)
    assert settings_around({}) == LogSettings()
    root = str(tmp_path / "w")
    _run("init", root)
    words = ("--log-level", "info", "job", "verify", "--all", "-w", root)
    _run("query", "-w", root, INSERT)
    run = _run(*words, PALIMPSEST_CONFIG=str(file))
    assert {line["state"] for line in _lines(run) if "state" in line} == {"SUCCEEDED"}


@pytest.mark.parametrize("text", ["[log]\nlevel = 'loud'", "[log]\nshape = 1", "log ="])
def test_wrong_settings_of_the_log_are_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "palimpsest.toml"
    file.write_text(text)
    with pytest.raises(PalimpsestError, match="PAL-222"):
        settings_around({"PALIMPSEST_CONFIG": str(file)})
    run = _run("query", "SELECT 1", PALIMPSEST_CONFIG=str(file))
    assert (run.exit_code, "Error: " in run.stderr) == (2, True)
    with pytest.raises(PalimpsestError, match="PAL-222"):
        settings_around({"PALIMPSEST_SLOW_STATEMENT": "soon"})


def test_a_program_has_the_same_log(capsys: pytest.CaptureFixture[str]) -> None:
    gateway.configure_logging(level="debug", form="json", slow_statement=0)
    with gateway.connect("palimpsest://", autocommit=True) as connection:
        connection.execute(INSERT.split(";")[0])
    (line,) = [json.loads(one) for one in capsys.readouterr().err.splitlines()]
    assert (line["level"], line["logger"]) == ("warning", "palimpsest.slow")
    with pytest.raises(gateway.DataError, match="PAL-222"):
        gateway.configure_logging(level="loud")


@pytest.mark.long
def test_the_scheduler_says_what_it_plans_and_does_with_the_time(tmp_path: Path) -> None:
    root = str(tmp_path / "w")
    _run("init", root)
    policy = "RETENTION = 30 DAYS ON COLUMN d, SCHEDULE_verify = '0 3 * * *'"
    _run("query", "-w", root, "CREATE TABLE t (a INT PRIMARY KEY, d DATE)")
    _run("query", "-w", root, "INSERT INTO t VALUES (1, DATE '2020-01-01')")
    _run("query", "-w", root, f"ALTER TABLE t SET POLICY ({policy})")
    log = tmp_path / "log"
    with log.open("w") as stderr:
        child = subprocess.Popen(
            [sys.executable, "-m", "gateway.cli", "scheduler", "-w", root, "--check", "1"],
            stderr=stderr,
            stdout=subprocess.DEVNULL,
            env={k: v for k, v in os.environ.items() if not k.startswith("PALIMPSEST_")},
        )
    try:
        until = time.monotonic() + 60
        while "SUCCEEDED" not in log.read_text().upper() and time.monotonic() < until:
            time.sleep(0.1)
    finally:
        child.send_signal(signal.SIGTERM)
        assert child.wait(30) == 0
    lines = [line for line in log.read_text().splitlines() if " palimpsest." in line]
    said = "\n".join(lines)
    assert all(line[:2] == "20" and line[23] == "Z" for line in lines), said
    assert "verify of main.t runs as '0 3 * * *' says (UTC)" in said
    assert "retain of main.t runs every 24 h, first at " in said
    assert "INFO palimpsest.jobs: retain of main.t begins, attempt 1, schedule" in said
    assert "INFO palimpsest.jobs: retain of main.t: succeeded in " in said
    assert "the scheduler has ended" in said
