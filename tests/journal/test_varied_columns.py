"""Aggregates of columns whose values hardly repeat take the general shape; others are split."""

from __future__ import annotations

import pytest

from tests.support.client import Client

_ROWS = 40_000


@pytest.fixture
def changed(run: Client) -> Client:
    """A table with a base and changes: of ``name`` each value is another, of ``grp`` few are."""
    run("CREATE TABLE t (k INTEGER PRIMARY KEY, grp INTEGER, name VARCHAR, paid BOOLEAN, x BIGINT)")
    run(
        "INSERT INTO t SELECT i, i % 7, 'name ' || (i * 7919) % 100003, i % 3 = 0, i"
        f" FROM range({_ROWS}) r(i)"
    )
    run("CALL system.compact('t')")
    run("UPDATE t SET x = x + 1, name = upper(name) WHERE k % 10 = 1")
    run("DELETE FROM t WHERE k % 10 = 2")
    return run


def _shapes(run: Client, query: str) -> str:
    return str(dict(run(f"EXPLAIN {query}"))["palimpsest_shapes"])


@pytest.mark.long
@pytest.mark.parametrize(
    "query",
    [
        "SELECT name, sum(x) AS s FROM t GROUP BY name",
        "SELECT DISTINCT name FROM t",
        "SELECT count(*) AS n, sum(x) AS s, count(DISTINCT name) AS d FROM t",
        "SELECT grp, count(DISTINCT name) AS d FROM t GROUP BY grp",
    ],
)
def test_nearly_as_many_groups_as_rows_are_not_split(changed: Client, query: str) -> None:
    shapes = _shapes(changed, query)
    assert "not split (values of name hardly repeat)" in shapes
    assert "split aggregate" not in shapes


@pytest.mark.parametrize("groups", ["grp", "paid", "k % 5", "grp, paid"])
def test_few_groups_are_split(changed: Client, groups: str) -> None:
    assert "split aggregate" in _shapes(changed, f"SELECT count(*) AS n FROM t GROUP BY {groups}")


def test_answers_are_those_of_rows_that_are_grouped_outside(changed: Client) -> None:
    rows = changed("SELECT name, grp, x FROM t")
    assert changed("SELECT count(DISTINCT name), sum(x) FROM t") == [
        (len({name for name, _, _ in rows}), sum(x for _, _, x in rows))
    ]
    assert changed("SELECT count(*) FROM (SELECT name, sum(x) FROM t GROUP BY name) AS s") == [
        (len({name for name, _, _ in rows}),)
    ]


def test_nothing_is_said_of_small_tables(run: Client) -> None:
    run("CREATE TABLE t (k INTEGER PRIMARY KEY, name VARCHAR)")
    run("INSERT INTO t SELECT i, 'name ' || i FROM range(1000) r(i)")
    run("CALL system.compact('t')")
    run("DELETE FROM t WHERE k = 3")
    assert "split aggregate" in _shapes(run, "SELECT count(DISTINCT name) AS n FROM t")
