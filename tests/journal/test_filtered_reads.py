"""Rows asked for by a column with filters: only files that may hold them are read, none missed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from journal.files.filters import bloom
from journal.files.filters.key_filters import KeyFilters
from journal.model.schema import Table
from journal.model.segment import SIDECAR
from journal.stores.embedded import warehouse
from tests.support.client import Client

FILES = 400
_ROWS_EACH = 2048
Asked = list[tuple[str | None, int, int]]
"""Of each question: the column (None: the key), the files there are, the files left."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    noted: Asked = []
    narrow = KeyFilters.matching_paths

    def noting(
        self: KeyFilters,
        root: Path,
        table: Table,
        paths: Sequence[str],
        value: Any,
        column: str | None = None,
    ) -> list[str]:
        found = narrow(self, root, table, paths, value, column)
        noted.append((column, len(paths), len(found)))
        return found

    monkeypatch.setattr(KeyFilters, "matching_paths", noting)
    return noted


CREATE = "CREATE TABLE v (k BIGINT PRIMARY KEY, visitor VARCHAR, mail VARCHAR, account BIGINT)"
ROWS = (
    f"INSERT INTO v SELECT i, CASE WHEN i // {_ROWS_EACH} % 10 = 3 AND i % 7 = 0 THEN 'often'"
    " ELSE md5((i // 1024)::VARCHAR) END, ' M' || i // 1024, i // 1024 * 3 FROM range({}) r(i)"
)


def _in_files(run: Client, monkeypatch: pytest.MonkeyPatch, files: int) -> None:
    """A table in so many files; each holds two people of its own, one is in every tenth."""
    monkeypatch.setitem(warehouse.PARQUET_OPTIONS, "ROW_GROUP_SIZE", str(_ROWS_EACH))
    monkeypatch.setitem(warehouse.PARQUET_OPTIONS, "ROW_GROUPS_PER_FILE", "1")
    run("SET memory_rows = 100")
    run("SET job_engine = 'local'")
    run(f"{CREATE} WITH (erasure = 'visitor, mail LOWER', filters = 'account')")
    run(ROWS.format(files * _ROWS_EACH))
    run("CALL system.flush('v')")
    assert len(run.files()) == files


@pytest.mark.long
def test_a_point_read_by_an_identity_reads_the_files_that_may_hold_it(
    run: Client, monkeypatch: pytest.MonkeyPatch, asked: Asked
) -> None:
    _in_files(run, monkeypatch, FILES)
    person = run("SELECT md5('77')")[0][0]
    assert run("SELECT count(*), min(k), max(k) FROM v WHERE visitor = ?", person) == [
        (1024, 77 * 1024, 78 * 1024 - 1)
    ]
    assert run("SELECT k FROM v WHERE visitor = 'nobody'") == []
    assert run("SELECT count(*) FROM v WHERE account = 231") == [(1024,)]
    assert run("SELECT count(*) FROM v WHERE mail = ' M77'") == [(1024,)]
    assert run("SELECT count(*) FROM v WHERE mail = 'M77'") == [(0,)], "the filter says perhaps"
    kept = [left for _, files, left in asked if files == FILES]
    assert len(kept) == len(asked) == 5
    assert max(kept) <= 4, "the file, and a few by chance: one in a thousand"
    asked.clear()
    assert run("SELECT count(DISTINCT k // 2048) FROM v WHERE visitor = 'often'") == [(40,)]
    assert asked[0][:2] == ("visitor", FILES)
    assert 40 <= asked[0][2] <= 44
    asked.clear()
    run(f"UPDATE v SET visitor = 'moved' WHERE k = {77 * 1024}")
    assert run("SELECT k FROM v WHERE visitor = 'moved'") == [(77 * 1024,)]
    assert len(run("SELECT k FROM v WHERE visitor = ?", person)) == 1023
    run("CALL system.flush('v')")
    assert run("SELECT k FROM v WHERE visitor = 'moved'") == [(77 * 1024,)]
    assert len(run("SELECT k FROM v WHERE visitor = ?", person)) == 1023
    assert max(left for column, _, left in asked if column == "visitor") <= 4
    assert [files for _, files, _ in asked[-2:]] == [FILES, 1], "base and delta"


def test_files_without_filters_are_read(
    run: Client, monkeypatch: pytest.MonkeyPatch, asked: Asked
) -> None:
    _in_files(run, monkeypatch, 4)
    for folder in {f.parent for f in run.files()}:
        (folder / SIDECAR).unlink()
    assert run("SELECT count(*) FROM v WHERE account = 3") == [(1024,)]
    assert asked == [("account", 4, 4)]


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("account = '3'", 1024),
        ("account = 3.0", 1024),
        ("account = -3", 0),
        ("account = CAST(3 AS SMALLINT)", 1024),
        ("visitor = CAST(3 AS VARCHAR)", 0),
        ("lower(trim(mail)) = 'm1'", 1024),
        ("account = 3 OR account = 6", 2048),
        ("NOT account = 3", 7 * 1024),
        ("account IS NULL", 0),
        ("account = NULL", 0),
        ("mail = ' M1' AND account = 3", 1024),
    ],
)
def test_whatever_is_no_plain_value_is_answered_all_the_same(
    run: Client, monkeypatch: pytest.MonkeyPatch, condition: str, count: int
) -> None:
    _in_files(run, monkeypatch, 4)
    assert run(f"SELECT count(*) FROM v WHERE {condition}") == [(count,)]


CHANGES = (
    "UPDATE v SET visitor = '{other}', mail = '{other}' WHERE k = {key}",
    "UPDATE v SET visitor = '{other}' WHERE visitor = '{person}'",
    "UPDATE v SET account = {key} WHERE visitor = '{other}'",
    "DELETE FROM v WHERE k = {key}",
    "DELETE FROM v WHERE visitor = '{person}'",
    "INSERT INTO v VALUES ({key} + 100000, '{person}', '{other}', 5) ON CONFLICT DO NOTHING",
)
UPKEEP = ("CALL system.flush('v')", "CALL system.compact(table => 'v', mode => 'major')")
STEPS = st.tuples(st.sampled_from((*CHANGES, *UPKEEP)), st.integers(0, 15), st.integers(0, 15))


@pytest.mark.long
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, max_size=8), st.booleans())
def test_changed_rows_are_found_where_they_are_now(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int]], ends: bool
) -> None:
    """A row of the base that has ended must not come back with what it was."""
    run = Client(tmp_path_factory.mktemp("reads") / "warehouse")
    oracle = duckdb.connect()
    with pytest.MonkeyPatch.context() as patched:
        _in_files(run, patched, 8)
        oracle.execute(CREATE)
        oracle.execute(ROWS.format(8 * _ROWS_EACH))
        for place, (step, one, two) in enumerate(steps):
            if ends and place == len(steps) // 2:
                run("BEGIN")
            if step in UPKEEP:
                if not ends:
                    run(step)
                continue
            person, other = oracle.execute(f"SELECT md5('{one}'), md5('{two}')").fetchall()[0]
            sql = step.format(person=person, other=other, key=one * 1024 + two)
            run(sql)
            oracle.execute(sql)
            for column in ("visitor", "mail", "account"):
                for value in (person, other, f" M{one}", 3 * two, 5):
                    if (column == "account") is isinstance(value, int):
                        ask = f"SELECT * FROM v WHERE {column} = ? ORDER BY k"
                        assert run(ask, value) == oracle.execute(ask, [value]).fetchall()
    run.close()


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=200), st.floats(1e-6, 0.5))
def test_one_hash_is_asked_as_many_are(values: list[int], fpp: float) -> None:
    hashes = np.array(values, dtype=np.uint64)
    made = bloom.build(hashes[::2].copy(), fpp)
    assert [made.may_hold_one(v) for v in values] == made.may_hold(hashes).tolist()
