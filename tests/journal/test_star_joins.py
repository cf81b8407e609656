"""A changed table that others are joined with: the order of joins is that of a plain table."""

from __future__ import annotations

import pytest

from tests.support.client import Client

QUERY = (
    "SELECT kind, town, max(n) FROM items, shops, sales"
    " WHERE sales.item = items.item AND sales.shop = shops.shop AND kind LIKE '%1%'"
    " GROUP BY kind, town ORDER BY kind, town"
)


def _shapes(run: Client, query: str) -> str:
    return str(dict(run(f"EXPLAIN {query}"))["palimpsest_shapes"])


def _plan(run: Client, query: str) -> str:
    return str(dict(run(f"EXPLAIN {query}"))["physical_plan"])


def _load(run: Client) -> None:
    run("CREATE TABLE items (item INTEGER PRIMARY KEY, kind VARCHAR)")
    run("INSERT INTO items SELECT i, 'kind ' || i % 50 FROM range(20000) r(i)")
    run("CREATE TABLE shops (shop INTEGER PRIMARY KEY, town VARCHAR)")
    run("INSERT INTO shops SELECT i, 'town ' || i % 10 FROM range(1000) r(i)")
    run("CREATE TABLE sales (k INTEGER PRIMARY KEY, item INTEGER, shop INTEGER, n INTEGER)")
    run("INSERT INTO sales SELECT i, i % 20000, i * 7 % 1000, i % 100 FROM range(100000) r(i)")


def test_tables_that_meet_in_a_changed_one_are_not_crossed(run: Client) -> None:
    _load(run)
    for table in ("items", "shops", "sales"):
        run(f"CALL system.flush('{table}')")
    before = run(QUERY)
    assert "CROSS" not in _plan(run, QUERY)
    run("UPDATE sales SET n = n + 0 WHERE k % 10 = 3")
    run("CALL system.flush('sales')")
    assert "planned apart" in _shapes(run, QUERY)
    assert "CROSS" not in _plan(run, QUERY)
    assert run(QUERY) == before


def test_rows_that_were_never_sealed_are_planned_apart_too(run: Client) -> None:
    _load(run)
    before = run(QUERY)
    run("UPDATE sales SET n = n + 0 WHERE k % 10 = 3")
    assert "planned apart" in _shapes(run, QUERY)
    assert "CROSS" not in _plan(run, QUERY)
    assert run(QUERY) == before


@pytest.mark.long
def test_a_chain_of_joins_is_left_to_the_optimizer(run: Client) -> None:
    _load(run)
    run("UPDATE sales SET n = n + 0 WHERE k % 10 = 3")
    assert "planned apart" not in _shapes(run, "SELECT max(n) FROM sales JOIN items USING (item)")
    chain = "SELECT max(n) FROM sales s, items i, shops p WHERE s.item = i.item AND p.town = i.kind"
    assert "planned apart" not in _shapes(run, chain).split("main.sales")[1].split("main.")[0]


def test_what_exists_by_one_equation_is_found_by_its_keys(run: Client) -> None:
    _load(run)
    run("CALL system.flush('sales')")
    run("UPDATE sales SET n = n + 0 WHERE k % 10 = 3")
    exists = "EXISTS (SELECT * FROM sales WHERE sales.item = items.item AND n < k)"
    query = f"SELECT count(*) FROM items WHERE kind = 'kind 7' AND {exists}"
    assert "IS NOT DISTINCT FROM" not in _plan(run, query)
    assert run(query) == [(400,)]


def test_a_table_in_a_subquery_is_read_once(run: Client) -> None:
    _load(run)
    for table in ("items", "sales"):
        run(f"CALL system.flush('{table}')")
    run("UPDATE items SET kind = 'kind 7' WHERE item < 10")
    query = (
        "SELECT kind, count(*) FROM items WHERE item IN (SELECT item FROM sales WHERE n < 5)"
        " GROUP BY kind"
    )
    assert "split aggregate" in _shapes(run, query)
    assert _plan(run, query).count("SEMI") == 1
