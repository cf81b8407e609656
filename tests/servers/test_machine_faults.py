"""The machine fails under a server: its disk is full, its clock is set back. Nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from tests.servers.conftest import Server, launch
from tests.support.no_room import fill_disk, small_disk

pytestmark = pytest.mark.slow
_FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")
_MANY = "INSERT INTO t SELECT i, repeat('x', 200) FROM range(%s, %s) AS r(i)"


@contextmanager
def _running(folder: Path, days: int | None = None) -> Iterator[Server]:
    """A server until the end of the block, whose clock is so many days ahead."""
    server = launch(folder, environment={} if days is None else _clock(folder, days))
    try:
        yield server
    finally:
        server.end()


def _connected(server: Server) -> closing[psycopg.Connection]:
    return closing(psycopg.connect(server.dsn, autocommit=True))


def _count(connection: psycopg.Connection) -> int:
    row = connection.execute("SELECT count(*) FROM t").fetchone()
    assert row is not None
    return int(row[0])


def test_a_full_disk_refuses_writes_and_nothing_else(tmp_path: Path) -> None:
    place = tmp_path / "disk"
    place.mkdir()
    with small_disk(place, 48):
        with _running(place) as server, _connected(server) as reader, _connected(server) as writer:
            writer.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT)")
            writer.execute(_MANY, (0, 1000))
            ballast = fill_disk(place, 200_000)
            kept, refused = 1000, None
            for start in range(1000, 60_000, 5000):
                try:
                    writer.execute(_MANY, (start, start + 5000))
                    kept += 5000
                except psycopg.Error as error:
                    refused = error
                    break
            assert refused is not None
            assert "PAL-504" in str(refused), refused
            assert _count(reader) == kept
            assert reader.execute("SELECT v FROM t WHERE k = 7").fetchone() == ("x" * 200,)
            ballast.unlink()
            writer.execute(_MANY, (100_000, 100_100))
            assert _count(reader) == kept + 100
        with _running(place) as again, _connected(again) as connection:
            assert _count(connection) == kept + 100


def _clock(folder: Path, days: int) -> dict[str, str]:
    """What makes a process believe in another time; the file is read at each look at the clock."""
    if not _FAKETIME.exists():
        pytest.skip("faketime is not installed (on Debian: apt-get install faketime)")
    (folder / "clock").write_text(f"{days:+}d\n")
    return {
        "LD_PRELOAD": str(_FAKETIME),
        "FAKETIME_TIMESTAMP_FILE": str(folder / "clock"),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


def test_a_clock_that_is_set_back_loses_and_reorders_nothing(tmp_path: Path) -> None:
    with _running(tmp_path, 0) as server, _connected(server) as connection:
        connection.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT)")
        connection.execute("INSERT INTO t VALUES (1, 'before'), (2, 'before')")
        _clock(tmp_path, -2)
        row = connection.execute("SELECT now()").fetchone()
        assert row is not None
        assert row[0] < datetime.now(UTC) - timedelta(days=1), "the clock is not set back"
        connection.execute("UPDATE t SET v = 'after' WHERE k = 1")
        connection.execute("DELETE FROM t WHERE k = 2")
        connection.execute("INSERT INTO t VALUES (3, 'after')")
        _check_rows(connection)
    with _running(tmp_path, -2) as again, _connected(again) as connection:
        _check_rows(connection)
        connection.execute("UPDATE t SET v = 'later' WHERE k = 3")
        versions = connection.execute("SELECT version FROM system.transactions").fetchall()
        assert versions == sorted(versions)
        assert connection.execute("SELECT v FROM t WHERE k = 3").fetchone() == ("later",)


def _check_rows(connection: psycopg.Connection) -> None:
    rows = connection.execute("SELECT k, v FROM t ORDER BY k").fetchall()
    assert rows == [(1, "after"), (3, "after")]
    assert connection.execute("SELECT v FROM t WHERE k = 1").fetchone() == ("after",)
