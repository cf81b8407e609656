"""Flat journals: every shape shows the latest rows and any earlier state, archived rows or not."""

from __future__ import annotations

import random
from typing import Any

import duckdb
import pytest
from sqlglot import exp

from journal.model.schema import Column, JournalFormat, Table, TableName
from journal.model.version import VersionType
from journal.sql.relations import business_outputs, column
from journal.sql.relations_flat import FlatReader, FlatShape

COLUMNS = (Column("id", "id", "INTEGER"), Column("v", "v", "INTEGER"))
TABLE = Table(
    1,
    TableName("main", "t"),
    COLUMNS,
    ("id",),
    format=JournalFormat(version_type=VersionType.BIGINT),
)
States = dict[int, set[tuple[int, int]]]


def filled(seed: int, *, archived: bool) -> tuple[duckdb.DuckDBPyConnection, States]:
    """A journal after random changes, and the state of the table at each version."""
    rng = random.Random(seed)
    rows: list[list[Any]] = []
    now: dict[int, int] = {}
    states: States = {0: set()}
    for version in range(1, 60):
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
        states[version] = set(now.items())
    store = duckdb.connect()
    store.execute(
        "CREATE TABLE t_journal (id INTEGER, v INTEGER, version_number BIGINT,"
        " subsequent_version_number BIGINT, PRIMARY KEY (id, version_number))"
    )
    rng.shuffle(rows)
    store.executemany("INSERT INTO t_journal VALUES (?, ?, ?, ?)", rows)
    return store, states


def shown(store: duckdb.DuckDBPyConnection, query: exp.Select) -> set[tuple[Any, ...]]:
    """The rows of a relation, each of which must come once."""
    rows = store.execute(query.sql(dialect="duckdb")).fetchall()
    assert len(rows) == len(set(rows))
    return set(rows)


@pytest.mark.parametrize("shape", list(FlatShape))
@pytest.mark.parametrize("archived", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_current_view_and_every_earlier_state(shape: FlatShape, archived: bool, seed: int) -> None:
    store, states = filled(seed, archived=archived)
    reader, outputs = FlatReader(TABLE, shape), business_outputs(COLUMNS)
    assert shown(store, reader.current(outputs)) == states[59]
    for version, state in states.items():
        point = exp.Literal.number(version)
        assert shown(store, reader.as_of(outputs, point)) == state


@pytest.mark.parametrize("shape", list(FlatShape))
def test_conditions_on_the_key_change_nothing_else(shape: FlatShape) -> None:
    store, states = filled(7, archived=True)
    below = [exp.In(this=column("id"), expressions=[exp.Literal.number(n) for n in (1, 4)])]
    reader, outputs = FlatReader(TABLE, shape), business_outputs(COLUMNS)
    assert shown(store, reader.current(outputs, below)) == {r for r in states[59] if r[0] in (1, 4)}
    then = reader.as_of(outputs, exp.Literal.number(30), below)
    assert shown(store, then) == {r for r in states[30] if r[0] in (1, 4)}
