"""Lineage of other programs' events in the catalog: what Spark sends, and what is no event."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import gateway
from gateway.cli import main

_LAKE = "hive://lake:9083"


def _field(table: str, field: str, *ways: tuple[str, str], namespace: str = _LAKE) -> Any:
    made = [{"type": kind, "subtype": subtype, "masking": False} for kind, subtype in ways]
    source = {"namespace": namespace, "name": table, "field": field}
    return {**source, "transformations": made} if made else source


def _event(state: str = "COMPLETE", **facets: Any) -> dict[str, Any]:
    """An event as Spark's listener sends it: the inputs are files, with tables as symlinks."""
    link = {"namespace": _LAKE, "name": "lake.main.flights", "type": "TABLE"}
    source = {"namespace": "s3://lake", "name": "flights"}
    return {
        "eventType": state,
        "eventTime": "2026-05-01T10:00:00Z",
        "run": {"runId": "0198c1a0-0000-7000-8000-000000000000", "facets": {}},
        "job": {
            "namespace": "nightly",
            "name": "daily",
            "facets": {"sql": {"query": "INSERT INTO daily SELECT x FROM f WHERE m = 'ada@x.org'"}},
        },
        "inputs": [{**source, "facets": {"symlinks": {"identifiers": [link]}}}],
        "outputs": [{"namespace": _LAKE, "name": "main.daily", "facets": facets}],
    }


_LINEAGE = {
    "fields": {
        "Carrier": {"inputFields": [_field("flights", "carrier", namespace="s3://lake")]},
        "delay": {
            "inputFields": [
                _field("flights", "delay", ("DIRECT", "AGGREGATION"), namespace="s3://lake"),
                _field("other", "x", ("INDIRECT", "CONDITIONAL")),
            ]
        },
    },
    "dataset": [_field("flights", "gone", ("INDIRECT", "FILTER"), namespace="s3://lake")],
}


def _import(warehouse: Path, events: str, *options: str) -> Result:
    file = warehouse.parent / "events.jsonl"
    file.write_text(events)
    command = ["lineage", "import", str(file), "-w", str(warehouse), *options]
    return CliRunner().invoke(main, command)


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    place = tmp_path / "w"
    with gateway.connect(f"palimpsest:///{place}", autocommit=True) as con:
        con.execute("CREATE TABLE flights (carrier VARCHAR, delay INTEGER)")
        con.execute("CREATE TABLE daily (carrier VARCHAR, delay DOUBLE)")
    return place


def _edges(warehouse: Path) -> list[tuple[Any, ...]]:
    with gateway.connect(f"palimpsest:///{warehouse}") as con:
        return con.execute(
            "SELECT target_table, target_column, source_table, source_column, type, subtype"
            " FROM system.column_lineage ORDER BY ALL"
        ).fetchall()


def test_l14_events_of_spark_become_edges_once(warehouse: Path) -> None:
    events = [_event("START", columnLineage=_LINEAGE), _event(columnLineage=_LINEAGE)]
    text = "\n".join(map(json.dumps, events))
    for _ in range(2):
        done = _import(warehouse, text, "--namespace", _LAKE)
        assert (done.exit_code, done.stdout) == (0, "1 statement with 4 edges\n"), done.stderr
    assert _edges(warehouse) == [
        ("daily", "*", "flights", "*", "INDIRECT", "FILTER"),
        ("daily", "carrier", "flights", "carrier", "DIRECT", "TRANSFORMATION"),
        ("daily", "delay", "flights", "delay", "DIRECT", "AGGREGATION"),
        ("daily", "delay", f"{_LAKE}/other", "x", "INDIRECT", "CONDITIONAL"),
    ]
    shown = CliRunner().invoke(main, ["lineage", "show", "daily", "-w", str(warehouse)])
    assert "main.flights\n      carrier <- carrier" in shown.stdout
    with gateway.connect(f"palimpsest:///{warehouse}") as con:
        kept = con.execute("SELECT * FROM system.lineage").fetchall()
    assert "ada@x.org" not in str(kept)


def test_without_columns_the_event_says_that_it_does_not_know(warehouse: Path) -> None:
    done = _import(warehouse, json.dumps([_event()]), "--namespace", _LAKE, "--json")
    assert json.loads(done.stdout) == {"events": 1, "statements": 1, "edges": 1}
    assert _edges(warehouse) == [("daily", "*", "flights", "*", "DIRECT", "TRANSFORMATION")]


def test_other_namespaces_are_files(warehouse: Path) -> None:
    done = _import(warehouse, json.dumps(_event(columnLineage=_LINEAGE)))
    assert done.exit_code == 0
    assert {edge[0] for edge in _edges(warehouse)} == {f"{_LAKE}/main.daily"}


@pytest.mark.parametrize("text", ["no json", "[3]", '{"job": {}, "outputs": [{}]}'])
def test_what_is_no_event_is_refused_whole(warehouse: Path, text: str) -> None:
    done = _import(warehouse, text)
    assert done.exit_code == 1
    assert "PAL-222" in done.stderr
    assert _edges(warehouse) == []
