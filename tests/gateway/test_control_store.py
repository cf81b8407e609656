"""Which store commands for entities go to: the control store that file or environment name."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gateway.cli import main
from gateway.commands.connecting import control_elsewhere
from gateway.opening.warehouses import WAREHOUSES
from gateway.servers.client_sessions import session_of_client
from journal.model.errors import PalimpsestError

PROCESS = "CREATE PROCESS nightly EVERY 1 DAY START '2024-01-03' AS SELECT 1"
NIGHTLY = "kind: process\nname: nightly\nevery: 1 day\nstart: 2024-01-03\nsql: SELECT 1\n"
PROFILE = "kind: profile\nname: {name}\nurl: palimpsest:///west\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("PALIMPSEST_CONTROL_STORE", "PALIMPSEST_CONFIG", "PALIMPSEST_WAREHOUSE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("warehouse", "control", "other"):
        assert _run("init", name).exit_code == 0
    (tmp_path / "palimpsest.toml").write_text('[control]\nstore = "palimpsest:///control"\n')
    return tmp_path


def _run(*words: str) -> Result:
    return CliRunner().invoke(main, words)


def _submit(folder: Path, name: str, *more: str) -> Result:
    (folder / "p.yaml").write_text(PROFILE.format(name=name))
    return _run("entity", "submit", "p.yaml", *more)


def _names(*more: str) -> set[str]:
    done = _run("query", *more, "SELECT name FROM system.entities ORDER BY name", "--format", "csv")
    assert done.exit_code == 0, done.output
    return set(done.stdout.split()[1:])


@pytest.mark.long
def test_who_names_a_control_store_first_counts(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _submit(folder, "here").exit_code == 0
    monkeypatch.setenv("PALIMPSEST_CONFIG", str(folder / "palimpsest.toml"))
    assert _submit(folder, "by-file").exit_code == 0
    monkeypatch.setenv("PALIMPSEST_WAREHOUSE", "warehouse")  # Says where tables are.
    assert _submit(folder, "by-file-again").exit_code == 0
    monkeypatch.setenv("PALIMPSEST_CONTROL_STORE", "other")
    assert _submit(folder, "by-environment").exit_code == 0
    assert _submit(folder, "by-option", "-w", "warehouse").exit_code == 0
    assert _names() == {"here", "by-option"}
    assert _names("-w", "control") == {"by-file", "by-file-again"}
    assert _names("-w", "other") == {"by-environment"}
    assert "Nothing is due" in _run("scheduler", "--once").output


def test_sql_declares_processes_in_the_control_store_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_CONFIG", str(folder / "palimpsest.toml"))
    done = _run("query", "-w", "other", PROCESS)
    assert done.exit_code == 1
    assert "process nightly: the control store is palimpsest:///control" in done.output
    # A dataset has policies of tables, which lie where these do.
    assert _run("query", "-w", "other", "CREATE TABLE t (a INTEGER)").exit_code == 0
    kept = "CREATE DATASET t ON TABLE t EVERY 1 DAY START '2024-01-01'"
    assert _run("query", "-w", "other", kept).exit_code == 0
    # By another spelling it is the same store.
    assert _run("query", "-w", "./control", PROCESS).exit_code == 0
    assert _names("-w", "control") == {"nightly"}
    # Who names a store to a command about entities means its own.
    (folder / "p.yaml").write_text(NIGHTLY)
    assert _run("entity", "submit", "p.yaml", "-w", "other").exit_code == 0
    assert _names("-w", "other") == {"t", "nightly"}


def test_clients_of_a_server_declare_processes_in_the_control_store_alone(folder: Path) -> None:
    url = f"palimpsest:///{folder}/other"
    named = control_elsewhere(url, {"PALIMPSEST_CONFIG": str(folder / "palimpsest.toml")})
    opened = WAREHOUSES.acquire(url)
    try:
        opened.control_store = named
        with closing(session_of_client(opened, "postgres", None, None, {}, None)) as session:
            with pytest.raises(PalimpsestError, match="the control store is"):
                session.execute(PROCESS)
    finally:
        WAREHOUSES.release(opened)


def test_which_stores_are_another(folder: Path) -> None:
    def elsewhere(url: str, named: str) -> str | None:
        return control_elsewhere(url, {"PALIMPSEST_CONTROL_STORE": named})

    assert elsewhere(f"palimpsest:///{folder}/control", "control") is None
    assert elsewhere("palimpsest:///other", "control") == "control"
    database = "palimpsest+postgresql://ann@db/company"
    assert elsewhere(database, "palimpsest+postgresql://bob@db:5432/company") is None
    assert elsewhere(database, "control") == "control"
    assert elsewhere("palimpsest://db:5433/", "control") is None  # The server knows its own.


def test_a_wrong_file_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_CONFIG", str(folder / "palimpsest.toml"))
    (folder / "palimpsest.toml").write_text("[control]\nstore = 7\n")
    done = _run("entity", "list")
    assert done.exit_code == 2
    assert "[control] store of" in done.output
    (folder / "palimpsest.toml").write_text('[control]\nstore = "nowhere"\n')
    done = _run("entity", "list")
    assert done.exit_code == 3
    assert "there is no warehouse at nowhere" in done.output


def test_a_server_takes_the_same_file(folder: Path) -> None:
    done = _run("serve", "--config", "palimpsest.toml", "--check")
    assert done.exit_code == 0, done.output
