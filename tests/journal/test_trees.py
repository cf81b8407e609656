"""Walking and copying trees: what sqlglot's own walk and copy find, on any tree."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from journal.model.trees import Nodes, copy_tree

TREES = [
    "SELECT 1",
    "SELECT a.b, count(*) AS n /* why */ FROM t AS a JOIN s USING (k) GROUP BY ALL ORDER BY 1 DESC",
    "WITH c AS (SELECT ?) SELECT * FROM c WHERE x IN (1, 2, (SELECT 3)) AND y IS NOT NULL",
    "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = s.v",
    "SELECT CAST(x AS DECIMAL(15, 2)), INTERVAL '1 day', [1, 2], {'a': 1} FROM t",
]


@pytest.mark.parametrize("text", TREES)
def test_a_copy_is_equal_and_shares_nothing(text: str) -> None:
    tree = sqlglot.parse_one(text, read="duckdb")
    copy = copy_tree(tree)
    assert copy == tree
    assert copy.sql("duckdb") == tree.sql("duckdb")
    pairs = list(zip(tree.walk(), copy.walk(), strict=True))
    assert all(one is not other and one.meta == other.meta for one, other in pairs)
    assert all(one.arg_key == other.arg_key for one, other in pairs)
    assert all(node.parent is None or node in node.parent.iter_expressions() for _, node in pairs)
    for _, node in pairs:
        node.meta["mark"] = True
    assert not any("mark" in node.meta for node in tree.walk())


@pytest.mark.parametrize("text", TREES)
def test_every_node_is_found_once_in_the_order_of_a_walk(text: str) -> None:
    tree = sqlglot.parse_one(text, read="duckdb")
    nodes = Nodes.of(tree)
    assert sum(map(len, nodes.by_type.values())) == len(list(tree.walk()))
    for kind in (exp.Identifier, exp.Table, exp.Column, exp.Select):
        assert list(map(id, nodes.all(kind))) == list(map(id, tree.find_all(kind)))


def test_a_type_brings_those_that_derive_from_it() -> None:
    nodes = Nodes.of(sqlglot.parse_one("SELECT sum(a), count(b) FROM t"))
    assert {type(n) for n in nodes.all(exp.AggFunc)} == {exp.Sum, exp.Count}
    assert nodes.all(exp.Insert) == []


def test_a_chain_of_any_length_is_copied() -> None:
    chain: exp.Expr = exp.true()
    for _ in range(20_000):
        chain = exp.And(this=chain, expression=exp.true())
    copy = copy_tree(chain)
    depth = 0
    while isinstance(copy, exp.And):
        copy, depth = copy.this, depth + 1
    assert depth == 20_000
