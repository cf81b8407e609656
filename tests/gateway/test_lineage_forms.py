"""What `lineage analyze` writes for other programs: graphs, drawings, events of OpenLineage."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from jsonschema import ValidationError

from gateway.cli import main
from tests.support.openlineage import require_valid

_SCRIPT = """CREATE TABLE flights (carrier TEXT, day DATE, delay INTEGER);
CREATE TABLE daily AS
SELECT carrier AS "o'clock", md5(day) AS day, avg(delay) AS delay
FROM flights WHERE delay < 60 AND carrier <> '\x0b\\' GROUP BY carrier, day;
UPDATE daily SET day = "o'clock" WHERE delay IS NULL;
INSERT INTO flights SELECT "o'clock", day, 1 FROM daily;
CREATE TABLE copied AS SELECT * FROM s3.nowhere;
DELETE FROM flights WHERE day IS NULL;
INSERT INTO daily SELECT FROM WHERE
"""
_SVG = "{http://www.w3.org/2000/svg}"
_GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "nightly.sql"
    file.write_text(_SCRIPT)
    return file


def analyzed(script: Path, *options: str) -> str:
    """The output for the script, in which one statement is unknown."""
    done = CliRunner().invoke(main, ["lineage", "analyze", str(script), *options])
    assert done.exit_code == 1, done.stderr
    return done.stdout


def test_l16_graphml_has_columns_edges_and_statements(script: Path) -> None:
    root = ElementTree.fromstring(analyzed(script, "--graphml"))  # noqa: S314 - our own
    nodes = {node.get("id") for node in root.iter(f"{_GRAPHML}node")}
    assert {"flights.*", "flights.delay", "daily.o'clock", "copied.*", "s3.nowhere.*"} <= nodes
    edges = {
        (e.get("source"), e.get("target"), *(d.text for d in e)): e
        for e in root.iter(f"{_GRAPHML}edge")
    }
    assert len(edges) == len(list(root.iter(f"{_GRAPHML}edge")))
    place = f"{script}:2"
    assert ("flights.delay", "daily.delay", "DIRECT", "AGGREGATION", "false", place) in edges
    assert ("flights.delay", "daily.*", "INDIRECT", "FILTER", "false", place) in edges
    assert ("flights.day", "daily.day", "DIRECT", "TRANSFORMATION", "true", place) in edges
    assert {end for edge in edges for end in edge[:2]} <= nodes


def test_l16_cypher_merges_nodes_before_edges(script: Path) -> None:
    lines = re.split(r"(?<=;)\n", analyzed(script, "--cypher").rstrip("\n"))
    assert all(line.count("\n") == 0 and line.endswith(";") for line in lines)
    assert (
        "MATCH (a:Column {id: 'flights.delay'}), (b:Table {id: 'daily'})"
        " MERGE (a)-[e:INDIRECT {subtype: 'FILTER', masking: false}]->(b)"
        f" SET e.statements = ['{script}:2'];"
    ) in lines
    made = {m for line in lines for m in re.findall(r"MERGE \((?:c)?:\w+ {id: '(.*?)'}\)", line)}
    matched = {m for line in lines for m in re.findall(r"\([ab]:\w+ {id: '(.*?)'}\)", line)}
    assert matched <= made
    assert "daily.o\\'clock" in matched


def test_l19_edges_of_the_drawing_lead_to_their_statements(script: Path) -> None:
    text = analyzed(script, "--svg")
    root = ElementTree.fromstring(text)  # noqa: S314 - our own
    panels = {
        g.get("id"): "\n".join(t.text or "" for t in g.iter(f"{_SVG}text"))
        for g in root.iter(f"{_SVG}g")
        if g.get("class") == "statement"
    }
    tips = {
        (a.findtext(f"{_SVG}title") or "").splitlines()[0]: a.get("href", "")[1:]
        for a in root.iter(f"{_SVG}a")
        if a.get("class") == "edge"
    }
    assert "GROUP BY carrier, day" in panels[tips["flights.delay -> daily.delay: aggregation"]]
    assert "UPDATE daily" in panels[tips["daily.o'clock -> daily.day: identity"]]
    assert "INSERT INTO flights" in panels[tips["daily.o'clock -> flights.carrier: identity"]]
    assert "flights.day -> daily.day: transformation, masked" in tips
    assert "the columns of s3.nowhere are not known" in text
    assert "<script" not in text


def test_boxes_of_the_drawing_do_not_overlap(script: Path) -> None:
    root = ElementTree.fromstring(analyzed(script, "--svg"))  # noqa: S314 - our own
    boxes = [
        [float(r.get(name) or 0) for name in ("x", "y", "width", "height")]
        for r in root.iter(f"{_SVG}rect")
        if r.get("class") == "box"
    ]
    assert len(boxes) == 4
    for place, (x, y, width, height) in enumerate(boxes):
        for left, top, wide, high in boxes[place + 1 :]:
            apart = x + width <= left or left + wide <= x or y + height <= top or top + high <= y
            assert apart


def test_events_are_as_the_schemas_of_openlineage_say(script: Path) -> None:
    options = ("--openlineage", "--namespace", "hive://lake:9083", "--dialect", "duckdb")
    events = [json.loads(line) for line in analyzed(script, *options).splitlines()]
    for event in events:
        require_valid(event)
    assert [event["job"]["name"] for event in events] == [
        f"{script}#{number}" for number in (2, 3, 4, 5, 6, 7)
    ]
    (daily,) = events[0]["outputs"]
    assert (daily["namespace"], daily["name"]) == ("hive://lake:9083", "daily")
    lineage = daily["facets"]["columnLineage"]
    flights = {"namespace": "hive://lake:9083", "name": "flights"}
    assert lineage["fields"]["delay"] == {
        "inputFields": [
            {
                **flights,
                "field": "delay",
                "transformations": [{"type": "DIRECT", "subtype": "AGGREGATION", "masking": False}],
            }
        ]
    }
    assert [(f["field"], f["transformations"][0]["subtype"]) for f in lineage["dataset"]] == [
        ("carrier", "FILTER"),
        ("day", "GROUP_BY"),
        ("delay", "FILTER"),
    ]
    assert [event["run"]["facets"].get("extractionError") is not None for event in events] == [
        *(False, False, False),
        *(True, False, True),
    ]
    again = [json.loads(line) for line in analyzed(script, *options).splitlines()]
    assert [e["run"]["runId"] for e in again] == [e["run"]["runId"] for e in events]


def test_the_check_of_events_refuses_what_the_schemas_do(script: Path) -> None:
    event = json.loads(analyzed(script, "--openlineage").splitlines()[0])
    event["outputs"][0]["facets"]["columnLineage"]["fields"]["delay"]["inputFields"][0].pop("name")
    with pytest.raises(ValidationError, match="'name' is a required property"):
        require_valid(event)


def test_without_the_client_the_message_says_what_to_install(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gateway.openlineage.events", None)
    done = CliRunner().invoke(main, ["lineage", "analyze", str(script), "--openlineage"])
    assert done.exit_code == 1
    assert "palimpsest-gateway[openlineage]" in done.stderr


def test_each_table_of_a_statement_is_told(tmp_path: Path) -> None:
    file = tmp_path / "multi.hql"
    file.write_text("FROM s INSERT INTO a SELECT x INSERT INTO b SELECT y WHERE z > 1")
    done = CliRunner().invoke(main, ["lineage", "analyze", str(file), "-d", "hive"])
    assert [line for line in done.stdout.splitlines() if "writes" in line] == [
        f"{file}:1: writes a",
        f"{file}:1: writes b",
    ]


def test_a_line_for_each_column_that_a_script_writes(tmp_path: Path) -> None:
    file, schema = tmp_path / "a.sql", tmp_path / "ddl.sql"
    schema.write_text("CREATE TABLE Flights (Carrier STRING, Delay INT)")
    file.write_text(
        "CREATE VIEW late AS SELECT carrier FROM flights WHERE delay > 5;\n"
        "INSERT INTO Report SELECT Carrier AS c FROM late;\n"
        "INSERT INTO lost SELECT * FROM nobody"
    )
    options = ("--dialect", "hive", "--schema", str(schema), "--json")
    carrier = {"table": "flights", "column": "carrier", "type": "DIRECT", "subtype": "IDENTITY"}
    delay = {"table": "flights", "column": "delay", "type": "INDIRECT", "subtype": "FILTER"}
    whole = {"table": "nobody", "column": "*", "type": "DIRECT", "subtype": "IDENTITY"}
    line: dict[str, object] = {"file": str(file), "statement": 1, "line": 1}
    view = line | {"target": {"table": "late", "column": "carrier"}, "sources": [carrier, delay]}
    report = line | {"statement": 2, "line": 2, "target": {"table": "report", "column": "c"}}
    lost = line | {"statement": 3, "line": 3, "target": {"table": "lost", "column": "*"}}
    lost |= {"sources": [whole], "unknown": "the columns of nobody are not known"}
    of_view = carrier | {"table": "late"}
    for more, sources in (((), [of_view]), (("--expand-views",), [carrier, delay])):
        lines = [json.loads(said) for said in analyzed(file, *options, *more).splitlines()]
        assert lines == [view, report | {"sources": sources}, lost]
