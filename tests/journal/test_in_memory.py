"""Databases in memory put no rows into the folder that their process happens to stand in."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from journal.local_engine.in_memory import connect_in_memory

_SMALL = {"memory_limit": "20MB", "threads": "1"}
_TOO_MUCH = "CREATE TABLE t AS SELECT repeat('secret', 20) || range AS v FROM range(400000)"


def test_rows_are_put_aside_where_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, aside = tmp_path / "here", tmp_path / "aside"
    here.mkdir()
    monkeypatch.chdir(here)
    with connect_in_memory(aside, _SMALL) as database:
        database.execute(_TOO_MUCH)
        assert list(aside.iterdir())
        assert not list(here.iterdir())


def test_rows_are_put_nowhere_without_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with connect_in_memory(None, _SMALL) as database, pytest.raises(duckdb.OutOfMemoryException):
        database.execute(_TOO_MUCH)
    assert not list(tmp_path.iterdir())
