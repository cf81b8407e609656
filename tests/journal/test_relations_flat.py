"""Flat journals: the current rows are the latest ones, whether older rows are archived or not."""

from __future__ import annotations

import random
from typing import Any

import duckdb
import pytest
from sqlglot import exp

from journal.model.schema import Column, JournalFormat, Table, TableName
from journal.model.version import VersionType
from journal.sql.relations import business_outputs
from journal.sql.relations_flat import current_rows

COLUMNS = (Column("id", "id", "INTEGER"), Column("v", "v", "INTEGER"))
TABLE = Table(
    1,
    TableName("main", "t"),
    COLUMNS,
    ("id",),
    format=JournalFormat(version_type=VersionType.BIGINT),
)


def filled(
    seed: int, changes: int, *, archived: bool
) -> tuple[duckdb.DuckDBPyConnection, set[tuple[int, int]]]:
    """A journal after so many random changes, and the rows that the table has then."""
    rng = random.Random(seed)
    rows: list[list[Any]] = []
    now: dict[int, int] = {}
    for version in range(1, changes + 1):
        key = rng.randrange(6)
        if archived and key in now:
            last = max((r for r in rows if r[0] == key), key=lambda r: r[2])
            if last[3] is None and rng.random() < 0.5:
                last[3] = version
        if key in now and rng.random() < 0.4:
            rows.append([key, now.pop(key), version, version])
        else:
            now[key] = rng.randrange(100)
            rows.append([key, now[key], version, None])
    store = duckdb.connect()
    store.execute(
        "CREATE TABLE t_journal (id INTEGER, v INTEGER, version_number BIGINT,"
        " subsequent_version_number BIGINT, PRIMARY KEY (id, version_number))"
    )
    rng.shuffle(rows)
    if rows:
        store.executemany("INSERT INTO t_journal VALUES (?, ?, ?, ?)", rows)
    return store, set(now.items())


def shown(store: duckdb.DuckDBPyConnection, query: exp.Select) -> set[tuple[Any, ...]]:
    """The rows of a relation, each of which must come once."""
    rows = store.execute(query.sql(dialect="duckdb")).fetchall()
    assert len(rows) == len(set(rows))
    return set(rows)


@pytest.mark.first(1)
@pytest.mark.parametrize("archived", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_current_rows_are_the_state_after_every_change(seed: int, archived: bool) -> None:
    for changes in (0, 1, 5, 20, 59):
        store, state = filled(seed, changes, archived=archived)
        assert shown(store, current_rows(TABLE, business_outputs(COLUMNS))) == state
