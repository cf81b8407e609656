"""Each case of a fixture file: its text, its effect, print-parse-print, invariants, an intact tree.

The effect is compared with plain DuckDB: the answer of the statement, and afterwards the tables.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp

from journal.model.errors import PalimpsestError
from journal.model.plan import StatementKind
from journal.sql import dialects
from tests.support.engine import Engine
from tests.support.gateway_engine import GatewayEngine
from tests.support.oracle import Oracle
from tests.support.outcome import Failure, Outcome, describe, difference
from tests.support.rewriting import FOLDER, Case, plan_of, plan_text, read_cases

CASES = [(path.stem, case) for path in sorted(FOLDER.glob("*.sql")) for case in read_cases(path)]
IDS = [f"{stem}: {case.name}" for stem, case in CASES]
ONLY = [case for _, case in CASES]
LOOKS = [f"SELECT * FROM main.{name}" for name in ("t", "loose", "u", "v", "w", "renamed")]
PHYSICAL = "_palimpsest"


@pytest.mark.parametrize("case", ONLY, ids=IDS)
def test_text(case: Case) -> None:
    assert plan_text(case) == case.golden


@pytest.mark.parametrize("case", ONLY, ids=IDS)
def test_print_parse_print(case: Case) -> None:
    for line in _statements(case):
        once = sqlglot.parse_one(line, read="duckdb").sql(dialect="duckdb")
        assert sqlglot.parse_one(once, read="duckdb").sql(dialect="duckdb") == once


@pytest.mark.parametrize("case", ONLY, ids=IDS)
def test_invariants(case: Case) -> None:
    try:
        plan, _ = plan_of(case)
    except PalimpsestError:
        return
    assert plan.kind is not StatementKind.READ or not plan.writes
    for line in _statements(case):
        tree = sqlglot.parse_one(line, read="duckdb")
        assert isinstance(tree, exp.Query), line
        for table in tree.find_all(exp.Table):
            logical = table.db == "main" and table.name in {"t", "loose", "v"}
            assert not logical, line


@pytest.mark.parametrize("case", ONLY, ids=IDS)
def test_writing_a_tree_down_leaves_it_as_it_is(case: Case) -> None:
    try:
        plan, _ = plan_of(case)
    except PalimpsestError:
        return
    for query in [getattr(step, "query", None) for step in plan.steps]:
        if query is not None:
            before = query.ast.copy()
            text = dialects.text(query.ast, query.nodes, "duckdb")
            assert query.ast == before
            assert text == before.sql(dialect="duckdb")


@pytest.mark.parametrize("case", ONLY, ids=IDS)
def test_effect(case: Case, tmp_path: Path) -> None:
    engines: list[Engine] = [Oracle(), GatewayEngine(tmp_path / "warehouse")]
    try:
        wanted, got = (_outcomes(case, engine) for engine in engines)
    finally:
        for engine in engines:
            engine.close()
    refused = case.golden.partition("--> refused ")[2][:7]
    if refused:
        assert isinstance(got[0], Failure)
        assert refused in got[0].message
        return
    for expected, found in zip(wanted, got, strict=True):
        assert difference(expected, found) is None, f"{describe(expected)}\n{describe(found)}"


def _outcomes(case: Case, engine: Engine) -> list[Outcome]:
    session = engine.session("one")
    for step in case.setup:
        if step.startswith("@"):
            engine.mark(step[1:])
        else:
            assert not isinstance(session.run(step), Failure), step
    outcomes = [session.run(case.sql(engine.marked))]
    return outcomes + [session.run(look) for look in LOOKS]


def _statements(case: Case) -> list[str]:
    blocks = [line for line in case.golden.split("\n-->") if "\n" in line]
    return [block.partition("\n")[2].strip().rstrip(";") for block in blocks]
