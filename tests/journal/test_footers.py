"""Scans of large files are planned with what their footers say, and the answers stay the same."""

from __future__ import annotations

import pytest

from tests.support.client import Client

ROWS = 600_000
GROUPS = "SELECT g, count(v), min(v), max(v), count(DISTINCT v) FROM t GROUP BY g"


@pytest.fixture
def large(run: Client) -> Client:
    """Two files that are large enough."""
    run("CREATE TABLE t (k BIGINT PRIMARY KEY, g INTEGER, v BIGINT)")
    for first in (0, ROWS // 2):
        run(f"INSERT INTO t SELECT i, i % 3, i % 100 FROM range({first}, {first + ROWS // 2}) r(i)")
        run("CALL system.flush('t')")
    return run


def _plan(run: Client) -> str:
    return str(dict(run(f"EXPLAIN {GROUPS}"))["physical_plan"])


def test_values_without_null_are_counted_as_rows(large: Client) -> None:
    assert "count_star()" in _plan(large)
    expected = [(g, 200_000, 0, 99, 100) for g in range(3)]
    assert large.sorted(GROUPS) == expected


@pytest.mark.long
def test_nulls_in_a_later_file_and_in_a_new_column_are_nulls(large: Client) -> None:
    rows = f"SELECT i, i % 3, nullif(i % 100, 5) FROM range({ROWS}, {2 * ROWS}) r(i)"
    large(f"INSERT INTO t {rows}")
    large("CALL system.flush('t')")
    assert "count_star()" not in _plan(large)
    assert sum(row[1] for row in large(GROUPS)) == 2 * ROWS - ROWS // 100
    large("ALTER TABLE t ADD COLUMN w BIGINT")
    large(f"INSERT INTO t SELECT i, 0, 0, 7 FROM range({2 * ROWS}, {3 * ROWS}) r(i)")
    large("CALL system.flush('t')")
    assert large("SELECT count(*), count(w), max(w) FROM t") == [(3 * ROWS, ROWS, 7)]
    large("UPDATE t SET v = NULL WHERE k < 10")
    assert large("SELECT count(v) FROM t WHERE k < 20") == [(10,)]
