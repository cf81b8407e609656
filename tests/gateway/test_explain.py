"""EXPLAIN and EXPLAIN ANALYZE: what runs, what does not, and what is shown."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import gateway
from tests.support.client import Client


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Client]:
    client = Client(tmp_path / "warehouse")
    client("CREATE TABLE t (k INTEGER PRIMARY KEY, a INTEGER)")
    client("INSERT INTO t VALUES (1, 10), (2, 20)")
    yield client
    client.close()


@pytest.mark.parametrize(
    "words", ["EXPLAIN ANALYZE", "EXPLAIN (ANALYZE)", "EXPLAIN (ANALYZE TRUE, FORMAT TEXT)"]
)
def test_analyze_measures_a_query(run: Client, words: str) -> None:
    shown = dict(run(f"{words} SELECT * FROM t WHERE a > ?", 5))
    assert "main.t" in shown["palimpsest_shapes"]
    assert "Total Time" in shown["physical_plan"]
    assert "2 rows" in shown["physical_plan"]


@pytest.mark.first(1)
@pytest.mark.parametrize("words", ["EXPLAIN", "EXPLAIN (ANALYZE OFF)", "EXPLAIN PLAN FOR"])
def test_plain_explain_runs_nothing(run: Client, words: str) -> None:
    assert "Total Time" not in dict(run(f"{words} SELECT * FROM t"))["physical_plan"]


def test_writes_are_explained_but_never_run(run: Client, tmp_path: Path) -> None:
    assert "palimpsest_steps" in dict(run("EXPLAIN DELETE FROM t"))
    assert run.error("EXPLAIN ANALYZE DELETE FROM t")[1] == "0A000"
    copied = f"COPY t TO '{tmp_path / 't.csv'}'"
    assert "1. export" in dict(run(f"EXPLAIN {copied}"))["palimpsest_steps"]
    assert run.error(f"EXPLAIN ANALYZE {copied}")[1] == "0A000"
    assert run.error("EXPLAIN (FORMAT JSON) SELECT 1")[1] == "0A000"
    assert run("SELECT count(*) FROM t") == [(2,)]


@pytest.mark.parametrize(
    ("options", "state", "advice"),
    [
        ("FORMAT JSON", "0A000", "the postgres dialect has it"),
        ("COSTS", "0A000", "the postgres dialect has it"),
        ("COST OFF", "42601", "did you mean COSTS"),
        ("ANALYZE perhaps", "42601", "TRUE or FALSE"),
        ("FORMAT jsn", "22023", "JSON"),
    ],
)
def test_options_are_checked(run: Client, options: str, state: str, advice: str) -> None:
    with pytest.raises(gateway.Error, match=advice) as raised:
        run(f"EXPLAIN ({options}) SELECT 1")
    assert raised.value.sqlstate == state


def test_the_postgres_dialect_measures_nodes(tmp_path: Path) -> None:
    client = Client(tmp_path / "other", dialect="postgres")
    client("CREATE TABLE t (k INTEGER PRIMARY KEY, a INTEGER)")
    client("INSERT INTO t VALUES (1, 10), (2, 20)")
    ((text,),) = client("EXPLAIN (ANALYZE, FORMAT JSON) SELECT * FROM t WHERE a > 5")
    (told,) = json.loads(text)
    assert told["Plan"]["Actual Rows"] == 2
    assert told["Plan"]["Total Cost"] >= told["Plan"]["Plan Rows"]
    assert told["Execution Time"] > 0
    assert client.error("EXPLAIN (TIMING) SELECT 1")[1] == "22023"
    assert client.error("EXPLAIN (MEMORY) SELECT 1")[1] == "0A000"
    assert client("EXPLAIN (MEMORY OFF, GENERIC_PLAN FALSE, COSTS OFF) SELECT 1")
    client.close()
