"""How often the analyser finds the sources that Hive's own tests have recorded.

Hive prints the lineage of what a test has run into its golden file, as lines ``POSTHOOK: Lineage:``
or as JSON. This reads the statements of a folder of such files, traces them in their order, and
prints the share of target columns with exactly the recorded sources. The files are Hive's
``ql/src/test/results/clientpositive``, the tables that all tests share its ``data/scripts/*.sql``.

    python -m tests.rewriter.lineage.hive_goldens results/clientpositive --schema q_test_init.sql
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rewriter.lineage.scripts import trace_script
from rewriter.lineage.sources import CONDITIONAL, DIRECT, WINDOW
from rewriter.lineage.tables import KnownTables

_LINE = re.compile(r"POSTHOOK: Lineage: (\S+?)(?: PARTITION\(.*?\))?\.(\S+) [A-Z]+ \[(.*)\]$")
_SOURCE = re.compile(r"\((\S+?)\)\S+?\.FieldSchema\(name:([^,]+),")
_INDEX = "default__"  # a table that Hive itself fills
_MASKED = "#### A masked pattern was here ####"
_PARTS_OF_VALUE = {CONDITIONAL, WINDOW}
Column = tuple[str, str]
Origins = dict[Column, set[Column]]


@dataclass
class Golden:
    """A statement of a test and the lineage recorded for it."""

    sql: str
    origins: Origins = field(default_factory=dict)


def goldens(text: str) -> Iterator[Golden]:
    """The statements of a golden file, in order."""
    found: Golden | None = None
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("PREHOOK: query: "):
            if found is not None:
                yield found
            query = [line.removeprefix("PREHOOK: query: ")]
            for more in lines:
                if more.startswith("PREHOOK: type:"):
                    break
                if more != _MASKED:
                    query.append(more)
            found = Golden("\n".join(query))
        elif found is not None and line.startswith("POSTHOOK: Lineage: "):
            _add_line(found.origins, line)
        elif found is not None and line.startswith('{"version"') and '"edges"' in line:
            _add_json(found.origins, line)
    if found is not None:
        yield found


def _add_line(origins: Origins, line: str) -> None:
    match = _LINE.match(line)
    if match is None or match[1].startswith(_INDEX):
        return
    table, column, sources = match.groups()
    recorded = origins.setdefault((_short(table), column.lower()), set())
    for source, name in _SOURCE.findall(sources):
        if not source.startswith("values__tmp__table"):
            recorded.add((_short(source), name.lower()))


def _add_json(origins: Origins, line: str) -> None:
    graph = json.loads(line)
    names = {v["id"]: v["vertexId"].lower() for v in graph["vertices"] if v["vertexId"].count(".")}
    tables = {v["id"] for v in graph["vertices"] if v["vertexType"] == "TABLE"}
    for edge in graph["edges"]:
        if edge["edgeType"] != "PROJECTION":
            continue
        for target in edge["targets"]:
            if names.get(target, "").count(".") < 2:
                continue
            recorded = origins.setdefault(_column(names[target]), set())
            recorded |= {_column(names[s]) for s in edge["sources"] if s not in tables}


def _column(name: str) -> Column:
    table, _, column = name.rpartition(".")
    return _short(table), column


def _short(table: str) -> str:
    return table.lower().rpartition(".")[2]


def found_by_analyser(sql: str, tables: KnownTables) -> tuple[Origins, Origins, str]:
    """What gives each value; the same with what chooses it, as Hive counts; why not, if so."""
    direct: Origins = {}
    chosen: Origins = {}
    why = ""
    for statement in trace_script(sql, tables):
        why = why or statement.unknown or ""
        for target in statement.targets:
            why = why or target.unknown or ""
            key = _short(target.table), target.column
            values = direct.setdefault(key, set())
            parts = chosen.setdefault(key, set())
            for source in target.sources:
                column = _short(source.table), source.column
                if source.kind == DIRECT:
                    values.add(column)
                if source.kind == DIRECT or source.subtype in _PARTS_OF_VALUE:
                    parts.add(column)
    return direct, chosen, why


@dataclass
class Score:
    """How many target columns there are, and how many have exactly the recorded sources."""

    columns: int = 0
    direct: int = 0
    chosen: int = 0
    differences: list[str] = field(default_factory=list)

    def add(self, file: str, golden: Golden, found: tuple[Origins, Origins, str]) -> None:
        """Count the columns of one statement."""
        direct, chosen, why = found
        for key, recorded in golden.origins.items():
            self.columns += 1
            self.direct += direct.get(key) == recorded
            agrees = chosen.get(key) == recorded or direct.get(key) == recorded
            self.chosen += agrees
            if not agrees:
                said = {
                    "file": file,
                    "target": ".".join(key),
                    "recorded": sorted(".".join(s) for s in recorded),
                    "found": sorted(".".join(s) for s in chosen.get(key, ())),
                    "unknown": why or ("" if key in chosen else "no such target"),
                    "sql": golden.sql,
                }
                self.differences.append(json.dumps(said))


def main() -> None:
    """Compare the files of a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--schema", type=Path, help="statements that define the shared tables")
    parser.add_argument("--differences", type=Path, help="write them here, one JSON a line")
    given = parser.parse_args()
    shared = KnownTables("hive", expands=True)
    if given.schema is not None:
        list(trace_script(given.schema.read_text(), shared))
    score = Score()
    for path in sorted(given.folder.rglob("*.q.out")):
        tables = shared.copy()
        for golden in goldens(path.read_text(errors="replace")):
            score.add(path.name, golden, found_by_analyser(golden.sql, tables))
    if given.differences is not None:
        given.differences.write_text("\n".join(score.differences) + "\n")
    for name, exact in (("DIRECT", score.direct), ("with CONDITIONAL and WINDOW", score.chosen)):
        share = exact / max(score.columns, 1)
        sys.stdout.write(f"{name}: {exact} of {score.columns} columns exact, {share:.1%}\n")


if __name__ == "__main__":
    main()
