"""EXPLAIN of the postgres dialect on every store: one column, in each format of PostgreSQL's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import XMLPullParser

import pytest

from gateway.dbapi.connection import Connection
from tests.support.stores.store import Capability, Store

pytestmark = [pytest.mark.timeout(900), pytest.mark.needs(Capability.NODES_OF_PLANS)]
QUERY = "SELECT t.a, count(*) FROM t LEFT JOIN t AS u ON u.k = t.a WHERE t.k > 0 GROUP BY t.a"
_SPACE = "{http://www.postgresql.org/2009/explain}"


@pytest.fixture
def con(store: Store) -> Iterator[Connection]:
    """A connection in the postgres dialect to a store with a table of two rows."""
    with store.connect(dialect="postgres") as found:
        found.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, a INTEGER)")
        found.execute("INSERT INTO t VALUES (1, 10), (2, 20)")
        yield found


def _shown(con: Connection, words: str) -> tuple[str, str]:
    cursor = con.execute(words)
    assert cursor.description is not None
    (column,) = cursor.description
    return column[0], "\n".join(str(row[0]) for row in cursor.fetchall())


def _nodes(plan: dict[str, Any]) -> list[str]:
    return [plan["Node Type"], *(n for child in plan.get("Plans", ()) for n in _nodes(child))]


@pytest.mark.also_on("hive", "postgres")
def test_a_plan_is_the_same_tree_in_every_format(con: Connection) -> None:
    column, text = _shown(con, f"EXPLAIN (FORMAT JSON) {QUERY}")
    (told,) = json.loads(text)
    named = _nodes(told["Plan"])
    assert (column, len(named) > 3) == ("QUERY PLAN", True), text
    assert told["Palimpsest Steps"] == ["fetch"]
    assert {shape["Table"].rpartition(".")[2] for shape in told["Palimpsest Shapes"]} == {"t"}
    xml = _shown(con, f"EXPLAIN (FORMAT XML) {QUERY}")[1]
    read = XMLPullParser()
    read.feed(xml)
    tags = [element for _, element in read.read_events()]
    assert [found.text for found in tags if found.tag == f"{_SPACE}Node-Type"] == named
    yaml = _shown(con, f"EXPLAIN (FORMAT YAML) {QUERY}")[1].splitlines()
    found = [line.partition("Node Type: ")[2] for line in yaml if "Node Type: " in line]
    assert [json.loads(name) for name in found] == named


@pytest.mark.also_on("hive", "postgres")
def test_text_has_a_line_for_each_node(con: Connection) -> None:
    column, text = _shown(con, f"EXPLAIN {QUERY}")
    assert (column, "->  " in text) == ("QUERY PLAN", True), text
    assert "Palimpsest Steps: 1. fetch" in text
    assert "(cost=" not in _shown(con, f"EXPLAIN (COSTS OFF) {QUERY}")[1]
    for options in ("ANALYZE", "(ANALYZE, VERBOSE, BUFFERS, TIMING OFF, FORMAT TEXT)"):
        assert "->  " in _shown(con, f"EXPLAIN {options} {QUERY}")[1]


def test_a_write_names_its_table_and_runs_not(con: Connection) -> None:
    (told,) = json.loads(_shown(con, "EXPLAIN (FORMAT JSON) UPDATE t SET a = 3")[1])
    plan = told["Plan"]
    assert (plan["Node Type"], plan["Operation"], plan["Relation Name"]) == (
        "ModifyTable",
        "Update",
        "t",
    )
    assert _shown(con, "EXPLAIN DELETE FROM t")[1].startswith("Delete on t\n")
    assert con.execute("SELECT a FROM t ORDER BY k").fetchall() == [(10,), (20,)]
