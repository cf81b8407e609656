"""Partitions that a killed restore has read: they are kept for a while."""

from __future__ import annotations

import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from gateway.dbapi.connection import Connection
from journal.stores.hive.journal import HiveJournal
from spark_compaction.backends.hive import cleaning
from tests.hive.conftest import ThriftServer
from tests.support import kept
from tests.support.kept import call, rows, spoil

pytestmark = [pytest.mark.stores, pytest.mark.timeout(1800)]


@pytest.fixture
def url(server: ThriftServer, tmp_path: Path) -> str:
    return server.url(f"p{uuid.uuid4().hex[:8]}_", tmp_path / "catalog.db", views="off")


@pytest.fixture
def table(con: Connection) -> Connection:
    """The table that is spoilt."""
    kept.make(con)
    return con


def _journal(con: Connection) -> HiveJournal:
    found = con.session.journal
    assert isinstance(found, HiveJournal)
    return found


def _drop_retired(con: Connection) -> None:
    """Drop what jobs have replaced, as if its grace were over; what backups list stays."""
    with _journal(con).store.connection() as connection:
        cleaning.reap(_journal(con), connection, 1, list)


def test_what_a_killed_restore_has_read_stays_for_a_day(table: Connection, url: str) -> None:
    call(table, "backup('t', name => 'good')")
    spoil(table, _drop_retired)
    words = [sys.executable, "-m", "tests.support.killed_job", url, "restore", "commit"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == -signal.SIGKILL, done.stderr
    pins = [n for (n,) in rows(table, "SELECT name FROM system.backups") if "reading" in n]
    assert len(pins) == 1
