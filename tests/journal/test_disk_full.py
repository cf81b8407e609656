"""A full disk: the write fails with PAL-504, nothing acknowledged is lost, later writes succeed."""

from __future__ import annotations

import subprocess
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.warm_python import warm_python

SMALL_DISK = "30m"

LIMITED = """
    import resource, signal, sys
    import gateway
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    connection = gateway.connect("palimpsest:///" + sys.argv[1], autocommit=True)
    cursor = connection.cursor()

    def count(sql):
        try:
            cursor.execute(sql)
        except gateway.OperationalError as error:
            assert error.code == "PAL-504", error
            return None
        return cursor.rowcount if cursor.description is None else cursor.fetchall()

    def rows(low, high):
        return f"INSERT INTO t SELECT i, repeat(md5(i::VARCHAR), 4) FROM range({low}, {high}) r(i)"

    count("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
    assert count(rows(0, 1000)) == 1000
    free = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, free[1]))
    assert count(rows(1000, 40_000)) is None, "the log of the store has no room"
    assert count(rows(100_000, 200_000)) is None, "the segment has no room"
    assert count("SELECT count(*) FROM t") == [(1000,)]
    resource.setrlimit(resource.RLIMIT_FSIZE, free)
    assert count(rows(1000, 40_000)) == 39_000
    connection.close()
    connection = gateway.connect("palimpsest:///" + sys.argv[1], autocommit=True)
    cursor = connection.cursor()
    assert count("SELECT count(*) FROM t") == [(40_000,)]
    assert count("CALL system.flush('t')")
    connection.close()
"""

FILLED = """
    import os, sys
    import gateway
    root = sys.argv[1]
    with open(root + "/ballast", "wb") as ballast:
        ballast.write(b"x" * 8_000_000)
    connection = gateway.connect("palimpsest:///" + root + "/w", autocommit=True)
    cursor = connection.cursor()
    cursor.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
    acknowledged = failures = later = 0
    for low in range(0, 1_000_000, 5000):
        try:
            cursor.execute(
                "INSERT INTO t SELECT i, repeat(md5(i::VARCHAR), 2) FROM range(?, ?) r(i)",
                [low, low + 5000],
            )
        except gateway.OperationalError as error:
            assert error.code == "PAL-504", error
            failures += 1
            if failures == 2:
                os.remove(root + "/ballast")
            if failures > 2:
                break
        else:
            acknowledged += 5000
            later += failures >= 2
    cursor.execute("SELECT count(*) FROM t")
    assert cursor.fetchall() == [(acknowledged,)]
    assert later > 0, "no write succeeded after room was made"
    connection.close()
    connection = gateway.connect("palimpsest:///" + root + "/w", autocommit=True)
    cursor = connection.cursor()
    cursor.execute("SELECT count(*) FROM t")
    assert cursor.fetchall() == [(acknowledged,)]
"""


def _run(script: str, folder: Path, root: Path) -> None:
    found = subprocess.run(
        [warm_python(), "-c", textwrap.dedent(script), str(folder)],
        capture_output=True,
        text=True,
        cwd=root,
        timeout=120,
    )
    assert found.returncode == 0, found.stderr


def test_files_that_may_not_grow(tmp_path: Path, root: Path) -> None:
    _run(LIMITED, tmp_path / "warehouse", root)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, so small that it fills up."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}", "tmpfs", str(tmp_path)],
        capture_output=True,
    )
    if mounted.returncode != 0:
        pytest.skip("only root can mount a small file system")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True, capture_output=True)


@pytest.mark.long
def test_a_disk_that_fills_up_and_has_room_again(small_disk: Path, root: Path) -> None:
    _run(FILLED, small_disk, root)
