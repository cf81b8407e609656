"""How often the analyser names the sources that OpenLineage's hook for Hive expects.

The hook reads Hive's own plans. Its test ``ColumnLineageCollectorTest.java`` says for statements on
small tables which columns each column comes from, and how: IDENTITY, TRANSFORMATION, AGGREGATION,
CONDITIONAL or WINDOW; and which columns decide about the rows. This reads the statements and what
is expected out of that file, which is not part of this repository, and prints what differs.

    python -m tests.rewriter.lineage.openlineage_goldens ColumnLineageCollectorTest.java
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rewriter.lineage.scripts import trace_script
from rewriter.lineage.sources import OF_ROWS
from rewriter.lineage.tables import KnownTables
from rewriter.lineage.targets import targets_by_table

_TABLE = re.compile(r"create(Partitioned)?Table\((.*?)\);", re.DOTALL)
_QUERY = re.compile(r"queryString =(.*?);\n", re.DOTALL)
_ASSERT = re.compile(r"assertThat\((.*?)\);\n", re.DOTALL)
_INFO = re.compile(r"TransformationInfo\.(\w+)\(([^)]*)\)")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_GET = re.compile(r'\.get\(\s*"([^"]+)"\)')
Named = dict[tuple[str, str], set[str]]
"""The kinds by column that is written, or ``*`` for its rows, and column that it comes from."""


@dataclass(frozen=True)
class Golden:
    """A statement on tables, and what is expected of it."""

    name: str
    tables: tuple[str, ...]
    sql: str
    expected: Mapping[tuple[str, str], set[str]]


def goldens(text: str) -> Iterator[Golden]:
    """The tests of the file that have a statement."""
    for method in text.split("@Test\n")[1:]:
        name, query = re.search(r"void (\w+)", method), _QUERY.search(method)
        if name is None or query is None:
            continue
        tables = []
        for partitioned, given in _TABLE.findall(method):
            table, *columns = _STRING.findall(given)
            if partitioned:
                columns = [*columns[1:], columns[0]]
            tables.append(f"CREATE TABLE {table} ({', '.join(columns).replace(';', ' ')})")
        sql = "\n".join(_STRING.findall(query[1])).replace("\\n", "\n")
        yield Golden(name[1], tuple(tables), sql, _expected(method))


def _expected(method: str) -> Named:
    found: Named = {}
    for said in _ASSERT.findall(method):
        names = [name.lower() for name in _GET.findall(said)]
        kinds = {
            detail.rpartition(".")[2] if kind == "indirect" else kind.upper()
            for kind, detail in _INFO.findall(said)
        }
        if "getColumnDependencies" in said and len(names) == 2:
            found[names[0], _last_two(names[1])] = kinds
        elif "getDatasetDependencies" in said and len(names) == 1:
            found["*", _last_two(names[0])] = kinds
    return found


def _last_two(name: str) -> str:
    return ".".join(name.split(".")[-2:])


def found_by_analyser(golden: Golden) -> Named:
    """The same as the analyser says it; a target that cannot be told has the reason as a kind."""
    tables = KnownTables("hive")
    for table in golden.tables:
        list(trace_script(table, tables))
    found: Named = {}
    for statement in trace_script(golden.sql, tables):
        if statement.unknown is not None:
            found["*", statement.unknown] = {"UNKNOWN"}
        for written in targets_by_table(statement.targets).values():
            for target in written:
                for source in target.sources:
                    column = "*" if source.subtype in OF_ROWS else target.column
                    name = _last_two(f"{source.table}.{source.column}")
                    found.setdefault((column, name), set()).add(source.subtype)
    return found


def main() -> None:
    """Compare the statements of a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    given = parser.parse_args()
    columns, sources, exact = 0, 0, 0
    for golden in goldens(given.file.read_text()):
        found = found_by_analyser(golden)
        for column in sorted({column for column, _ in (*golden.expected, *found)}):
            one = {of: kinds for (c, of), kinds in golden.expected.items() if c == column}
            other = {of: kinds for (c, of), kinds in found.items() if c == column}
            columns += 1
            sources += one.keys() == other.keys()
            exact += one == other
            if one != other:
                sys.stdout.write(f"{golden.name}: {column}: expected {one}, found {other}\n")
    sys.stdout.write(
        f"{columns} columns and rows: {sources} with the sources, {exact} with kinds\n"
    )


if __name__ == "__main__":
    main()
