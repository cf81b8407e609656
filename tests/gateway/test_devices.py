"""Rows written to a device or a pipe: it gets the bytes, and stays what it is."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

import gateway
from gateway.cli import main

FORMS = ("csv", "json", "jsonl", "markdown", "parquet")


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    url = f"palimpsest:///{tmp_path}/w"
    with gateway.connect(url, autocommit=True) as con:
        con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
        con.execute("INSERT INTO t VALUES (1)")
    return url


@pytest.fixture
def device(tmp_path: Path) -> Path:
    """What takes all bytes: one that is ours where we may make it: root could replace another."""
    if os.geteuid() != 0:
        return Path("/dev/null")
    made = tmp_path / "null"
    os.mknod(made, 0o666 | stat.S_IFCHR, Path("/dev/null").stat().st_rdev)
    return made


@pytest.mark.parametrize("form", FORMS)
def test_a_device_stays_one(warehouse: str, device: Path, form: str) -> None:
    told = CliRunner().invoke(main, ["export", "t", str(device), "-t", form, "-w", warehouse])
    assert (told.exit_code, device.is_char_device()) == (0, True), told.output


def test_copy_takes_a_device(warehouse: str, device: Path) -> None:
    with gateway.connect(warehouse, autocommit=True) as con:
        assert con.execute(f"COPY t TO '{device}' (FORMAT csv)").rowcount == 1
    assert device.is_char_device()


@pytest.mark.parametrize("form", FORMS[:-1])
def test_a_pipe_gets_the_rows_and_nothing_else(warehouse: str, tmp_path: Path, form: str) -> None:
    pipe, got = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    told = CliRunner().invoke(main, ["export", "t", str(pipe), "-t", form, "-w", warehouse])
    reader.join(timeout=60)
    assert (told.exit_code, pipe.is_fifo()) == (0, True), told.output
    plain = tmp_path / "plain"
    CliRunner().invoke(main, ["export", "t", str(plain), "-t", form, "-w", warehouse])
    assert got == [plain.read_bytes()]


def test_parquet_needs_a_file(warehouse: str, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    told = CliRunner().invoke(main, ["export", "t", str(pipe), "-t", "parquet", "-w", warehouse])
    assert told.exit_code == 1
    assert "which is a pipe" in told.output
