"""Fixture files of the rewriter: a setup, and cases of a statement and what becomes of it.

    -- setup
    CREATE TABLE ..; INSERT ..;
    -- mark m
    UPDATE ..;
    -- case: what it shows
    SELECT * FROM main.t/*@m*/;
    --> fetch
    SELECT .. FROM _palimpsest.t1_base ..;

A table is read at a mark as in the random programs. `python -m tests.support.rewriting FILE...`
writes what the rewriter gives now into the files, for a reader to compare.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import sqlglot

from journal.model.errors import PalimpsestError
from journal.model.plan import PointRequest, StatementPlan
from journal.model.schema import CatalogSnapshot
from journal.model.segment import Tier
from rewriter.context import RewriteContext, TableScanInfo, TimePoint
from rewriter.limits import DEFAULT_LIMITS
from rewriter.preview.preview import of_plan
from rewriter.preview.synthetic_catalog import catalog_of, described
from rewriter.rewriter import rewrite_statement
from rewriter.syntax.parsing import parse

FOLDER = Path(__file__).parents[1] / "fixtures" / "rewriter"
MARKED = re.compile(r"(\w+)\.(\w+)/\*@(\w+)\*/")
_POINT = 1000
Marked = Callable[[str, str, str], str]


@dataclass(frozen=True, slots=True)
class Case:
    """A statement and the text of its plan; ``setup`` holds statements and marks (``@m``)."""

    name: str
    setup: tuple[str, ...]
    statement: str
    golden: str

    def sql(self, marked: Marked) -> str:
        """The statement with marks as an engine spells them."""
        return MARKED.sub(lambda m: marked(m[1], m[2], m[3]), self.statement)


def read_cases(path: Path) -> list[Case]:
    """The cases of a file."""
    head, *parts = re.split(r"^-- case: ", path.read_text(), flags=re.MULTILINE)
    setup: list[str] = []
    for part in re.split(r"^(-- mark \w+)\n", head.partition("-- setup\n")[2], flags=re.MULTILINE):
        if part.startswith("-- mark "):
            setup.append("@" + part.split()[2])
        else:
            setup += [s.strip() for s in part.split(";\n") if s.strip()]
    cases = []
    for part in parts:
        name, _, rest = part.partition("\n")
        statement, _, golden = rest.partition("-->")
        text = f"-->{golden}".strip() if golden else ""
        cases.append(Case(name, tuple(setup), statement.strip().rstrip(";"), text))
    return cases


def plan_of(case: Case) -> tuple[StatementPlan, CatalogSnapshot]:
    """The plan of a case's statement over journals that hold changes."""
    created = ";".join(s for s in case.setup if s.upper().startswith("CREATE"))
    catalog = catalog_of(parse(created, "duckdb", DEFAULT_LIMITS), "duckdb")
    tiers = frozenset({Tier.BASE, Tier.DELTA, Tier.HEAD})

    def at(request: PointRequest) -> TimePoint:
        return TimePoint(_POINT, catalog)

    context = RewriteContext(
        catalog,
        lambda _: TableScanInfo(tiers, pinned=False),
        times=at,
        describe=described,
        new_table_id=max(t.id for t in catalog.tables()) + 1,
    )
    (parsed,) = parse(case.sql(version_spelling), "duckdb", DEFAULT_LIMITS)
    return rewrite_statement(parsed.statement, context), catalog


def version_spelling(schema: str, table: str, mark: str) -> str:
    """A mark in the text of a fixture: always the same version."""
    return f"{schema}.{table} FOR SYSTEM_VERSION AS OF {_POINT}"


def plan_text(case: Case) -> str:
    """What the file should say becomes of a statement; of a refusal its code."""
    try:
        plan, catalog = plan_of(case)
    except PalimpsestError as error:
        return f"--> refused {error.code.value.code}: {error.message}"
    (parsed,) = parse(case.sql(version_spelling), "duckdb", DEFAULT_LIMITS)
    return "\n".join(_lines(plan, of_plan(plan, parsed, catalog).steps))


def _lines(plan: StatementPlan, steps: tuple[object, ...]) -> Iterator[str]:
    for step in steps:
        action, sql, note = (str(getattr(step, part) or "") for part in ("action", "sql", "note"))
        yield f"--> {action}" + (f" ({note})" if note and "\n" not in note else "")
        if sql:
            # On one line, so that a change shows as one.
            yield f"{sqlglot.parse_one(sql, read='duckdb').sql(dialect='duckdb')};"


def write(path: Path) -> None:
    """Put what the rewriter gives now into a file."""
    text = path.read_text()
    head = re.split(r"^-- case: ", text, flags=re.MULTILINE)[0]
    parts = [head.rstrip()]
    for case in read_cases(path):
        golden = plan_text(replace(case, golden=""))
        parts.append(f"-- case: {case.name}\n{case.statement};\n{golden}")
    path.write_text("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        write(Path(name))
