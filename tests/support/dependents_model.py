"""Any history of tables that refer to each other, and what a CASCADE takes, by a plain model."""

from __future__ import annotations

import random
from typing import Any

import pytest

import gateway
from gateway.procedures.erasure_program import erasure_of
from journal.erasure.erasure_spec import ErasureSpec
from journal.erasure.requests import ErasureRequest
from journal.model.dependents import Dependents
from tests.support.client import Client
from tests.support.dependents import keys_of

SETUP = (
    "SET job_engine = 'local'",
    "CREATE TABLE a (id INT PRIMARY KEY, tag VARCHAR UNIQUE) WITH (erasure = 'id AS person')",
    "CREATE TABLE b (id INT PRIMARY KEY, x INT REFERENCES a)",
    "ALTER TABLE a ADD COLUMN y INT REFERENCES b (id)",
    (
        "CREATE TABLE c (g INT, n INT, x INT REFERENCES b, ug INT, un INT, PRIMARY KEY (g, n),"
        " FOREIGN KEY (ug, un) REFERENCES c)"
    ),
    "CREATE TABLE d (id INT PRIMARY KEY, tag VARCHAR REFERENCES a (tag))",
    "INSERT INTO a SELECT i, 't' || i, NULL FROM range(10) r(i)",
)
KEYS = {"a": ("id",), "b": ("id",), "c": ("g", "n"), "d": ("id",)}
COLUMNS = {
    "a": ("id", "tag", "y"),
    "b": ("id", "x"),
    "c": ("g", "n", "x", "ug", "un"),
    "d": ("id", "tag"),
}
REFERENCES = (
    ("a", ("y",), "b", ("id",)),
    ("b", ("x",), "a", ("id",)),
    ("c", ("x",), "b", ("id",)),
    ("c", ("ug", "un"), "c", ("g", "n")),
    ("d", ("tag",), "a", ("tag",)),
)
Row = dict[str, Any]
TURNS = 70
SEEDS = (0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 12)))


def _statement(dice: random.Random) -> str:
    i, j, k = (dice.randrange(10) for _ in range(3))
    n, m = dice.randrange(3), dice.choice([0, 1, 2, "NULL"])
    table = dice.choice("abcd")
    return dice.choice(
        [
            f"INSERT INTO b VALUES ({i}, {j})",
            f"INSERT INTO b VALUES ({i}, {j}), ({j}, NULL)",
            f"UPDATE a SET y = {j} WHERE id = {i}",
            f"UPDATE a SET tag = 't{j}' WHERE id = {i}",
            f"UPDATE a SET tag = 'u{j}' WHERE id = {i}",
            f"UPDATE b SET x = {j} WHERE id = {i}",
            f"INSERT INTO c VALUES ({i}, {n}, {j}, {k}, {m})",
            f"INSERT INTO c VALUES ({i}, {n}, NULL, {i}, {n}), ({j}, {n}, {k}, {i}, {n})",
            f"UPDATE c SET ug = {j}, un = {m} WHERE g = {i}",
            f"UPDATE c SET g = {j} WHERE g = {i} AND n = {n}",
            f"INSERT INTO d VALUES ({i}, 't{j}')",
            f"UPDATE d SET tag = 'u{j}' WHERE id = {i}",
            f"DELETE FROM {table} WHERE {KEYS[table][0]} = {i}",
            f"CALL system.{dice.choice(['flush', 'compact'])}('{table}')",
        ]
    )


def _change(run: Client, dice: random.Random, turns: int) -> None:
    for _ in range(turns):
        try:
            run(_statement(dice))
        except gateway.IntegrityError:
            continue


def _everything(run: Client) -> dict[str, list[Row]]:
    """Every version of every row that can be seen."""
    return {
        table: [
            dict(zip(names, row, strict=True))
            for row in run(f"SELECT {', '.join(names)} FROM {table} FOR SYSTEM_TIME ALL")
        ]
        for table, names in COLUMNS.items()
    }


def _taken(row: Row, names: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def _going(rows: dict[str, list[Row]], person: int) -> dict[str, set[tuple[Any, ...]]]:
    """The keys that go with a row of ``a``: the same rule over all versions, by Python."""
    going: dict[str, set[tuple[Any, ...]]] = {"a": {(person,)}, "b": set(), "c": set(), "d": set()}
    before = -1
    while before != (before := sum(map(len, going.values()))):
        for child, columns, parent, referred in REFERENCES:
            values = {
                _taken(row, referred)
                for row in rows[parent]
                if _taken(row, KEYS[parent]) in going[parent]
            }
            going[child] |= {
                _taken(row, KEYS[child])
                for row in rows[child]
                if _taken(row, columns) in values and None not in _taken(row, columns)
            }
    return going


def _sorted(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=str)


def check_any_history(run: Client, seed: int) -> None:
    """A CASCADE takes what ever referred to somebody and nothing else, as a dry run has told."""
    dice = random.Random(seed)
    for sql in SETUP:
        run(sql)
    _change(run, dice, TURNS)
    # Children are left behind that refer to somebody who is gone.
    run("ERASE FROM a WHERE id = 4 ON DEPENDENTS REPORT")
    run("CALL system.purge()")
    _change(run, dice, TURNS // 2)
    everything, erasure = _everything(run), erasure_of(run.connection.session)
    going = _going(everything, 3)
    wanted = ErasureSpec({"person": ["3"]}, dependents=Dependents.CASCADE)
    planned, done = erasure.dry_run(wanted), erasure.accept(wanted, "me")
    expected = {table: len(keys) for table, keys in going.items() if keys}
    assert _keys(planned) == _keys(done) == expected
    left = {
        table: _sorted([row for row in rows if _taken(row, KEYS[table]) not in going[table]])
        for table, rows in everything.items()
    }
    assert {table: _sorted(rows) for table, rows in _everything(run).items()} == left
    run("CALL system.purge()")
    assert {table: _sorted(rows) for table, rows in _everything(run).items()} == left
    assert run.connection.session.executor.upkeep.verify().is_clean


def _keys(request: ErasureRequest) -> dict[str, int]:
    return {name.rpartition(".")[2]: count for name, count in keys_of(request).items() if count}
