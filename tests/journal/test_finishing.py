"""New files are whole before anybody may list them, however many threads see to that."""

from __future__ import annotations

import errno
import threading
import zlib
from pathlib import Path
from typing import Any

import pytest
import sqlglot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from journal.files.filters.sidecar import FilterBuilder, read_sidecar
from journal.files.parquet_files import checksum
from journal.local_engine.session import DuckDBSession
from journal.model.errors import PalimpsestError
from journal.model.plan import Query
from journal.model.segment import SegmentFile
from journal.stores.embedded import finishing, warehouse
from tests.support.client import Client

CREATE = (
    "CREATE TABLE p (id VARCHAR PRIMARY KEY, email VARCHAR, st STRUCT(mail VARCHAR), n BIGINT)"
    " WITH (filters = 'email LOWER, email, st.mail, n')"
)
ROWS = (
    "SELECT 'k' || i AS id, nullif(' U' || i // {same} || '@x', ' U3@x') AS email,"
    " {{'mail': 's' || i * 7}} AS st, i * 31 AS n FROM range({count}) r(i)"
)


@pytest.fixture
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of two row groups of the fewest rows that DuckDB has."""
    monkeypatch.setitem(warehouse.PARQUET_OPTIONS, "ROW_GROUP_SIZE", "2048")
    monkeypatch.setitem(warehouse.PARQUET_OPTIONS, "ROW_GROUPS_PER_FILE", "2")


@pytest.fixture
def onboarded(run: Client) -> Client:
    run(CREATE)
    return run


def _written(run: Client, rows: str) -> tuple[tuple[SegmentFile, ...], dict[str, Any]]:
    """The files of a new segment, and what their filters are when one thread builds each in turn
    out of what DuckDB says is in the file."""
    journal = run.connection.session.journal
    table = journal.state.catalog.by_id(1)
    assert table is not None
    query = Query.of(sqlglot.parse_one(rows, read="duckdb"))
    with journal.reading_session() as session:
        files = journal.warehouse.write_segment(session, table, query, {})
        expected = {}
        for file in files:
            builder = FilterBuilder.of(table)
            assert builder is not None
            fresh = builder.fresh(file)
            for batch in _all_rows(session, journal.root / file.path):
                fresh.add(batch)
            expected[Path(file.path).name] = fresh.finish()
    return files, expected


def _all_rows(session: DuckDBSession, path: Path) -> Any:
    query = sqlglot.parse_one(f"SELECT * FROM read_parquet('{path}')", read="duckdb")
    return session.arrow_reader(Query.of(query), {}, 1000)


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, 30_000), st.integers(1, 5_000))
def test_files_have_the_filters_that_one_thread_builds(
    small_files: None, onboarded: Client, count: int, same: int
) -> None:
    """Equal values lie on both sides of any border between row groups, and between files."""
    run = onboarded
    files, expected = _written(run, ROWS.format(count=count, same=same))
    root = run.connection.session.journal.root
    assert sum(f.rows for f in files) == count
    assert len(files) > 1 or count <= 2 * 2048
    for file in files:
        assert (
            file.checksum
            == checksum(root / file.path)
            == zlib.crc32((root / file.path).read_bytes())
        )
    assert read_sidecar((root / files[0].path).parent) == expected


@pytest.mark.parametrize("step", ["filters_of", "sync_file"])
def test_nothing_stays_of_files_that_cannot_be_finished(
    small_files: None, onboarded: Client, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    run = onboarded
    plain, calls = getattr(finishing, step), iter(range(1000))

    def failing(*what: Any) -> Any:
        if next(calls) == 2:
            raise OSError(errno.ENOSPC, "no space left")
        return plain(*what)

    monkeypatch.setattr(finishing, step, failing)
    with pytest.raises(PalimpsestError, match="no space left"):
        _written(run, ROWS.format(count=30_000, same=1))
    assert not list(run.root.rglob("*.parquet"))
    assert not list(run.root.rglob("*.bloom*"))
    assert not [t for t in threading.enumerate() if t.name.startswith("palimpsest-finishing")]
