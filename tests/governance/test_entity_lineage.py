"""Lineage of entities, their instances, and the jobs on the tables of datasets: F54, F55."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import gateway
from gateway.cli import main
from gateway.dbapi.connection import Connection
from gateway.governance.declarations import Declaration
from gateway.governance.entity import EntityKind
from gateway.governance.entity_lineage import EntityEdge, EntityRelation, entity_lineage
from gateway.governance.entity_schema import read_entity
from gateway.session.operations import no_progress
from journal.model.errors import PalimpsestError
from tests.support.processes import dataset, day, flights, make_tables, process, run, schedule

PROFILE = {"kind": "profile", "name": "lake", "url": "palimpsest:///lake"}
FILLS = [{"dataset": "delays", "instance": "yesterday(0, 0)"}]


@pytest.fixture
def con(tmp_path: Path) -> Connection:
    """Flights of two days, summed by a process that has run for one of them."""
    con = gateway.connect(f"palimpsest:///{tmp_path}/wh", autocommit=True)
    make_tables(con)
    con.execute("INSERT INTO flights VALUES ('2013-01-01', 5), ('2013-01-01', 7)")
    copied = dataset("copied", profile="lake")
    schedule(
        *(con, day(2), read_entity(Declaration(PROFILE)), copied),
        flights(owner="ann", group="ops", tags=["pii"]),
        *(dataset("delays"), process(owner="bob", outputs=FILLS)),
    )
    run(con, day(2))
    return con


def _edges(con: Connection, kind: EntityKind, name: str, *span: object) -> list[EntityEdge]:
    return entity_lineage(con.session, no_progress, kind, name, *span)  # type: ignore[arg-type]


def test_f54_owner_tags_groups_place_inputs_and_outputs(con: Connection) -> None:
    flown = [edge[:3] for edge in _edges(con, EntityKind.DATASET, "flights")]
    assert set(flown) >= {
        ("dataset flights", EntityRelation.OWNED_BY, "owner ann"),
        ("dataset flights", EntityRelation.IN_GROUP, "group ops"),
        ("dataset flights", EntityRelation.TAGGED, "tag pii"),
        ("dataset flights", EntityRelation.HELD_IN, "table main.flights"),
        ("dataset flights", EntityRelation.INPUT_OF, "process daily"),
        ("process daily", EntityRelation.OWNED_BY, "owner bob"),
        ("process daily", EntityRelation.FILLS, "dataset delays"),
    }
    stored = ("dataset copied", EntityRelation.STORED_IN, "profile lake")
    assert stored in [edge[:3] for edge in _edges(con, EntityKind.PROFILE, "lake")]
    assert not any("copied" in edge.source for edge in _edges(con, EntityKind.PROCESS, "daily"))


def test_f54_instances_and_the_jobs_on_their_tables(con: Connection) -> None:
    con.execute("ALTER TABLE flights SET POLICY (RETENTION = 1 DAY ON COLUMN day)")
    con.execute("CALL system.retain('flights')")
    con.execute("UPDATE delays SET total = total + 1")
    con.execute("CALL system.compact('delays')")
    found = _edges(con, EntityKind.PROCESS, "daily", day(1))
    instance = next(e for e in found if e.relation is EntityRelation.INSTANCE_OF)
    assert (instance.target, instance.at, instance.detail) == ("process daily", day(2), "SUCCEEDED")
    of_data = {(*e[:3], e.detail) for e in found if instance.source in e[:3]}
    assert of_data >= {
        ("dataset flights", EntityRelation.INPUT_OF, instance.source, "2013-01-01T00:00Z"),
        (instance.source, EntityRelation.FILLS, "dataset delays", "2013-01-01T00:00Z"),
    }
    jobs = {(e.relation, e.target, e.detail) for e in found if e.source.startswith("job ")}
    assert (EntityRelation.EVICTED_FROM, "table main.flights", "2 rows removed") in jobs
    assert (EntityRelation.COMPACTED, "table main.delays") in {job[:2] for job in jobs}
    before = _edges(con, EntityKind.PROCESS, "daily", day(1, month=2), day(2, month=2))
    assert not any(e.source.startswith(("job ", "instance ")) for e in before)


def test_f55_as_lines_as_json_and_as_a_graph(con: Connection, tmp_path: Path) -> None:
    con.close()
    asked = ["entity", "lineage", "process", "daily", "--url", f"palimpsest:///{tmp_path}/wh"]
    lines = CliRunner().invoke(main, asked)
    assert "dataset flights input of process daily (yesterday(0, 0) to yesterday(0, 0))\n" in (
        lines.stdout
    )
    (owned, *_) = json.loads(CliRunner().invoke(main, [*asked, "--json"]).stdout)
    assert owned["relation"] == "HELD_IN"
    graph = CliRunner().invoke(main, [*asked, "--start", "2013-01-01", "--dot"]).stdout
    assert graph.startswith("digraph entities {")
    assert '"process daily" -> "owner bob" [label="owned by"];' in graph
    assert ' -> "process daily" [label="instance of"];' in graph


def test_an_entity_that_is_not_there_is_named(con: Connection) -> None:
    with pytest.raises(PalimpsestError, match="dataset nowhere"):
        _edges(con, EntityKind.DATASET, "nowhere")


@pytest.mark.parametrize(
    ("flag", "every", "is_refused"),
    [
        ("/in/{yyyy-MM}/_SUCCESS", "1 day", True),
        ("/in/{yyyy-MM-dd}/_SUCCESS", "6 hours", True),
        ("/in/{yyyy-MM-dd}/_SUCCESS", "1 day", False),
        ("/in/{yyyy-MM-dd}/{HH}/_SUCCESS", "6 hours", False),
        ("/in/_SUCCESS", "1 day", False),
    ],
)
def test_f17_the_date_of_a_flag_is_as_fine_as_the_frequency(
    flag: str, every: str, is_refused: bool
) -> None:
    if not is_refused:
        assert dataset("flights", flag=flag, every=every).fields["flag"] == flag
        return
    with pytest.raises(PalimpsestError) as refused:
        dataset("flights", flag=flag, every=every)
    assert "flag: is the same file, /in/2013-01" in refused.value.message
